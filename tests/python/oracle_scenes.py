# tests/python/oracle_scenes.py: small scenes, one for each plugin that only images show, look as in Mitsuba 3.
from compared_images import BALL, CHECKS, COLOURED, PLASTIC, POLARIZED, compare, diffuse, file, material, rgb, with_integrator
import numpy as np

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


def lit_by(spectrum):
    return lambda mi: {"light": {"type": "point", "position": [1, 3, 3], "intensity": spectrum}, "ball": BALL}


def bumps(mi):
    waves = np.fromfunction(lambda y, x: 0.5 + 0.4 * np.sin(x * 0.8) * np.cos(y * 0.6), (16, 32))[..., None].astype(np.float32)
    return {"type": "bitmap", "bitmap": mi.Bitmap(waves), "raw": True}


def normals(mi):
    n = np.fromfunction(lambda y, x, c: np.where(c == 2, 1.0, np.where(c == 0, 0.3 * np.sin(x), 0.3 * np.cos(y))), (16, 32, 3))
    n = 0.5 + 0.5 * n / np.linalg.norm(n, axis=-1, keepdims=True)
    return {"type": "bitmap", "bitmap": mi.Bitmap(n.astype(np.float32)), "raw": True}


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
    "stokes": (metal, POLARIZED),
    "polarizer": (through({"type": "polarizer", "theta": {"type": "uniform", "value": 20.0}}), POLARIZED),
} | {name: (sampled_by(name), ("rgb",)) for name in ("stratified", "multijitter", "orthogonal")}

compare(ROWS)
