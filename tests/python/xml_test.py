# tests/python/xml_test.py: scenes written as XML are the scenes that they were.
import numpy as np
import pytest

import umbel as mi

T = mi.ScalarTransform4f


def scene():
    return {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 4},
        "sensor": {"type": "perspective", "fov": 40.0, "to_world": T().look_at([0, 1, 5], [0, 0.5, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 16, "height": 12, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": 4}},
        "grey": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.2, 0.5, 0.7]}},
        "floor": {"type": "rectangle", "to_world": T().rotate([1, 0, 0], -90).scale(3),
                  "bsdf": {"type": "ref", "id": "grey"}},
        "ball": {"type": "sphere", "center": [0, 1, 0], "radius": 0.75, "flip_normals": False,
                 "bsdf": {"type": "diffuse", "reflectance": {"type": "checkerboard", "to_uv": T().scale(4),
                                                             "color0": 0.1, "color1": {"type": "spectrum", "value": 0.8}}}},
        "light": {"type": "constant", "radiance": 1.0},
        "lamp": {"type": "point", "position": [0, 3, 2], "intensity": {"type": "rgb", "value": 4.0}},
    }


@pytest.mark.parametrize("split", [False, True])
def test_a_written_scene_renders_the_same_image(tmp_path, split):
    mi.xml.dict_to_xml(scene(), tmp_path / "scene.xml", split_files=split)
    assert (tmp_path / "fragments").exists() == split
    a, b = (mi.render(s, spp=4, seed=1).numpy() for s in (mi.load_dict(scene()), mi.load_file(str(tmp_path / "scene.xml"))))
    assert a.shape == (12, 16, 3) and a.mean() > 0.1 and np.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_one_object_is_a_file_of_its_own(tmp_path):
    mi.xml.dict_to_xml({"type": "diffuse", "reflectance": 0.25}, tmp_path / "a.xml")
    text = (tmp_path / "a.xml").read_text()
    assert text == '<bsdf version="3.0.0" type="diffuse">\n    <float name="reflectance" value="0.25" />\n</bsdf>\n'


def test_bitmaps_are_written_beside_the_scene(tmp_path):
    image = mi.Bitmap(np.full((2, 2, 3), 0.5, np.float32))
    mi.xml.dict_to_xml({"type": "scene", "t": {"type": "bitmap", "filename": image}}, tmp_path / "a.xml")
    assert np.allclose(mi.Bitmap(tmp_path / "textures" / "filename_1.exr"), 0.5)


@pytest.mark.parametrize("spectrum", [{"value": [(400, 0.5), (700, 0.25)]}, {"value": [0.5, 0.25], "wavelengths": [400, 700]},
                                      {"filename": "s.spd"}])
def test_spectra_are_written_as_they_are_loaded(tmp_path, spectrum):
    mi.spectrum_to_file(tmp_path / "s.spd", [400, 700], [0.5, 0.25])
    d = {"type": "scene", "folder": {"type": "resources", "path": str(tmp_path)},
         "light": {"type": "constant", "radiance": {"type": "spectrum", **spectrum}}}
    with mi.set_variant("llvm_spectral"):
        radiance = mi.traverse(mi.load_dict(d))
        s = mi.parser.parse_dict(mi.parser.ParserConfig("llvm_spectral"), d)
        assert s.nodes[1].props["radiance"] == mi.Properties.Spectrum([0.5, 0.25], [400, 700])
        mi.xml.dict_to_xml(d, tmp_path / "a.xml")
        again = mi.traverse(mi.load_file(tmp_path / "a.xml"))
        assert list(radiance.keys()) == list(again.keys())
        for key in radiance.keys():
            assert np.allclose(np.array(radiance[key]), np.array(again[key]))


@pytest.mark.parametrize("split", [False, True])
def test_size_and_samples_can_be_changed_in_a_written_scene(tmp_path, split):
    mi.xml.dict_to_xml(scene(), tmp_path / "a.xml", split_files=split)
    text = (tmp_path / "a.xml").read_text()
    for name, value in (("spp", 4), ("resx", 16), ("resy", 12)):
        assert text.count(f'<default name="{name}" value="{value}" />') == 1
    s = mi.load_file(tmp_path / "a.xml", spp=7, resx=5).sensors()[0]
    assert s.sampler().sample_count() == 7 and list(s.film().size()) == [5, 12]
    two = scene() | {"other": {"type": "perspective", "film": {"type": "hdrfilm", "width": 9, "height": 12}}}
    mi.xml.dict_to_xml(two, tmp_path / "b.xml")
    text = (tmp_path / "b.xml").read_text()
    assert "resx" not in text and text.count('value="$resy"') == 2  # there is no one width


@pytest.mark.parametrize("d", [{"a": {"type": "sphere", "id": "q"}, "b": {"type": "sphere", "id": "q"}},
                               {"a": {"type": "sphere"}, "b": {"type": "sphere", "id": "a"}}])
def test_names_that_two_objects_have_are_refused(tmp_path, d):
    for f in (mi.load_dict, lambda d: mi.xml.dict_to_xml(d, tmp_path / "a.xml")):
        with pytest.raises(mi.UserError, match="already taken"):
            f({"type": "scene", **d})


def test_numbers_of_numpy_are_those_of_python(tmp_path):
    plain = {"type": "scene", "film": {"type": "hdrfilm", "width": 3},
             "ball": {"type": "sphere", "radius": 0.5, "flip_normals": True}}
    numpy = {"type": "scene", "film": {"type": "hdrfilm", "width": np.int64(3)},
             "ball": {"type": "sphere", "radius": np.float32(0.5), "flip_normals": np.bool_(True)}}
    texts = []
    for d in (plain, numpy):
        mi.xml.dict_to_xml(d, tmp_path / "a.xml")
        texts.append((tmp_path / "a.xml").read_text())
        mi.load_dict(d)
    assert texts[0] == texts[1] and "<integer" in texts[0] and "<boolean" in texts[0]


def test_a_scene_is_the_same_whether_or_not_materials_are_shared():
    a, b = (mi.render(mi.load_dict(scene(), optimize=o), spp=4, seed=1).numpy() for o in (False, True))
    assert np.allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad, text", [({"type": "difuse"}, "difuse"), ({"type": "diffuse", "reflectance": object()}, "object"),
                                       ({"type": "scene", "a": {"b": 1}}, "a: "), ({"type": "sphere", "center": [1, 2, 3, 4]}, "center")])
def test_what_cannot_be_written_is_an_error(tmp_path, bad, text):
    with pytest.raises(mi.UserError, match=text):
        mi.xml.dict_to_xml(bad, tmp_path / "a.xml")
