# tests/python/oracle_catalogue.py: every plugin that Mitsuba 3 also has shows in some image what it shows there.
import glob
import os
import re
import struct
import sys
import zlib

from compared_images import BALL, CHECKS, COLOURED, PLASTIC, POLARIZED, compare, diffuse, file, material, rgb, with_integrator
import measured_files
import mitsuba
import numpy as np

RED, METAL = diffuse(rgb(0.7, 0.2, 0.1)), {"type": "roughconductor", "alpha_u": 0.2, "alpha_v": 0.4, "eta": 0.4, "k": 2.5}
PRINCIPLED = {"base_color": rgb(0.8, 0.3, 0.1), "spec_trans": 0.4, "roughness": 0.6, "anisotropic": 0.5, "sheen": 0.4, "sheen_tint": 0.6}
rng = np.random.default_rng(7)


# ---- materials
def of(**bsdf): return material(lambda mi: bsdf)


def polarized(bsdf):
    """Lit by light that the floor, of metal, has polarized."""
    def parts(mi):
        floor = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, -0.5, 0]).rotate([1, 0, 0], -90).scale(3),
                 "bsdf": {"type": "roughconductor", "alpha": 0.3, "eta": 0.4, "k": 2.5}}
        return material(lambda mi: bsdf)(mi) | {"floor": floor, "integrator": {"type": "stokes", "nested": {"type": "path", "max_depth": 4}}}
    return parts


measured_files.measured(file("spectral.bsdf"))
measured_files.measured(file("rgb.bsdf"), rgb=True, seed=5)
measured_files.measured_polarized(file("polarized.pbsdf"))
PATHS = {name: os.path.join(os.path.dirname(file("x")), name) for name in ("spectral.bsdf", "rgb.bsdf", "polarized.pbsdf")}
BSDFS = {
    "diffuse": of(**RED),
    "conductor": of(type="conductor", eta=0.4, k=2.5, specular_reflectance=0.9),
    "roughconductor": of(**METAL),
    "dielectric": of(type="dielectric", int_ior=1.6, specular_transmittance=rgb(0.9, 0.5, 0.3)),
    "thindielectric": of(type="thindielectric", int_ior=1.6),
    "roughdielectric": of(type="roughdielectric", distribution="ggx", alpha=0.3, int_ior=1.4),
    "plastic": of(type="plastic", diffuse_reflectance=rgb(0.7, 0.2, 0.1), int_ior=1.7, nonlinear=True),
    "roughplastic": of(**PLASTIC),
    "blendbsdf": material(lambda mi: {"type": "blendbsdf", "weight": 0.3, "a": RED, "b": METAL}),
    "mask": material(lambda mi: {"type": "mask", "opacity": 0.4, "nested": METAL}),
    "twosided": of(type="twosided", front=RED, back=METAL),
    "null": of(type="null"),
    "principled": of(type="principled", **PRINCIPLED, metallic=0.3, clearcoat=0.8, flatness=0.4),
    "principledthin": of(type="principledthin", **PRINCIPLED, diff_trans=0.7),
    "hair": of(type="hair", longitudinal_roughness=0.7, azimuthal_roughness=0.8, sigma_a=rgb(0.2, 0.4, 0.9)),
    "pplastic": of(type="pplastic", diffuse_reflectance=rgb(0.6, 0.3, 0.1), alpha=0.3),
}
ROWS = {name: (parts, COLOURED) for name, parts in BSDFS.items()}
ROWS |= {f"{name}, polarized": (polarized(BSDFS[name](mitsuba)["ball"]["bsdf"]), POLARIZED)
         for name in ("conductor", "roughconductor", "dielectric", "thindielectric", "roughdielectric", "pplastic")}
ROWS |= {
    "measured": (of(type="measured", filename=PATHS["spectral.bsdf"]), ("spectral",)),
    "measured, rgb": (of(type="measured", filename=PATHS["rgb.bsdf"]), ("rgb",)),
    "measured_polarized": (polarized({"type": "measured_polarized", "filename": PATHS["polarized.pbsdf"]}), ("spectral_polarized",)),
}


# ---- shapes
def shape(**description):
    return lambda mi: material(lambda mi: RED)(mi) | {"ball": {"bsdf": diffuse(CHECKS)} | {
        name: value(mi) if callable(value) else value for name, value in description.items()}}


def turned(mi): return mi.ScalarTransform4f().translate([0, 0.4, 0]).rotate([0.6, 0, 0.8], 40).scale(0.7)


def instances(mi):
    place = lambda x: mi.ScalarTransform4f().translate([x, 0.2, 0]).rotate([0, 1, 0], 40 * x).scale([0.4, 0.6, 0.3])
    return material(lambda mi: RED)(mi) | {"ball": {"type": "shapegroup", "cube": {"type": "cube", "bsdf": RED}, "ball": BALL},
                                           **{f"copy{x}": {"type": "instance", "to_world": place(x), "group": {"type": "ref", "id": "ball"}}
                                              for x in (-1, 1)}}


def serialized():
    corners = np.array([(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1), (0, 1.4, 0)], dtype="<f4")
    faces = np.array([(1, 0, 4), (2, 1, 4), (3, 2, 4), (0, 3, 4), (0, 1, 2)], dtype="<u4")
    data = struct.pack("<I", 0x1000 | 2) + b"pyramid\0" + struct.pack("<QQ", 5, 5) + corners.tobytes()
    data += (corners[:, ::2] * 0.5 + 0.5).tobytes() + faces.tobytes()
    mesh = struct.pack("<HH", 0x041c, 4) + zlib.compress(data)
    path = file("pyramid.serialized")
    with open(path, "wb") as f:
        f.write(mesh + struct.pack("<QI", 0, 1))
    return path


CURVES = file("curves.txt", "\n".join(f"{x:.3f} {0.3 * np.sin(5 * x + k) + 0.4 + 0.3 * k:.3f} {0.2 * np.cos(4 * x):.3f} {0.12 - 0.03 * x:.3f}" if x < 2
                                      else "" for k in (0, 1) for x in (*np.linspace(-1.2, 1.2, 9), 2)) + "\n")
z, y, x = np.meshgrid(*[np.linspace(0, 1, 13)] * 3, indexing="ij")
GRID = (np.sqrt((x - 0.5)**2 + (y - 0.48)**2 + (z - 0.52)**2) - 0.36 + 0.03 * np.sin(9 * x) * np.sin(11 * y + 1))[..., None].astype(np.float32)
CLOUD = np.concatenate([rng.uniform(-0.8, 0.8, (40, 3)) + [0, 0.6, 0], rng.uniform(0.05, 0.2, (40, 3)), rng.normal(size=(40, 4))], axis=1)
CLOUD[:, 6:] /= np.linalg.norm(CLOUD[:, 6:], axis=1)[:, None]
cloud = lambda mi: mi.TensorXf(CLOUD.astype(np.float32))
SHAPES = {
    "sphere": shape(type="sphere", to_world=turned), "cube": shape(type="cube", to_world=turned),
    "cylinder": shape(type="cylinder", to_world=turned, bsdf={"type": "twosided", "bsdf": diffuse(CHECKS)}),
    "disk": shape(type="disk", to_world=turned, bsdf={"type": "twosided", "bsdf": diffuse(CHECKS)}),
    "rectangle": shape(type="rectangle", to_world=turned, bsdf={"type": "twosided", "bsdf": diffuse(CHECKS)}),
    "instance": instances, "shapegroup": instances, "serialized": shape(type="serialized", filename=serialized()),
    "linearcurve": shape(type="linearcurve", filename=CURVES), "bsplinecurve": shape(type="bsplinecurve", filename=CURVES),
    "sdfgrid": shape(type="sdfgrid", grid=lambda mi: mi.TensorXf(GRID), normals="smooth", bsdf=RED,
                     to_world=lambda mi: mi.ScalarTransform4f().translate([-1, -0.5, -1]).scale(2)),
    "ellipsoids": shape(type="ellipsoids", data=cloud, extent=1.2, bsdf=RED),
    "ellipsoidsmesh": shape(type="ellipsoidsmesh", data=cloud, extent=1.0, bsdf={"type": "twosided", "bsdf": RED}),
}
ROWS |= {name: (parts, COLOURED) for name, parts in SHAPES.items()}


def of_metal(description):
    """With every material replaced by one that polarizes."""
    if not isinstance(description, dict):
        return description
    metal = {"type": "twosided", "bsdf": {"type": "roughconductor", "alpha": 0.3, "eta": 0.4, "k": 2.5}}
    return {name: metal if name == "bsdf" else of_metal(value) for name, value in description.items()}


def by_stokes(parts):
    return lambda mi: of_metal(parts(mi)) | {"integrator": {"type": "stokes", "nested": {"type": "path", "max_depth": 4}}}


ROWS |= {f"{name}, polarized": (by_stokes(SHAPES[name]), ("spectral_polarized",))
         for name in ("sphere", "cylinder", "rectangle", "instance", "serialized", "bsplinecurve", "sdfgrid")}


# ---- lights
def light(**description):
    return lambda mi: {"light": {name: value(mi) if callable(value) else value for name, value in description.items()},
                       "ball": BALL | {"bsdf": PLASTIC}}


def above(mi): return mi.ScalarTransform4f().look_at(origin=[0.5, 4, 2], target=[0, 0.3, 0], up=[0, 0, 1])


def picture(seed, shape):
    numbers = (0.1 + 0.8 * np.random.default_rng(seed).random(shape)).astype(np.float32)
    return lambda mi: mi.Bitmap(numbers)


def texture(mi): return {"type": "bitmap", "bitmap": picture(3, (4, 6, 3))(mi), "wrap_mode": "clamp", "filter_type": "bilinear"}


ROWS |= {name: (parts, COLOURED) for name, parts in {
    "point": light(type="point", position=[1, 3, 3], intensity=rgb(9, 12, 5)), "constant": light(type="constant", radiance=rgb(0.3, 0.5, 0.9)),
    "directional": light(type="directional", direction=[1, -2, -0.5], irradiance=rgb(1, 2, 3)),
    "spot": light(type="spot", to_world=above, intensity=rgb(20, 30, 10), cutoff_angle=30, beam_width=15),
    "projector": light(type="projector", to_world=above, irradiance=texture, fov=40, scale=20),
    "envmap": light(type="envmap", bitmap=picture(4, (9, 16, 3)), scale=1.5),
    "area": lambda mi: {"lamp": {"type": "disk", "to_world": above(mi).scale(0.6), "emitter": {"type": "area", "radiance": rgb(9, 5, 2)}},
                        "ball": BALL | {"bsdf": PLASTIC}},
    "sunsky": light(type="sunsky", to_world=lambda mi: mi.ScalarTransform4f().rotate([1, 0, 0], -90), sun_direction=[0.4, 0.3, 0.8],
                    turbidity=4.0, albedo=0.3, sun_scale=0.02, sky_scale=3.0, sun_aperture=20.0),
}.items()}


# ---- sensors, films, filters and samplers
def seen_by(change, film={}):
    return lambda mi: material(lambda mi: diffuse(CHECKS))(mi) | {"camera": change, "film": film}


def rays(kind, **description):
    """In place of the usual camera, from where that is."""
    return lambda mi, usual: {"type": kind, "to_world": usual["to_world"]} | description


POINT = {"width": 1, "height": 1}
SENSORS = {
    "perspective": seen_by(lambda mi, usual: usual | {"fov": 50, "fov_axis": "y", "principal_point_offset_x": 0.1}),
    "thinlens": seen_by(lambda mi, usual: usual | {"type": "thinlens", "aperture_radius": 0.3, "focus_distance": 4.0}),
    "orthographic": seen_by(lambda mi, usual: {"type": "orthographic", "to_world": usual["to_world"].scale([2, 2, 1])}),
    "radiancemeter": seen_by(rays("radiancemeter"), POINT),
    "distant": seen_by(lambda mi, usual: {"type": "distant", "direction": [0.2, -1, -0.4], "target": [0, 0.4, 0]}, POINT),
    "batch": seen_by(lambda mi, usual: {"type": "batch", "a": usual, "b": usual | {"type": "thinlens", "aperture_radius": 0.3,
                                                                                   "focus_distance": 4.0}}),
    "hdrfilm": seen_by(lambda mi, usual: usual, {"pixel_format": "xyza", "crop_width": 4, "crop_height": 3, "crop_offset_x": 1}),
}
ROWS |= {name: (parts, COLOURED) for name, parts in SENSORS.items()}
ROWS |= {f"{name}, polarized": (by_stokes(parts), ("spectral_polarized",)) for name, parts in SENSORS.items() if name != "hdrfilm"}
ROWS |= {name: (seen_by(lambda mi, usual: usual, {"rfilter": {"type": name}}), COLOURED)
         for name in ("box", "tent", "gaussian", "mitchell", "catmullrom", "lanczos")}
# Wavelengths of Mitsuba's ldsampler go with places in the pixel: pixels are off by up to a tenth from its own means by `independent`
ROWS |= {name: (lambda mi, name=name: material(lambda mi: diffuse(CHECKS))(mi) | {"sampler": {"type": name}}, colours)
         for name, colours in (("independent", COLOURED), ("ldsampler", ("rgb",)))}


# ---- textures and spectra
def volume(mi):
    grid = np.random.default_rng(8).random((3, 4, 5, 3)).astype(np.float32)
    place = mi.ScalarTransform4f().translate([-1, -0.6, -1]).scale(2)
    return diffuse({"type": "volume", "volume": {"type": "gridvolume", "grid": mi.VolumeGrid(grid), "to_world": place}})


TABLE = {"wavelengths": "400,500,620,700", "values": "0.1,0.8,0.3,0.6"}
ROWS |= {name: (parts, COLOURED) for name, parts in {
    "bitmap": material(lambda mi: diffuse(texture(mi) | {"to_uv": mi.ScalarTransform3f().scale([3, 2])})),
    "srgb": material(lambda mi: diffuse(rgb(0.2, 0.5, 0.7))), "uniform": material(lambda mi: diffuse({"type": "uniform", "value": 0.6})),
}.items()}
ROWS |= {name: (parts, ("spectral",)) for name, parts in {
    "irregular": material(lambda mi: diffuse({"type": "irregular", **TABLE})),
    "regular": material(lambda mi: diffuse({"type": "regular", "wavelength_min": 380.0, "wavelength_max": 720.0, "values": TABLE["values"]})),
}.items()}
ROWS["volume"] = ROWS["gridvolume"] = (material(volume), ("rgb",))
ROWS["constvolume"] = (material(lambda mi: diffuse({"type": "volume", "volume": {"type": "constvolume", "value": rgb(0.2, 0.5, 0.7)}})), ("rgb",))
ROWS["rawconstant"] = (material(lambda mi: diffuse({"type": "rawconstant", "value": [0.2, 0.5, 0.7]})), ("rgb",))


# ---- integrators
def fog(mi):
    ball = BALL | {"bsdf": {"type": "null"}, "interior": {"type": "homogeneous", "albedo": rgb(0.9, 0.7, 0.5), "sigma_t": 2.0}}
    return material(lambda mi: RED)(mi) | {"ball": ball}


ROWS |= {
    "path": (with_integrator(material(lambda mi: METAL), type="path", max_depth=6, rr_depth=2, hide_emitters=True), COLOURED),
    # The image itself: Mitsuba's squares are those of XYZ
    "moment": (lambda mi: material(lambda mi: RED)(mi) | {"integrator": {"type": "moment", "nested": {"type": "direct"}},
                                                         "channels": {"mitsuba": [0, 1, 2], "umbel": [0, 1, 2]}}, ("rgb",)),
    "aov": (with_integrator(material(lambda mi: RED), type="aov", aovs="a:albedo,d:depth,n:sh_normal"), COLOURED),
    "ptracer": (with_integrator(light(type="spot", to_world=above, intensity=30.0), type="ptracer", max_depth=3), COLOURED),
    "volpath": (with_integrator(fog, type="volpath", max_depth=5), COLOURED),
    "volpathmis": (with_integrator(fog, type="volpathmis", max_depth=5), COLOURED),
    "prb": (with_integrator(material(lambda mi: PLASTIC), type="prb", max_depth=4), ("rgb",)),
    "prbvolpath": (with_integrator(fog, type="prbvolpath", max_depth=5), ("rgb",)),
    "direct_projective": (with_integrator(material(lambda mi: PLASTIC), type="direct_projective"), ("rgb",)),
    "prb_projective": (with_integrator(material(lambda mi: PLASTIC), type="prb_projective", max_depth=4), ("rgb",)),
}

# ---- nothing is left out
ELSEWHERE = {  # compared by what they return, or in scenes of other files
    "circular": "bsdfs", "retarder": "bsdfs", "specfilm": "films", "hg": "media", "isotropic": "media", "rayleigh": "media", "sggx": "media",
    "tabphase": "media", "blendphase": "media", "homogeneous": "media", "heterogeneous": "media",
    "timed_sunsky": "daylight",  # Mitsuba 3.9.1 does not render it with recorded loops
}
NO_COUNTERPART = {"blender"}
HERE = os.path.dirname(os.path.abspath(__file__))
scenes = open(os.path.join(HERE, "oracle_scenes.py")).read()
for name in sorted(os.path.basename(f)[:-3] for f in glob.glob(os.path.join(os.path.dirname(mitsuba.__file__), "plugins", "*.so"))):
    other = scenes if name not in ELSEWHERE else open(os.path.join(HERE, f"oracle_{ELSEWHERE[name]}.py")).read()
    if not (name in ROWS or name in NO_COUNTERPART or re.search(rf'"{name}"', other)):
        sys.exit(f"FAILED: {name} is not compared with Mitsuba's")
compare(ROWS)
