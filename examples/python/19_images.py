"""Images: read, written, converted, resized, taken apart, and passed to NumPy."""
import os

import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
os.makedirs("build", exist_ok=True)  # for what is written
Format, Type = mi.Bitmap.PixelFormat, mi.Struct.Type

# ---- Any array of rows, columns and channels is an image; this one has a light that is brighter than white
y, x = np.mgrid[0:32, 0:48] / 32
picture = np.stack([x / 1.5, y, 0.2 + 0 * x], axis=-1).astype(np.float32)
picture[4:8, 4:8] = 20
bitmap = mi.Bitmap(picture)
assert tuple(bitmap.size()) == (48, 32) and bitmap.channel_count() == 3

# ---- EXR keeps all of it; PNG has 8 bits, in sRGB, and ends at white
bitmap.write("build/picture.exr")
assert np.allclose(np.array(mi.Bitmap("build/picture.exr")), picture, rtol=1e-3)
mi.util.write_bitmap("build/picture.png", bitmap, write_async=False)
png = mi.Bitmap("build/picture.png")
assert png.component_format() == Type.UInt8 and png.srgb_gamma() and np.array(png)[5, 5].min() == 255

# ---- Other numbers, other channels: converted, never guessed
small = bitmap.convert(Format.RGB, Type.UInt8, srgb_gamma=True)
assert np.abs(np.array(small).astype(int) - np.array(png).astype(int)).max() <= 1
linear = png.convert(Format.RGB, Type.Float32, srgb_gamma=False)
dim = picture.max(axis=-1) <= 1
assert np.abs(np.array(linear) - picture)[dim].max() < 0.01
grey = bitmap.convert(Format.Y, Type.Float32, srgb_gamma=False)
assert grey.channel_count() == 1
assert np.allclose(np.array(grey).reshape(32, 48), picture @ [0.212671, 0.715160, 0.072169], rtol=1e-4)

# ---- Another size: each pixel is a weighted mean of what it covers, so the mean stays
half = bitmap.resample([24, 16])
assert tuple(half.size()) == (24, 16) and np.isclose(np.array(half).mean(), picture.mean(), rtol=0.02)

# ---- Layers: an image of several parts, taken apart by the names of its channels
both = np.concatenate([picture, np.zeros((32, 48, 2), np.float32) + [0.25, 0.5]], axis=-1).astype(np.float32)
layers = dict(mi.Bitmap(both, Format.MultiChannel, ["R", "G", "B", "where.x", "where.y"]).split())
print("layers:", {name: (part.channel_count(), tuple(part.size())) for name, part in layers.items()})
assert np.allclose(np.array(layers["<root>"]), picture) and np.allclose(np.array(layers["where"])[..., 1], 0.5)


# ---- Tensors: where images meet derivatives
def gradient_of_power():
    tensor = mi.TensorXf(bitmap)
    dr.enable_grad(tensor)
    dr.backward(dr.mean(dr.square(tensor), axis=None))
    return np.array(dr.grad(tensor))


assert np.allclose(gradient_of_power(), 2 * picture / picture.size, rtol=1e-4)
