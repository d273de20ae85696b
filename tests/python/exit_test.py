# tests/python/exit_test.py: a process may end at any time: kernels under way are waited for, or cancelled.
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
import umbel as mi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "python", "tools"))
import gallery
import gallery_files

START = f"TOOLS = {os.path.join(ROOT, 'python', 'tools')!r}" + """
import atexit, os, signal, sys, threading, time
late = []
atexit.register(lambda: [f() for f in late])  # registered first: runs last, when scenes are gone
import umbel as mi, umbel.jit as dr

def scene(integrator="path", shapes=("sphere",), size=512):
    d = {"type": "scene", "integrator": {"type": integrator}, "light": {"type": "constant"},
         "sensor": {"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                    "film": {"type": "hdrfilm", "width": size, "height": size, "filter": {"type": "box"}}}}
    d.update({f"s{i}": {"type": s, "bsdf": {"type": "diffuse"}} for i, s in enumerate(shapes)})
    return mi.load_dict(d)

def rays():
    i = dr.arange(mi.Float, 1 << 20)
    return mi.Ray3f(mi.Point3f(i * 1e-6 - 0.5, 0.1, 5), mi.Vector3f(0, 0, -1))

def examples(kind):
    sys.path.append(TOOLS)
    import gallery
    return {e.name: gallery.described(e) for e in gallery.entries() if e.kind == kind}

def all_shapes():
    d = {"type": "scene", "light": {"type": "constant"}, "sensor": {"type": "perspective", "fov": 60,
         "to_world": mi.ScalarTransform4f().look_at([0, 2, 6], [0, 0, 0], [0, 1, 0])}}
    return mi.load_dict(d | {f"shape_{k}": v for k, v in examples("shape").items()})

def with_integrator(name):
    mi.set_variant("llvm_ad_spectral_polarized" if name == "stokes" else "llvm_ad_rgb")
    sensor = {"type": "perspective", "film": {"type": "hdrfilm", "width": 256, "height": 256},
              "to_world": mi.ScalarTransform4f().look_at([0, 2, 6], [0, 0, 0], [0, 1, 0])}
    return mi.load_dict({"type": "scene", "integrator": examples("integrator")[name], "light": {"type": "constant"},
                         "sensor": sensor, "lamp": {"type": "point", "position": [0, 4, 0]},
                         "ball": {"type": "sphere", "bsdf": {"type": "plastic"}}})

def long_kernel():
    x = dr.arange(mi.Float, 1 << 16)
    _, y = dr.while_loop((mi.UInt(0) + dr.arange(mi.UInt, 1 << 16) * 0, x), lambda i, y: i < 2000000,
                         lambda i, y: (i + 1, dr.sin(y) + 1))
    return y
"""
CASES = {
    "a render": "s = scene(); mi.render(s)",
    "every analytic shape": "s = scene(shapes=('sphere', 'disk', 'rectangle', 'cylinder', 'cube')); mi.render(s)",
    "rays": "s = scene(); si = s.ray_intersect(rays()); dr.eval(si.t)",
    "rays against one shape": "s = mi.load_dict({'type': 'sphere'}); dr.eval(s.ray_intersect(rays()).t)",
    "recorded, never evaluated": "s = scene(); si = s.ray_intersect(rays())",
    "another variant": "s = scene(); mi.render(s); mi.set_variant('interp_rgb'); mi.Float(1) + 1",
    "scene dropped": "s = scene(); image = mi.render(s); del s",
    "an exception": "s = scene(); mi.render(s); raise ValueError('enough')",
    "a thread": "s = scene(size=64); t = threading.Thread(target=lambda: [mi.render(s) for _ in range(9)]); t.start()",
    "a thread that nobody waits for": """
s = scene(size=64)
def work():
    while True:
        mi.render(s)
        dr.eval(s.ray_intersect(rays()).t)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)""",
    "a thread that nobody waits for, in a plugin of the script": """
class Slow(mi.BSDF):
    def __init__(self, props):
        mi.BSDF.__init__(self, props)
        self.m_flags = mi.BSDFFlags.DiffuseReflection
        self.m_components = [self.m_flags]
    def sample(self, ctx, si, sample1, sample2, active):
        for i in range(5000000): pass
        return mi.BSDFSample3f(), mi.Spectrum(0)
    def eval(self, ctx, si, wo, active): return mi.Spectrum(0)
    def pdf(self, ctx, si, wo, active): return mi.Float(0)
mi.register_bsdf("slow", lambda props: Slow(props))
def work():
    while True:
        mi.render(mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "light": {"type": "constant"},
                                "ball": {"type": "sphere", "bsdf": {"type": "slow"}}, "sensor": {"type": "perspective"}}))
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)""",
    "a thread that nobody waits for, in a loop's body": """
def body(i):
    for k in range(100000): pass
    return (i + 1,)
def work():
    while True:
        dr.while_loop((dr.arange(mi.UInt, 10),), lambda i: i < 20, body)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)""",
    "a handler that runs when scenes are gone": """
s = scene(); kept = dr.arange(mi.Float, 10) + 1; dr.eval(kept); mi.render(s)
late.append(lambda: print(kept[9], dr.any(s.ray_intersect(rays()).is_valid())))""",
    "gradients": """
mi.set_variant("llvm_ad_rgb")
s = scene("prb", size=64); p = mi.traverse(s); key = "s0.bsdf.reflectance.value"
dr.enable_grad(p[key]); p.update(); dr.backward(dr.sum(mi.render(s, p), axis=None)); dr.eval(dr.grad(p[key]))""",
    "a fork": """
y = long_kernel(); dr.eval(y)
if os.fork():
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))""",
    "a fork that computes": """
dr.eval(dr.arange(mi.Float, 10) + 1)
if os.fork():
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
assert dr.sum(dr.arange(mi.Float, 1 << 20) * 0 + 1).numpy() == 1 << 20""",
    "interrupted": """
y = long_kernel(); dr.eval(y)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
time.sleep(60)""",
}
# Of every shape and every integrator, the example of the manual
CASES.update({f"every shape, {name}": f"s = all_shapes()\n{code}" for name, code in {
    "a render": "mi.render(s)", "rays": "dr.eval(s.ray_intersect(rays()).t)",
    "an exception": "mi.render(s); raise ValueError('enough')",
    "a thread": "threading.Thread(target=lambda: [mi.render(s) for _ in range(3)]).start()",
    "a thread that nobody waits for":
        "threading.Thread(target=lambda: [mi.render(s) for _ in range(99)], daemon=True).start()"}.items()})
CASES.update({f"the integrator {e.name}": f"mi.render(with_integrator({e.name!r}))"
              for e in gallery.entries() if e.kind == "integrator"})
STATUS = {"interrupted": -signal.SIGINT, "an exception": 1, "every shape, an exception": 1}
TOLD = {"interrupted": "KeyboardInterrupt", "an exception": "ValueError: enough", "every shape, an exception": "ValueError: enough"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files that examples name."""
    path = tmp_path_factory.mktemp("files")
    with mi.set_variant("llvm_rgb"):
        gallery_files.write_files(path)
    return path


def end_of(name, folder):
    """What is wrong with the end of a process that runs a case."""
    try:
        r = subprocess.run([sys.executable, "-B", "-c", START + CASES[name]], capture_output=True, text=True, timeout=120, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"{name}: hangs"
    said = "" if not r.stderr else r.stderr.splitlines()[-1]
    printed = "10.0 [False]\n" if "handler" in name else ""
    good = r.returncode == STATUS.get(name, 0) and said == TOLD.get(name, "") and r.stdout == printed
    return None if good else f"{name}: {r.returncode} {r.stdout} {r.stderr}"


def test_a_process_ends_whatever_its_kernels_are_doing(variant, folder):
    if variant != "llvm_rgb":
        pytest.skip("one variant will do")
    with ThreadPoolExecutor(2) as pool:
        assert list(filter(None, pool.map(lambda name: end_of(name, folder), CASES))) == []


def test_the_shortest_script_ends():
    script = """
        import umbel as mi
        s = mi.load_dict({"type": "scene", "s": {"type": "sphere"}, "sensor": {"type": "perspective"}})
        print(mi.render(s).shape)"""
    r = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (r.returncode, r.stderr) == (0, ""), r.stdout
