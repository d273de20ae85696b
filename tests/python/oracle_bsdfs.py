# tests/python/oracle_bsdfs.py: materials are what they are in Mitsuba 3: values, densities and samples at random directions.
import os
import sys
import tempfile

try:
    import mitsuba
    mitsuba.set_variant("llvm_ad_rgb")
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import drjit
import measured_files
import numpy as np

import umbel
import umbel.jit

N = 20000
WAVELENGTHS = (430.0, 510.0, 580.0, 650.0)
rng = np.random.default_rng(5)


def directions():
    d = rng.normal(size=(3, N))
    d[2] += np.sign(d[2]) * 0.02  # off the horizon, where roundings grow
    return (d / np.linalg.norm(d, axis=0)).astype(np.float32)


WI, WO, UV = directions(), directions(), rng.random((2, N)).astype(np.float32)
U1, U2 = rng.random(N).astype(np.float32), rng.random((2, N)).astype(np.float32)
SAMPLED = ("sampled direction", "sampled density", "sampled type", "weight", "relative index")

failures = 0


def compare(what, ours, theirs, tolerance, strays, least=1e-3):
    """Relative to each number, or to a part of a typical one, which is 1 of directions. A part of the lanes may stray: roundings choose lobes, and
    grow where light is hardly bent."""
    global failures
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.shape != theirs.shape or not np.isfinite(ours).all():
        failures += 1
        print(f"FAILED {what}: {ours.shape} instead of {theirs.shape}, or not finite")
        return
    nonzero = np.abs(theirs[theirs != 0])
    typical = np.median(nonzero) if nonzero.size else 1
    scale = np.abs(theirs)
    if len(theirs) >= 16:  # of a Mueller matrix, the intensity
        scale = np.tile(scale[: len(theirs) // 16], (16, 1))
    error = np.max(np.abs(ours - theirs) / (scale + least * typical), axis=0)
    wrong = np.count_nonzero(~(error <= tolerance))
    failures += wrong > strays * N
    print(f"{'ok' if wrong <= strays * N else 'FAILED':6} {what}: off by {np.quantile(error, 1 - strays):.1e}, "
          f"{wrong} of {N} by more than {tolerance:g}; {nonzero.size} numbers, typically {typical:.2g}")


def array(dr, mi, v):
    """Lanes last, whatever it is."""
    a = np.array(v + dr.zeros(mi.Float, N), dtype=float)
    return a.reshape(-1, N)


def answers(mi, dr, description, spectral, mode):
    bsdf = mi.load_dict(description)
    vector = lambda a: mi.Vector3f(*[mi.Float(x) for x in a])
    si = dr.zeros(mi.SurfaceInteraction3f, N)
    si.wi, si.uv = vector(WI), mi.Point2f(*[mi.Float(x) for x in UV])
    if spectral:
        si.wavelengths = type(si.wavelengths)(*[mi.Float(w) for w in WAVELENGTHS])
    # What hair asks for: where across the fiber
    si.sh_frame = mi.Frame3f(vector([[1.0] * N, [0.0] * N, [0.0] * N]), vector([[0.0] * N, [1.0] * N, [0.0] * N]),
                             vector([[0.0] * N, [0.0] * N, [1.0] * N]))
    si.n = mi.Normal3f(0, 0, 1)
    ctx = mi.BSDFContext()
    if mode == "importance":
        ctx.mode = mi.TransportMode.Importance
    bs, weight = bsdf.sample(ctx, si, mi.Float(U1), mi.Point2f(*[mi.Float(x) for x in U2]))
    a = lambda v: array(dr, mi, v)
    # Mitsuba gives densities to some samples that it rejects
    valid = (a(bs.pdf) > 0) & np.any(a(weight) != 0, axis=0)
    # and from behind to opaque materials, which it does not sample there
    flags = mi.BSDFFlags
    seen = (WI[2] > 0) | (mi.has_flag(bsdf.flags(), flags.Transmission)) | ("principled" not in description["type"])
    part = lambda v: np.where(valid, a(v), 0)
    return {"value": a(bsdf.eval(ctx, si, vector(WO))), "density": np.where(seen, a(bsdf.pdf(ctx, si, vector(WO))), 0),
            "sampled direction": part(bs.wo), "sampled density": part(bs.pdf), "weight": part(weight),
            "sampled type": part(mi.Float(bs.sampled_type)), "relative index": part(bs.eta)}


def colour(*rgb):
    return {"type": "rgb", "value": list(rgb)}


PRINCIPLED = {"type": "principled", "base_color": colour(0.8, 0.3, 0.1)}
THIN = {"type": "principledthin", "base_color": colour(0.8, 0.3, 0.1)}
BSDFS = {
    "principled": PRINCIPLED,
    "principled, metal": PRINCIPLED | {"metallic": 0.8, "roughness": 0.4, "anisotropic": 0.7, "eta": 1.7},
    "principled, cloth": PRINCIPLED | {"sheen": 0.8, "sheen_tint": 0.6, "flatness": 0.4, "spec_tint": 0.5},
    "principled, coated": PRINCIPLED | {"clearcoat": 0.8, "clearcoat_gloss": 0.3, "specular": 0.9,
                                        "clearcoat_sampling_rate": 2.0, "main_specular_sampling_rate": 0.5},
    "principled, glass": PRINCIPLED | {"spec_trans": 0.9, "roughness": 0.6, "metallic": 0.1, "specular": 0.0},
    "principled, all": PRINCIPLED | {"spec_trans": 0.6, "metallic": 0.3, "roughness": 0.7, "anisotropic": 0.5, "sheen": 0.4,
                                     "sheen_tint": 0.6, "flatness": 0.4, "clearcoat": 0.8, "clearcoat_gloss": 0.1,
                                     "spec_tint": 0.3, "eta": 1.33, "diffuse_reflectance_sampling_rate": 0.7},
    "principledthin": THIN,
    "principledthin, all": THIN | {"spec_trans": 0.6, "diff_trans": 0.7, "roughness": 0.6, "anisotropic": 0.5, "sheen": 0.4,
                                   "sheen_tint": 0.6, "flatness": 0.4, "spec_tint": 0.3, "eta": 1.33,
                                   "diffuse_transmittance_sampling_rate": 2.0,
                                   "specular_transmittance_sampling_rate": 0.8},
}

ROUGH_PLASTIC = {"type": "pplastic", "diffuse_reflectance": colour(0.6, 0.3, 0.1)}
BSDFS |= {
    "hair": {"type": "hair"},
    "hair, rough": {"type": "hair", "longitudinal_roughness": 0.7, "azimuthal_roughness": 0.8, "scale_tilt": -5.0,
                    "int_ior": 1.4, "sigma_a": colour(0.2, 0.4, 0.9), "scale": 0.5},
    "pplastic": ROUGH_PLASTIC,
    "pplastic, ggx": ROUGH_PLASTIC | {"distribution": "ggx", "alpha_u": 0.2, "alpha_v": 0.5, "int_ior": 1.8,
                                      "specular_reflectance": 0.7, "sample_visible": False},
    "circular": {"type": "circular", "transmittance": 0.7},
    "circular, left": {"type": "circular", "left_handed": True, "transmittance": colour(0.7, 0.5, 0.2)},
}

# Those that are in every scene
RED, BLUE = {"type": "diffuse", "reflectance": colour(0.7, 0.2, 0.1)}, {"type": "diffuse", "reflectance": colour(0.1, 0.3, 0.8)}
METAL = {"type": "roughconductor", "alpha_u": 0.2, "alpha_v": 0.4, "eta": 0.4, "k": 2.5}
BSDFS |= {
    "diffuse": RED,
    "conductor": {"type": "conductor", "eta": 0.4, "k": 2.5, "specular_reflectance": 0.9},
    "roughconductor": METAL,
    "roughconductor, ggx": METAL | {"distribution": "ggx", "sample_visible": False},
    "dielectric": {"type": "dielectric", "int_ior": 1.6, "specular_transmittance": colour(0.9, 0.5, 0.3)},
    "thindielectric": {"type": "thindielectric", "int_ior": 1.6},
    "roughdielectric": {"type": "roughdielectric", "distribution": "ggx", "alpha": 0.3, "int_ior": 1.4},
    "plastic": {"type": "plastic", "diffuse_reflectance": colour(0.7, 0.2, 0.1), "int_ior": 1.7},
    "plastic, nonlinear": {"type": "plastic", "diffuse_reflectance": colour(0.7, 0.2, 0.1), "nonlinear": True},
    "roughplastic": {"type": "roughplastic", "diffuse_reflectance": colour(0.7, 0.2, 0.1), "alpha": 0.2, "int_ior": 1.7},
    "blendbsdf": {"type": "blendbsdf", "weight": 0.3, "a": RED, "b": METAL},
    "mask": {"type": "mask", "opacity": 0.3, "nested": METAL},
    "twosided": {"type": "twosided", "front": RED, "back": METAL},
    "null": {"type": "null"},
    "polarizer": {"type": "polarizer", "theta": 25.0, "transmittance": 0.8},
}

FOLDER = tempfile.TemporaryDirectory()
file = lambda name: os.path.join(FOLDER.name, name)
measured_files.measured(file("isotropic.bsdf"))
measured_files.measured(file("anisotropic.bsdf"), np.linspace(-np.pi, np.pi, 7), seed=2)
measured_files.measured(file("half.bsdf"), np.linspace(-np.pi, 0, 5), jacobian=0, seed=3)
measured_files.measured(file("quarter.bsdf"), np.linspace(-np.pi, -np.pi / 2, 4), seed=4)
measured_files.measured(file("rgb.bsdf"), rgb=True, seed=5)
measured_files.measured_polarized(file("polarized.pbsdf"))
SPECTRAL = {f"measured, {name}": {"type": "measured", "filename": file(name + ".bsdf")}
            for name in ("isotropic", "anisotropic", "half", "quarter")}
SPECTRAL["measured_polarized"] = {"type": "measured_polarized", "filename": file("polarized.pbsdf")}
RGB = {"measured, rgb": {"type": "measured", "filename": file("rgb.bsdf")}}
BSDFS["measured_polarized, one wavelength"] = SPECTRAL["measured_polarized"] | {"wavelength": 520.0, "alpha_sample": 0.3}

# What is known to differ, and why.
#   hair: near kappa = 12 Mitsuba's logarithm of a Bessel function is off by 1 / (16 kappa); after many crossings it samples directions
#       across the fiber only, and in monochrome it has no pigments. The number that chose a lobe is used again, so that roundings grow
#   hair, principledthin, measured: Mitsuba scatters importance as radiance, which is not the adjoint
#   blendbsdf: which end of the number chooses which part
#   plastic, roughplastic: how often the coating is sampled follows from mean reflectances, in spectral variants of spectra that differ by their
#       fit; Mitsuba gives densities to directions below the surface
#   retarder: for light at an angle, Mitsuba turns its axis out of the plane in which it must lie for symmetry's sake; it turns importance the
#       other way round than its polarizer does
VALUES_ONLY = {"blendbsdf": ("value", "density"), "plastic": ("value",), "roughplastic": ("value",)}
TOLERANCES = {"hair": 6e-3}
ONE_MODE = ("hair", "principledthin", "measured")

only = sys.argv[1:]
for kind in ("rgb", "spectral", "mono_polarized", "spectral_polarized"):
    mitsuba.set_variant("llvm_ad_" + kind)
    umbel.set_variant("llvm_ad_" + kind)
    spectral = kind.startswith("spectral")
    for name, description in (BSDFS | (SPECTRAL if spectral else RGB if kind == "rgb" else {})).items():
        if only and not any(o in name for o in only) or (name == "hair" and kind == "mono_polarized"):
            continue
        plugin = description["type"]
        for mode in ("radiance", "importance") if plugin not in ONE_MODE else ("radiance",):
            a = answers(umbel, umbel.jit, description, spectral, mode)
            b = answers(mitsuba, drjit, description, spectral, mode)
            if plugin == "hair":
                del a["sampled type"], b["sampled type"]  # of Mitsuba, reflection and transmission at once
                across = b["sampled direction"][1] == 0
                for what in set(SAMPLED) & set(b):
                    a[what][:, across] = b[what][:, across] = 0
            compared = [what for what in b if plugin not in VALUES_ONLY or what in VALUES_ONLY[plugin] or
                        (plugin == "plastic" and not spectral)]
            for what in compared:
                # Colours become spectra by a fit here, and by a table there
                tolerance = TOLERANCES.get(name, 2e-3 if spectral else 1e-3)
                strays = (5e-3 if plugin == "hair" else 1e-3) if what in SAMPLED else 2e-3 if plugin == "roughdielectric" else 1e-4
                compare(f"{kind} {name}, {mode}, {what}", a[what], b[what], tolerance, strays,
                        1 if "direction" in what else 1e-3)

# Along the normal, where retarders agree
WI = np.tile(np.array([[0], [0], [1]], dtype=np.float32), N)
WI[2, ::2] = -1
retarder = {"type": "retarder", "theta": 25.0, "delta": 70.0, "transmittance": 0.8}
for kind in ("mono_polarized", "spectral_polarized") if not only or "retarder" in only else ():
    mitsuba.set_variant("llvm_ad_" + kind)
    umbel.set_variant("llvm_ad_" + kind)
    a, b = (answers(mi, dr, retarder, kind.startswith("spectral"), "radiance") for mi, dr in ((umbel, umbel.jit), (mitsuba, drjit)))
    compare(f"{kind} retarder, weight", a["weight"], b["weight"], 1e-3, 1e-4)
sys.exit(1 if failures else 0)
