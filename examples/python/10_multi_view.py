"""Several cameras: one scene, many views, and an optimization that uses all of them."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written
T = mi.ScalarTransform4f


def camera(angle):
    """On a circle around the box's opening."""
    origin = [3.9 * np.sin(np.radians(angle)), 0.0, 3.9 * np.cos(np.radians(angle))]
    return {"type": "perspective", "fov": 39.3, "to_world": T().look_at(origin, [0, 0, 0], [0, 1, 0]),
            "film": {"type": "hdrfilm", "width": 32, "height": 32, "rfilter": {"type": "box"}}}


# ---- Cameras of the scene: by number
angles = [-15, 0, 15]
description = mi.cornell_box()
del description["sensor"]
description["integrator"] = {"type": "prb", "max_depth": 4}
for i, angle in enumerate(angles):
    description[f"camera{i}"] = camera(angle)
scene = mi.load_dict(description)
assert len(scene.sensors()) == 3
views = [mi.render(scene, sensor=i, spp=64) for i in range(3)]
mi.util.write_bitmap("build/views.png", np.concatenate([np.array(v) for v in views], axis=1), write_async=False)

# ---- Others: any camera will do, such as one that was loaded by itself. It sees the same as its twin in the scene.
again = mi.render(scene, sensor=mi.load_dict(camera(-15)), spp=64)
assert np.allclose(again, views[0], atol=1e-5)
# From the left the right wall, which is green, fills more of the image.
green = [np.array(v)[..., 1].mean() / np.array(v)[..., 0].mean() for v in views]
print("green over red from left to right:", green)
assert green[0] > green[1] > green[2]

# ---- Moving one camera moves no other
params = mi.traverse(scene)
params["camera1.to_world"] = T().look_at([0, 0, 3.5], [0, 0, 0], [0, 1, 0])
params.update()
assert not np.allclose(mi.render(scene, sensor=1, spp=64), views[1], atol=1e-2)
assert np.allclose(mi.render(scene, sensor=2, spp=64), views[2])

# ---- One loss over all views: gradients add up
key = "white.reflectance.value"
def gradient(sensors):
    params[key] = mi.Color3f(0.5)
    dr.enable_grad(params[key])
    params.update()
    loss = 0
    for i in sensors:
        loss += dr.mean(dr.square(mi.render(scene, params, sensor=i, spp=16, seed=7) - 0.5), axis=None)
    dr.backward(loss)
    return np.array(dr.grad(params[key])).ravel()

together, apart = gradient([0, 1, 2]), [gradient([i]) for i in range(3)]
print("gradient of all views:", together, "sum of one after the other:", np.sum(apart, axis=0))
assert np.allclose(together, np.sum(apart, axis=0), rtol=1e-3)
