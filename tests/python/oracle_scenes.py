# tests/python/oracle_scenes.py: small scenes, one for each plugin that only images show, look as in Mitsuba 3.
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
RENDERS, SPP = 32, 32


def file(name, text):
    path = os.path.join(FOLDER.name, name)
    with open(path, "w") as f:
        f.write(text)
    return path


# A pyramid with colours at its corners, texture coordinates and half a floor
CORNERS = ((-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1), (0, 1.4, 0))
FACES = ((1, 0, 4), (2, 1, 4), (3, 2, 4), (0, 3, 4), (0, 1, 2))
COLOURS = ((0.9, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.7), (0.8, 0.8, 0.1), (0.9, 0.9, 0.9))
PLY = file("pyramid.ply", "\n".join(
    ["ply", "format ascii 1.0", f"element vertex {len(CORNERS)}", *(f"property float {p}" for p in "xyzuv"),
     *(f"property float {p}" for p in "rgb"), f"element face {len(FACES)}", "property list uchar int vertex_indices", "end_header"] +
    [" ".join(map(str, p + (p[0] * 0.5 + 0.5, p[2] * 0.5 + 0.5) + c)) for p, c in zip(CORNERS, COLOURS)] +
    ["3 " + " ".join(map(str, f)) for f in FACES]) + "\n")
OBJ = file("pyramid.obj", "\n".join(
    [f"v {x} {y} {z}" for x, y, z in CORNERS] + [f"vt {x * 0.5 + 0.5} {z * 0.5 + 0.5}" for x, y, z in CORNERS] +
    [f"f {a + 1}/{a + 1} {b + 1}/{b + 1} {c + 1}/{c + 1}" for a, b, c in FACES]) + "\n")


def rgb(*value):
    return {"type": "rgb", "value": list(value)}


def diffuse(texture):
    return {"type": "diffuse", "reflectance": texture}


CHECKS = {"type": "checkerboard", "color0": rgb(0.1, 0.3, 0.7), "color1": rgb(0.8, 0.5, 0.2)}
BALL = {"type": "sphere", "radius": 0.9, "center": [0, 0.4, 0]}


def lit_by(spectrum):
    return lambda mi: {"light": {"type": "point", "position": [1, 3, 3], "intensity": spectrum}, "ball": BALL}


def material(bsdf):
    """On a ball and a floor below lights that are neither small nor everywhere."""
    return lambda mi: {"light": {"type": "constant", "radiance": 0.3}, "lamp": {"type": "point", "position": [1, 3, 3], "intensity": 12.0},
                       "ball": BALL | {"bsdf": bsdf(mi)}}


def bumps(mi):
    waves = np.fromfunction(lambda y, x: 0.5 + 0.4 * np.sin(x * 0.8) * np.cos(y * 0.6), (16, 32))[..., None].astype(np.float32)
    return {"type": "bitmap", "bitmap": mi.Bitmap(waves), "raw": True}


def normals(mi):
    n = np.fromfunction(lambda y, x, c: np.where(c == 2, 1.0, np.where(c == 0, 0.3 * np.sin(x), 0.3 * np.cos(y))), (16, 32, 3))
    n = 0.5 + 0.5 * n / np.linalg.norm(n, axis=-1, keepdims=True)
    return {"type": "bitmap", "bitmap": mi.Bitmap(n.astype(np.float32)), "raw": True}


def with_integrator(shapes, **integrator):
    return lambda mi: shapes(mi) | {"integrator": integrator}


def mesh(**description):
    return lambda mi: material(lambda mi: diffuse(0.5))(mi) | {"ball": description | {
        "to_world": mi.ScalarTransform4f().translate([0, -0.4, 0]).rotate([0, 1, 0], 20)}}


def merged(mi):
    T = mi.ScalarTransform4f
    parts = {f"cube{i}": {"type": "cube", "to_world": T().translate([0.8 * i - 0.8, 0.2 * i, 0]).scale(0.3), "bsdf": diffuse(rgb(0.7, 0.3, 0.2))}
             for i in range(3)}
    return material(lambda mi: diffuse(0.5))(mi) | {"ball": {"type": "merge", **parts}}


def beam(mi):
    T = mi.ScalarTransform4f
    return {"integrator": {"type": "ptracer", "max_depth": 3},
            "lamp": {"type": "rectangle", "to_world": T().look_at(origin=[0, 3, 0], target=[0, 0, 0.1], up=[1, 0, 0]).scale(0.7),
                     "emitter": {"type": "directionalarea", "radiance": rgb(3, 2, 1)}}, "ball": BALL}


def meter(mi):
    return {"light": {"type": "constant", "radiance": rgb(0.2, 0.4, 0.9)}, "lamp": {"type": "point", "position": [1, 3, 3], "intensity": 12.0},
            "ball": BALL, "sensor": {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, 2, 0]).rotate([1, 0, 0], 20).scale(0.5),
                                     "meter": {"type": "irradiancemeter"}}}


def metal(mi):
    return {"integrator": {"type": "stokes", "nested": {"type": "direct"}}, "light": {"type": "constant", "radiance": 0.7},
            "lamp": {"type": "point", "position": [1, 3, 3], "intensity": 12.0},
            "ball": BALL | {"bsdf": {"type": "roughconductor", "alpha": 0.3, "eta": 0.4, "k": 2.5}}}


def through(plate):
    """The ball, with polarized light of its own, behind a plate that all of the camera's rays meet."""
    def parts(mi):
        scene = metal(mi)
        look = mi.ScalarTransform4f().look_at(origin=[0.9, 1.82, 3.7], target=[1, 2, 4], up=[0, 1, 0])
        scene["integrator"] = {"type": "stokes", "nested": {"type": "volpath", "max_depth": 4}}
        return scene | {"plate": {"type": "rectangle", "to_world": look, "bsdf": plate}}
    return parts


def sampled_by(sampler):
    return lambda mi: material(lambda mi: diffuse(CHECKS))(mi) | {"sampler": {"type": sampler}}


PLASTIC = {"type": "roughplastic", "alpha": 0.2, "diffuse_reflectance": rgb(0.6, 0.3, 0.1)}
COLOURED = ("rgb", "spectral")
ROWS = {
    "obj": (mesh(type="obj", filename=OBJ, bsdf=diffuse(CHECKS)), COLOURED),
    "obj, faceted": (mesh(type="obj", filename=OBJ, face_normals=True, flip_tex_coords=False, bsdf=diffuse(CHECKS)), COLOURED),
    "ply": (mesh(type="ply", filename=PLY, bsdf=diffuse(CHECKS)), COLOURED),
    "ply, faceted": (mesh(type="ply", filename=PLY, face_normals=True, flip_normals=True,
                          bsdf={"type": "twosided", "bsdf": diffuse(CHECKS)}), COLOURED),
    "mesh_attribute": (mesh(type="ply", filename=PLY, bsdf=diffuse({"type": "mesh_attribute", "name": "vertex_color", "scale": 0.9})), COLOURED),
    "merge": (merged, COLOURED),
    "bumpmap": (material(lambda mi: {"type": "bumpmap", "nested_texture": bumps(mi), "scale": 0.8, "nested_bsdf": PLASTIC}), COLOURED),
    "normalmap": (material(lambda mi: {"type": "normalmap", "normalmap": normals(mi), "bsdf": PLASTIC}), COLOURED),
    "checkerboard": (material(lambda mi: diffuse(CHECKS | {"to_uv": mi.ScalarTransform3f().scale([4, 6])})), COLOURED),
    "twosided, transmitting": (material(lambda mi: {"type": "twosided", "allow_transmission": True, "bsdf": {
        "type": "roughdielectric", "alpha": 0.3}}), COLOURED),
    "d65": (lit_by({"type": "d65", "scale": 12.0}), ("spectral",)),
    "d65, coloured": (lit_by({"type": "d65", "color": rgb(3, 8, 12)}), ("spectral",)),
    "blackbody": (lit_by({"type": "blackbody", "temperature": 3200.0}), ("spectral",)),
    "blackbody, part": (lit_by({"type": "blackbody", "temperature": 5200.0, "wavelength_min": 450.0, "wavelength_max": 600.0}), ("spectral",)),
    "direct": (with_integrator(material(lambda mi: PLASTIC), type="direct"), COLOURED),
    # Without lights at points, which Mitsuba counts once for each of several samples
    "direct, several": (lambda mi: with_integrator(material(lambda mi: PLASTIC), type="direct", emitter_samples=3, bsdf_samples=2,
                                                   hide_emitters=True)(mi) | {"lamp": beam(mi)["lamp"] | {"emitter": {"type": "area"}}}, COLOURED),
    "depth": (with_integrator(material(lambda mi: PLASTIC), type="depth"), ("rgb",)),
    "directionalarea": (beam, COLOURED),
    "irradiancemeter": (meter, COLOURED),
    "stokes": (metal, ("mono_polarized", "spectral_polarized")),
    "polarizer": (through({"type": "polarizer", "theta": {"type": "uniform", "value": 20.0}}), ("mono_polarized", "spectral_polarized")),
} | {name: (sampled_by(name), ("rgb",)) for name in ("stratified", "multijitter", "orthogonal")}


def statistics(mi, parts):
    T = mi.ScalarTransform4f
    film = {"type": "hdrfilm", "width": 6, "height": 4, "rfilter": {"type": "box"}} | parts.pop("film", {})
    sampler = parts.pop("sampler", {"type": "independent"})
    camera = {"type": "perspective", "fov": 40, "to_world": T().look_at(origin=[1, 2, 4], target=[0, 0.2, 0], up=[0, 1, 0])}
    if "sensor" in parts:  # which is part of a shape
        parts["sensor"]["meter"] |= {"film": film | {"width": 1, "height": 1}, "sampler": sampler}
    else:
        parts["sensor"] = camera | {"film": film, "sampler": sampler}
    floor = {"type": "rectangle", "to_world": T().translate([0, -0.5, 0]).rotate([1, 0, 0], -90).scale(3), "bsdf": diffuse(rgb(0.4, 0.5, 0.3))}
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "path", "max_depth": 4}, "floor": floor} | parts)
    images = np.array([np.array(mi.render(scene, spp=SPP, seed=seed)) for seed in range(RENDERS)], dtype=float)
    if images.shape[-1] == 13 and "mono" in mi.variant():  # Mitsuba's Stokes vectors are grey colours there
        images = images[..., [0, 1, 4, 7, 10]]
    return images.mean(0), images.std(0, ddof=1) / RENDERS**0.5


wrong = 0
only = sys.argv[1:]
for name, (parts, colours) in ROWS.items():
    for colour in colours if not only or name in only else ():
        umbel.set_variant("llvm_" + colour)
        mitsuba.set_variant("llvm_ad_" + colour)
        (a, error_a), (b, error_b) = (statistics(mi, parts(mi)) for mi in (umbel, mitsuba))
        # Colours become spectra by a fit here, and by a table there
        rounding = 2e-3 if "spectral" in colour else 1e-4
        ok = a.shape == b.shape and np.abs(b).max() > 0.01
        if ok:
            z = np.abs(a - b) / np.sqrt(error_a**2 + error_b**2 + (rounding * np.abs(b[..., :3]).mean())**2)
            ok = z.max() < 5 and (z**2).mean() < (1.6 if z.size > 4 else 9)  # the channels of a single pixel move together
        wrong += not ok
        print(f"{'ok' if ok else 'FAILED':6} {colour} {name}: " +
              (f"{z.size} numbers around {np.abs(b).mean():.3g}, z at most {z.max():.2f}, mean square {(z**2).mean():.2f}" if a.shape == b.shape
               else f"{a.shape} instead of {b.shape}"))
sys.exit(wrong != 0)
