"""Textures from NumPy arrays, and the gradient of a loss with respect to every texel."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")

# ---- A poster under a white sky: what the camera sees is the texture, texel by texel
def poster(**texture):
    return mi.load_dict({
        "type": "scene",
        "integrator": {"type": "prb", "max_depth": 2},
        "sensor": {"type": "perspective", "fov": 45, "to_world": mi.ScalarTransform4f().look_at([0, 0, 1 / np.tan(np.pi / 8)],
                   [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}}},
        "sky": {"type": "constant", "radiance": 1.0},
        "poster": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {
            "type": "bitmap", "filter_type": "nearest", "raw": True, **texture}}},
    })

rng = np.random.default_rng(7)
pattern = rng.uniform(0.1, 0.9, (16, 16, 3)).astype(np.float32)

# `data` takes a tensor, `bitmap` an image: of a file, or of an array
scene = poster(data=mi.TensorXf(pattern))
target = mi.render(scene, spp=256)
assert np.allclose(mi.render(poster(bitmap=mi.Bitmap(pattern)), spp=256), target, atol=1e-4)

# A rectangle's texture coordinates grow to the right and upwards, and a texture begins with v = 0: it stands on its head.
difference = np.abs(np.array(target) - pattern[::-1])
print(f"image and texture differ by {difference.mean():.4f} on average")
assert difference.mean() < 0.01

# ---- Texels are parameters like any other. Start grey, and follow the gradient of a loss
params = mi.traverse(scene)
key = "poster.bsdf.reflectance.data"
assert params[key].shape == (16, 16, 3)
optimizer = mi.ad.Adam(lr=0.05)
optimizer[key] = mi.TensorXf(np.full((16, 16, 3), 0.5, dtype=np.float32))
params.update(optimizer)

losses = []
for i in range(60):
    image = mi.render(scene, params, spp=256 if i == 0 else 16, seed=i)
    loss = dr.mean(dr.square(image - target), axis=None)
    dr.backward(loss)
    if i == 0:
        gradient = np.array(dr.grad(optimizer[key]))
    optimizer.step()
    optimizer[key] = dr.clip(optimizer[key], 0, 1)
    params.update(optimizer)
    losses.append(float(np.array(loss).item()))

# Every texel has one pixel: d loss / d texel = 2 (image - target) * d image / d texel / number of entries, and under a
# white sky a pixel is its texel.
expected = 2 * (0.5 - pattern) / pattern.size
assert np.abs(gradient - expected).mean() < 0.05 * np.abs(expected).mean()

error = np.abs(np.array(params[key]) - pattern)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f}; largest error of a texel {error.max():.4f}, mean {error.mean():.4f}")
assert losses[-1] < 0.1 * losses[0]  # the rest is noise of 16 samples
assert error.mean() < 0.03
