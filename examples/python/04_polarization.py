"""Polarized light: a lamp mirrored in water, seen at Brewster's angle and through a filter."""
import numpy as np
import umbel as mi

mi.set_variant("llvm_ad_spectral_polarized")
T = mi.ScalarTransform4f

# At this angle of incidence the mirror image is fully polarized, parallel to the water.
eta = 1.33
brewster = np.arctan(eta)
towards = np.array([0, np.cos(brewster), np.sin(brewster)])  # from the water to the camera


def lake(integrator, filter_angle=None):
    scene = {
        "type": "scene",
        "integrator": integrator,
        "sensor": {"type": "perspective", "fov": 1, "to_world": T().look_at(list(10 * towards), [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}}},
        "water": {"type": "rectangle", "to_world": T().rotate([1, 0, 0], -90).scale(20),
                  "bsdf": {"type": "dielectric", "int_ior": eta, "ext_ior": 1.0}},
        # Where the mirrored rays go
        "lamp": {"type": "rectangle",
                 "to_world": T().look_at(list(10 * towards * [1, 1, -1]), [0, 0, 0], [0, 1, 0]).scale(2),
                 "emitter": {"type": "area", "radiance": 1.0}},
    }
    if filter_angle is not None:
        scene["filter"] = {"type": "rectangle", "to_world": T().look_at(list(9 * towards), list(10 * towards), [0, 1, 0]),
                           "bsdf": {"type": "polarizer", "theta": filter_angle}}
    return mi.load_dict(scene)


# `stokes` adds the Stokes vector to the image, referred to the camera's horizontal axis.
image = np.array(mi.render(lake({"type": "stokes", "nested": {"type": "path"}}), spp=4096))
stokes = image[..., -12:].mean(axis=(0, 1)).reshape(4, 3)  # S0 to S3, each in red, green and blue
luminance = np.array([0.2126, 0.7152, 0.0722])
s0, s1, s2, s3 = stokes @ luminance
print(f"Stokes vector: {s0:.4f} {s1:.4f} {s2:.4f} {s3:.4f}")

# Half of the light, the part that swings in parallel to the water, is reflected by Fresnel's law; the rest is not.
parallel = ((1 - eta ** 2) / (1 + eta ** 2)) ** 2
assert np.isclose(s0, parallel / 2, rtol=0.05)
assert np.isclose(s1, s0, rtol=1e-2)
assert abs(s2) < 1e-2 * s0 and abs(s3) < 1e-2 * s0

# A photographer's filter: turned one way it passes the reflection, turned by 90 degrees it removes it.
bright = np.array(mi.render(lake({"type": "path"}, filter_angle=0), spp=4096)).mean(axis=(0, 1)) @ luminance
dark = np.array(mi.render(lake({"type": "path"}, filter_angle=90), spp=4096)).mean(axis=(0, 1)) @ luminance
print(f"through a filter: {bright:.5f}, turned: {dark:.5f}")
assert np.isclose(bright, parallel / 2, rtol=0.05)
assert dark < 1e-3 * bright
