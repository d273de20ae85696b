# tests/python/oracle_textures.py: textures and volumes are what they are in Mitsuba 3.
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
PLACES = rng.uniform(-0.7, 1.7, size=(3, N)).astype(np.float32)
UV = rng.uniform(-1.5, 2.5, size=(2, N)).astype(np.float32)
WAVELENGTHS = (430.0, 510.0, 580.0, 650.0)
GREY = rng.random((3, 4, 5, 1)).astype(np.float32)
COLOUR = (rng.random((4, 2, 3, 3)) * 2).astype(np.float32)
SIX = rng.random((2, 3, 2, 6)).astype(np.float32)
PICTURE = (0.1 + 0.8 * rng.random((4, 3, 3))).astype(np.float32)

# Luminance is made of five digits there
LUMINANCE = 5e-5
failures = 0


def compare(what, ours, theirs, tolerance):
    global failures
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    scale = np.abs(theirs).max()
    error = np.abs(ours - theirs).max() / scale if ours.shape == theirs.shape else np.inf
    failures += not error <= tolerance
    print(f"{'ok' if error <= tolerance else 'FAILED':6} {what}: off by {error:.2e} of {scale:.3g}")


def volumes(mi):
    grid = lambda data: {"type": "gridvolume", "grid": mi.VolumeGrid(data)}
    turn = mi.ScalarTransform4f().rotate([0.8, 0, 0.6], 70).scale([1.5, 1, 2])
    return {
        "grid": grid(GREY),
        "grid, nearest": grid(GREY) | {"filter_type": "nearest"},
        "grid, repeated": grid(GREY) | {"wrap_mode": "repeat"},
        "grid, mirrored": grid(GREY) | {"wrap_mode": "mirror", "to_world": turn},
        "grid, colours": grid(COLOUR),
        "grid, raw colours": grid(COLOUR) | {"raw": True},
        "grid, six": grid(SIX),
    }


def textures(mi, spectral):
    picture = lambda **more: {"type": "bitmap", "bitmap": mi.Bitmap(PICTURE), "raw": not spectral, **more}
    return {
        "volume": {"type": "volume", "volume": {"type": "gridvolume", "grid": mi.VolumeGrid(COLOUR)}},
        "volume, constant": {"type": "volume", "volume": {"type": "constvolume", "value": 0.75}},
        "rawconstant": {"type": "rawconstant", "value": 0.7},
        "bitmap": picture(),
        "bitmap, clamped": picture(wrap_mode="clamp"),
        "bitmap, mirrored": picture(wrap_mode="mirror", filter_type="nearest"),
        "bitmap, floats": picture(format="variant"),
        "bitmap, turned": picture(to_uv=mi.ScalarTransform3f().rotate(20).scale([2, 3])),
    }


def interaction(mi, dr, kind, spectral):
    it = dr.zeros(kind, N)
    it.p = mi.Point3f(*[mi.Float(x) for x in PLACES])
    if hasattr(it, "uv"):
        it.uv = mi.Point2f(*[mi.Float(x) for x in UV])
    if spectral:
        it.wavelengths = type(it.wavelengths)(*[mi.Float(w) for w in WAVELENGTHS])
    return it


def answers(mi, dr, o, kind, spectral, questions):
    it = interaction(mi, dr, kind, spectral)
    out = {}
    for q in questions:
        try:
            v = getattr(o, q)(it)
        except Exception:
            continue
        v = np.array([np.array(x) for x in v]) if isinstance(v, list) else np.array(v + dr.zeros(mi.Float, N))
        out[q] = v.reshape(-1, N) if v.size % N == 0 else v
    return out


for kind in ("rgb", "spectral"):
    spectral = kind == "spectral"
    mitsuba.set_variant("llvm_ad_" + kind)
    umbel.set_variant("llvm_ad_" + kind)
    tolerance = 2e-3 if spectral else 2e-6
    ours, theirs = volumes(umbel), volumes(mitsuba)
    for name in theirs:
        a, b = umbel.load_dict(ours[name]), mitsuba.load_dict(theirs[name])
        compare(f"{kind} {name}, largest", a.max(), b.max(), 1e-6)
        # Mitsuba's colours of spectral variants say that they have no channels
        questions = ["eval"] if spectral and name == "grid, colours" else ["eval", "eval_1", "eval_n"]
        if spectral and name in ("grid, raw colours", "grid, six"):
            questions = ["eval_1", "eval_n"]
        x = answers(umbel, umbel.jit, a, umbel.Interaction3f, spectral, questions)
        y = answers(mitsuba, drjit, b, mitsuba.Interaction3f, spectral, questions)
        for q in y:
            compare(f"{kind} {name}, {q}", x.get(q, np.nan), y[q], max(tolerance, LUMINANCE * (q == "eval_1")))
    ours, theirs = textures(umbel, spectral), textures(mitsuba, spectral)
    for name in theirs:
        a, b = umbel.load_dict(ours[name]), mitsuba.load_dict(theirs[name])
        questions = ["eval"] if spectral else ["eval", "eval_1", "eval_3"]
        x = answers(umbel, umbel.jit, a, umbel.SurfaceInteraction3f, spectral, questions)
        y = answers(mitsuba, drjit, b, mitsuba.SurfaceInteraction3f, spectral, questions)
        for q in y:
            compare(f"{kind} {name}, {q}", x.get(q, np.nan), y[q], max(tolerance, LUMINANCE * (q == "eval_1"), 1e-5))
sys.exit(1 if failures else 0)
