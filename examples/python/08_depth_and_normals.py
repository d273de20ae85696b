"""Depth and normals: quantities of the first surface as further channels of an image, and a picture made of them."""
import os

import numpy as np
import umbel as mi

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

# `aov` renders what another integrator renders, and adds channels: name:kind, separated by commas.
description = mi.cornell_box()
description["integrator"] = {"type": "aov", "aovs": "distance:depth,normal:sh_normal,where:position",
                             "image": {"type": "path", "max_depth": 4}}
description["sensor"]["film"] |= {"width": 96, "height": 96, "rfilter": {"type": "box"}}
scene = mi.load_dict(description)
names = scene.integrator().aov_names()
print("channels:", names)

image = np.array(mi.render(scene, spp=16))
assert image.shape == (96, 96, 3 + 7)
colour, depth, normal, position = np.split(image, [3, 4, 7], axis=2)
mi.util.write_bitmap("build/depth.exr", depth, write_async=False)
mi.util.write_bitmap("build/normals.png", (normal + 1) / 2, write_async=False)

# The back wall, in the middle of the image and above the blocks: it faces the camera, at z = -1, 4.9 units away.
back = (slice(34, 42), slice(60, 68))
assert np.allclose(normal[back], [0, 0, 1], atol=1e-4)
assert np.allclose(position[back][..., 2], -1, atol=1e-4)
assert np.all((depth[back] > 4.9) & (depth[back] < 5.2))

# Inside of a pixel everything is averaged over its samples; where one surface fills it, both tell the same story.
camera = np.array([0, 0, 3.9])
assert np.allclose(np.linalg.norm(position[back] - camera, axis=-1), depth[back][..., 0], rtol=1e-3)

# A drawing with ink: lines where depth or normals jump
jump = lambda a: sum(np.abs(np.diff(a, axis=i, append=np.take(a, [-1], axis=i))).sum(axis=2) for i in (0, 1))
ink = (jump(depth) > 0.3) | (jump(normal) > 0.5)
mi.util.write_bitmap("build/ink.png", np.repeat(np.where(ink, 0.0, 1.0)[..., None], 3, axis=2).astype(np.float32), write_async=False)
assert 0.02 < ink.mean() < 0.3
