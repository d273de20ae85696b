# python/tools/gallery.py: a picture of each plugin's example, for the site that `./umbel docs` makes.
#
#     ./umbel python python/tools/gallery.py FOLDER [REGEX]     # FOLDER/KIND_NAME.jpg; those that changed, or match
#
# Likewise of each scene in scenes/, as scenes_NAME.jpg, and of the inverse problems in examples/python, as inverse_NAME_views.png and
# inverse_NAME_loss.png (gallery_examples.py).
#
# Examples are those of docs/plugins.md. A plugin enters by its kind: for each, there is a scene in which an example has
# something to do. Files that examples name are made by gallery_files.py.
import hashlib
import json
import os
import re
import sys
import tempfile
import types
from typing import Any, Callable, NamedTuple

import gallery_examples
import gallery_files
import numpy as np
import umbel as mi

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WIDTH, HEIGHT = 320, 240


class Entry(NamedTuple):
    """A plugin of the manual, with its example."""
    kind: str
    name: str
    xml: str
    python: str


def entries(path=os.path.join(ROOT, "docs", "plugins.md")):
    """All plugins, in the manual's order."""
    with open(path) as f:
        text = f.read()
    out = []
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        kind = section.split("\n", 1)[0]
        for part in re.split(r"^### ", section, flags=re.M)[1:]:
            blocks = {language: code for language, code in re.findall(r"^```(\w+)\n(.*?)^```", part, re.M | re.S)}
            out.append(Entry(kind, part.split("`")[1], blocks["xml"], blocks["python"]))
    return out


def described(entry):
    """The dictionary that the example gives to load_dict()."""
    scope = types.SimpleNamespace(load_dict=lambda d: d, ScalarTransform4f=mi.ScalarTransform4f)
    return eval(entry.python, {"mi": scope})


# ---- What is around an example

def T(): return mi.ScalarTransform4f()


def rgb(*value): return {"type": "rgb", "value": list(value)}


def diffuse(*value): return {"type": "diffuse", "reflectance": rgb(*value)}


def film(width=WIDTH, height=HEIGHT):
    return {"type": "hdrfilm", "width": width, "height": height, "pixel_format": "rgb", "rfilter": {"type": "gaussian"}}


def camera(origin=(0, 1.1, 5.4), target=(0, -0.12, 0), fov=32, **more):
    return {"type": "perspective", "fov": fov, "to_world": T().look_at(origin, target, [0, 1, 0]), "film": film(), **more}


def floor(y=-1.0, size=12):
    checks = {"type": "checkerboard", "color0": rgb(0.32, 0.32, 0.33), "color1": rgb(0.5, 0.5, 0.48),
              "to_uv": T().scale(2 * size)}
    return {"type": "rectangle", "to_world": T().translate([0, y, 0]).rotate([1, 0, 0], -90).scale(size),
            "material": {"type": "diffuse", "reflectance": checks}}


def scene(**objects):
    """With a camera, a path tracer and light from all around, where none are given."""
    around = {"integrator": {"type": "path", "max_depth": 12}, "sensor": camera(), "floor": floor(),
              "light": {"type": "envmap", "filename": "environment.exr"}}
    return {"type": "scene"} | {k: v for k, v in (around | objects).items() if v is not None}


def still_life():
    """A few objects for what is no object itself."""
    return {"gold": {"type": "sphere", "center": [-1.05, -0.4, -0.4], "radius": 0.6,
                     "material": {"type": "roughconductor", "material": "Au", "alpha": 0.2}},
            "glass": {"type": "sphere", "center": [0.25, -0.55, 0.7], "radius": 0.45, "material": {"type": "dielectric"}},
            "box": {"type": "cube", "material": {"type": "plastic", "diffuse_reflectance": rgb(0.15, 0.3, 0.6)},
                    "to_world": T().translate([1.1, -0.5, -0.5]).rotate([0, 1, 0], 30).scale(0.5)}}


def room():
    """Three walls, so that light is reflected from everywhere."""
    wall = lambda turn, *colour: {"type": "rectangle", "to_world": turn.translate([0, 0, -2.6]).scale(4),
                                  "material": diffuse(*colour)}
    return still_life() | {"back": wall(T(), 0.6, 0.6, 0.6), "left": wall(T().rotate([0, 1, 0], 90), 0.6, 0.2, 0.15),
                           "right": wall(T().rotate([0, 1, 0], -90), 0.2, 0.45, 0.2)}


def lamp():
    return {"type": "rectangle", "to_world": T().translate([-0.5, 2.6, 1]).rotate([1, 0, 0], 90).scale(0.7),
            "emitter": {"type": "area", "radiance": rgb(9, 8.5, 8)}}


# ---- From the numbers of an image to a picture

def colours(image):
    """Its first channels, as a colour or grey."""
    return image[..., :3] if image.shape[2] >= 3 else np.repeat(image[..., :1], 3, axis=2)


def exposed(image):
    """So bright that a few pixels are white."""
    image = colours(image)
    return image / max(np.percentile(image, 98), 1e-9)


def layers(image):
    """The last channels, each from black to white."""
    image = image[..., -3:] if image.shape[2] > 3 else colours(image)
    low, high = np.percentile(image, 1, axis=(0, 1)), np.percentile(image, 99, axis=(0, 1))
    return (image - low) / np.maximum(high - low, 1e-9)


def enlarged(image):
    """Pixels that can be seen."""
    image = colours(image)
    n = max(1, HEIGHT // image.shape[0])
    return image.repeat(n, axis=0).repeat(n, axis=1)


class Shot(NamedTuple):
    """How a picture is taken."""
    scene: dict
    show: Callable[[Any], Any] = colours
    variant: str = "llvm_rgb"
    spp: int = 64


# ---- One function for each kind of plugin

def bsdf(entry, it):
    if entry.name == "hair":
        return Shot(scene(it={"type": "shape/hair", "filename": "hair.txt", "radius": 0.05, "material": it}))
    variant = "llvm_spectral_polarized" if entry.name == "measured_polarized" else "llvm_rgb"
    return Shot(scene(it={"type": "sphere", "material": it}), variant=variant)


def emitter(entry, it):
    if entry.name in ("area", "directionalarea"):
        it = {"type": "rectangle", "emitter": it, "to_world": T().look_at([1.5, 2, 2.5], [0, -0.5, 0], [0, 1, 0]).scale(0.5)}
    things = room() | {"light": it}
    if "sky" in entry.name or entry.name == "sun":  # their up is z
        things = still_life() | {"light": it | {"to_world": T().rotate([1, 0, 0], -90)}}
    elif entry.name in ("constant", "envmap"):
        things = still_life() | {"light": it}
    if entry.name in ("collimated", "directionalarea"):  # only light itself finds its way
        things["integrator"] = {"type": "ptracer", "max_depth": 8}
    return Shot(scene(**things), exposed, spp=96 if "integrator" in things else 64)


def film_(entry, it):
    for size, key in ((WIDTH, "width"), (HEIGHT, "height")):
        it.setdefault(key, size)
    variant = "llvm_spectral" if entry.name == "specfilm" else "llvm_rgb"
    return Shot(scene(**still_life(), sensor=camera() | {"film": it}), exposed if entry.name == "specfilm" else colours, variant)


def integrator(entry, it):
    shows_layers = entry.name in ("aov", "depth", "field", "multichannel", "moment")
    variant = "llvm_rgb_polarized" if entry.name == "stokes" else "llvm_ad_rgb" if "prb" in entry.name else "llvm_rgb"
    things = room() | {"light": {"type": "constant", "radiance": 0.3}, "lamp": lamp(), "integrator": it}
    return Shot(scene(**things), layers if shows_layers else colours, variant, 96 if entry.name == "ptracer" else 64)


def medium(entry, it):
    cloud = {"type": "cube", "material": {"type": "null"}, "interior": it,
             "to_world": T().rotate([0, 1, 0], 30).scale(0.8)}
    return Shot(scene(it=cloud, integrator={"type": "volpath", "max_depth": 32}))


def phase(entry, it): return medium(entry, {"type": "homogeneous", "sigma_t": 2.0, "albedo": 0.9, "phase": it})


def subsurface(entry, it):
    wax = {"type": "plastic", "diffuse_reflectance": 0.0}
    return Shot(scene(it={"type": "sphere", "material": wax, "below": it}, integrator={"type": "volpath", "max_depth": 12}))


def volume(entry, it):
    if isinstance(it.get("value"), list):  # a direction, such as that of fibres
        return phase(entry, {"type": "microflake", "stddev": 0.1, "orientation": it})
    return medium(entry, {"type": "homogeneous", "sigma_t": 6.0, "albedo": it | {"to_world": T().translate(-1).scale(2)}})


def rfilter(entry, it):
    """A few pixels of a pattern that is too fine for them."""
    small = film(40, 30) | {"rfilter": it}
    return Shot(scene(**still_life(), sensor=camera() | {"film": small}), enlarged, spp=256)


def sampler(entry, it):
    """The noise of few samples."""
    view = camera() | {"film": film(WIDTH // 2, HEIGHT // 2), "sampler": it | {"sample_count": 4}}
    return Shot(scene(**still_life(), sensor=view), enlarged, spp=4)


def sensor(entry, it):
    one_pixel = entry.name in ("distant", "radiancemeter", "irradiancemeter")
    it.setdefault("film", film(1, 1) if one_pixel else film())
    things = still_life() | {"sensor": it}
    if entry.name == "irradiancemeter":
        things = still_life() | {"sensor": None, "meter": {"type": "rectangle", "meter": it}}
    elif entry.name == "batch":
        it["film"] = film(2 * WIDTH, HEIGHT)
    elif entry.name == "spherical" or entry.name == "fluencemeter":
        it["to_world"] = T().translate([0, 0.3, 1.8])
    elif "to_world" not in it and entry.name != "distant":
        it["to_world"] = camera()["to_world"]
        if entry.name in ("orthographic", "telecentric"):
            it["to_world"] = it["to_world"].scale(1.8)
    return Shot(scene(**things), enlarged if one_pixel else colours)


def shape(entry, it):
    paint = {"type": "twosided", "bsdf": {"type": "plastic", "diffuse_reflectance": rgb(0.75, 0.35, 0.15)}}
    inside = entry.name in ("shapegroup", "instance", "merge", "gltf")  # materials are those of the shapes in it
    things = {"it": it if inside else it | {"material": paint}}
    if entry.name == "shapegroup":
        things |= {f"copy_{i}": {"type": "instance", "group": {"type": "ref", "id": "it"},
                                 "to_world": T().translate([0.75 * (i - 1), 0, 0]).scale(0.35)} for i in range(3)}
    return Shot(things)  # placed by its size: see framed()


def texture(entry, it):
    if entry.name in ("d65", "blackbody"):
        return Shot(scene(it={"type": "sphere", "emitter": {"type": "area", "radiance": it}}, light={"type": "constant"}), exposed)
    on_mesh = entry.name in ("mesh_attribute", "vertexcolors", "wireframe", "curvature")
    base = {"type": "ply", "filename": "mesh.ply"} if on_mesh else {"type": "sphere"}
    return Shot(scene(it=base | {"material": {"type": "diffuse", "reflectance": it}}, floor=None if on_mesh else floor()))


def scene_(entry, it):
    it["sensor"]["film"] = film()
    return Shot(it)


KINDS = {"bsdf": bsdf, "emitter": emitter, "film": film_, "integrator": integrator, "medium": medium, "phase": phase,
         "rfilter": rfilter, "sampler": sampler, "scene": scene_, "sensor": sensor, "shape": shape,
         "subsurface": subsurface, "texture": texture, "volume": volume}


def framed(things):
    """A scene that shows shapes, whatever their size: the camera and the floor follow it."""
    bounds = mi.load_dict({"type": "scene"} | things).bbox()
    low, high = np.array(bounds.min).ravel(), np.array(bounds.max).ravel()
    middle, size = (low + high) / 2, np.linalg.norm(high - low) / 2
    eye = middle + size * np.array([0.9, 0.9, 2.8])
    return scene(**things, sensor=camera(eye.tolist(), middle.tolist(), 40), floor=floor(float(low[1]) - 1e-3, 6 * size))


# ---- Pictures

def shot(entry):
    if entry.kind not in KINDS:
        raise SystemExit(f"gallery.py: no scene for plugins of kind {entry.kind}, which {entry.name} is of: write one")
    return KINDS[entry.kind](entry, described(entry))


def loaded(entry, taken):
    return mi.load_dict(framed(taken.scene) if entry.kind == "shape" else taken.scene)


def take(entry, path, taken=None):
    """Renders the picture of a plugin's example. Files that it names are found by mi.file_resolver()."""
    with mi.util.variant_context((taken or shot(entry)).variant):
        taken = taken or shot(entry)  # its transforms are those of the variant
        image = mi.render(loaded(entry, taken), spp=taken.spp)
        pixels = np.nan_to_num(taken.show(np.array(image, dtype=np.float32)), posinf=0, neginf=0)
        picture = mi.Bitmap(np.ascontiguousarray(pixels, dtype=np.float32))
        picture.convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, srgb_gamma=True).write(path)


def scene_files():
    """The scenes of the repository."""
    folder = os.path.join(ROOT, "scenes")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".xml")]


def take_scene(source, path):
    """Renders a scene as it is."""
    image = mi.render(mi.load_file(source))
    mi.util.write_bitmap(path, colours(np.array(image, dtype=np.float32)), write_async=False)


def scene_picture(source): return f"scenes_{os.path.splitext(os.path.basename(source))[0]}.jpg"


def file_name(entry): return f"{entry.kind}_{entry.name}.jpg"


def content(path):
    with open(path) as f:
        return f.read()


def ingredients(entry):
    """All that a picture is made of besides the renderer, as text."""
    taken = shot(entry)
    return repr((taken.scene, taken.show.__name__, taken.variant, taken.spp)) + content(gallery_files.__file__)


def jobs():
    """Pictures that there should be: the name of each, who tells what it is made of, and who takes it."""
    for entry in entries():
        yield file_name(entry), lambda entry=entry: ingredients(entry), lambda path, entry=entry: take(entry, path)
    for source in scene_files():
        yield scene_picture(source), lambda source=source: content(source), lambda path, source=source: take_scene(source, path)
    for script in gallery_examples.scripts():
        for name in (gallery_examples.picture(r, f) for r in gallery_examples.reports(script) for f in gallery_examples.FILES):
            yield (name, lambda script=script: gallery_examples.ingredients(script),
                   lambda path, script=script: gallery_examples.take(script, path))


def main(folder, pattern=None):
    os.makedirs(folder, exist_ok=True)
    notes = os.path.join(folder, "made.json")
    made = json.load(open(notes)) if os.path.exists(notes) else {}
    mi.set_variant("llvm_rgb")
    with tempfile.TemporaryDirectory() as files:
        gallery_files.write_files(files)
        mi.file_resolver().prepend(files)
        for name, made_of, work in jobs():
            path, key = os.path.join(folder, name), hashlib.sha256(made_of().encode()).hexdigest()[:16]
            fresh = os.path.exists(path) and made.get(name) == key
            if fresh if pattern is None else not re.search(pattern, name):
                continue
            print(name, flush=True)
            try:
                work(path)
            except Exception as e:
                raise SystemExit(f"gallery.py: no picture {name}: {e}")
            made[name] = key
            with open(notes, "w") as f:
                json.dump(made, f, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
