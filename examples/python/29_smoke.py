"""Smoke from pictures: the density of each voxel of a cloud, found from a few views of it, by derivatives through media."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
os.makedirs("build", exist_ok=True)  # for what is written

# ---- A cube of smoke under a white sky, with a lamp at its side. `prbvolpath` is what differentiates media: by walking each
# path a second time it needs no more memory than the picture and the voxels do.
n, size, views = 8, 24, 9


def scene(density):
    place = T().translate([-1, -1, -1]).scale(2)
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prbvolpath", "max_depth": 4, "rr_depth": 100},
        "sky": {"type": "constant", "radiance": 0.5},
        "lamp": {"type": "point", "position": [2, 3, 4], "intensity": 20.},
        "cube": {"type": "cube", "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "albedo": 0.6, "scale": 3.,
            "sigma_t": {"type": "gridvolume", "grid": mi.VolumeGrid(density), "to_world": place}}}})


def camera(angle):
    origin = [5 * np.cos(np.radians(angle)), 5 * np.sin(np.radians(angle)), 2]
    return mi.load_dict({"type": "perspective", "fov": 35, "to_world": T().look_at(origin, [0, 0, 0], [0, 0, 1]),
                         "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}})


# ---- Pictures of a rising plume, which is what is to be found
z, y, x = (np.mgrid[0:n, 0:n, 0:n] + 0.5) / n * 2 - 1
radius = np.hypot(x - 0.3 * np.sin(2.5 * z), y + 0.2 * z)
plume = np.clip(1.2 - 2 * radius, 0.01, 1)[..., None].astype(np.float32)
cameras = [camera(i * 360 / views) for i in range(views)]
targets = [dr.detach(mi.render(scene(plume), sensor=c, spp=256)) for c in cameras]

# ---- Start from a haze: where there is nothing at all, nothing tells what it would scatter
cloud = scene(np.full_like(plume, 0.2))
params = mi.traverse(cloud)
key = next(k for k in params.keys() if k.endswith("sigma_t.data"))
opt = mi.ad.Adam(lr=0.05)
opt[key] = params[key]
opt.set_constraint(key, (0.01, 2))  # densities are positive
losses = []
first_look = mi.render(cloud, sensor=cameras[0], spp=64)
with mi.ad.report.Watch() as watch:
    for step in range(6 * views):
        params.update(opt)
        i = step % views
        image = mi.render(cloud, params, sensor=cameras[i], spp=16, seed=step)
        loss = mi.ad.losses.l2(image, targets[i])
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        if step == 1:
            watch.compiled()
    assert watch.compiled() == 0, "iterations after the second compile nothing"
first, last = np.mean(losses[:views]), np.mean(losses[-views:])
print("loss:", first, "->", last)
assert last < 0.2 * first

# ---- How much of the plume has been found
found = np.array(opt[key]).reshape(n, n, n)
related = np.corrcoef(found.ravel(), plume.ravel())[0, 1]
print("densities are related by", related, "; in the plume:", found[plume[..., 0] > 0.6].mean(), "around it:",
      found[plume[..., 0] < 0.02].mean())
assert related > 0.8

# ---- A view that it has never seen
params.update(opt)
unseen = camera(36)
guess, truth = (np.array(mi.render(s, sensor=unseen, spp=256)) for s in (cloud, scene(plume)))
last_look = mi.render(cloud, sensor=cameras[0], spp=64)
mi.ad.report.Report("build/smoke", "Smoke from nine views").write(losses, [[first_look, last_look, targets[0]], [guess, truth]])
error = np.abs(guess - truth).mean()
print("a new view is off by", error, "of", truth.mean())
assert error < 0.05 * truth.mean()
