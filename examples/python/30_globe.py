"""The texture of a globe under a bell of glass, from one picture of a room: light finds it through glass and by other walls."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
rows, columns, size, steps = 16, 32, 40, 60


def earth():
    """Land and sea, made up."""
    v, u = np.mgrid[0:rows, 0:columns] / np.array([rows, columns])[:, None, None]
    land = np.sin(6.3 * u * 2 + 2) * np.cos(7 * v) + .5 * np.sin(6.3 * u * 3) > .1
    return np.where(land[..., None], [.25, .5, .15], [.1, .2, .6]).astype(np.float32)


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
first = mi.render(scene, spp=64)
opt = mi.ad.Adam(lr=.06, params={key: params[key]})
opt.set_constraint(key, (.01, .99))
opt.set_schedule(mi.ad.schedules.exponential(steps, .2))
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        params.update(opt)
        image = mi.render(scene, params, spp=8, seed=i)
        loss = mi.ad.losses.l2(image, target) + 2e-4 * mi.ad.regularizers.total_variation(opt[key])
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        if i == 1:
            watch.compiled()
    assert watch.compiled() == 0, "iterations after the second compile nothing"
params.update(opt)
last = mi.render(scene, spp=64)
mi.ad.report.Report("build/globe", "The texture of a globe").write(
    losses, [[first, last, target], [np.full_like(truth, .35), np.array(opt[key]).reshape(truth.shape), truth]])
print("loss:", losses[0], "->", np.mean(losses[-5:]))

# ---- The half that faces the camera is there; what is behind it only shows in what it does to the walls
found = np.array(opt[key]).reshape(truth.shape)
front = slice(18, 30)
before, after = (np.square(t - truth)[3:13, front].mean() for t in (np.full_like(truth, .35), found))
print("squared error of the texture in front:", before, "->", after)
assert np.mean(losses[-5:]) < .55 * losses[0] and after < .4 * before  # the rest of the loss is noise of 8 samples a pixel
