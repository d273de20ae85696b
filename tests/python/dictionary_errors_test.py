# tests/python/dictionary_errors_test.py: what is wrong with a dictionary or an argument is said with its name.
import time
from unittest import mock

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def message(d):
    with pytest.raises(dr.UserError) as e:
        mi.load_dict(d)
    return str(e.value)


def test_dictionaries_inside_themselves_are_refused():
    d = {"type": "twosided"}
    d["b"] = d
    assert 'parameter "b": the dictionary is inside itself' in message(d)
    scene = {"type": "scene", "ball": {"type": "sphere", "bsdf": {"type": "twosided"}}}
    scene["ball"]["bsdf"]["nested"] = scene["ball"]
    assert '"nested"' in message(scene)
    deep = {"type": "diffuse"}
    for _ in range(100_000):
        deep = {"type": "twosided", "inner": deep}
    assert "more than 100 deep" in message(deep)
    while "inner" in deep:  # Python's own destructor recurses
        deep = deep["inner"]
    bsdf = {"type": "diffuse"}  # one dictionary in two places is no circle
    mi.load_dict({"type": "scene", "a": {"type": "sphere", "bsdf": bsdf}, "b": {"type": "sphere", "bsdf": bsdf}})


@pytest.mark.parametrize("d, parts", [
    ({"type": 5}, ['"type"', "string", "5"]),
    ({"type": "sphere", "bsdf": {"type": None}}, ['"bsdf"', '"type"', "None"]),
    ({"type": "sphere", "radius": 2**70}, ['"radius"', str(2**70), "64 bits"]),
    ({"type": "sphere", "center": [1, 2]}, ['"center"', "two numbers", "three"]),
    ({"type": "sphere", "center": (1, 2)}, ['"center"']),
    ({"type": "sphere", "center": [1, [2]]}, ['"center"']),
    ({"type": "sphere", "center": [1, "a", None]}, ['"center"']),
    ({"type": "sphere", "radius": object()}, ['"radius"', "no place for"]),
    ({"type": "sphere", "radius": "big"}, ['"radius"', "big"]),
    ({"type": "sphere", 7: 1}, ["the name of a parameter of sphere", "7"]),
    ({"type": "sphere", "id": 3}, ['"id"', "3"]),
    ({"type": "sphere", "bsdf": {"type": "ref"}}, ['"bsdf"', '"id"']),
    ({"type": "diffuse", "reflectance": {"type": "rgb", "value": [.1, .2, "x"]}}, ["colour or spectrum", "'x'"]),
    ({"type": "diffuse", "reflectance": {"type": "rgb", "value": None}}, ["colour or spectrum", "None"]),
    ({"type": "diffuse", "reflectance": {"type": "spectrum", "value": [1, 2]}}, ["colour or spectrum", "[1, 2]"]),
    ({"type": "sphere", "bsdf": {"type": "ref", "id": 4}}, ['"bsdf"', '"id"', "4"]),
    ({"type": "sphere", "radius": "\ud800"}, ['"radius"', r"'\ud800'", "Unicode"]),
    ({"type": "sphere", "\ud800": 1}, ["the name of a parameter of sphere", r"'\ud800'"]),
    ({"type": "\ud800"}, ['"type"', r"'\ud800'"]),
    ({"type": "sphere", "bsdf": {"type": "\ud800"}}, ['"bsdf"', '"type"', r"'\ud800'"]),
    ({"type": "sphere", "id": "\ud800"}, ['"id"', r"'\ud800'"]),
    ({"type": "diffuse", "reflectance": {"type": "spectrum", "filename": "\ud800"}}, ['"filename"', r"'\ud800'"]),
    (None, ["load_dict()", "dictionary", "None"]),
])
def test_messages_name_the_key(d, parts):
    text = message(d)
    for part in parts:
        assert part in text, text


class Circle:
    def __init__(self): self._source = self


def array_of_itself():
    a = np.empty((), object)
    a[()] = a
    return a


@pytest.mark.parametrize("make", [Circle, mock.Mock, mock.MagicMock, array_of_itself], ids=lambda f: f.__name__)
def test_objects_that_claim_to_be_anything_are_refused(make):
    for name in ("radius", "center", "to_world"):
        assert f'"{name}"' in message({"type": "sphere", name: make()})
    assert '"type"' in message({"type": make()}) and '"bsdf"' in message({"type": "sphere", "bsdf": {"type": make()}})
    assert '"bitmap"' in message({"type": "bitmap", "bitmap": make()})


def test_samplers_as_loops_have_them_are_those_that_they_stand_for():
    sampler = mi.load_dict({"type": "independent", "sample_count": 7})
    assert mi.load_dict({"type": "perspective", "sampler": sampler._umbel_copy()}).sampler().sample_count() == 7


def test_dictionaries_are_shared_as_often_as_there_is_room():
    d = {"type": "diffuse"}
    for _ in range(40):
        d = {"type": "blendbsdf", "a": d, "b": d}
    began = time.monotonic()
    assert "2.2e+12 objects" in message(d) and time.monotonic() - began < 5
    bsdf = {"type": "diffuse"}  # each place has an object of its own
    scene = mi.load_dict({"type": "scene", **{f"ball{i}": {"type": "sphere", "bsdf": bsdf} for i in range(3)}})
    assert all(f"ball{i}.bsdf.reflectance.value" in mi.traverse(scene) for i in range(3))


def test_lists_inside_themselves_are_refused():
    loop = [1, 2]
    loop.append(loop)
    assert '"center"' in message({"type": "sphere", "center": loop})


def test_arguments_of_render_are_checked():
    scene = mi.load_dict({"type": "scene", "light": {"type": "constant"},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
    for arguments, part in [({"spp": -1}, "spp=-1"), ({"spp_grad": -2}, "spp_grad=-2"), ({"sensor": 1}, "no number 1"),
                            ({"sensor": -1}, "no number -1"), ({"sensor": "front"}, "sensor='front'"),
                            ({"spp": 2**31}, f"spp={2**31}"), ({"spp": 2**70}, f"spp={2**70}"),
                            ({"spp_grad": 2**31}, f"spp_grad={2**31}"), ({"integrator": 3}, "integrator=3")]:
        with pytest.raises(dr.UserError, match="^[^\n]*" + part):
            mi.render(scene, **arguments)
    assert mi.render(scene, spp=1).shape == (4, 4, 3)


def test_messages_show_what_would_command_a_terminal():
    text = message({"type": "sphere", "\x1b[31mradius": 1})
    assert "\x1b" not in text and "\\x1b[31mradius" in text


def test_channels_of_one_name_are_refused_before_the_render():
    d = {"type": "scene", "light": {"type": "constant"}, "ball": {"type": "sphere"},
         "integrator": {"type": "aov", "aovs": "a:depth,a:depth"},
         "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}}
    with pytest.raises(dr.UserError, match="two channels of the image are called"):
        mi.render(mi.load_dict(d), spp=1)
    d["integrator"]["aovs"] = "a:depth,b:depth"
    assert mi.render(mi.load_dict(d), spp=1).shape[2] == 2
