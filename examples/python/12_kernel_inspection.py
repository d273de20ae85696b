"""What the compiler makes of a program: the history of kernels, the cache, and drawings of recorded programs."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

# ---- Operations are recorded; nothing runs until a result is asked for
x = dr.arange(mi.Float, 1000000)
y = dr.sin(x) * dr.sin(x) + dr.square(dr.cos(x))
drawing = dr.graphviz(as_string=True)  # what is recorded and not yet computed, for Graphviz's `dot`
assert drawing.startswith("digraph")

with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
    dr.kernel_history_clear()
    dr.eval(y)
    history = dr.kernel_history([dr.KernelType.JIT])
print("one kernel for all of it:", {k: history[0][k] for k in ("size", "operation_count", "cache_hit", "execution_time")})
assert len(history) == 1 and history[0]["size"] == 1000000
assert np.allclose(y, 1, atol=1e-5)

# ---- sin(x) was written twice and is computed once: equal expressions are one
a, b = dr.sin(x + 1), dr.sin(x + 1)
assert a.index == b.index

# ---- A render is one kernel, whatever the scene; other seeds and other colours use it again
description = mi.cornell_box()
description["sensor"]["film"] |= {"width": 32, "height": 32, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
params = mi.traverse(scene)


def kernels_of(seed):
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        dr.eval(mi.render(scene, spp=16, seed=seed))
        return [k for k in dr.kernel_history([dr.KernelType.JIT]) if k["size"] >= 32 * 32 * 16]


first = kernels_of(0)
params["red.reflectance.value"] = mi.Color3f(0.2, 0.3, 0.4)
params.update()
second = kernels_of(1)
for title, kernels in (("first render:", first), ("second render:", second)):
    for k in kernels:
        print(title, f"{k['size']} lanes, {k['operation_count']} operations, "
              f"compiled in {k['backend_time']:.1f} ms, ran for {k['execution_time']:.1f} ms, cached: {k['cache_hit']}")
assert len(first) == 1 and len(second) == 1
assert first[0]["hash"] == second[0]["hash"] and second[0]["cache_hit"]

# ---- A loop is recorded, too: one kernel, not one for each iteration
@dr.syntax
def collatz(n):
    steps = mi.UInt32(0)
    while n != 1:
        n = dr.select(n % 2 == 0, n // 2, 3 * n + 1)
        steps += 1
    return steps

with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
    dr.kernel_history_clear()
    steps = collatz(mi.UInt32([1, 6, 27]))
    dr.eval(steps)
    assert len(dr.kernel_history([dr.KernelType.JIT])) == 1
assert np.array(steps).tolist() == [0, 8, 111]
