# tests/python/oracle_radiance_field.py: images of `volprim_rf_basic` and their gradients agree with Mitsuba's, in expectation.
#
# Gradients are compared without sRGB: Mitsuba's do not know of its decoding. Those by quaternions are left out: here they are of any
# length, there of length 1, so that gradients differ along them.
import sys
import warnings

try:
    import drjit
    import mitsuba
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
from statistics import NormalDist

import numpy as np

import umbel
import umbel.jit

warnings.simplefilter("ignore")
SEEDS, COUNT = 6, 8
rng = np.random.default_rng(3)
quaternions = rng.normal(size=(COUNT, 4))
DATA = np.concatenate([rng.uniform(-.8, .8, (COUNT, 3)), rng.uniform(.1, .3, (COUNT, 3)),
                       quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)], axis=1).astype(np.float32)
OPACITIES, SH = rng.uniform(.2, .9, (COUNT, 1)).astype(np.float32), rng.normal(0, .3, (COUNT, 48)).astype(np.float32)


def scene(mi, srgb):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "volprim_rf_basic", "srgb_primitives": srgb},
        "sensor": {"type": "perspective", "fov": 45, "to_world": mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 24, "height": 24, "rfilter": {"type": "box"}, "pixel_format": "rgb"},
                   "sampler": {"type": "independent", "sample_count": 64}},
        "cloud": {"type": "ellipsoids", "data": mi.TensorXf(DATA), "opacities": mi.TensorXf(OPACITIES), "sh_coeffs": mi.TensorXf(SH)}})


def numbers(mi, dr):
    """{what: [seed][number]}."""
    mi.set_variant("llvm_ad_rgb")
    out = {}
    for srgb in (True, False):
        s = scene(mi, srgb)
        out[f"image, sRGB {srgb}"] = [np.array(mi.render(s, spp=64, seed=k)).mean((0, 1)) for k in range(SEEDS)]
    params = mi.traverse(s)
    for key in ("cloud.data", "cloud.opacities", "cloud.sh_coeffs"):
        for k in range(SEEDS):
            value = type(params[key])(dr.detach(params[key]))
            dr.enable_grad(value)
            params[key] = value
            params.update()
            dr.backward(dr.mean(mi.render(s, params, spp=64, seed=100 + k), axis=None))
            g = np.array(dr.grad(params[key])).ravel()
            out.setdefault(key, []).append(g.reshape(COUNT, 10)[:, :6].ravel() if key == "cloud.data" else g)
        params[key] = type(params[key])(dr.detach(params[key]))
    return {k: np.array(v, np.float64) for k, v in out.items()}


a, b = numbers(mitsuba, drjit), numbers(umbel, umbel.jit)
worst, count = 0, 0
for key in a:
    error = np.sqrt((a[key].var(0) + b[key].var(0)) / (SEEDS - 1))
    z = np.abs(a[key].mean(0) - b[key].mean(0)) / np.maximum(error, 1e-9 + 1e-5 * np.abs(a[key].mean(0)))
    print(f"{key:20} {z.size:4} numbers, worst |z| {z.max():.2f}, mean |z| {z.mean():.2f}")
    count, worst = count + z.size, max(worst, z.max())
# Two-sided, 1 in 1,000 over all comparisons, by Student's t with some 10 degrees of freedom: nearly twice the normal's
limit = 1.9 * NormalDist().inv_cdf(1 - 0.0005 / count)
print(f"worst |z| {worst:.2f}, limit {limit:.2f} for {count} comparisons")
sys.exit(int(worst > limit))
