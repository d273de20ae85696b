# tests/python/oracle_media.py: phase functions and media are what they are in Mitsuba 3.
import sys

try:
    import mitsuba
    mitsuba.set_variant("llvm_ad_rgb")
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import drjit
import numpy as np

import umbel
import umbel.jit

N = 2000
rng = np.random.default_rng(5)


def directions():
    d = rng.normal(size=(3, N)).astype(np.float32)
    return d / np.linalg.norm(d, axis=0)


WI, WO = directions(), directions()
PLACES = rng.uniform(0, 1, size=(3, N)).astype(np.float32)
GREY = rng.uniform(0, 1, size=(4, 3, 5, 1)).astype(np.float32)
COLOUR = rng.uniform(0, 1, size=(3, 4, 3, 3)).astype(np.float32)
FLAKES = np.concatenate([rng.uniform(.4, 1, size=(2, 2, 2, 3)), rng.uniform(-.1, .1, size=(2, 2, 2, 3))],
                        axis=3).astype(np.float32)
WAVELENGTHS = (430.0, 510.0, 580.0, 650.0)
failures = 0


def report(good, text):
    global failures
    failures += not good
    print(f"{'ok' if good else 'FAILED':6} {text}")


def compare(what, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    scale = np.abs(theirs).max()
    error = np.abs(ours - theirs).max() / scale if ours.shape == theirs.shape else np.inf
    report(error <= tolerance, f"{what}: off by {error:.2e} of {scale:.3g}")


def grid(mi, values):
    return {"type": "gridvolume", "grid": mi.VolumeGrid(values)}


def phases(mi):
    hg = {"type": "hg", "g": -0.3}
    return {
        "isotropic": {"type": "isotropic"},
        "hg": {"type": "hg", "g": 0.7},
        "rayleigh": {"type": "rayleigh"},
        "tabphase": {"type": "tabphase", "values": "0.2, 1.0, 0.5, 3.0"},
        "blendphase": {"type": "blendphase", "a": {"type": "isotropic"}, "b": hg, "weight": grid(mi, GREY)},
        "sggx": {"type": "sggx", "S": grid(mi, FLAKES)},
    }


def answers(mi, dr, description, spectral):
    phase = mi.load_dict(description)
    mei = dr.zeros(mi.MediumInteraction3f, N)
    mei.p, mei.wi = mi.Point3f(PLACES), mi.Vector3f(WI)
    mei.sh_frame = mi.Frame3f(mei.wi)
    mei.t = mi.Float(1)
    if spectral:
        mei.wavelengths = mi.Color0f() if not spectral else mi.Spectrum(*WAVELENGTHS)
    value, pdf = phase.eval_pdf(mi.PhaseFunctionContext(), mei, mi.Vector3f(WO))
    area = phase.projected_area(mei)
    return np.array(value)[0] + np.zeros(N), np.array(pdf) + np.zeros(N), np.array(area) + np.zeros(N)


def scenes(mi):
    T = mi.ScalarTransform4f()
    ball = lambda medium, bsdf={"type": "null"}: {"type": "sphere", "radius": 1, "bsdf": bsdf, "interior": medium}
    cube = lambda medium: {"type": "cube", "bsdf": {"type": "null"}, "interior": medium,
                           "to_world": T.scale(.7)}
    place = T.translate([-.7, -.7, -.7]).scale(1.4)
    cloud = lambda values, **more: {"type": "heterogeneous", "scale": 4.0,
                                    "sigma_t": {**grid(mi, values), "to_world": place}, **more}
    rgb = lambda *v: {"type": "rgb", "value": list(v)}
    sky, lamp = {"type": "constant"}, {"type": "point", "position": [0, 3, 1], "intensity": 20.0}
    return {
        "homogeneous, hg": {"shape": ball({"type": "homogeneous", "sigma_t": rgb(.25, .5, 1), "scale": 2., "albedo": rgb(.9, .8, .4),
                                           "phase": {"type": "hg", "g": .6}}), "light": sky},
        "homogeneous, rayleigh, lamp": {"shape": ball({"type": "homogeneous", "sigma_t": 1.5, "albedo": .9,
                                                       "phase": {"type": "rayleigh"}}), "light": lamp},
        "homogeneous in glass": {"shape": ball({"type": "homogeneous", "sigma_t": 2., "albedo": rgb(.9, .7, .5),
                                                "phase": {"type": "hg", "g": .3}},
                                               {"type": "dielectric"}), "light": sky},
        "homogeneous in rough glass": {"shape": ball({"type": "homogeneous", "sigma_t": 2., "albedo": .8},
                                                     {"type": "roughdielectric", "alpha": .3}), "light": sky},
        "grid, lamp": {"shape": cube(cloud(GREY, albedo=.9)), "light": lamp},
        "grid, sky, tabphase": {"shape": cube(cloud(GREY, albedo=.9, phase={"type": "tabphase", "values": ".2,.5,2"})),
                                "light": sky},
        "coloured grid": {"shape": cube(cloud(COLOUR, albedo=.8)), "light": sky},
        "coloured albedo": {"shape": cube(cloud(GREY, albedo={**grid(mi, COLOUR), "to_world": place})), "light": sky},
        "blendphase, spot": {"shape": cube(cloud(GREY, albedo=.8, phase={
            "type": "blendphase", "a": {"type": "hg", "g": .8}, "b": {"type": "isotropic"}, "weight": .4})),
            "light": {"type": "spot", "to_world": T.look_at([0, 3, 2], [0, 0, 0], [0, 0, 1]), "intensity": 30.,
                      "cutoff_angle": 30.}},
        "lamp inside": {"shape": ball({"type": "homogeneous", "sigma_t": 1., "albedo": .9}),
                        "light": {"type": "sphere", "radius": .2, "emitter": {"type": "area", "radiance": 5.},
                                  "exterior": {"type": "homogeneous", "sigma_t": 1., "albedo": .9}}},
        "area light, wall": {"shape": cube(cloud(GREY, albedo=.95, phase={"type": "hg", "g": .5})),
                             "light": {"type": "rectangle", "to_world": T.look_at([0, 3, 0], [0, 0, 0], [0, 0, 1]),
                                       "emitter": {"type": "area", "radiance": 8.}},
                             "wall": {"type": "rectangle", "to_world": T.translate([0, 0, -2]).scale(3)}},
        # Of what flakes scatter, Mitsuba loses a part: a white cloud of them in white light is darker. Ours is in heterogeneous_test.cpp
        "sggx": {"shape": cube(cloud(GREY, albedo=0., phase={
            "type": "sggx", "S": {**grid(mi, FLAKES), "to_world": place}})), "light": sky},
    }


def picture(mi, parts, seed):
    camera = {"type": "perspective", "fov": 40, "to_world": mi.ScalarTransform4f().look_at([0, .5, 4], [0, 0, 0], [0, 1, 0]),
              "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}},
              "sampler": {"type": "independent", "sample_count": 256}}
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "volpath", "max_depth": 8, "rr_depth": 100},
                          "camera": camera, **parts})
    return np.stack([np.array(mi.render(scene, spp=256, seed=seed + i), dtype=float) for i in range(4)])


for variant, spectral in (("llvm_ad_rgb", False), ("llvm_ad_spectral", True)):
    mitsuba.set_variant(variant)
    umbel.set_variant(variant)
    theirs, ours = phases(mitsuba), phases(umbel)
    for name in theirs:
        a = answers(umbel, umbel.jit, ours[name], spectral)
        b = answers(mitsuba, drjit, theirs[name], spectral)
        for what, x, y in zip(("value", "density", "projected area"), a, b):
            if what != "projected area" or name == "sggx":  # what others say there is nobody's business
                compare(f"{variant}, {name}, {what}", x, y, 2e-5)
    theirs, ours = scenes(mitsuba), scenes(umbel)
    for name in theirs:
        a, b = picture(umbel, ours[name], 10), picture(mitsuba, theirs[name], 20)
        n = len(a)
        # Four independent pictures each: t-tests of all pixels' channels, and of the mean
        error = np.sqrt((a.var(0, ddof=1) + b.var(0, ddof=1)) / n)
        noisy = error > 1e-6 * b.mean()  # not where both see the sky
        t = ((a.mean(0) - b.mean(0)) / np.maximum(error, 1e-6 * b.mean()))[noisy]
        means = a.mean((1, 2)), b.mean((1, 2))
        z = (means[0].mean(0) - means[1].mean(0)) / np.sqrt((means[0].var(0, ddof=1) + means[1].var(0, ddof=1)) / n)
        ratio = a.mean() / b.mean()
        # Of six degrees of freedom, the variance is 1.5; a mean is beyond 7 once in 2,000
        good = abs(np.mean(t ** 2) - 1.5) < .45 and np.abs(z).max() < 7 and np.allclose(a.mean(0)[~noisy], b.mean(0)[~noisy], 1e-5)
        report(good, f"{variant}, scene {name}: ratio {ratio:.4f}, mean square of t {np.mean(t ** 2):.2f}, "
                     f"largest t of a mean {np.abs(z).max():.2f}")
sys.exit(failures > 0)
