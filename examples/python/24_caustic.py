"""A caustic by hand: light is refracted by a relief in glass and drawn on a wall; the relief learns to focus it."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

# ---- A plate of glass: n x n heights over [-1, 1]^2. Light comes from below, straight up, and leaves through the relief.
n, pixels, wall, eta = 16, 32, 3.0, 1.5
rng = mi.PCG32(size=1 << 15)
place = mi.Point2f(rng.next_float32(), rng.next_float32())  # where each ray of light meets the plate, in [0, 1]^2
dr.eval(place)


def exit_slope(heights):
    """The slope of the relief at these places: of a surface that is bilinear between heights."""
    at = place * (n - 1)
    cell = mi.Point2u(dr.minimum(mi.UInt32(at.x), n - 2), dr.minimum(mi.UInt32(at.y), n - 2))
    f = at - mi.Point2f(cell)
    corner = lambda i, j: dr.gather(mi.Float, heights, (cell.y + j) * n + cell.x + i)
    a, b, c, d = corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)
    scale = (n - 1) / 2  # cells per unit of length
    return mi.Point2f(dr.lerp(b - a, d - c, f.y), dr.lerp(c - a, d - b, f.x)) * scale


def caustic(heights):
    """The picture on the wall: each ray adds its light to the four pixels around the place where it arrives."""
    slope = exit_slope(heights)
    normal = dr.normalize(mi.Vector3f(-slope.x, -slope.y, 1))
    # Snell's law, from glass to air; light travels along +z
    cos_i = normal.z
    cos_t = dr.safe_sqrt(1 - eta * eta * (1 - cos_i * cos_i))
    d = eta * mi.Vector3f(0, 0, 1) + (cos_t - eta * cos_i) * normal
    at = mi.Point2f(2 * place - 1) + mi.Point2f(d.x, d.y) / d.z * wall
    at = (at + 1) / 2 * pixels - 0.5
    first = dr.floor(at)
    f = at - dr.detach(first)
    image = dr.zeros(mi.Float, pixels * pixels)
    for i in (0, 1):
        for j in (0, 1):
            x, y = mi.Int32(first.x) + i, mi.Int32(first.y) + j
            inside = (x >= 0) & (x < pixels) & (y >= 0) & (y < pixels)
            weight = dr.select(i == 1, f.x, 1 - f.x) * dr.select(j == 1, f.y, 1 - f.y)
            dr.scatter_add(image, weight, mi.UInt32(dr.select(inside, y * pixels + x, 0)), inside)
    return image * (pixels * pixels / dr.width(place))


# ---- A flat plate lights the wall evenly
flat = np.array(caustic(dr.zeros(mi.Float, n * n)))
assert np.isclose(flat.mean(), 1, atol=0.05)

# ---- What is wanted: all light in a round spot, smooth at its edge
y, x = np.mgrid[0:pixels, 0:pixels] / pixels - 0.5 + 0.5 / pixels
spot = np.exp(-(x ** 2 + y ** 2) / (2 * 0.12 ** 2))
spot *= flat.mean() / spot.mean()
target = mi.Float(spot.ravel())

opt = mi.ad.Adam(lr=5e-3)
opt["heights"] = dr.zeros(mi.Float, n * n)
losses = []
with mi.ad.report.Watch() as watch:
    for i in range(150):
        loss = dr.mean(dr.square(caustic(opt["heights"]) - target))
        dr.backward(loss)
        opt.step()
        losses.append(np.array(loss).item())
        if i == 1:
            watch.compiled()
    assert watch.compiled() == 0, "iterations after the second compile nothing"
picture = np.array(caustic(opt["heights"])).reshape(pixels, pixels)
mi.ad.report.Report("build/caustic", "A caustic").write(losses, [[flat.reshape(pixels, pixels) / 8, picture / 8, spot / 8]])
print("loss:", losses[0], "->", losses[-1])
middle = picture[np.hypot(x, y) < 0.15].mean()
print("light in the middle:", middle, "at first:", 1.0, "wanted:", spot[np.hypot(x, y) < 0.15].mean())
assert losses[-1] < 0.2 * losses[0] and middle > 5

# ---- It is a lens: the farther from the middle, the lower
heights = np.array(opt["heights"]).reshape(n, n)
v, u = np.mgrid[0:n, 0:n] - (n - 1) / 2
near = np.hypot(u, v) < 5
related = np.corrcoef(heights[near], np.square(u[near]) + np.square(v[near]))[0, 1]
print("heights and squared distances are related by", related)
assert related < -0.5
