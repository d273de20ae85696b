# tests/python/dictionary_errors_test.py: what is wrong with a dictionary or an argument is said with its name.
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
])
def test_messages_name_the_key(d, parts):
    text = message(d)
    for part in parts:
        assert part in text, text


def test_lists_inside_themselves_are_refused():
    loop = [1, 2]
    loop.append(loop)
    assert '"center"' in message({"type": "sphere", "center": loop})


def test_arguments_of_render_are_checked():
    scene = mi.load_dict({"type": "scene", "light": {"type": "constant"},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
    for arguments, part in [({"spp": -1}, "spp=-1"), ({"spp_grad": -2}, "spp_grad=-2"), ({"sensor": 1}, "no number 1"),
                            ({"sensor": -1}, "no number -1"), ({"sensor": "front"}, "sensor='front'"),
                            ({"integrator": 3}, "integrator=3")]:
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
