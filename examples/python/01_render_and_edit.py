"""Render a scene, look at its parameters, change some, render again."""
import os

import numpy as np
import umbel as mi

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written

# A scene is a nested dictionary; mi.load_file() reads the same from XML. This one is the Cornell box.
description = mi.cornell_box()
description["sensor"]["film"]["width"] = description["sensor"]["film"]["height"] = 128
scene = mi.load_dict(description)

# An image is a tensor: rows, columns, channels. Files get 8 bits of sRGB, or floats if they end in .exr.
before = mi.render(scene, spp=64)
mi.util.write_bitmap("build/cbox.png", before, write_async=False)
mi.util.write_bitmap("build/cbox.exr", before, write_async=False)

# Everything that can be changed has a name: that of the object in the dictionary, then that of the parameter.
params = mi.traverse(scene)
print(params)

# Paint the red wall blue. update() passes changes on; nothing is compiled again.
params["red.reflectance.value"] = mi.Color3f(0.05, 0.1, 0.6)
params.update()
after = mi.render(scene, spp=64)

# The red wall is at the left of the image.
wall = lambda image: np.array(image)[40:90, 8:20].mean(axis=(0, 1))
print("left wall before:", wall(before), "after:", wall(after))
assert wall(before)[0] > 3 * wall(before)[2]
assert wall(after)[2] > 3 * wall(after)[0]

# Twice the light makes an image twice as bright: the same random numbers see the same paths.
params["light.emitter.radiance.value"] = params["light.emitter.radiance.value"] * 2
params.update()
twice = mi.render(scene, spp=64)
assert np.allclose(twice, 2 * np.array(after), rtol=1e-4, atol=1e-5)

# The film remembers what was rendered last.
film = scene.sensors()[0].film()
assert tuple(film.size()) == (128, 128)
assert np.allclose(np.array(film.bitmap()), twice)
