"""A picture as a neural field: features in hash tables, and a small network that turns them into colours."""
import numpy as np
import umbel as mi
import umbel.jit as dr

mi.set_variant("llvm_ad_rgb")
nn = dr.nn

# ---- What is to be learnt: a texture that can be asked at any point of the unit square
y, x = np.mgrid[0:64, 0:64] / 64 + 1 / 128
rings = 0.5 + 0.5 * np.sin(40 * np.hypot(x - 0.3, y - 0.6))
checks = ((np.floor(8 * x) + np.floor(8 * y)) % 2) * 0.8 + 0.1
picture = mi.Texture2f(mi.TensorXf(np.stack([rings, checks, x * y], -1).astype(np.float32)))

# ---- Features at the vertices of six grids, each 1.6 times as fine as the last; then two layers of weights
grid = nn.HashGridEncoding(mi.Float, 2, n_levels=6, n_features_per_level=2, hashmap_size=2**12, base_resolution=8,
                           per_level_scale=1.6, rng=dr.rng(seed=1))
net = nn.Sequential(nn.Linear(grid.n_output_features, 32), nn.LeakyReLU(), nn.Linear(-1, 3))
net = nn.pack(net.alloc(mi.TensorXf, rng=dr.rng(seed=2)), layout="training")  # all weights in one buffer

def field(u, v):
    features = nn.CoopVec(*grid([u, v]))
    return mi.Color3f(*net(features))

# ---- An optimizer is a dictionary of parameters: the buffer, and the features with a rate of their own
optimizer = mi.ad.Adam(lr=1e-2, params={"grid": grid.params, "weights": net["weights"]})
optimizer.set_learning_rate({"grid": 5e-2})
random = dr.rng(seed=3)
losses = []
for i in range(150):
    grid.set_params(optimizer["grid"])
    net["weights"] = optimizer["weights"]
    u, v = random.random(mi.Float, 4096), random.random(mi.Float, 4096)
    truth = mi.Color3f(*picture.eval(mi.Point2f(u, v)))
    loss = dr.mean(dr.mean(dr.square(field(u, v) - truth)))
    dr.backward(loss)  # one kernel: lookups, network and all gradients
    optimizer.step()
    losses.append(loss)

# ---- The field at the centres of the picture's texels
texels = np.array(picture.tensor())
u, v = mi.Float(x.ravel()), mi.Float(y.ravel())
image = np.array(mi.TensorXf(dr.ravel(field(u, v)), (64, 64, 3)))
error = np.sqrt(np.mean((image - texels)**2))
bytes_used = 4 * (grid.n_params + len(net["weights"]))
print(f"loss {losses[0][0]:.4f} -> {losses[-1][0]:.5f}; root mean square error {error:.4f} with {bytes_used} bytes")
assert losses[-1][0] < 0.02 * losses[0][0]
assert error < 0.05
