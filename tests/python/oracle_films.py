# tests/python/oracle_films.py: channels of `aov` and bands of `specfilm` are those of Mitsuba 3.
import sys

try:
    import mitsuba
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
import numpy as np

import umbel

AOVS = "p:position,u:uv,g:geo_normal,n:sh_normal,a:dp_du,b:dp_dv,x:duv_dx,y:duv_dy,d:depth"


def tabulated(wavelengths, values):
    return {"type": "irregular", "wavelengths": wavelengths, "values": values}


def aov(mi):
    """The first surface, as all kinds of channels see it."""
    T = mi.ScalarTransform4f
    return {"integrator": {"type": "aov", "aovs": AOVS}, "film": {"type": "hdrfilm"},
            "shapes": {"plane": {"type": "rectangle", "to_world": T().scale(3)}}}


def specfilm(mi):
    """Two bands, one of them beyond visible light."""
    return {"integrator": {"type": "path"},
            "film": {"type": "specfilm", "zz": tabulated("400,450,500", "0,1,0"), "far": tabulated("900,1000", "0.5,0.5")},
            "shapes": {"light": {"type": "constant", "radiance": tabulated("300,600,1100", "1,3,2")},
                       "ball": {"type": "sphere", "bsdf": {
                           "type": "diffuse", "reflectance": tabulated("300,700,1100", "0.1,0.8,0.3")}}}}


def statistics(mi, parts, spp, renders):
    look = mi.ScalarTransform4f().look_at(origin=[1, 2, 4], target=[0, 0, 0], up=[0, 1, 0])
    film = {**parts["film"], "width": 6, "height": 4, "rfilter": {"type": "box"}}
    scene = mi.load_dict({"type": "scene", "integrator": parts["integrator"], **parts["shapes"],
                          "sensor": {"type": "perspective", "fov": 40, "to_world": look, "film": film}})
    images = np.array([np.array(mi.render(scene, spp=spp, seed=seed)) for seed in range(renders)])
    names = list(scene.integrator().aov_names())
    return names, images.mean(0), images.std(0, ddof=1) / renders**0.5


wrong = 0
for what, variants in ((aov, ("llvm_rgb", "llvm_ad_rgb")), (specfilm, ("llvm_spectral", "llvm_ad_spectral"))):
    umbel.set_variant(variants[0])
    mitsuba.set_variant(variants[1])
    (names, a, error_a), (their_names, b, error_b) = (statistics(mi, what(mi), 16, 64) for mi in (umbel, mitsuba))
    z = np.abs(a - b) / np.sqrt(error_a**2 + error_b**2 + (1e-6 * np.abs(b))**2 + 1e-12)
    ok = names == their_names and a.shape == b.shape and z.max() < 5 and (z**2).mean() < 1.5
    wrong += not ok
    print(f"{'ok' if ok else 'FAILED':6} {what.__name__}: {z.size} numbers, z at most {z.max():.2f}, mean square {(z**2).mean():.2f}")
sys.exit(wrong != 0)
