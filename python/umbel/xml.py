"""Scenes as XML files: dict_to_xml() writes the dictionary that load_dict() takes."""
import os
import re

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


_defaults = {("sampler", "sample_count"): "spp", ("film", "width"): "resx", ("film", "height"): "resy"}


def _numbers(text):
    """(name of the definition, the number) of each line; (None, None) of lines without one."""
    inside = []  # elements that are open
    for line in text.splitlines():
        number = re.fullmatch(r'\s*<integer name="(\w+)" value="(\d+)" />', line)
        yield (_defaults.get((inside[-1], number[1])), number[2]) if number and inside else (None, None)
        if re.match(r"\s*</", line):
            inside.pop()
        elif re.match(r"\s*<\w", line) and not line.endswith("/>"):
            inside.append(re.match(r"\s*<(\w+)", line)[1])


def _with_definitions(files, main):
    """The files with size and samples of the image as definitions that a command line can change, where all are alike."""
    found = {}
    for text in files.values():
        for name, number in _numbers(text):
            if name:
                found.setdefault(name, set()).add(number)
    values = {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}
    if not values or not files[main].startswith("<scene"):
        return files
    out = {}
    for file, text in files.items():
        lines = [line.replace(f'value="{number}"', f'value="${name}"') if name in values else line
                 for line, (name, number) in zip(text.splitlines(), _numbers(text))]
        if file == main:
            lines[1:1] = [f'    <default name="{name}" value="{values[name]}" />' for name in _defaults.values() if name in values]
        out[file] = "\n".join(lines) + "\n"
    return out


def dict_to_xml(scene_dict, filename, split_files=False):
    """Writes a scene file of version 3. `split_files`: materials, geometry, emitters and the rest in files of their own,
    in a folder fragments/ beside it. Samples a pixel, width and height become definitions `spp`, `resx`, `resy`, which
    `load_file(name, spp=16)` and `umbel render -D spp=16` change."""
    filename, (scene_dict, folders) = os.fspath(filename), split_resources(scene_dict)
    folder, stem = os.path.dirname(filename) or ".", os.path.splitext(os.path.basename(filename))[0]
    os.makedirs(folder, exist_ok=True)
    with looking_in(folders):
        _core.check_dict(scene_dict)  # what cannot be loaded is not written
        files = _core.dict_to_xml(_with_files(scene_dict, folder, [0]), stem, split_files)
    for name, text in _with_definitions(files, f"{stem}.xml").items():
        path = filename if name == f"{stem}.xml" else os.path.join(folder, name)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
