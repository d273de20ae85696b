# tests/python/oracle_curves.py: rays meet round curves where they meet them in Mitsuba 3.
import os
import sys
import tempfile

try:
    import mitsuba
    mitsuba.set_variant("llvm_ad_rgb")
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import numpy as np

import umbel

umbel.set_variant("llvm_rgb")

CURVES = """-1 -.3 0 .3
-.3 .2 .2 .35
.3 -.2 0 .4
1 .3 .1 .3
1.3 -.5 .1 .2

-1 .7 0 .1
-.3 .8 -.2 .1
.3 .8 0 .2
1 .6 .1 .1
"""
N = 4000
rng = np.random.default_rng(1)
origins = rng.normal(size=(3, N))
origins *= 4 / np.linalg.norm(origins, axis=0)
directions = rng.uniform(-1, 1, size=(3, N)) - origins
directions /= np.linalg.norm(directions, axis=0)


def seen(mi, kind, file):
    scene = mi.load_dict({"type": "scene", "curve": {"type": kind, "filename": file}})
    ray = mi.Ray3f(mi.Point3f(*origins.astype(np.float32)), mi.Vector3f(*directions.astype(np.float32)))
    si = scene.ray_intersect(ray)
    return {name: np.array(getattr(si, name), dtype=float).reshape(-1, N) for name in ("t", "n", "uv", "dp_du", "dp_dv")}


failures = 0
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "curves.txt")
    with open(file, "w") as f:
        f.write(CURVES)
    for kind in ("linearcurve", "bsplinecurve"):
        ours, theirs = seen(umbel, kind, file), seen(mitsuba, kind, file)
        hit = np.isfinite(ours["t"][0]) & np.isfinite(theirs["t"][0])
        missed = np.isfinite(ours["t"][0]) != np.isfinite(theirs["t"][0])
        assert hit.sum() > 500
        for name in ours:
            a, b = ours[name][:, hit], theirs[name][:, hit]
            if not b.any():  # Mitsuba 3.9 has no tangents of linear curves
                continue
            if name == "dp_dv":  # Mitsuba's is not the derivative at the same u: what is along dp_du does not count
                across = theirs["dp_du"][:, hit] / np.linalg.norm(theirs["dp_du"][:, hit], axis=0)
                a, b = a - across * (a * across).sum(0), b - across * (b * across).sum(0)
            error = np.abs(a - b)
            if name == "uv":
                error = np.minimum(error, 1 - error)  # angles
            error = error / np.maximum(np.linalg.norm(b, axis=0), 1)
            # At outlines, rounding counts for more
            bad = np.quantile(error, 0.99) > 2e-5 or np.median(error) > 1e-6
            failures += bad
            print(f"{kind} {name}: {np.median(error):.2g}, {np.quantile(error, 0.99):.2g} in 99 %", "FAILED" if bad else "")
        failures += missed.sum() > 2
        print(f"{kind}: {hit.sum()} hits, {missed.sum()} by one of them alone")
sys.exit(int(failures > 0))
