"""Scenes as XML files: dict_to_xml() writes the dictionary that load_dict() takes."""
import os

from . import _core
from ._bitmap import Bitmap
from ._scene import looking_in, split_resources


def _with_files(d, folder, count):
    """The dictionary with images written beside the scene, and named."""
    out = {}
    for key, value in d.items():
        if isinstance(value, dict):
            value = _with_files(value, folder, count)
        elif isinstance(value, Bitmap):
            os.makedirs(os.path.join(folder, "textures"), exist_ok=True)
            count[0] += 1
            name = f"textures/{key}_{count[0]}.{'png' if value.component_format().name == 'UInt8' else 'exr'}"
            value.write(os.path.join(folder, name))
            value = name
        out[key] = value
    return out


def dict_to_xml(scene_dict, filename, split_files=False):
    """Writes a scene file of version 3. `split_files`: materials, geometry, emitters and the rest in files of their own,
    in a folder fragments/ beside it."""
    filename, (scene_dict, folders) = os.fspath(filename), split_resources(scene_dict)
    folder, stem = os.path.dirname(filename) or ".", os.path.splitext(os.path.basename(filename))[0]
    os.makedirs(folder, exist_ok=True)
    with looking_in(folders):
        files = _core.dict_to_xml(_with_files(scene_dict, folder, [0]), stem, split_files)
    for name, text in files.items():
        path = filename if name == f"{stem}.xml" else os.path.join(folder, name)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
