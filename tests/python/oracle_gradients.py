# tests/python/oracle_gradients.py: gradients of images agree with those of Mitsuba's `prb`, in expectation.
#
# The mean of the image is differentiated with several seeds on both sides; the means over seeds must agree within what their
# spread allows, for each parameter of a box, a rough metal, ground glass, plastic, a texture, an environment: with the four of
# oracle_volume_gradients.py ten scenes.
import sys
import warnings

try:
    import drjit
    import mitsuba
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import numpy as np

import umbel
import umbel.jit

warnings.simplefilter("ignore")
SEEDS = 24


def scene(mi, thing):
    T = mi.ScalarTransform4f
    wall = lambda t, bsdf: {"type": "rectangle", "to_world": t, "bsdf": {"type": "ref", "id": bsdf}}
    light = wall(T().translate([0, .98, 0]).rotate([1, 0, 0], 90).scale(.4), "white")
    light["emitter"] = {"type": "area", "radiance": {"type": "rgb", "value": [8, 7, 5]}}
    out = {
        "type": "scene", "integrator": {"type": "prb", "max_depth": 5, "rr_depth": 100},
        "sensor": {"type": "perspective", "fov": 50, "to_world": T().look_at([0, 0, 3.5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 24, "height": 24, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": 64}},
        "red": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.6, .2, .1]}},
        "white": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.7, .7, .6]}},
        "back": wall(T().translate([0, 0, -1]), "white"),
        "floor": wall(T().translate([0, -1, 0]).rotate([1, 0, 0], -90), "white"),
        "left": wall(T().translate([-1, 0, 0]).rotate([0, 1, 0], 90), "red"),
        "light": light,
    }
    if thing == "metal":
        out["ball"] = {"type": "sphere", "radius": .6, "bsdf": {
            "type": "roughconductor", "alpha": .4, "distribution": "ggx", "specular_reflectance": {
                "type": "rgb", "value": [.9, .8, .7]}}}
    if thing == "glass":
        out["ball"] = {"type": "sphere", "radius": .6, "bsdf": {
            "type": "roughdielectric", "alpha": .4, "int_ior": 1.4, "ext_ior": 1.0}}
        out["sky"] = {"type": "constant", "radiance": {"type": "rgb", "value": [.5, .5, .5]}}
    if thing == "plastic":
        out["ball"] = {"type": "sphere", "radius": .6, "bsdf": {
            "type": "roughplastic", "alpha": .3, "diffuse_reflectance": {"type": "rgb", "value": [.1, .3, .6]}}}
    if thing == "texture":
        texels = np.random.default_rng(4).uniform(.2, .8, (2, 3, 3)).astype(np.float32)
        out["back"]["bsdf"] = {"type": "diffuse", "reflectance": {
            "type": "bitmap", "data": mi.TensorXf(texels), "raw": True, "filter_type": "bilinear", "wrap_mode": "clamp"}}
    if thing == "environment":
        texels = np.random.default_rng(5).uniform(.1, 2, (4, 8, 3)).astype(np.float32)
        out["sky"] = {"type": "envmap", "bitmap": mi.Bitmap(texels), "scale": .7}
        del out["light"]
        out["ball"] = {"type": "sphere", "radius": .5, "bsdf": {"type": "ref", "id": "red"}}
    return mi.load_dict(out)


def gradients(mi, dr, s, keys):
    """For each key, [seed][component] of the derivative of the image's mean: one traversal a seed for all of them."""
    params = mi.traverse(s)
    out = {key: [] for key in keys}
    for seed in range(SEEDS):
        for key in keys:
            value = type(params[key])(dr.detach(params[key]))
            dr.enable_grad(value)
            params[key] = value
        params.update()
        image = mi.render(s, params, seed=2 * seed, seed_grad=2 * seed + 1)
        dr.backward(dr.mean(image, axis=None))
        for key in keys:
            out[key].append(np.array(dr.grad(params[key])).ravel().astype(np.float64))
    return {key: np.array(rows) for key, rows in out.items()}


CASES = {
    "box": ["red.reflectance.value", "white.reflectance.value", "light.emitter.radiance.value"],
    "metal": ["ball.bsdf.alpha.value", "ball.bsdf.specular_reflectance.value"],
    "glass": ["ball.bsdf.alpha.value", "ball.bsdf.eta", "sky.radiance.value"],
    "plastic": ["ball.bsdf.diffuse_reflectance.value", "red.reflectance.value"],
    "texture": ["back.bsdf.reflectance.data"],
    "environment": ["sky.scale", "red.reflectance.value"],
}

worst, count = 0, 0
for name in ("llvm_ad_rgb", "llvm_ad_spectral"):
    mitsuba.set_variant(name)
    umbel.set_variant(name)
    for thing, keys in CASES.items():
        if name == "llvm_ad_spectral":  # colours are coefficients of a spectrum there, and colours here
            keys = [key for key in keys if key.endswith(("alpha.value", "eta", "sky.scale"))]
        if not keys:
            continue
        theirs = gradients(mitsuba, drjit, scene(mitsuba, thing), keys)
        ours = gradients(umbel, umbel.jit, scene(umbel, thing), keys)
        for key in keys:
            a, b = theirs[key], ours[key]
            error = np.sqrt((a.var(0) + b.var(0)) / (SEEDS - 1))
            z = (a.mean(0) - b.mean(0)) / np.maximum(error, 1e-12)
            count += z.size
            worst = max(worst, np.abs(z).max())
            print(f"{name:18} {thing:6} {key:40} mitsuba {a.mean(0).round(6)} umbel {b.mean(0).round(6)} z {z.round(2)}")
# Two-sided, 1 in 1,000 over all comparisons
from statistics import NormalDist  # noqa: E402

limit = NormalDist().inv_cdf(1 - 0.0005 / count)
print(f"worst |z| {worst:.2f}, limit {limit:.2f} for {count} comparisons")
sys.exit(int(worst > limit))
