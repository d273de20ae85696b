"""Forward mode: a picture of how an image changes as one parameter does, for every pixel at once."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

description = mi.cornell_box()
description["integrator"] = {"type": "prb", "max_depth": 5}
description["sensor"]["film"] |= {"width": 32, "height": 32, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
params = mi.traverse(scene)
red, light = "red.reflectance.value", "light.emitter.radiance.value"

# ---- One number that several parameters depend on: brighter walls on one side, and a warmer lamp
change = mi.Float(0)
dr.enable_grad(change)
colour, radiance = mi.Color3f(params[red]), mi.Color3f(params[light])
params[red] = colour + change * mi.Color3f(0.3, 0, 0)
params[light] = radiance * (1 + change * mi.Color3f(0.5, 0, 0))
params.update()

image = mi.render(scene, params, spp=128, seed=1, seed_grad=2)
dr.forward(change)
tangent = np.array(dr.grad(image))
mi.util.write_bitmap("build/tangent.exr", mi.TensorXf(tangent), write_async=False)
assert tangent.shape == (32, 32, 3)

# ---- Only red changes. On the lamp it is the lamp's own share.
print("mean tangent:", tangent.mean(axis=(0, 1)))
assert tangent[..., 0].mean() > 0.01 and np.abs(tangent[..., 1:]).max() < 1e-4

# ---- Differences agree
step = 0.05
params[red] = colour + step * mi.Color3f(0.3, 0, 0)
params[light] = radiance * (1 + step * mi.Color3f(0.5, 0, 0))
params.update()
plus = np.array(mi.render(scene, spp=128, seed=1))
difference = (plus - np.array(image)) / step
print("by differences:", difference.mean(axis=(0, 1)))
assert np.isclose(difference[..., 0].mean(), tangent[..., 0].mean(), rtol=0.05)

# ---- Reverse mode gives the same for one loss: the tangent of the mean is the mean of the tangent
params[red] = colour
params[light] = radiance
dr.enable_grad(params[red], params[light])
params.update()
dr.backward(dr.mean(mi.render(scene, params, spp=128, seed=1, seed_grad=2), axis=None))
along = 0.3 * dr.grad(params[red])[0] + 0.5 * radiance[0] * dr.grad(params[light])[0]
print("by reverse mode:", along, "forward:", tangent.mean())
assert np.isclose(np.array(along).item(), tangent.mean(), rtol=0.02)
