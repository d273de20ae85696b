# tests/python/gallery_test.py: examples of the manual are run as they stand there: XML and Python make the same thing.
import os
import sys

import numpy as np
import pytest
import umbel as mi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "python", "tools"))
import gallery
import gallery_files

ENTRIES = gallery.entries()


@pytest.fixture(autouse=True)
def variant():
    """One will do."""
    with mi.set_variant("llvm_rgb"):
        yield


@pytest.fixture(scope="module", autouse=True)
def example_files(tmp_path_factory):
    """Examples name files in the folder at hand."""
    folder, before = tmp_path_factory.mktemp("files"), os.getcwd()
    with mi.set_variant("llvm_rgb"):
        gallery_files.write_files(folder)
    os.chdir(folder)
    yield
    os.chdir(before)


def as_file(entry):
    """The example as a file of its own."""
    return entry.xml if entry.kind == "scene" else entry.xml.replace(f"<{entry.kind} ", f'<{entry.kind} version="3.0.0" ', 1)


def plain(value):
    """What can be compared, whatever it was written as."""
    if hasattr(value, "matrix"):
        return [round(float(x), 5) for row in value.matrix.numpy() for x in row.ravel()]
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, float)):
        return round(float(value), 6)
    return [plain(float(v)) for v in value] if hasattr(value, "__len__") else repr(value)


def same(a, i, b, j, place=""):
    """Two nodes have the same kind, the same values, and the same inside, in order."""
    x, y = a.nodes[i], b.nodes[j]
    assert (x.type, x.props.plugin_name()) == (y.type, y.props.plugin_name()), place
    inside = lambda state, node: [(k, v.index()) for k, v in node.props.items()
                                  if isinstance(v, mi.parser.ResolvedReference)]
    values = lambda node: {"ref" if isinstance(v, mi.parser.Reference) else k: plain(v) for k, v in node.props.items()
                           if not isinstance(v, mi.parser.ResolvedReference)}
    assert values(x) == values(y), place
    left, right = inside(a, x), inside(b, y)
    assert len(left) == len(right), place
    for (name, p), (other, q) in zip(left, right):
        assert name.startswith("_arg_") or name == other, place
        same(a, p, b, q, f"{place}/{other}")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.kind}_{e.name}")
def test_xml_and_python_make_the_same(entry):
    config = mi.parser.ParserConfig("llvm_rgb")
    same(mi.parser.parse_string(config, as_file(entry)), 0, mi.parser.parse_dict(config, gallery.described(entry)), 0)
    wanted = {"specfilm": "llvm_spectral", "stokes": "llvm_rgb_polarized"}.get(entry.name, "llvm_rgb")
    with mi.set_variant(wanted):
        made = mi.load_string(as_file(entry)), eval(entry.python, {"mi": mi})
    first, second = ([o] if not isinstance(o, list) else o for o in made)
    assert [type(o) for o in first] == [type(o) for o in second]
    for o, p in zip(first, second):
        x, y = mi.traverse(o), mi.traverse(p)
        names = [sorted(k.split(".")[-1] if entry.kind == "scene" else k for k in each.keys()) for each in (x, y)]
        assert names[0] == names[1]  # of a scene's objects, those in a dictionary have names


def test_every_kind_has_a_scene_for_pictures():
    assert {e.kind for e in ENTRIES} <= set(gallery.KINDS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.kind}_{e.name}")
def test_scenes_of_pictures_load(entry):
    with mi.util.variant_context(gallery.shot(entry).variant):
        assert gallery.loaded(entry, gallery.shot(entry)).sensors()


def test_a_picture_is_taken(tmp_path):
    entry = next(e for e in ENTRIES if e.name == "roughconductor")
    taken = gallery.shot(entry)
    small = taken._replace(spp=1)
    small.scene["sensor"]["film"] |= {"width": 16, "height": 12}
    path = str(tmp_path / gallery.file_name(entry))
    gallery.take(entry, path, small)
    assert np.array(mi.Bitmap(path)).shape == (12, 16, 3)


def test_a_picture_is_made_of_its_example():
    entry = next(e for e in ENTRIES if e.name == "roughconductor")
    assert gallery.ingredients(entry) == gallery.ingredients(entry)
    assert gallery.ingredients(entry) != gallery.ingredients(entry._replace(python=entry.python.replace("Au", "Cu")))
