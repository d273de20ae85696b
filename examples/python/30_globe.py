"""The texture of a globe under a bell of glass, from one picture of a room: light finds it through glass and by other walls."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: more texels, a larger picture
rows, columns, size, steps = (64, 128, 96, long) if long else (16, 32, 40, 60)


def earth():
    """Land, sea and ice, made up."""
    v, u = np.mgrid[0:rows, 0:columns] / np.array([rows, columns])[:, None, None]
    land = np.sin(6.3 * u * 2 + 2) * np.cos(7 * v) + .5 * np.sin(6.3 * u * 3) + .3 * np.sin(6.3 * u * 5 + 20 * v) * np.cos(15 * v) > .1
    earth = np.where(land[..., None], [.25, .5, .15], [.1, .2, .6])
    return np.where(abs(v - .5)[..., None] > .42, .9, earth).astype(np.float32)


def room(texture):
    """A globe inside of a bell: glass outside, air inside, in a corner with coloured walls."""
    wall = lambda place, *rgb: {"type": "rectangle", "to_world": place, "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": list(rgb)}}}
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prb", "max_depth": 8},
        "sensor": {"type": "perspective", "fov": 32, "to_world": T().look_at([0, 1, 6], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
        "sky": {"type": "constant", "radiance": .8},
        "floor": wall(T().translate([0, -1.3, 0]).rotate([1, 0, 0], -90).scale(4), .7, .6, .5),
        "back": wall(T().translate([0, 0, -2]).scale(4), .4, .5, .6),
        "globe": {"type": "sphere", "to_world": T().rotate([1, 0, 0], -90), "bsdf": {"type": "diffuse", "reflectance": {
            "type": "bitmap", "data": mi.TensorXf(texture), "raw": True, "filter_type": "bilinear"}}},
        "outside": {"type": "sphere", "radius": 1.3, "bsdf": {"type": "dielectric", "int_ior": 1.3}},
        "inside": {"type": "sphere", "radius": 1.25, "flip_normals": True, "bsdf": {"type": "dielectric", "int_ior": 1.3}}})


truth = earth()
target = mi.render(room(truth), spp=512, seed=1000)

# ---- Another planet to begin with. Derivatives cost two walks along each path, and no memory that grows with its length
scene = room(np.full_like(truth, .35) * np.array([1.2, .8, .6], np.float32))
params = mi.traverse(scene)
key = "globe.bsdf.reflectance.data"
first = mi.render(scene, spp=256)
roughness = 1e-3 if long else 2e-4  # the price of it: a picture tells less of finer texels
opt = mi.ad.Adam(lr=.06, params={key: params[key]})
opt.set_constraint(key, (.01, .99))
opt.set_schedule(mi.ad.schedules.exponential(steps, .05 if long else .2))
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        params.update(opt)
        image = mi.render(scene, params, spp=8, seed=i)
        loss = mi.ad.losses.l2(image, target) + roughness * mi.ad.regularizers.total_variation(opt[key])
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
params.update(opt)
last = mi.render(scene, spp=256)
mi.ad.report.Report("build/globe", "The texture of a globe").write(
    losses, [[first, last, target], [np.full_like(truth, .35), np.array(opt[key]).reshape(truth.shape), truth]])
print("loss:", losses[0], "->", np.mean(losses[-5:]))

# ---- The half that faces the camera is there; what is behind it only shows in what it does to the walls
found = np.array(opt[key]).reshape(truth.shape)
front = slice(18 * columns // 32, 30 * columns // 32)
before, after = (np.square(t - truth)[3 * rows // 16:13 * rows // 16, front].mean() for t in (np.full_like(truth, .35), found))
print("squared error of the texture in front:", before, "->", after)
assert np.mean(losses[-5:]) < .55 * losses[0] and after < (.06 if long else .4) * before  # the rest of the loss is noise of 8 samples a pixel
