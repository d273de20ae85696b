"""The light around a scene from one picture of a ball in it: an environment map, texel by texel."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: more texels, a larger picture
rows, columns, size, steps = (16, 32, 96, long) if long else (8, 16, 32, 60)
alpha, lr, price = (.05, .05, 1e-3) if long else (.15, .1, 0)  # of the metal ball; of the optimizer; of a rough sky

# ---- A sky with a sun, a dark ground, and a lamp that is red
truth = np.full((rows, columns, 3), .15, np.float32)
truth[:rows // 2] = [.4, .5, .7]
scale = rows // 8
truth[scale:2 * scale, 5 * scale:6 * scale] = [9, 8, 6]
truth[4 * scale:5 * scale, 11 * scale:12 * scale] = [3, .5, .3]


def ball(light):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prb", "max_depth": 3}, "light": {"type": "envmap", "bitmap": mi.Bitmap(light)},
        "sensor": {"type": "perspective", "fov": 32, "to_world": T().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
        "metal": {"type": "sphere", "center": [-.55, .2, 0], "radius": .5, "bsdf": {"type": "roughconductor", "alpha": alpha}},
        "chalk": {"type": "sphere", "center": [.55, .2, 0], "radius": .5, "bsdf": {"type": "diffuse", "reflectance": .8}},
        "floor": {"type": "rectangle", "to_world": T().translate([0, -.4, 0]).rotate([1, 0, 0], -90).scale(1.2), "bsdf": {
            "type": "diffuse", "reflectance": .6}}})


target = mi.render(ball(truth), spp=1024, seed=1000)
scene = ball(np.full_like(truth, .5))
params = mi.traverse(scene)
first = mi.render(scene, spp=256)
key = "light.data"
opt = mi.ad.Adam(lr=lr, params={key: params[key]})
opt.set_constraint(key, (1e-3, None))  # light is positive
opt.set_schedule(mi.ad.schedules.exponential(steps, .3))
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        params.update(opt)
        image = mi.render(scene, params, spp=16, seed=i)
        loss = mi.ad.losses.relative_l2(image, target, .1) + price * mi.ad.regularizers.total_variation(opt[key])
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
params.update(opt)
last = mi.render(scene, spp=256)
found = np.array(opt[key]).reshape(rows, -1, 3)[:, :columns]  # the last column is the first once more
mi.ad.report.Report("build/light", "Light from one image").write(losses, [[first, last, target], [np.full_like(truth, .5), found, truth]])
print("loss:", losses[0], "->", np.mean(losses[-5:]))
assert np.mean(losses[-5:]) < (.02 if long else .2) * losses[0]

# ---- Where the sun is: the brightest texel of what was found is it, or its neighbour
row, column = np.unravel_index(found.sum(-1).argmax(), found.shape[:2])
row, column = row // scale, column // scale
print("the brightest light is at", (row, column), "and was at (1, 5)")
assert abs(row - 1) <= 1 and abs(column - 5) <= 1
