# tests/python/compared_images.py: images of small scenes by Umbel and by Mitsuba 3, compared by their statistics.
import os
import sys
import tempfile

try:
    import mitsuba
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import numpy as np

import umbel

FOLDER = tempfile.TemporaryDirectory()
RENDERS, SPP, FIRST_SEED = 32, 32, 200
COLOURED = ("rgb", "spectral")
POLARIZED = ("mono_polarized", "spectral_polarized")


def file(name, text=""):
    """The path of a file with this text."""
    path = os.path.join(FOLDER.name, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def rgb(*value): return {"type": "rgb", "value": list(value)}


def diffuse(texture): return {"type": "diffuse", "reflectance": texture}


CHECKS = {"type": "checkerboard", "color0": rgb(0.1, 0.3, 0.7), "color1": rgb(0.8, 0.5, 0.2)}
BALL = {"type": "sphere", "radius": 0.9, "center": [0, 0.4, 0]}
PLASTIC = {"type": "roughplastic", "alpha": 0.2, "diffuse_reflectance": rgb(0.6, 0.3, 0.1)}


def material(bsdf):
    """On a ball and a floor below lights that are neither small nor everywhere."""
    return lambda mi: {"light": {"type": "constant", "radiance": 0.3}, "lamp": {"type": "point", "position": [1, 3, 3], "intensity": 12.0},
                       "ball": BALL | {"bsdf": bsdf(mi)}}


def with_integrator(shapes, **integrator): return lambda mi: shapes(mi) | {"integrator": integrator}


def statistics(mi, parts):
    """Means of pixels, and their errors. `film`, `sampler` and `camera`, a function of the usual one, stand for those of the scene;
    `channels` are those of a program's image that count."""
    T = mi.ScalarTransform4f
    film = {"type": "hdrfilm", "width": 6, "height": 4, "rfilter": {"type": "box"}} | parts.pop("film", {})
    sampler = parts.pop("sampler", {"type": "independent"})
    kept = parts.pop("channels", {}).get(mi.__name__, slice(None))
    camera = {"type": "perspective", "fov": 40, "to_world": T().look_at(origin=[1, 2, 4], target=[0, 0.2, 0], up=[0, 1, 0])}
    camera = parts.pop("camera", lambda mi, usual: usual)(mi, camera)
    if "sensor" in parts:  # which is part of a shape
        parts["sensor"]["meter"] |= {"film": film | {"width": 1, "height": 1}, "sampler": sampler}
    else:
        parts["sensor"] = camera | {"film": film, "sampler": sampler}
    floor = {"type": "rectangle", "to_world": T().translate([0, -0.5, 0]).rotate([1, 0, 0], -90).scale(3), "bsdf": diffuse(rgb(0.4, 0.5, 0.3))}
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "path", "max_depth": 4}, "floor": floor} | parts)
    images = np.array([np.array(mi.render(scene, spp=SPP, seed=seed)) for seed in range(FIRST_SEED, FIRST_SEED + RENDERS)], dtype=float)[..., kept]
    if images.shape[-1] == 13 and "mono" in mi.variant():  # Mitsuba's Stokes vectors are grey colours there
        images = images[..., [0, 1, 4, 7, 10]]
    return images.mean(0), images.std(0, ddof=1) / RENDERS**0.5


def most_square(z, colour):
    """Of the mean square: 1.6 is 3.6 standard deviations above 1 for 72 numbers. Spectral channels come of the same wavelengths and move
    together, so that pixels count; and so do those of a single pixel."""
    pixels = z[..., 0].size
    if pixels == 1:
        return 9
    return 1 + 3.6 * (2 / pixels)**0.5 if "spectral" in colour else 1.6


def compare(rows):
    """Rows are names of scenes, what makes them, and the variants that show them. The process ends with what came of it."""
    wrong = 0
    only = sys.argv[1:]
    for name, (parts, colours) in rows.items():
        for colour in colours if not only or name in only else ():
            umbel.set_variant("llvm_" + colour)
            mitsuba.set_variant("llvm_ad_" + colour)
            (a, error_a), (b, error_b) = (statistics(mi, parts(mi)) for mi in (umbel, mitsuba))
            # Colours become spectra by a fit here, and by a table there
            rounding = 2e-3 if "spectral" in colour else 1e-4
            ok = a.shape == b.shape and np.abs(b).max() > 0.01
            if ok:
                z = np.abs(a - b) / np.sqrt(error_a**2 + error_b**2 + (rounding * np.abs(b[..., :3]).mean())**2)
                ok = z.max() < 5 and (z**2).mean() < most_square(z, colour)
            wrong += not ok
            print(f"{'ok' if ok else 'FAILED':6} {colour} {name}: " +
                  (f"{z.size} numbers around {np.abs(b).mean():.3g}, z at most {z.max():.2f}, mean square {(z**2).mean():.2f}" if a.shape == b.shape
                   else f"{a.shape} instead of {b.shape}"))
    sys.exit(wrong != 0)
