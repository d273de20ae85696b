"""A radiance field of ellipsoids: Gaussians with colours, which move, stretch and change until views agree with pictures."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f
long = mi.ad.report.long_form()  # --long: more ellipsoids, larger pictures
size, views, count, steps = (64, 12, 300, long) if long else (24, 6, 60, 90)

# ---- Pictures from all around of two balls that glow
balls = mi.load_dict({
    "type": "scene", "integrator": {"type": "path", "max_depth": 2},
    "red": {"type": "sphere", "center": [-.35, 0, 0], "radius": .3, "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [1, .1, .1]}}},
    "blue": {"type": "sphere", "center": [.4, .2, .1], "radius": .25, "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [.1, .1, 1]}}}})


def camera(angle):
    origin = [3 * np.cos(np.radians(angle)), 3 * np.sin(np.radians(angle)), 1]
    return mi.load_dict({"type": "perspective", "fov": 35, "to_world": T().look_at(origin, [0, 0, 0], [0, 0, 1]),
                         "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}})


cameras, unseen = [camera(i * 360 / views) for i in range(views)], camera(45 if long else 30)
targets = [dr.detach(mi.render(balls, sensor=c, spp=64)) for c in cameras]

# ---- Grey ellipsoids anywhere. What they are is three arrays: places, radii and rotations; opacities; colours
rng = np.random.default_rng(1)
data = np.concatenate([rng.uniform(-.7, .7, (count, 3)), np.full((count, 3), .12), np.tile([0, 0, 0, 1.], (count, 1))], axis=1)
table = lambda v: mi.TensorXf(v.astype(np.float32))
field = mi.load_dict({
    "type": "scene", "integrator": {"type": "volprim_rf_basic", "max_depth": 24, "srgb_primitives": False},
    "cloud": {"type": "ellipsoids", "data": table(data), "opacities": table(np.full((count, 1), .2)), "sh_coeffs": table(np.zeros((count, 3)))}})
params = mi.traverse(field)
first_looks = [mi.render(field, sensor=c, spp=64) for c in (cameras[0], unseen)]
opt = mi.ad.Adam(lr=.02)
for key in ("cloud.data", "cloud.opacities", "cloud.sh_coeffs"):
    opt[key] = params[key]
opt.set_learning_rate({"cloud.data": .004, "cloud.sh_coeffs": .06})
opt.set_constraint("cloud.opacities", (.005, .99))
places = mi.Float(np.tile(np.arange(10.), count))
opt.set_constraint("cloud.data", lambda d: type(d)(dr.select((places >= 3) & (places < 6), dr.clip(d.array, .02, .4), d.array), d.shape)
                   if dr.is_tensor_v(d) else dr.select((places >= 3) & (places < 6), dr.clip(d, .02, .4), d))  # radii
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(steps):
        params.update(opt)
        image = mi.render(field, params, sensor=cameras[i % views], spp=4, seed=i)
        loss = mi.ad.losses.l2(image, targets[i % views])
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
params.update(opt)
last = mi.render(field, sensor=cameras[0], spp=64)
print("loss:", np.mean(losses[:views]), "->", np.mean(losses[-views:]))

# ---- A view that it has never seen
guess, truth = (np.array(mi.render(s, sensor=unseen, spp=64)) for s in (field, balls))
mi.ad.report.Report("build/ellipsoids", "A radiance field of ellipsoids").write(
    losses, [[first_looks[0], last, targets[0]], [first_looks[1], guess, truth]])
error, black = np.square(guess - truth).mean(), np.square(truth).mean()
print("error of a new view:", error, "of a black one:", black)
assert np.mean(losses[-views:]) < .3 * np.mean(losses[:views]) and error < .4 * black
