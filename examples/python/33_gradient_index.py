"""Gradient-index optics: light bends in glass whose index varies; the index learns to show one picture to each side."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
long = mi.ad.report.long_form()  # --long: finer glass, larger pictures
n, size, steps, iterations = (16, 48, 24, long) if long else (8, 24, 16, 80)
fine, price, lr = (4, 3, 1e-3) if long else (2, 10, 5e-3)  # rays a pixel to a side; what a rough index costs

# ---- A cube [0, 1]^3 of glass with n^3 numbers: its index less 1.5. Light enters at one face, straight, and falls on the opposite one.
side = fine * size  # rays
lane = dr.arange(mi.UInt32, side * side)
rng = mi.PCG32(size=side * side)
u = mi.Point2f(mi.Float(lane % side) + rng.next_float32(), mi.Float(lane // side) + rng.next_float32()) / side
dr.eval(u)


def bent(index, axis):
    """Where light arrives on the far face, for each ray: d(n d)/ds = grad n, by steps of equal length."""
    p = mi.Point3f(u.x, u.y, 0) if axis == 2 else mi.Point3f(0, u.x, u.y)
    d = mi.Vector3f(0, 0, 1) if axis == 2 else mi.Vector3f(1, 0, 0)
    h = 1 / steps
    for _ in range(steps):
        value, slope = lookup(index, p)
        p = p + d * (h / value)
        d = d + slope * h
    return mi.Point2f(p.x, p.y) if axis == 2 else mi.Point2f(p.y, p.z)


def lookup(index, p):
    """The index, linear between its numbers, and its slope."""
    at = dr.clip(p, 0, 1) * (n - 1)
    cell = mi.Point3u(dr.minimum(mi.UInt32(at.x), n - 2), dr.minimum(mi.UInt32(at.y), n - 2), dr.minimum(mi.UInt32(at.z), n - 2))
    f = at - mi.Point3f(cell)
    corner = lambda i, j, k: dr.gather(mi.Float, index, ((cell.z + k) * n + cell.y + j) * n + cell.x + i)
    c = {(i, j, k): corner(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)}
    w = lambda t, i: t if i else 1 - t
    value, slope = mi.Float(1.5), mi.Vector3f(0)
    for (i, j, k), v in c.items():
        x, y, z = w(f.x, i), w(f.y, j), w(f.z, k)
        value += x * y * z * v
        slope += mi.Vector3f((2 * i - 1) * y * z, (2 * j - 1) * x * z, (2 * k - 1) * x * y) * v * (n - 1)
    return value, slope


def picture(place):
    """Each ray adds its light to the four pixels around where it arrives."""
    at = place * size - .5
    first = dr.floor(at)
    f = at - dr.detach(first)
    image = dr.zeros(mi.Float, size * size)
    for i in (0, 1):
        for j in (0, 1):
            x, y = mi.Int32(first.x) + i, mi.Int32(first.y) + j
            inside = (x >= 0) & (x < size) & (y >= 0) & (y < size)
            weight = (f.x if i else 1 - f.x) * (f.y if j else 1 - f.y)
            dr.scatter_add(image, weight, mi.UInt32(dr.select(inside, y * size + x, 0)), inside)
    return image * (size * size / dr.width(place))


# ---- Without any change of the index light goes straight: both faces are lit evenly
flat = [np.array(picture(bent(dr.zeros(mi.Float, n ** 3), axis))) for axis in (2, 0)]
assert all(np.isclose(f.mean(), 1, atol=.05) for f in flat)

# ---- A spot to one side, a bar to the other; or a ring and a cross, in dim light
y, x = (np.mgrid[0:size, 0:size] + .5) / size - .5
wanted = [np.exp(-(x ** 2 + y ** 2) / (2 * .2 ** 2)), np.exp(-x ** 2 / (2 * .15 ** 2)) * np.ones_like(y)]
if long:
    wanted = [.5 + np.exp(-((np.hypot(x, y) - .28) / .08) ** 2), .5 + np.exp(-(np.minimum(abs(x), abs(y)) / .08) ** 2)]
wanted = [w * (flat[0].mean() / w.mean()) for w in wanted]
targets = [mi.Float(w.ravel()) for w in wanted]
opt = mi.ad.Adam(lr=lr)
opt["index"] = dr.zeros(mi.Float, n ** 3)
opt.set_constraint("index", (-.3, .3))  # of glass that can be made
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(iterations):
        loss = sum(dr.mean(dr.square(picture(bent(opt["index"], axis)) - t)) for axis, t in zip((2, 0), targets))
        loss += price * mi.ad.regularizers.smoothness(mi.TensorXf(opt["index"], (n, n, n, 1)))
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        watch.iteration()
    watch.check()
now = [np.array(picture(bent(opt["index"], axis))).reshape(size, size) for axis in (2, 0)]
mi.ad.report.Report("build/gradient_index", "Glass with two pictures").write(
    losses, [[v.reshape(size, size) / (1.5 * w.max()) for v in (f, p, w)] for f, p, w in zip(flat, now, wanted)])
print("loss:", losses[0], "->", losses[-1])
bright = [p[w > .8 * w.max()].mean() / flat[0].mean() for p, w in zip(now, wanted)]
print("light where most is wanted, at first 1:", bright, "index from", np.array(opt["index"]).min() + 1.5, "to", np.array(opt["index"]).max() + 1.5)
assert losses[-1] < .5 * losses[0] and min(bright) > 1.4
