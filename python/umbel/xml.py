"""Scenes as XML files: dict_to_xml() writes the dictionary that load_dict() takes."""
import numbers
import os
from xml.etree import ElementTree

from . import _core
from . import jit as dr
from ._bitmap import Bitmap
from ._transform import _Transform

# Kinds whose place in the parent says all; others are told apart by their parameter's name.
_unnamed = ("bsdf", "emitter", "film", "integrator", "phase", "rfilter", "sampler", "sensor", "shape")
_groups = {"bsdf": "materials", "texture": "materials", "shape": "geometry", "emitter": "emitters", "sensor": "render",
           "integrator": "render", "film": "render", "sampler": "render"}


def _text(v): return repr(float(v)).removesuffix(".0")


def _numbers(value):
    """The numbers of a list, NumPy array or array of one lane."""
    if isinstance(value, dr.ArrayBase):
        value = value.numpy().ravel()
    return [float(v[0]) if isinstance(v, dr.ArrayBase) else float(v) for v in value]


class _Writer:
    def __init__(self, folder): self.folder, self.files = folder, 0

    def object(self, parent, name, d, path, top=False):
        """Appends an object with all that is in it."""
        if "type" not in d:
            raise dr.UserError(f"dict_to_xml: {path}: a dictionary without \"type\"")
        kind = d["type"]
        if kind == "ref":
            node = ElementTree.SubElement(parent, "ref", id=d["id"])
            if name and not top:
                node.set("name", name)
            return node
        if kind in ("rgb", "spectrum"):
            return self.colour(parent, name, d, path)
        tag = self.tag(kind, path)
        node = ElementTree.SubElement(parent, tag, type=kind)
        if "id" in d or top:
            node.set("id", d.get("id", name))
        if name and not top and tag not in _unnamed:
            node.set("name", name)
        self.content(node, d, path)
        return node

    def content(self, node, d, path):
        for key, value in d.items():
            if key not in ("type", "id"):
                self.value(node, key, value, f"{path}.{key}")

    def tag(self, plugin, path):
        kinds = _core.plugin_kinds(plugin)
        if not kinds:
            raise dr.UserError(f"dict_to_xml: {path}: there is no plugin \"{plugin}\"")
        return kinds[0]

    def colour(self, parent, name, d, path):
        node = ElementTree.SubElement(parent, d["type"], name=name)
        if "filename" in d:
            node.set("filename", os.fspath(d["filename"]))
            return node
        value = d.get("value")
        if d["type"] == "rgb":
            numbers_ = [value] * 3 if isinstance(value, numbers.Real) else _numbers(value)
            if len(numbers_) != 3:
                raise dr.UserError(f"dict_to_xml: {path}: a colour has three numbers, not {len(numbers_)}")
            node.set("value", " ".join(map(_text, numbers_)))
        elif isinstance(value, numbers.Real):
            node.set("value", _text(value))
        elif isinstance(value, str):
            node.set("value", value)
        elif "wavelengths" in d:
            pairs = zip(_numbers(d["wavelengths"]), _numbers(value))
            node.set("value", ", ".join(f"{_text(w)}:{_text(v)}" for w, v in pairs))
        else:
            node.set("value", ", ".join(f"{_text(w)}:{_text(v)}" for w, v in value))
        return node

    def value(self, node, key, value, path):
        def simple(tag, text): ElementTree.SubElement(node, tag, name=key, value=text)
        if isinstance(value, dict):
            self.object(node, key, value, path)
        elif isinstance(value, bool):
            simple("boolean", "true" if value else "false")
        elif isinstance(value, numbers.Integral):
            simple("integer", str(int(value)))
        elif isinstance(value, numbers.Real):
            simple("float", _text(value))
        elif isinstance(value, (str, os.PathLike)):
            simple("string", os.fspath(value))
        elif isinstance(value, _Transform):
            t = ElementTree.SubElement(node, "transform", name=key)
            ElementTree.SubElement(t, "matrix", value=" ".join(map(_text, value.numpy().ravel())))
        elif isinstance(value, Bitmap):
            simple("string", self.bitmap(key, value))
        elif isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
            self.array(node, key, value, path)
        else:
            raise dr.UserError(f"dict_to_xml: {path}: an object of type {type(value).__name__} cannot be written; give "
                               "the dictionary that it was made of")

    def array(self, node, key, value, path):
        v = _numbers(value)
        if len(v) == 1:
            ElementTree.SubElement(node, "float", name=key, value=_text(v[0]))
        elif len(v) == 3 and "Color" in type(value).__name__:
            ElementTree.SubElement(node, "rgb", name=key, value=" ".join(map(_text, v)))
        elif len(v) == 3:
            tag = "point" if "Point" in type(value).__name__ else "vector"
            ElementTree.SubElement(node, tag, name=key, x=_text(v[0]), y=_text(v[1]), z=_text(v[2]))
        else:
            raise dr.UserError(f"dict_to_xml: {path}: {len(v)} numbers are neither a vector nor a colour")

    def bitmap(self, key, bitmap):
        """Writes an image beside the scene; its name, relative to the scene."""
        os.makedirs(os.path.join(self.folder, "textures"), exist_ok=True)
        self.files += 1
        name = f"textures/{key}_{self.files}.{'png' if bitmap.component_format().name == 'UInt8' else 'exr'}"
        bitmap.write(os.path.join(self.folder, name))
        return name


def _save(root, filename):
    ElementTree.indent(root, "    ")
    text = ElementTree.tostring(root, encoding="unicode").replace("$", "$$")
    with open(filename, "w", encoding="utf-8") as f:
        f.write(text + "\n")


def dict_to_xml(scene_dict, filename, split_files=False):
    """Writes a scene file of version 3. `split_files`: materials, geometry, emitters and the rest in files of their own,
    in a folder fragments/ beside it."""
    filename = os.fspath(filename)
    folder = os.path.dirname(filename) or "."
    os.makedirs(folder, exist_ok=True)
    writer = _Writer(folder)
    if scene_dict.get("type") != "scene":
        holder = ElementTree.Element("scene")
        writer.object(holder, "", scene_dict, "dictionary")
        root = holder[0]
        root.set("version", "3.0.0")
        return _save(root, filename)

    root = ElementTree.Element("scene", version="3.0.0")
    for key, value in scene_dict.items():
        if isinstance(value, dict):
            writer.object(root, key, value, key, top=True)
        elif key not in ("type", "id"):
            writer.value(root, key, value, key)
    if split_files:
        _split(root, folder, os.path.splitext(os.path.basename(filename))[0])
    _save(root, filename)


def _split(root, folder, stem):
    parts = {}
    for node in list(root):
        if node.tag in _groups:
            parts.setdefault(_groups[node.tag], ElementTree.Element("scene", version="3.0.0")).append(node)
            root.remove(node)
    os.makedirs(os.path.join(folder, "fragments"), exist_ok=True)
    for group, part in parts.items():
        name = f"fragments/{stem}-{group}.xml"
        _save(part, os.path.join(folder, name))
        ElementTree.SubElement(root, "include", filename=name)
