# tests/python/oracle_sensors.py: rays of cameras are those of Mitsuba 3.
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

umbel.set_variant("llvm_rgb")
N = 1000
rng = np.random.default_rng(5)
FILM, APERTURE = rng.random((2, 2, N))
PLACES = rng.uniform(-1.5, 1.5, (3, N))


def sensors(mi):
    T = mi.ScalarTransform4f
    look = T().look_at(origin=[1, 2, 4], target=[0, 0, 0], up=[0, 1, 0])
    return {
        "perspective": {"type": "perspective", "fov": 50, "to_world": look},
        "thinlens": {"type": "thinlens", "aperture_radius": 0.2, "focus_distance": 3.0, "fov": 50, "to_world": look},
        "thinlens, y": {"type": "thinlens", "aperture_radius": 0.5, "focus_distance": 2.0, "fov": 50, "fov_axis": "y"},
        "orthographic": {"type": "orthographic", "to_world": look},
        "orthographic, scaled": {"type": "orthographic", "to_world": look @ T().scale([2, 2, 1]), "near_clip": 0.5},
        "radiancemeter": {"type": "radiancemeter", "origin": [1, 2, 3], "direction": [0, 1, 1]},
        "distant": {"type": "distant", "direction": [0, 1, 1]},
        "distant, point": {"type": "distant", "direction": [0, 1, 1], "target": [1, 0, 0]},
        "distant, shape": {"type": "distant", "to_world": look, "target": {"type": "rectangle"}},
        "batch": {"type": "batch", "a": {"type": "perspective", "fov": 50, "to_world": look},
                  "b": {"type": "thinlens", "aperture_radius": 0.2, "focus_distance": 3.0, "fov": 40}},
        "radiancemeter, turned": {"type": "radiancemeter", "to_world": look},
    }


def rays(mi, dr, name, description):
    size = (1, 1) if name.startswith(("radiancemeter", "distant")) else (8, 4)
    film = {"type": "hdrfilm", "width": size[0], "height": size[1], "rfilter": {"type": "box"}}
    scene = {"type": "scene", "shape": {"type": "sphere"}, "sensor": {**description, "film": film}}
    sensor = mi.load_dict(scene).sensors()[0]
    ray, weight = sensor.sample_ray(mi.Float(0), mi.Float(0.5), mi.Point2f(FILM), mi.Point2f(APERTURE))
    full = lambda v: np.array(v + dr.zeros(mi.Float, N)).reshape(-1, N)
    return np.concatenate([full(ray.o), full(ray.d), full(weight)])


def connections(mi, dr, name, description):
    film = {"type": "hdrfilm", "width": 8, "height": 4, "rfilter": {"type": "box"}}
    sensor = mi.load_dict({**description, "film": film})
    it = dr.zeros(mi.SurfaceInteraction3f, N)
    it.p = mi.Point3f(*[mi.Float(x) for x in PLACES])
    ds, weight = sensor.sample_direction(it, mi.Point2f(APERTURE))
    full = lambda v: np.array(v + dr.zeros(mi.Float, N)).reshape(-1, N)
    seen = full(ds.pdf) > 0  # Mitsuba's weights of what lies behind the camera are negative
    return np.concatenate([seen, full(ds.d), np.where(seen, full(ds.uv), 0), np.where(seen, full(weight), 0)])


wrong = 0
theirs, ours = sensors(mitsuba), sensors(umbel)
for name in theirs:
    for what in (rays, connections):
        if what is connections and not name.startswith(("perspective", "thinlens")):  # Mitsuba has none of others
            continue
        a, b = what(umbel, umbel.jit, name, ours[name]), what(mitsuba, drjit, name, theirs[name])
        # Mitsuba starts the one ray of a meter a little off its origin, and spheres around scenes are not the same to 1e-4
        tolerance = 2e-4 if name.startswith("radiancemeter") else 1e-4 if name.startswith("distant") else 1e-5
        error = np.abs(a - b).max()
        wrong += not error <= tolerance
        print(f"{'ok' if error <= tolerance else 'FAILED':6} {name}, {what.__name__}: off by {error:.2e}")
sys.exit(wrong != 0)
