# tests/python/oracle_lights.py: lights and meshes from files are what they are in Mitsuba 3.
import os
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
rng = np.random.default_rng(3)
DIRECTIONS = rng.normal(size=(3, N)).astype(np.float32)
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=0)
PLACES = rng.uniform(-2, 2, size=(3, N)).astype(np.float32)
WAVELENGTHS = (430.0, 510.0, 580.0, 650.0)
SKY = (1.0 + rng.random((9, 16, 3)) * 0.9).astype(np.float32)
PICTURE = (0.1 + 0.8 * rng.random((2, 4, 3))).astype(np.float32)
SCENES = os.environ.get("UMBEL_SCENES", "../shared/scenes")

failures = 0


def compare(what, ours, theirs, tolerance):
    global failures
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    scale = np.abs(theirs).max()
    error = np.abs(ours - theirs).max() / scale if ours.shape == theirs.shape else np.inf
    failures += not error <= tolerance
    print(f"{'ok' if error <= tolerance else 'FAILED':6} {what}: off by {error:.2e} of {scale:.3g}")


def lights(mi, spectral):
    look = mi.ScalarTransform4f().look_at(origin=[0.5, 0.2, 4], target=[0, 0.3, 0], up=[0, 1, 0])
    # An image for each: Mitsuba turns the pixels of what it is given into coefficients
    picture = lambda: {"type": "bitmap", "bitmap": mi.Bitmap(PICTURE), "raw": not spectral, "wrap_mode": "clamp"}
    rgb = {"type": "rgb", "value": [1, 2, 3]}
    turn = mi.ScalarTransform4f().rotate([0.8, 0, 0.6], 70)
    return {
        "directional": {"type": "directional", "direction": [1, -2, 0.5], "irradiance": rgb},
        "directional, turned": {"type": "directional", "to_world": look, "irradiance": rgb},
        "spot": {"type": "spot", "to_world": look, "intensity": rgb, "cutoff_angle": 40},
        "spot, textured": {"type": "spot", "to_world": look, "cutoff_angle": 50, "beam_width": 10, "texture": picture()},
        "projector": {"type": "projector", "to_world": look, "fov": 60, "scale": 2, "irradiance": picture()},
        "projector, y": {"type": "projector", "to_world": look, "fov": 60, "fov_axis": "y", "irradiance": picture()},
        "envmap": {"type": "envmap", "bitmap": mi.Bitmap(SKY), "scale": 1.5},
        "envmap, compensated": {"type": "envmap", "bitmap": mi.Bitmap(SKY), "mis_compensation": True},
        "envmap, turned": {"type": "envmap", "bitmap": mi.Bitmap(SKY), "to_world": turn},
    }


def answers(mi, dr, name, description, spectral):
    scene = mi.load_dict({"type": "scene", "shape": {"type": "sphere", "radius": 3.0}, "light": description})
    light = scene.emitters()[0]
    vector = lambda a: mi.Vector3f(*[mi.Float(x) for x in a])
    si = dr.zeros(mi.SurfaceInteraction3f, N)
    si.p = mi.Point3f(*[mi.Float(x) for x in PLACES])
    if spectral:
        si.wavelengths = type(si.wavelengths)(*[mi.Float(w) for w in WAVELENGTHS])
    array = lambda v: np.array(v).reshape(-1, N) if np.array(v).size % N == 0 else np.array(v)
    full = lambda v: array(v + dr.zeros(mi.Float, N))
    if name.startswith("envmap"):
        si.wi = -vector(DIRECTIONS)
        ds = dr.zeros(mi.DirectionSample3f, N)
        ds.d = vector(DIRECTIONS)
        return {"value": full(light.eval(si)), "density": full(light.pdf_direction(si, ds))}
    ds, weight = light.sample_direction(si, mi.Point2f(0.3, 0.6))
    return {"direction": full(ds.d), "value": full(weight)}


for kind in ("rgb", "spectral"):
    spectral = kind == "spectral"
    mitsuba.set_variant("llvm_ad_" + kind)
    umbel.set_variant("llvm_ad_" + kind)
    theirs, ours = lights(mitsuba, spectral), lights(umbel, spectral)
    for name in theirs:
        a = answers(umbel, umbel.jit, name, ours[name], spectral)
        b = answers(mitsuba, drjit, name, theirs[name], spectral)
        for what in b:
            # Densities of Mitsuba's spectral variants follow something else than luminance
            if what == "density" and spectral:
                continue
            compare(f"{kind} {name}, {what}", a[what], b[what], 2e-3 if spectral else 2e-4)

# An environment's pixels, as scripts see and change them
umbel.set_variant("llvm_ad_rgb")
mitsuba.set_variant("llvm_ad_rgb")
change = lambda data: np.array(data) ** 2 + 0.5
lights_of = [(m, m.load_dict({"type": "envmap", "bitmap": m.Bitmap(SKY)})) for m in (umbel, mitsuba)]
seen = []
for m, light in lights_of:
    params = m.traverse(light)
    seen.append([np.array(params["data"])])
    params["data"] = m.TensorXf(change(params["data"]))
    params.update()
    dr = umbel.jit if m is umbel else drjit
    si = dr.zeros(m.SurfaceInteraction3f, N)
    si.wi = m.Vector3f(*[m.Float(-x) for x in DIRECTIONS])
    seen[-1].append(np.array(light.eval(si)))
compare("envmap, data", seen[0][0], seen[1][0], 1e-6)
compare("envmap, other data", seen[0][1], seen[1][1], 2e-4)

# Where the sun is; oracle_daylight.py tells how bright
umbel.set_variant("llvm_ad_rgb")
mitsuba.set_variant("llvm_ad_rgb")
for i in range(8):
    time = {"year": int(rng.integers(1999, 2030)), "month": int(rng.integers(1, 13)), "day": int(rng.integers(1, 29)),
            "hour": rng.uniform(9, 15), "minute": rng.uniform(0, 60), "latitude": rng.uniform(-45, 45),
            "longitude": 20.0, "timezone": 1.0}
    theirs = mitsuba.load_dict({"type": "sunsky", "sky_scale": 0.0, **time})
    ours = umbel.load_dict({"type": "sunsky", "sky_scale": 0.0, **time})
    ds, weight = ours.sample_direction(umbel.jit.zeros(umbel.SurfaceInteraction3f, 1), umbel.Point2f([0.0], [0.0]))
    compare(f"sun {i}, direction", np.array(ds.d).ravel(), np.array(mitsuba.traverse(theirs)["sun_direction"]).ravel(), 2e-3)


def timed_sun(mi, dr, time, u):
    light = mi.load_dict({"type": "timed_sunsky", "window_start_time": 9.0, "window_end_time": 15.0})
    si = dr.zeros(mi.SurfaceInteraction3f, 1)
    si.time = mi.Float(time)
    return np.array(light.sample_direction(si, mi.Point2f([u], [0.0]))[0].d).ravel()


for time in (0.02, 0.31, 0.5, 0.999):  # some point of the sun's disk, of radius 0.0047
    compare(f"timed sun, {time}", timed_sun(umbel, umbel.jit, time, 0.9999), timed_sun(mitsuba, drjit, time, 0.9999), 0.0095)

umbel.set_variant("llvm_rgb")
mitsuba.set_variant("llvm_ad_rgb")
for file, count in (("matpreview/matpreview", 3), ("veach-bidir/bidir", 11)):
    path = f"{SCENES}/{file}.serialized"
    if not os.path.exists(path):
        print(f"skipped: no {path}; set UMBEL_SCENES")
        continue
    for i in range(count):
        read = lambda mi: mi.traverse(mi.load_dict({"type": "serialized", "filename": path, "shape_index": i,
                                                    "to_world": mi.ScalarTransform4f().scale([1, 2, 0.5])}))
        a, b = read(umbel), read(mitsuba)
        for key in ("faces", "vertex_positions", "vertex_normals", "vertex_texcoords"):
            if np.array(b[key]).size:
                compare(f"{file} {i}, {key}", np.array(a[key]), np.array(b[key]), 1e-6)
sys.exit(1 if failures else 0)
