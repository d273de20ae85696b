"""Inverse rendering: the colours of three walls of a Cornell box from one picture of it, in 300 steps."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

description = mi.cornell_box()
description["integrator"] = {"type": "prb", "max_depth": 6}
description["sensor"]["film"] |= {"width": 64, "height": 64, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
params = mi.traverse(scene)
keys = ["white.reflectance.value", "red.reflectance.value", "green.reflectance.value"]
truth = {k: np.array(params[k]).ravel() for k in keys}
target = mi.render(scene, spp=2048, seed=12345)

# Forget the colours. Adam starts from grey; its steps shrink towards the end.
optimizer = mi.ad.Adam(lr=0.03)
for k in keys:
    optimizer[k] = mi.Color3f(0.5)
params.update(optimizer)

steps = 300
for i in range(steps):
    optimizer.set_learning_rate(0.03 * 0.01 ** (i / steps))
    image = mi.render(scene, params, spp=8, seed=i)
    # Differences count relative to brightness: the lamp's surroundings would outweigh all else.
    loss = dr.mean(dr.square((image - target) / (target + 0.1)), axis=None)
    dr.backward(loss)
    optimizer.step()
    for k in keys:
        optimizer[k] = dr.clip(optimizer[k], 0.001, 0.999)
    params.update(optimizer)

worst = 0
for k in keys:
    found = np.array(params[k]).ravel()
    print(f"{k:25} found {found.round(4)}, was {truth[k].round(4)}")
    worst = max(worst, np.abs(found / truth[k] - 1).max())
print(f"largest error {100 * worst:.2f} %")
assert worst < 0.01
