# tests/python/oracle_daylight.py: sky and sun have the radiance that they have in Mitsuba 3.
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

N = 500
rng = np.random.default_rng(11)
UP = rng.uniform(0.001, 1, N)
AROUND = rng.uniform(0, 2 * np.pi, N)
SKY = np.array([np.sqrt(1 - UP**2) * np.cos(AROUND), np.sqrt(1 - UP**2) * np.sin(AROUND), UP]).astype(np.float32)
ELEVATIONS = (1.0, 4.0, 12.0, 33.0, 61.0, 88.0)  # degrees
TURBIDITIES = (1.0, 2.6, 5.0, 9.5)
ALBEDOS = (0.0, 1.0, [0.1, 0.45, 0.8])
WAVELENGTHS = ((361.0, 400.0, 437.0, 518.0), (559.0, 601.0, 660.0, 719.9), (721.0, 750.0, 790.0, 829.0))

failures = 0


def report(what, error, tolerance):
    global failures
    failures += not error <= tolerance
    print(f"{'ok' if error <= tolerance else 'FAILED':6} {what}: off by {error:.2e}, at most {tolerance:.1e}")


def sun_at(elevation, azimuth=0.7):
    e = np.radians(elevation)
    return [float(np.cos(e) * np.cos(azimuth)), float(np.cos(e) * np.sin(azimuth)), float(np.sin(e))]


def on_disk(elevation, aperture, n=300):
    """Directions inside of the sun's disk, none at its very edge."""
    axis = np.array(sun_at(elevation))
    side = np.cross(axis, [0, 0, 1])
    side /= np.linalg.norm(side)
    other = np.cross(axis, side)
    r, phi = np.sqrt(rng.random(n)) * 0.98, rng.uniform(0, 2 * np.pi, n)
    angle = np.radians(aperture / 2) * r
    d = np.outer(axis, np.cos(angle)) + (np.outer(side, np.cos(phi)) + np.outer(other, np.sin(phi))) * np.sin(angle)
    return d[:, d[2] > 0.001].astype(np.float32)


def seen(mi, dr, description, directions, wavelengths=None, time=0.0):
    light = mi.load_dict(description)
    si = dr.zeros(mi.SurfaceInteraction3f, directions.shape[1])
    si.wi = mi.Vector3f(*[mi.Float(-x) for x in directions])
    si.time = mi.Float(time)
    if wavelengths:
        si.wavelengths = type(si.wavelengths)(*[mi.Float(w) for w in wavelengths])
    return np.array(light.eval(si), dtype=float)


def both(description, directions, wavelengths=None, **more):
    ours = seen(umbel, umbel.jit, description, directions, wavelengths, **more)
    return ours, seen(mitsuba, drjit, description, directions, wavelengths, **more)


def albedo(value):
    return value if isinstance(value, float) else {"type": "rgb", "value": value}


# The sky: relative to its brightest direction, as numbers near 0 carry the formula's cancellation in single precision. Where
# the formula is negative, there is no light here. In RGB, Mitsuba divides by a rounded integral of CIE's y, 0.1 % off; its
# spectra of coloured grounds come from a table of its own.
for kind in ("rgb", "spectral"):
    for m in (umbel, mitsuba):
        m.set_variant("llvm_ad_" + kind)
    groups = (None,) if kind == "rgb" else WAVELENGTHS
    for ground in ALBEDOS:
        worst = 0.0
        for elevation in ELEVATIONS:
            for turbidity in TURBIDITIES:
                d = {"type": "sunsky", "sun_direction": sun_at(elevation), "turbidity": turbidity, "sun_scale": 0.0}
                for w in groups:
                    a, b = both({**d, "albedo": albedo(ground)}, SKY, w)
                    b = np.maximum(b, 0)
                    worst = max(worst, np.abs(a - b).max() / max(b.max(), 1e-6))
        loose = kind == "spectral" and not isinstance(ground, float)
        report(f"{kind} sky, albedo {ground}", worst, 4e-3 if loose else 1.2e-3 if kind == "rgb" else 1e-4)

# The sun in spectral variants. Mitsuba has 1 - cos(0.27 degrees) in single precision, 0.2 % off, as a factor of larger suns.
def sun(elevation, turbidity, aperture, complex_sun):
    return {"type": "sunsky", "sun_direction": sun_at(elevation), "turbidity": turbidity, "sky_scale": 0.0,
            "sun_aperture": aperture, "complex_sun": complex_sun}


def compare_suns(complex_sun, elevations, tolerances):
    for aperture, tolerance in zip((0.5358, 6.0), tolerances):
        for elevation in elevations:
            worst = 0.0
            for turbidity in TURBIDITIES:
                for w in WAVELENGTHS:
                    a, b = both(sun(elevation, turbidity, aperture, complex_sun), on_disk(elevation, aperture), w)
                    worst = max(worst, np.abs(a - b).max() / max(b.max(), 1e-3))
            limb = "with" if complex_sun else "without"
            report(f"spectral sun of {aperture} degrees, {elevation:.2f} up, {limb} limb", worst, tolerance)


compare_suns(True, ELEVATIONS, (1e-3, 3e-3))
# Without a limb, Mitsuba's is linear in a table of every 3 degrees, which is coarse near the horizon: compared at those.
compare_suns(False, (5.0, 14.0, 32.0, 62.0, 86.0), (3e-3, 5e-3))

# The colour of the sun is that of its spectrum. Mitsuba's sums up the spectrum every 40 nm and is 6 % brighter than that;
# red, green and blue differ by what they have between those wavelengths.
nm = np.arange(360.0, 721.0)
cases = [(e, t, limb) for e in (8.0, 47.0) for t in (1.0, 6.0) for limb in (False, True)]
# Near the middle; there, roundings may make Mitsuba's limb NaN
middle = [np.array([sun_at(e + 0.05)] * len(nm)).T for e, t, limb in cases]
spectra = [seen(mitsuba, drjit, sun(e, t, 0.5358, limb), d, [nm] * 4)[0] for (e, t, limb), d in zip(cases, middle)]
xyz = np.array(mitsuba.cie1931_xyz(mitsuba.Float(nm)), dtype=float)
SRGB = np.array([[3.2404542, -1.5371385, -0.4985314], [-0.969266, 1.8760108, 0.041556], [0.0556434, -0.2040259, 1.0572252]])
for m in (umbel, mitsuba):
    m.set_variant("llvm_ad_rgb")
for (e, t, limb), d, spectrum in zip(cases, middle, spectra):
    a, b = both(sun(e, t, 0.5358, limb), d[:, :1])
    good = np.isfinite(spectrum)  # in one run of three, Mitsuba's is NaN at one wavelength
    assert good.sum() >= len(nm) - 1
    spectrum = np.interp(nm, nm[good], spectrum[good])
    integral = (xyz * spectrum).sum(axis=1) - 0.5 * (xyz[:, 0] * spectrum[0] + xyz[:, -1] * spectrum[-1])
    want = SRGB @ (integral / 106.857)
    name = f"rgb sun, {e:.0f} degrees up, turbidity {t}, {'with' if limb else 'without'} limb"
    report(name, np.abs(a.ravel() - want).max() / want.max(), 1e-3 if limb else 3e-3)
    report(name + ", as Mitsuba's over 1.0626", np.abs(a.ravel() * 1.0626 - b.ravel()).max() / b.max(), 0.02)

# Days pass: rows of tables in place of a formula, and the sun's course linear in an hour
for time in (0.13, 0.5, 0.871):
    d = {"type": "timed_sunsky", "sun_scale": 0.0, "turbidity": 4.0, "window_start_time": 9.0, "window_end_time": 15.0}
    a, b = both(d, SKY, time=time)
    report(f"timed sky, {time}", np.abs(a - b).max() / b.max(), 0.01)


# A ball on the ground: directions are drawn from other densities, and light is the same on average
def picture(mi, light, seed):
    camera = {"type": "perspective", "fov": 40, "to_world": mi.ScalarTransform4f().look_at([0, -4, 2], [0, 0, 0.4], [0, 0, 1]),
              "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}},
              "sampler": {"type": "independent", "sample_count": 256}}
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "path", "max_depth": 4, "rr_depth": 100}, "camera": camera,
                          "ground": {"type": "rectangle", "to_world": mi.ScalarTransform4f().scale(3)},
                          "ball": {"type": "sphere", "center": [0, 0, 0.6], "radius": 0.6}, "light": light})
    return np.stack([np.array(mi.render(scene, spp=256, seed=seed + i), dtype=float) for i in range(4)])


for variant, more, tolerance in (("llvm_ad_rgb", {"sun_scale": 0.0}, 2e-3), ("llvm_ad_spectral", {}, 3e-3),
                                 ("llvm_ad_spectral", {"complex_sun": True}, 3e-3)):
    mitsuba.set_variant(variant)
    umbel.set_variant(variant)
    light = {"type": "sunsky", "sun_direction": sun_at(50.0), "turbidity": 3.5, **more}
    a, b = picture(umbel, light, 10), picture(mitsuba, light, 20)
    means = [x.mean((1, 2, 3)) for x in (a, b)]
    noise = np.sqrt(sum(m.var(ddof=1) / len(m) for m in means)) / b.mean()
    report(f"{variant}, scene, {more}", abs(a.mean() / b.mean() - 1), tolerance + 7 * noise)  # six degrees of freedom
    # Pixels: the squares of such t have the mean 1.5
    error = np.sqrt((a.var(0, ddof=1) + b.var(0, ddof=1)) / len(a) + (tolerance * b.mean(0)) ** 2)
    report(f"{variant}, pixels of the scene, {more}", np.mean(((a.mean(0) - b.mean(0)) / (error + 1e-9)) ** 2), 1.95)
sys.exit(1 if failures else 0)
