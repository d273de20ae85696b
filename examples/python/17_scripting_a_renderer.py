"""A renderer of a page: rays from a camera of one's own, what they meet, and how much of the sky is seen from there."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written
T = mi.ScalarTransform4f

scene = mi.load_dict({
    "type": "scene",
    "ground": {"type": "rectangle", "to_world": T().scale(20)},
    "ball": {"type": "sphere", "center": [0, 0, 1]},
})

# ---- A camera: one ray a pixel, of parallel rays that look down at an angle
size = 64
x, y = dr.meshgrid(dr.linspace(mi.Float, -2, 2, size), dr.linspace(mi.Float, 2, -2, size))
view = mi.Transform4f().look_at([0, -10, 8], [0, 0, 1], [0, 0, 1])
rays = mi.Ray3f(view @ mi.Point3f(-x, y, 0), view @ mi.Vector3f(0, 0, 1))
si = scene.ray_intersect(rays)
assert dr.width(si) == size * size and dr.all(si.is_valid())

# ---- Ambient occlusion: of many directions around the normal, which share meets nothing near
rng = mi.PCG32(size=size * size)
count, reach = 64, 3.0


@dr.syntax
def openness(si, rng):
    i, open_ones = mi.UInt32(0), mi.Float(0)
    while i < count:
        local = mi.warp.square_to_cosine_hemisphere(mi.Point2f(rng.next_float32(), rng.next_float32()))
        shadow = si.spawn_ray(si.to_world(local))
        shadow.maxt = reach
        open_ones += dr.select(scene.ray_test(shadow), 0, 1)
        i += 1
    return open_ones / count


shade = openness(si, rng)
image = np.array(shade).reshape(size, size)
mi.Bitmap(np.repeat(image[..., None], 3, axis=-1).astype(np.float32)).convert(
    mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, True).write("build/openness.png")
print("openness from", image.min(), "to", image.max())

# ---- On top of the ball nothing is in the way; where it touches the ground nearly all is.
on_ball = np.array(dr.norm(si.p - mi.Point3f(0, 0, 1)) < 1.001).reshape(size, size)
height = np.array(si.p.z).reshape(size, size)
distance = np.hypot(np.array(si.p.x), np.array(si.p.y)).reshape(size, size)
assert image[on_ball & (height > 1.9)].mean() > 0.99
assert image[~on_ball & (distance < 0.5)].mean() < 0.25

# From a point on the ground at a distance d from its foot, a ball of radius 1 fills a cap of directions around its centre, of sine
# 1 / sqrt(1 + d^2). Where all of it is above the ground, it takes sin^2 cos(angle to the normal) of the sky.
ring = ~on_ball & (distance > 1.4) & (distance < 1.6)
d2 = np.square(distance[ring])
expected = 1 - np.power(1 + d2, -1.5)
print("around the ball:", image[ring].mean(), "in theory:", expected.mean())
assert ring.sum() > 20 and abs(image[ring].mean() - expected.mean()) < 0.02
