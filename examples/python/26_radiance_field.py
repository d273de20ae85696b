"""A radiance field from pictures: density and colour in a grid, marched through by rays, until views agree with it."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
T = mi.ScalarTransform4f

# ---- Pictures of a scene from all around: a red and a blue ball, which glow, in front of black
size, views = 16, 6
scene = mi.load_dict({
    "type": "scene", "integrator": {"type": "path", "max_depth": 2},
    "red": {"type": "sphere", "center": [-0.35, 0, 0], "radius": 0.3,
            "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [1, 0.1, 0.1]}}},
    "blue": {"type": "sphere", "center": [0.4, 0.2, 0.1], "radius": 0.25,
             "emitter": {"type": "area", "radiance": {"type": "rgb", "value": [0.1, 0.1, 1]}}}})


def camera(angle):
    origin = [3 * np.cos(np.radians(angle)), 3 * np.sin(np.radians(angle)), 1]
    return mi.load_dict({"type": "perspective", "fov": 35, "to_world": T().look_at(origin, [0, 0, 0], [0, 0, 1]),
                         "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}})


cameras = [camera(i * 360 / views) for i in range(views)]
targets = [np.array(mi.render(scene, sensor=c, spp=64)).reshape(-1, 3) for c in cameras]

# ---- One ray a pixel of all views
x, y = dr.meshgrid((dr.arange(mi.Float, size) + 0.5) / size, (dr.arange(mi.Float, size) + 0.5) / size)


def rays_of(sensor):
    ray, _ = sensor.sample_ray(0.0, 0.5, mi.Point2f(x, y), mi.Point2f(0.5))
    return ray.o + mi.Vector3f(0) * x, ray.d + mi.Vector3f(0) * x


# ---- The field over [-1, 1]^3: a density, and a colour that is the same in all directions
n, steps = 12, 24


def march(origin, direction, field):
    """Light along rays: what each step emits, dimmed by what is in front of it."""
    near, far = 1.8, 4.6
    step = (far - near) / steps
    light, through = mi.Color3f(0), mi.Float(1)
    for i in range(steps):
        p = (origin + direction * (near + (i + 0.5) * step) + 1) / 2
        inside = dr.all((p > 0) & (p < 1))
        sigma, r, g, b = field.eval(mi.Point3f(p), inside)
        passed = dr.exp(-dr.maximum(sigma, 0) * step)
        light += through * (1 - passed) * dr.select(inside, mi.Color3f(r, g, b), 0)
        through *= dr.select(inside, passed, 1)
    return light


opt = mi.ad.Adam(lr=0.15)
start = np.concatenate([np.full((n, n, n, 1), 0.3), np.full((n, n, n, 3), 0.3)], axis=-1).astype(np.float32)
opt["field"] = mi.TensorXf(start)
losses = []
for step in range(60):
    i = step % views
    field = mi.Texture3f(opt["field"], wrap_mode=dr.WrapMode.Clamp, filter_mode=dr.FilterMode.Linear)
    light = march(*rays_of(cameras[i]), field)
    loss = dr.mean(dr.square(light - mi.Color3f(mi.TensorXf(targets[i].T.copy()))), axis=None)
    dr.backward(loss)
    opt.step()
    losses.append(np.array(loss).item())
print("loss:", losses[0], "->", np.mean(losses[-views:]))
assert np.mean(losses[-views:]) < 0.2 * np.mean(losses[:views])

# ---- A view that it has never seen
unseen = camera(30)
field = mi.Texture3f(opt["field"], wrap_mode=dr.WrapMode.Clamp, filter_mode=dr.FilterMode.Linear)
guess = np.array(march(*rays_of(unseen), field)).reshape(3, -1).T
truth = np.array(mi.render(scene, sensor=unseen, spp=64)).reshape(-1, 3)
error, black = np.square(guess - truth).mean(), np.square(truth).mean()
print("error of a new view:", error, "of a black one:", black)
assert error < 0.4 * black

# ---- And where the balls are
values = np.array(opt["field"]).reshape(n, n, n, 4)
at = lambda p: values[tuple(int((c + 1) / 2 * n) for c in reversed(p))]
print("in the red ball:", at([-0.35, 0, 0]), "in the blue one:", at([0.4, 0.2, 0.1]), "in a corner:", at([0.8, -0.8, 0.6]))
assert at([-0.35, 0, 0])[0] > at([0.8, -0.8, 0.6])[0]
