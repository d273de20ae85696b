# tests/python/bad_input_test.py: what is wrong with files and numbers is told with the file, the line or offset, and a remedy.
import base64
import json
import re
import struct
import zlib

import numpy as np
import pytest

import umbel as mi


@pytest.fixture(autouse=True)
def variant():
    with mi.set_variant("llvm_rgb"):
        yield


@pytest.fixture
def complaint(tmp_path):
    """The message for a file of these bytes, which a plugin reads."""
    def load(plugin, name, contents, **parameters):
        path = tmp_path / name
        if contents is not None:
            path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        with pytest.raises(mi.UserError) as e:
            mi.load_dict({"type": plugin, "filename": str(path), **parameters})
        message = str(e.value)
        assert name in message and len(message) < 1000 + len(str(path))
        return message.replace(str(path), name)
    return load


NAN = float("nan")
TRIANGLE = (0, 0, 0, 1, 0, 0, 0, 1, 0)
HOLE = (0, 0, 0, 1, 0, 0, NAN, 1, 0)


def _obj(positions=TRIANGLE, face="1 2 3"):
    rows = [f"v {x} {y} {z}" for x, y, z in zip(*[iter(positions)] * 3)]
    return "\n".join([*rows, "f " + face, ""])


def _ply(positions=TRIANGLE, last=2, kind="ascii"):
    head = f"ply\nformat {kind} 1.0\nelement vertex 3\n" + "".join(f"property float {c}\n" for c in "xyz") + \
        "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
    if kind == "ascii":
        return head + "".join(f"{x} {y} {z}\n" for x, y, z in zip(*[iter(positions)] * 3)) + f"3 0 1 {last}\n"
    return head.encode() + struct.pack("<9f", *positions) + struct.pack("<B3i", 3, 0, 1, last)


def _serialized(positions=TRIANGLE, last=2):
    body = struct.pack("<I", 0x1000) + b"mesh\0" + struct.pack("<QQ", 3, 1) + struct.pack("<9f", *positions) + \
        struct.pack("<3I", 0, 1, last)
    return struct.pack("<HH", 0x041c, 4) + zlib.compress(body) + struct.pack("<QI", 0, 1)


def _gltf(positions=TRIANGLE, last=2):
    data = struct.pack("<9f", *positions) + struct.pack("<3I", 0, 1, last)
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
                      {"bufferView": 1, "componentType": 5125, "count": 3, "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12}],
        "buffers": [{"byteLength": 48, "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}]})


def _glb(text):
    text += " " * (-len(text) % 4)
    return b"glTF" + struct.pack("<IIII", 2, 20 + len(text), len(text), 0x4e4f534a) + text.encode()


def test_the_files_without_damage_are_read(tmp_path):
    for name, contents in (("a.obj", _obj()), ("a.ply", _ply()), ("b.ply", _ply(kind="binary_little_endian")),
                           ("a.serialized", _serialized()), ("a.gltf", _gltf()), ("a.glb", _glb(_gltf()))):
        path = tmp_path / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        plugin = "gltf" if name.startswith("a.gl") else name.partition(".")[2]
        mi.load_dict({"type": plugin, "filename": str(path)})


@pytest.mark.parametrize("plugin, name, contents, place", [
    ("obj", "a.obj", _obj(HOLE), "a.obj:3: the position of vertex 3"),
    ("ply", "a.ply", _ply(HOLE), "a.ply:12: a coordinate of vertex 2"),
    ("ply", "b.ply", _ply(HOLE, kind="binary_little_endian"), "offset 193: a coordinate of vertex 2"),
    ("serialized", "a.serialized", _serialized(HOLE), "offset"),
    ("gltf", "a.gltf", _gltf(HOLE), "mesh 0, primitive 0: POSITION of vertex 2")])
def test_vertices_that_are_no_numbers(complaint, plugin, name, contents, place):
    message = complaint(plugin, name, contents)
    assert place in message and "not a finite number" in message and message.endswith("export the file again")


def test_vertices_that_are_no_numbers_in_arrays():
    mesh = mi.Mesh("m", vertex_count=3, face_count=1)
    params = mi.traverse(mesh)
    params["faces"] = [0, 1, 2]
    params["vertex_positions"] = list(HOLE)
    with pytest.raises(mi.UserError, match="position of vertex 2 is not a finite number; correct it"):
        params.update()


def test_vertices_that_no_face_has_may_be_anything(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text(_obj((*TRIANGLE, NAN, 0, 0)))
    assert mi.load_dict({"type": "obj", "filename": str(path)}).vertex_count() == 3


@pytest.mark.parametrize("plugin, name, contents, place", [
    ("obj", "a.obj", _obj(face="1 2 4"), "a.obj:4: a face refers to vertex 4 of 3"),
    ("ply", "a.ply", _ply(last=3), "a.ply:13: face 0 refers to vertex 3 of 3"),
    ("ply", "b.ply", _ply(last=-1, kind="binary_little_endian"), "offset 214: face 0 refers to vertex -1 of 3"),
    ("serialized", "a.serialized", _serialized(last=9), "triangle 0 refers to vertex 9 of 3"),
    ("gltf", "a.gltf", _gltf(last=4), "mesh 0, primitive 0: a triangle refers to vertex 4 of 3")])
def test_indices_out_of_range(complaint, plugin, name, contents, place):
    message = complaint(plugin, name, contents)
    assert place in message and message.endswith("export the file again")


def _png_header(width, height):
    chunk = b"IHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def test_textures_of_no_pixels(complaint):
    assert "0 x 0 pixels; the file is damaged" in complaint("bitmap", "a.pfm", "PF\n0 0\n-1.0\n")
    assert "get a complete copy" in complaint("bitmap", "a.png", _png_header(0, 0))
    for shape in ((0, 0, 3), (0, 4, 1), (4, 0, 1)):
        with pytest.raises(mi.UserError, match=f"an image of {shape[1]} x {shape[0]} pixels shows nothing; give it one"):
            mi.load_dict({"type": "bitmap", "data": mi.TensorXf(np.zeros(shape, np.float32))})


ROUGH = [(b, k) for b in ("roughdielectric", "roughconductor", "ward", "pplastic") for k in ("alpha", "alpha_u", "alpha_v")] + \
    [("roughdiffuse", "alpha"), ("roughplastic", "alpha"), ("roughcoating", "alpha"), ("principled", "roughness"),
     ("principledthin", "roughness"), ("hair", "longitudinal_roughness"), ("hair", "azimuthal_roughness"), ("phong", "exponent")]


@pytest.mark.parametrize("plugin, name", ROUGH)
def test_negative_roughness(plugin, name):
    other = {"alpha_u": {"alpha_v": .3}, "alpha_v": {"alpha_u": .3}}.get(name, {})
    inner = {"inner": {"type": "diffuse"}} if plugin == "roughcoating" else {}
    mi.load_dict({"type": plugin, name: .3, **other, **inner})
    with pytest.raises(mi.UserError, match=f'"{name}" is -0.3; it must (be at least 0|lie between 0 and 1)'):
        mi.load_dict({"type": plugin, name: -.3, **other, **inner})
    line = f'<bsdf type="{plugin}">\n<float name="{name}" value="-0.3"/>' + \
        "".join(f'<float name="{k}" value="0.3"/>' for k in other) + ('<bsdf type="diffuse"/>' if inner else "") + "</bsdf>"
    with pytest.raises(mi.UserError, match=r":2: .*is -0.3|:3: .*is -0.3"):
        mi.load_string(f'<scene version="3.0.0">\n<shape type="sphere">{line}</shape></scene>')


@pytest.mark.parametrize("plugin", ["obj", "ply", "serialized", "gltf", "bitmap", "envmap", "hair", "linearcurve", "bsplinecurve",
                                    "gridvolume", "sdfgrid", "ellipsoids", "ellipsoidsmesh", "measured", "measured_polarized",
                                    "irawan", "heightfield"])
def test_missing_files(complaint, plugin):
    assert re.search(r'cannot find the file ".*none.at_all"; check its name', complaint(plugin, "none.at_all", None))


def test_damaged_serialized_files(complaint):
    good = _serialized()
    assert complaint("serialized", "a.serialized", b"").endswith("offset 0: the file ends too early; export or copy it again")
    for bytes, words in ((b"\0\0" + good[2:], "offset 0: no mesh begins here (found 0x0000, expected 0x041c); is this a .serialized"),
                         (good[:-20], "does not fit a file of"),
                         (good[:10] + b"\xff\xff\xff" + good[13:], "the compressed data is invalid while reading")):
        message = complaint("serialized", "a.serialized", bytes)
        assert words in message and re.search(r"offset \d+", message)


@pytest.mark.parametrize("plugin, more", [("measured", {}), ("measured_polarized", {"wavelength": 550.})])
def test_damaged_bsdf_files(complaint, plugin, more):
    head = b"tensor_file\0" + bytes([1, 0]) + struct.pack("<I", 1)
    field = struct.pack("<H", 4) + b"ndfx" + struct.pack("<HBQ", 1, 10, 4096) + struct.pack("<Q", 1 << 20)
    for bytes_, place in ((b"", "byte 0: the file ends within its header"), (b"xx" + head + field, 'byte 0: "tensor_file" is missing'),
                          (head, "byte 18:"), (head + field, "larger than the file")):
        message = complaint(plugin, "a.bsdf", bytes_, **more)
        assert place in message and "byte" in message and message.endswith("is it a tensor file, and complete?")


def test_damaged_weaves(complaint):
    weave = "weave {\n name = \"w\",\n tileWidth = 1,\n tileHeight = "
    assert complaint("irawan", "a.wv", weave).endswith(
        "a.wv:4: expected a number in place of the file's end; get a complete copy")
    assert complaint("irawan", "a.wv", "").endswith("is this a weave file?; get a complete copy")
    assert complaint("irawan", "a.wv", "\nwool").endswith('a.wv:2: expected "weave" in place of "wool"; is this a weave file?')


def test_damaged_gltf_files(complaint):
    text = _gltf() + " " * 20000
    message = complaint("gltf", "a.gltf", text[:len(_gltf()) - 40])
    assert re.search(r"offset \d+: ", message) and message.endswith("the file is damaged: export or copy it again")
    good = _glb(_gltf())
    for bytes, words in ((good[:6], "offset 4: the file ends too early; get a complete copy"),
                         (good[:12], "offset 12: the file has no JSON; get a complete copy"),
                         (good[:-200], "does not fit the file; get a complete copy")):
        assert words in complaint("gltf", "a.glb", bytes)


# ---- parameters that are set after loading

@pytest.fixture
def room():
    """(scene, its parameters)"""
    scene = mi.load_dict({
        "type": "scene", "sensor": {"type": "perspective", "fov": 40., "film": {"type": "hdrfilm", "width": 4, "height": 4}},
        "ball": {"type": "sphere"}, "light": {"type": "point", "intensity": 2.}, "spot": {"type": "spot", "cutoff_angle": 30.},
        "box": {"type": "cube"}, "integrator": {"type": "path"}})
    return scene, mi.traverse(scene)


def _refused(params, key, value, *words):
    """Whose old value stays, and which keeps nobody from further changes."""
    def host(v): return v.numpy() if hasattr(v, "numpy") else np.array(v)
    before = host(params[key]).copy()
    params["light.position"] = [0, 0, 7]
    params[key] = value
    with pytest.raises(mi.UserError) as e:
        params.update()
    assert f'"{key}"' in str(e.value) and all(w in str(e.value) for w in words), str(e.value)
    assert np.array_equal(host(params[key]), before)
    params["spot.intensity.value"] = params["spot.intensity.value"] + 1
    params.update()
    assert np.array_equal(host(params[key]), before)


@pytest.mark.parametrize("value", [NAN, 0., -1., 180., 1e38])
def test_numbers_out_of_their_range_are_refused_later_too(room, value):
    scene, params = room
    _refused(params, "sensor.x_fov", value, "between 1e-06 and 179.999")
    params["sensor.x_fov"] = 60.
    params.update()
    assert abs(mi.traverse(scene)["sensor.x_fov"] - 60) < 1e-6


def test_traced_numbers_have_their_ranges_too(room):
    scene, params = room
    for value in (NAN, -1., 90.):
        _refused(params, "spot.cutoff_angle", value, "between 0 and 89.9")
    params["spot.cutoff_angle"] = 45.
    params.update()
    assert mi.traverse(scene)["spot.cutoff_angle"] == 45


def test_transforms_that_are_not_finite_are_refused(room):
    _, params = room
    for bad in (NAN, float("inf")):
        for key in ("sensor.to_world", "ball.to_world"):
            _refused(params, key, mi.ScalarTransform4f(np.full((4, 4), bad)), "not finite")


def test_parameters_do_not_become_empty(room):
    scene, params = room
    for key, value in (("box.vertex_positions", mi.Float([])), ("box.faces", []), ("light.intensity.value", mi.Float([]))):
        _refused(params, key, value, "empty")
    image = mi.render(scene, spp=1)
    assert np.isfinite(image.numpy()).all()


def test_sample_counts_that_are_too_many(room):
    scene, _ = room
    for spp in (2**30 + 1, 2**31 - 1):
        with pytest.raises(mi.UserError, match=f"spp={spp}: .* from 1 to {2**30}"):
            mi.render(scene, spp=spp)
    for plugin in ("independent", "stratified", "multijitter", "ldsampler", "orthogonal", "sobol", "halton", "hammersley"):
        sampler = mi.load_dict({"type": plugin, "sample_count": 4})
        for count in (0, 2**30 + 1, 2**31 - 1):
            with pytest.raises(mi.UserError, match=f"{count} samples a pixel are not possible; take between 1 and {2**30}"):
                sampler.set_sample_count(count)
        assert sampler.sample_count() == 4 or plugin == "orthogonal"


def test_an_index_by_number_takes_the_place_of_a_name():
    """It is declared in two ways: by the name of a material, and as a number."""
    params = mi.traverse(mi.load_dict({"type": "conductor", "eta": 1.5, "k": 2., "ext_eta": 1.2}))
    params["ext_eta"] = 1.4
    params.update()
    assert params["ext_eta"][0] == pytest.approx(1.4)


def test_what_an_object_refuses_is_told_again_with_the_rest():
    scene = mi.load_dict({
        "type": "scene", "integrator": {"type": "path", "max_depth": 1}, "ball": {"type": "sphere", "emitter": {"type": "area"}},
        "sensor": {"type": "thinlens", "aperture_radius": .1, "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 8, "height": 8}}})
    params = mi.traverse(scene)
    params["sensor.aperture_radius"] = 0
    params["ball.to_world"] = mi.ScalarTransform4f().translate([100, 0, 0])
    with pytest.raises(mi.UserError):
        params.update()
    params["sensor.aperture_radius"] = .2
    params.update()
    assert np.all(np.array(mi.render(scene, spp=4)) == 0)
