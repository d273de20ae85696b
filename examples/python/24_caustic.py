"""A caustic by hand: light is refracted by a relief in glass and drawn on a wall; the relief learns to draw a picture with it."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

# ---- A plate of glass: heights over [-1, 1]^2. Light comes from below, straight up, and leaves through the relief. It is refined on
# the way: coarse heights and a coarse picture first, which move light far, then twice as many of both, and so on.
long = mi.ad.report.long_form()  # --long: a picture in place of a spot
levels = [(8, 16), (16, 32), (32, 64), (64, 128)] if long else [(16, 32)]  # cells of the relief, and pixels, to a side
side, steps, lr = (768, long, 1e-3) if long else (181, 150, 5e-3)
wall, eta = 3.0, 1.5
lane = dr.arange(mi.UInt32, side * side)
rng = mi.PCG32(size=side * side)
# Where rays of light meet the plate, in [0, 1]^2
place = mi.Point2f(mi.Float(lane % side) + rng.next_float32(), mi.Float(lane // side) + rng.next_float32()) / side
dr.eval(place)


def exit_slope(heights, n):
    """The slope of the relief at these places. It is a spline of second degree, so that slopes have no jumps, which would be seen."""
    at = place * n
    cell = mi.Point2u(dr.minimum(mi.UInt32(at.x), n - 1), dr.minimum(mi.UInt32(at.y), n - 1))
    weights, slopes = [], []
    for f in at - mi.Point2f(cell) - 0.5:
        weights.append((0.5 * dr.square(0.5 - f), 0.75 - dr.square(f), 0.5 * dr.square(0.5 + f)))
        slopes.append((f - 0.5, -2 * f, f + 0.5))
    slope = mi.Point2f(0)
    for j in range(3):
        for i in range(3):
            h = dr.gather(mi.Float, heights, (cell.y + j) * (n + 2) + cell.x + i)
            slope += h * mi.Point2f(slopes[0][i] * weights[1][j], weights[0][i] * slopes[1][j])
    return slope * (mi.Float(n) / 2)  # cells per unit of length


def caustic(heights, level):
    """The picture on the wall: each ray adds its light to the four pixels around the place where it arrives."""
    n, pixels = (dr.opaque(mi.UInt32, k) for k in level)  # no constants of kernels, so that those of one level serve all
    slope = exit_slope(heights, n)
    normal = dr.normalize(mi.Vector3f(-slope.x, -slope.y, 1))
    # Snell's law, from glass to air; light travels along +z
    cos_i = normal.z
    cos_t = dr.safe_sqrt(1 - eta * eta * (1 - cos_i * cos_i))
    d = eta * mi.Vector3f(0, 0, 1) + (cos_t - eta * cos_i) * normal
    at = mi.Point2f(2 * place - 1) + mi.Point2f(d.x, d.y) / d.z * wall
    at = (at + 1) / 2 * mi.Float(pixels) - 0.5
    first = dr.floor(at)
    f = at - dr.detach(first)
    image = dr.zeros(mi.Float, level[1] ** 2)
    for i in (0, 1):
        for j in (0, 1):
            x, y = mi.Int32(first.x) + i, mi.Int32(first.y) + j
            inside = (x >= 0) & (x < mi.Int32(pixels)) & (y >= 0) & (y < mi.Int32(pixels))
            weight = dr.select(i == 1, f.x, 1 - f.x) * dr.select(j == 1, f.y, 1 - f.y)
            dr.scatter_add(image, weight, mi.UInt32(dr.select(inside, y * mi.Int32(pixels) + x, 0)), inside)
    return image * (mi.Float(pixels * pixels) / side ** 2)


# ---- A flat plate lights the wall evenly
n, pixels = levels[-1]
flat = np.array(caustic(dr.zeros(mi.Float, (n + 2) ** 2), levels[-1]))
assert np.isclose(flat.mean(), 1, atol=0.05)


# ---- What is wanted: all light in a round spot, smooth at its edge; or in an umbel on its stalk, before a wall that is dim
def distance(a, b):
    """From pixels to a stroke."""
    t = np.clip(((x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])) / ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2), 0, 1)
    return np.hypot(x - a[0] - t * (b[0] - a[0]), y - a[1] - t * (b[1] - a[1]))


y, x = np.mgrid[0:pixels, 0:pixels] / pixels - 0.5 + 0.5 / pixels
wanted = np.exp(-(x ** 2 + y ** 2) / (2 * 0.12 ** 2))
if long:
    flowers = [(0.36 * np.sin(a), 0.02 - 0.36 * np.cos(a)) for a in np.radians(np.arange(-75, 76, 25))]
    strokes = [distance((0, 0.42), (0, 0.05))] + [distance((0, 0.05), at) for at in flowers]
    drawn = [np.exp(-(d / 0.018) ** 2) for d in strokes] + [1.5 * np.exp(-(np.hypot(x - u, y - v) / 0.05) ** 2) for u, v in flowers]
    wanted = 0.25 + np.max(drawn, axis=0)
wanted *= flat.mean() / wanted.mean()

losses, heights = [], np.zeros((levels[0][0] + 2,) * 2)
with mi.ad.report.Watch() as watch:
    for level in levels:
        places = lambda cells: (np.arange(cells + 2) - 0.5) / cells  # of heights on the plate; the spline is the same with twice as many
        for _ in range(2):  # along both sides
            heights = np.array([np.interp(places(level[0]), places(len(line) - 2), line) for line in heights.T])
        target = mi.Float(wanted.reshape(level[1], pixels // level[1], level[1], -1).mean((1, 3)).ravel())
        opt = mi.ad.Adam(lr=lr * (16 / level[0]) ** 2)  # the finer, the steeper by the same height
        opt["heights"] = mi.Float(heights.ravel())
        scale = dr.opaque(mi.Float, 1 / level[1] ** 2)
        for i in range(steps // len(levels)):
            loss = dr.sum(dr.square(caustic(opt["heights"], level) - target)) * scale
            dr.backward(loss)
            opt.step()
            losses.append(np.array(loss).item())
            watch.iteration()
        heights = np.array(opt["heights"]).reshape(level[0] + 2, -1)
    watch.check()
picture = np.array(caustic(opt["heights"], levels[-1])).reshape(pixels, pixels)
error = lambda image: np.square(image.ravel() - wanted.ravel()).mean()
relief = (heights - heights.min()) / np.ptp(heights)
white = 1 / np.percentile(wanted, 99.5)
mi.ad.report.Report("build/caustic", "A caustic").write(
    losses, [[flat.reshape(pixels, pixels) * white, picture * white, wanted * white], [relief]])
print("loss:", error(flat), "->", error(picture))
bright = wanted > 0.5 * wanted.max()
print("light where most is wanted:", picture[bright].mean(), "at first:", 1.0, "wanted:", wanted[bright].mean())
assert error(picture) < (0.03 if long else 0.2) * error(flat)

# ---- What draws a spot is a lens: the farther from the middle, the lower
if not long:
    v, u = np.mgrid[0:n + 2, 0:n + 2] - (n + 1) / 2
    near = np.hypot(u, v) < 5
    related = np.corrcoef(heights[near], np.square(u[near]) + np.square(v[near]))[0, 1]
    print("heights and squared distances are related by", related)
    assert related < -0.5
