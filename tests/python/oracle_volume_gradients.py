# tests/python/oracle_volume_gradients.py: gradients of images of media agree with those of Mitsuba's `prbvolpath`, in expectation.
#
# As oracle_gradients.py: means over seeds of the derivative of the image's mean must agree within what their spread allows, for
# each number of each parameter: of fog, of smoke in a grid, voxel by voxel, before a wall and below an area light. Paths are long, as
# the longest ones of Mitsuba's `prbvolpath` have more light than those of its `volpath`. What a single voxel's derivative can tell is a
# seventh of it; their sum, which is compared as well, a fifteenth; of the phase function's number, a fifth.
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
SEEDS = 16
rng = np.random.default_rng(7)
GREY = rng.uniform(.1, 1, size=(3, 2, 3, 1)).astype(np.float32)
COLOUR = rng.uniform(.3, .9, size=(2, 2, 2, 3)).astype(np.float32)


def scene(mi, name):
    T = mi.ScalarTransform4f
    rgb = lambda *v: {"type": "rgb", "value": list(v)}
    grid = lambda v: {"type": "gridvolume", "grid": mi.VolumeGrid(v), "to_world": T().translate([-1, -1, -1]).scale(2)}
    hg = {"type": "hg", "g": .4}
    smoke = {"type": "heterogeneous", "sigma_t": grid(GREY), "albedo": grid(COLOUR), "scale": 2., "phase": hg}
    medium = {"fog": {"type": "homogeneous", "sigma_t": .8, "albedo": rgb(.9, .7, .5), "phase": hg},
              "coloured fog": {"type": "homogeneous", "sigma_t": rgb(.2, .5, .9), "scale": 1.5, "albedo": .8},
              "smoke": smoke, "smoke below a light": smoke}[name]
    light = {"type": "point", "position": [1, 2, 2], "intensity": rgb(6, 5, 4)}
    if name == "smoke below a light":
        light = {"type": "rectangle", "to_world": T().translate([0, 2.5, 0]).rotate([1, 0, 0], 90),
                 "emitter": {"type": "area", "radiance": rgb(3, 4, 5)}}
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prbvolpath", "max_depth": 12, "rr_depth": 100}, "light": light,
        "sky": {"type": "constant", "radiance": rgb(.3, .4, .5)},
        "cube": {"type": "cube", "bsdf": {"type": "null"}, "interior": medium},
        "floor": {"type": "rectangle", "to_world": T().translate([0, -1.2, 0]).rotate([1, 0, 0], -90).scale(3),
                  "bsdf": {"type": "diffuse", "reflectance": rgb(.7, .5, .4)}},
        "sensor": {"type": "perspective", "fov": 40, "to_world": T().look_at([1, 1.5, 4.5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}}}})


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
        image = mi.render(s, params, spp=16, spp_grad=96, seed=2 * seed, seed_grad=2 * seed + 1)
        dr.backward(dr.mean(image, axis=None))
        for key in keys:
            out[key].append(np.array(dr.grad(params[key])).ravel().astype(np.float64))
    return {key: np.array(rows) for key, rows in out.items()}


MEDIUM, WALL = "cube.interior_medium.", "floor.bsdf.reflectance.value"
CASES = {
    "fog": [MEDIUM + "sigma_t.value.value", MEDIUM + "albedo.value.value", MEDIUM + "phase_function.g", WALL],
    "coloured fog": [MEDIUM + "sigma_t.value.value"],
    "smoke": [MEDIUM + "sigma_t.data", MEDIUM + "albedo.data", MEDIUM + "phase_function.g", WALL],
    "smoke below a light": [MEDIUM + "sigma_t.data", "light.emitter.radiance.value"],
}

worst, count = 0, 0
for variant in ("llvm_ad_rgb", "llvm_ad_spectral"):
    mitsuba.set_variant(variant)
    umbel.set_variant(variant)
    for name, keys in CASES.items():
        if variant == "llvm_ad_spectral":  # colours are coefficients of a spectrum there, and colours here
            keys = [key for key in keys if key.endswith(("sigma_t.data", ".g"))]
        if not keys:
            continue
        theirs = gradients(mitsuba, drjit, scene(mitsuba, name), keys)
        ours = gradients(umbel, umbel.jit, scene(umbel, name), keys)
        for key in keys:
            a, b = (np.column_stack([g[key], g[key].sum(1)]) for g in (theirs, ours))
            error = np.sqrt((a.var(0) + b.var(0)) / (SEEDS - 1))
            z = (a.mean(0) - b.mean(0)) / np.maximum(error, 1e-12)
            count += z.size
            worst = max(worst, np.abs(z).max())
            print(f"{variant:18} {name:20} {key:44} sums: mitsuba {a.mean(0)[-1]:.6f} umbel {b.mean(0)[-1]:.6f}, "
                  f"deviations {a.std(0).mean():.2e} {b.std(0).mean():.2e}, worst |z| of {z.size}: {np.abs(z).max():.2f}",
                  flush=True)
# Two-sided, 1 in 1,000 over all comparisons; of so few seeds, tails are heavier than those of a normal distribution
limit = 1.25 * NormalDist().inv_cdf(1 - 0.0005 / count)
print(f"worst |z| {worst:.2f}, limit {limit:.2f} for {count} comparisons")
sys.exit(int(worst > limit))
