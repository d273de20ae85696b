"""Shape from silhouettes: a ball becomes a body of which only shadow pictures are known, bright on black, from six sides.

Nothing in these pictures has shading: all that changes when a vertex moves is where the body ends. `prb_projective` differentiates that,
by samples on edges between what is seen and what is not; `prb` alone would find no derivative at all.
"""
import sys

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: larger pictures
size, steps = (96, long) if long else (32, 40)


def ball(rings=20, sectors=32):
    """Vertices and triangles of a unit sphere."""
    theta, phi = np.pi * np.arange(1, rings) / rings, 2 * np.pi * np.arange(sectors) / sectors
    t, p = np.meshgrid(theta, phi, indexing="ij")
    inner = np.stack([np.sin(t) * np.cos(p), np.cos(t), np.sin(t) * np.sin(p)], -1).reshape(-1, 3)
    vertices = np.concatenate([[[0, 1, 0]], inner, [[0, -1, 0]]])
    i, j = np.arange(sectors), (np.arange(sectors) + 1) % sectors
    faces = [np.stack([np.zeros_like(i), 1 + j, 1 + i], -1)]
    for r in range(rings - 2):
        a, b = 1 + r * sectors, 1 + (r + 1) * sectors
        faces += [np.stack([a + i, a + j, b + i], -1), np.stack([a + j, b + j, b + i], -1)]
    last = len(vertices) - 1
    faces.append(np.stack([last - sectors + i, last - sectors + j, np.full_like(i, last)], -1))
    return vertices, np.concatenate(faces)


vertices, faces = ball()


def scene_of(positions):
    mesh = mi.Mesh("body", vertex_count=len(positions), face_count=len(faces), props=mi.Properties())
    p = mi.traverse(mesh)
    p["vertex_positions"] = mi.Float(positions.ravel().astype(np.float32))
    p["faces"] = mi.UInt32(faces.ravel().astype(np.uint32))
    p.update()
    mesh.write_ply("body.ply")
    description = {"type": "scene", "integrator": {"type": "prb_projective", "max_depth": 1},
                   "body": {"type": "ply", "filename": "body.ply", "face_normals": True,
                            "emitter": {"type": "area", "radiance": {"type": "rgb", "value": 1}}}}
    for k, origin in enumerate([[4, 0, 0], [-2, 1, 3.4], [-2, -1, -3.4], [0.5, 4, 0.5], [2.5, -2, 2], [0, 0.5, 4]]):
        description[f"camera{k}"] = {
            "type": "perspective", "fov": 45, "to_world": T().look_at(origin, [0, 0, 0], [0.1, 0.9, 0.2]),
            "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}, "pixel_format": "luminance"}}
    return mi.load_dict(description)


# ---- What is to be found: a ball, squeezed, with a dent
x, y, z = vertices.T
stretched = vertices * [1.2, 0.7, 0.9] + np.stack([0 * x, 0.3 * x * x, 0 * x], -1)
views = range(6)
hidden = scene_of(stretched)
targets = [mi.render(hidden, sensor=k, spp=64) for k in views]

scene = scene_of(0.8 * vertices)
params, key = mi.traverse(scene), "body.vertex_positions"
try:
    smooth = mi.ad.LargeSteps(params[key], params["body.faces"], 12)
except ModuleNotFoundError:
    print("no solver for linear systems: skipped")
    sys.exit(77)


def difference():
    return np.mean([np.abs(np.array(mi.render(scene, sensor=k, spp=64)) - np.array(targets[k])).mean() for k in views])


before = difference()
shown = (0, 3, 5)
first = [mi.render(scene, sensor=k, spp=64) for k in shown]
opt = mi.ad.Adam(lr=0.05, uniform=True)
opt["u"] = smooth.to_differential(params[key])
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        params[key] = smooth.from_differential(opt["u"])
        params.update()
        loss = 0
        for k in views:
            image = mi.render(scene, params, sensor=k, spp=8, seed=6 * i + k, seed_grad=1000 + 6 * i + k)
            loss += dr.mean(dr.square(image - targets[k]), axis=None)
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
params[key] = smooth.from_differential(opt["u"])
params.update()
after = difference()
mi.ad.report.Report("build/silhouettes", "Shape from silhouettes").write(
    losses, [[f, mi.render(scene, sensor=k, spp=64), targets[k]] for f, k in zip(first, shown)])
print("difference of silhouettes:", before, "->", after)
print("loss:", losses[0], "->", np.mean(losses[-5:]))
assert after < 0.2 * before
