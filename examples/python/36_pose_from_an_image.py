"""Pose from an image: where a box stands and how it is turned, found from one picture of it and of its shadow.

Three lengths and three angles move all vertices at once; `prb_projective` says how the picture changes with them: in shading, where
the box ends in front of what is behind it, and where its shadow ends.
"""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: a larger picture
size, steps = (128, long) if long else (40, 100)

scene = mi.load_dict({
    "type": "scene", "integrator": {"type": "prb_projective", "max_depth": 2},
    "sensor": {"type": "perspective", "fov": 40, "to_world": T().look_at([1, 3, 5], [0, 0, 0], [0, 1, 0]),
               "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "gaussian"}}},
    "floor": {"type": "rectangle", "to_world": T().translate([0, -1, 0]).rotate([1, 0, 0], -90).scale(4),
              "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.6, 0.6, 0.5]}}},
    "light": {"type": "rectangle", "to_world": T().translate([2, 4, 1]).rotate([1, 0, 0], 90).scale(0.7),
              "emitter": {"type": "area", "radiance": {"type": "rgb", "value": 14}}},
    "box": {"type": "cube", "to_world": T().scale([0.7, 0.4, 0.5]),
            "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.7, 0.3, 0.2]}}}})
params, key = mi.traverse(scene), "box.vertex_positions"
rest = dr.unravel(mi.Point3f, mi.Float(params[key]))


def place(where, turns):
    pose = mi.Transform4f().translate([where.x, where.y, where.z])
    for axis, angle in zip(([1, 0, 0], [0, 1, 0], [0, 0, 1]), (turns.x, turns.y, turns.z)):
        pose = pose @ mi.Transform4f().rotate(axis, angle * 50)  # a step of 0.02 is a degree
    params[key] = dr.ravel(pose @ rest)
    params.update()


truth = np.array([0.4, -0.1, 0.3]), np.array([0.3, 0.6, -0.2])
place(mi.Vector3f(truth[0]), mi.Vector3f(truth[1]))
target = mi.render(scene, spp=256)

opt = mi.ad.Adam(lr=0.03)
opt["where"], opt["turns"] = mi.Vector3f(0), mi.Vector3f(0)
place(opt["where"], opt["turns"])
first = mi.render(scene, spp=64)
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        if i == 2 * steps // 3:
            opt.set_learning_rate(0.01)
        place(opt["where"], opt["turns"])
        image = mi.render(scene, params, spp=8, seed=i, seed_grad=1000 + i)
        loss = dr.mean(dr.square(image - target), axis=None)
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
place(opt["where"], opt["turns"])
mi.ad.report.Report("build/pose", "Pose from an image").write(losses, [[first, mi.render(scene, spp=64), target]])
print("loss:", losses[0], "->", np.mean(losses[-5:]))
found = np.array(opt["where"]).ravel(), np.array(opt["turns"]).ravel()
print("place:", found[0], "is", truth[0], "- angles in degrees:", 50 * found[1], "are", 50 * truth[1])
assert np.abs(found[0] - truth[0]).max() < 0.03 and 50 * np.abs(found[1] - truth[1]).max() < 4
