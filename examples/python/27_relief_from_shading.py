"""Shape from shading: a flat sheet becomes the relief of a picture, lit in three colours from three sides.

Steps are taken in coordinates in which neighbours move together [Nicolet 2021]; without that, each vertex would go its own way. The
sheet fills the view: nothing comes into sight or goes out of it, which is what derivatives of shading alone can follow.
"""
import sys

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f

# ---- A sheet of n x n vertices over [-1, 1]^2
n = 24
x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
a, b, c, d = corner, corner + 1, corner + n + 1, corner + n
faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)])
hill = 0.25 * np.exp(-4 * ((x - 0.2) ** 2 + y ** 2)) - 0.2 * np.exp(-6 * ((x + 0.45) ** 2 + (y - 0.2) ** 2))


def light(angle, colour):
    way = [-np.cos(np.radians(angle)), -np.sin(np.radians(angle)), -1.0]
    return {"type": "directional", "direction": way, "irradiance": {"type": "rgb", "value": colour}}


def sheet(heights):
    mesh = mi.Mesh("sheet", vertex_count=n * n, face_count=len(faces))
    params = mi.traverse(mesh)
    params["vertex_positions"] = mi.Float(np.stack([x, y, heights], axis=-1).ravel().astype(np.float32))
    params["faces"] = mi.UInt32(faces.ravel().astype(np.uint32))
    params.update()
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "direct"}, "sheet": mesh,
        "sensor": {"type": "orthographic", "to_world": T().look_at([0, 0, 3], [0, 0, 0], [0, 1, 0]).scale([0.85, 0.85, 1]),
                   "film": {"type": "hdrfilm", "width": 32, "height": 32, "rfilter": {"type": "box"}}},
        "red": light(0, [3, 0, 0]), "green": light(120, [0, 3, 0]), "blue": light(240, [0, 0, 3])})


target = mi.render(sheet(hill), spp=256)
scene = sheet(np.zeros((n, n)))
params, key = mi.traverse(scene), "sheet.vertex_positions"
try:
    steps = mi.ad.LargeSteps(params[key], params["sheet.faces"], 25)
except ModuleNotFoundError:
    print("no solver for linear systems: skipped")
    sys.exit(77)

opt = mi.ad.Adam(lr=0.03, uniform=True)
opt["u"] = steps.to_differential(params[key])
flat = dr.unravel(mi.Point3f, mi.Float(params[key]))
for i in range(100):
    moved = dr.unravel(mi.Point3f, steps.from_differential(opt["u"]))
    params[key] = dr.ravel(mi.Point3f(flat.x, flat.y, moved.z))  # vertices go up and down only
    params.update()
    image = mi.render(scene, params, spp=8, seed=i)
    loss = dr.mean(dr.square(image - target), axis=None)
    dr.backward(loss)
    opt.step()
found = np.array(params[key]).reshape(n, n, 3)[..., 2]

# A lamp is chosen at random for each sample: with more of them, what is left is the difference
difference = lambda: np.square(np.array(mi.render(scene, spp=256)) - np.array(target)).mean()
after = difference()
params[key] = dr.ravel(flat)
params.update()
before = difference()
print("difference of images:", before, "->", after)

inner = (abs(x) < 0.8) & (abs(y) < 0.8)
error = np.std((found - hill)[inner]) / np.std(hill[inner])  # shading does not know how high all of it is
print("error of heights:", error)
assert after < 0.2 * before and error < 0.3
