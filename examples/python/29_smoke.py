"""Smoke from pictures: the density of each voxel of a cloud, found from a few views of it, by derivatives through media."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
os.makedirs("build", exist_ok=True)  # for what is written

# ---- A cube of smoke under a bright sky, with a lamp at its side. `prbvolpath` is what differentiates media: by walking each
# path a second time it needs no more memory than the picture and the voxels do.
views, long = 9, mi.ad.report.long_form()  # --long: more voxels, larger pictures
n, size, steps = (32, 64, long) if long else (8, 24, 6 * views)
price = 1e-3 if long else 0  # of differences between voxels: small ones would learn the noise of pictures


def scene(density):
    place = T().translate([-1, -1, -1]).scale(2)
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prbvolpath", "max_depth": 4, "rr_depth": 100},
        "sky": {"type": "constant", "radiance": {"type": "rgb", "value": [0.5, 0.65, 0.9]}},
        "lamp": {"type": "point", "position": [2, 3, 4], "intensity": 30.},
        "cube": {"type": "cube", "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "albedo": 0.5, "scale": 5.,
            "sigma_t": {"type": "gridvolume", "grid": mi.VolumeGrid(density), "to_world": place}}}})


def camera(angle):
    origin = [5 * np.cos(np.radians(angle)), 5 * np.sin(np.radians(angle)), 2]
    return mi.load_dict({"type": "perspective", "fov": 35, "to_world": T().look_at(origin, [0, 0, 0], [0, 0, 1]),
                         "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}})


# ---- Pictures of a rising plume, which is what is to be found
z, y, x = (np.mgrid[0:n, 0:n, 0:n] + 0.5) / n * 2 - 1
rng, puffs = np.random.default_rng(4), []
for t in np.linspace(-0.75, 0.6, 40):  # puffs along a spiral, the farther up, the larger and the farther apart
    a, b, c = np.array([0.25 * (t + 1) * np.sin(4 * t), 0.25 * (t + 1) * np.cos(4 * t), t]) + 0.12 * (t + 1) * rng.standard_normal(3)
    puffs.append(3 * (1 - np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) / (0.22 + 0.08 * t)))
plume = np.max(puffs, axis=0)
plume = np.clip(plume, 0.01, 1)[..., None].astype(np.float32)
cameras, unseen = [camera(i * 360 / views) for i in range(views)], camera(36)
targets = [dr.detach(mi.render(scene(plume), sensor=c, spp=256)) for c in cameras]

# ---- Start from a haze: where there is nothing at all, nothing tells what it would scatter
cloud = scene(np.full_like(plume, 0.2))
params = mi.traverse(cloud)
key = next(k for k in params.keys() if k.endswith("sigma_t.data"))
opt = mi.ad.Adam(lr=0.05)
opt[key] = params[key]
opt.set_schedule(mi.ad.schedules.exponential(steps, 0.2))
opt.set_constraint(key, (0.01, 2))  # densities are positive
losses = []
first_looks = [mi.render(cloud, sensor=c, spp=256) for c in (cameras[0], unseen)]
with mi.ad.report.Watch() as watch:
    for step in range(steps):
        params.update(opt)
        i = step % views
        image = mi.render(cloud, params, sensor=cameras[i], spp=16, seed=step)
        loss = mi.ad.losses.l2(image, targets[i])
        dr.backward(loss + price * mi.ad.regularizers.total_variation(opt[key]))
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
first, last = np.mean(losses[:views]), np.mean(losses[-views:])
print("loss:", first, "->", last)
assert last < (0.05 if long else 0.2) * first

# ---- How much of the plume has been found
found = np.array(opt[key]).reshape(n, n, n)
related = np.corrcoef(found.ravel(), plume.ravel())[0, 1]
print("densities are related by", related, "; in the plume:", found[plume[..., 0] > 0.6].mean(), "around it:",
      found[plume[..., 0] < 0.02].mean())
assert related > 0.8

# ---- A view that it has never seen
params.update(opt)
guess, truth = (np.array(mi.render(s, sensor=unseen, spp=256)) for s in (cloud, scene(plume)))
last_look = mi.render(cloud, sensor=cameras[0], spp=256)
mi.ad.report.Report("build/smoke", "Smoke from nine views").write(losses, [[first_looks[0], last_look, targets[0]], [first_looks[1], guess, truth]])
error = np.abs(guess - truth).mean()
print("a new view is off by", error, "of", truth.mean())
assert error < 0.05 * truth.mean()
