# tests/python/bitmap_test.py: bitmaps, their formats and files.
import copy
import io
import pickle
import tempfile

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

PF, FF, Type = mi.Bitmap.PixelFormat, mi.Bitmap.FileFormat, mi.Struct.Type
rng = np.random.default_rng(0)


def image(*shape, dtype=np.float32): return rng.random(shape).astype(dtype)


@pytest.mark.parametrize("shape, format", [((2, 3), PF.Y), ((2, 3, 1), PF.Y), ((2, 3, 2), PF.YA), ((2, 3, 3), PF.RGB),
                                           ((2, 3, 4), PF.RGBA), ((2, 3, 7), PF.MultiChannel)])
def test_an_array_comes_back_as_it_was(shape, format):
    a = image(*shape)
    b = mi.Bitmap(a)
    assert b.pixel_format() is format and (b.width(), b.height()) == (3, 2)
    assert np.array_equal(np.array(b), a.squeeze(2) if shape[2:] == (1,) else a)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float16, np.float32, np.float64])
def test_components_keep_their_type(dtype):
    a = (image(2, 3, 3) * 200).astype(dtype)
    b = mi.Bitmap(a)
    assert np.array(b).dtype == dtype and np.array_equal(b, a)
    assert b.component_format() is Type[{"f": "Float", "u": "UInt"}[np.dtype(dtype).kind] + str(8 * a.itemsize)]
    assert b.srgb_gamma() == (dtype is np.uint8)


def test_memory_is_shared_with_numpy():
    b = mi.Bitmap(PF.RGB, Type.Float32, [3, 2])
    np.asarray(b)[1, 2, 0] = 7
    assert np.array(b)[1, 2, 0] == 7 and b.__array_interface__["shape"] == (2, 3, 3)
    view = np.asarray(b)
    del b
    assert view[1, 2, 0] == 7  # the view keeps the bitmap


def test_tensors_and_bitmaps_convert_into_each_other():
    a = image(2, 3, 3)
    t = mi.TensorXf(mi.Bitmap(a))
    assert t.shape == (2, 3, 3) and np.array_equal(t, a) and np.array_equal(mi.Bitmap(t), a)


def test_arrays_that_know_dlpack_alone_are_taken():
    class Foreign:
        def __init__(self, a): self.a = a
        def __dlpack__(self, **kwargs): return self.a.__dlpack__()
        def __dlpack_device__(self): return (1, 0)
    a = image(2, 3, 3)
    assert np.array_equal(mi.Bitmap(Foreign(a)), a)


def test_conversion_to_8_bits_applies_srgb():
    b = mi.Bitmap(np.full((1, 1, 3), 0.5, np.float32)).convert(PF.RGB, Type.UInt8, True)
    assert np.array_equal(np.array(b).ravel(), [188] * 3) and b.srgb_gamma()
    back = b.convert(component_format=Type.Float32, srgb_gamma=False)
    assert np.allclose(back, 0.5, atol=3e-3)


def test_conversion_of_colours():
    a = image(4, 5, 3)
    y = np.array(mi.Bitmap(a).convert(PF.Y))
    assert y.shape == (4, 5) and np.allclose(y, a @ [0.212639, 0.715169, 0.072192], atol=1e-4)
    rgba = np.array(mi.Bitmap(a).convert(PF.RGBA))
    assert np.array_equal(rgba[..., 3], np.ones((4, 5))) and np.allclose(rgba[..., :3], a)
    assert np.allclose(mi.Bitmap(a).convert(PF.XYZ).convert(PF.RGB), a, atol=1e-5)


def test_alpha_can_be_multiplied_in_and_out():
    a, T = image(2, 2, 4) * 0.5 + 0.25, mi.Bitmap.AlphaTransform
    plain = mi.Bitmap(a)
    assert np.array_equal(plain.convert(alpha_transform=T.Premultiply), a)  # bitmaps are taken to be that already
    plain.set_premultiplied_alpha(False)
    b = plain.convert(alpha_transform=T.Premultiply)
    assert b.premultiplied_alpha() and np.allclose(np.array(b)[..., :3], a[..., :3] * a[..., 3:])
    back = b.convert(alpha_transform=T.Unpremultiply)
    assert not back.premultiplied_alpha() and np.allclose(back, a, atol=1e-6)
    assert np.array_equal(back.convert(alpha_transform=T.Unpremultiply), back)


def test_convert_into_a_bitmap_uses_its_format():
    target = mi.Bitmap(PF.Y, Type.Float32, [3, 2])
    view = np.asarray(target)
    mi.Bitmap(np.ones((2, 3, 3), np.float32)).convert(target)
    assert np.allclose(view, 1)


@pytest.mark.parametrize("extension", ["exr", "hdr", "pfm", "png", "ppm", "bmp", "tga", "jpg"])
def test_files_of_all_formats_are_written_and_read(tmp_path, extension):
    b = mi.Bitmap(np.full((4, 6, 3), 0.5, np.float32))
    if extension not in ("exr", "hdr", "pfm"):
        b = b.convert(PF.RGB, Type.UInt8, True)
    b.write(tmp_path / f"a.{extension}")
    c = mi.Bitmap(str(tmp_path / f"a.{extension}"))
    assert (c.width(), c.height(), c.channel_count()) == (6, 4, 3)
    assert np.allclose(c.convert(component_format=Type.Float32, srgb_gamma=False), 0.5, atol=1e-2)


def test_streams_are_written_and_read():
    b, s = mi.Bitmap(image(4, 5, 3)), io.BytesIO()
    b.write(s, FF.OpenEXR)
    s.seek(0)
    assert mi.Bitmap.detect_file_format(s) is FF.OpenEXR and np.array_equal(mi.Bitmap(s), b)
    with pytest.raises(ValueError, match="format"):
        b.write(s)


def test_write_async_takes_the_pixels_of_the_moment(tmp_path):
    b = mi.Bitmap(np.ones((2, 2, 3), np.float32))
    b.write_async(tmp_path / "a.exr")
    b.clear()
    mi.Thread.wait_for_tasks()
    assert np.allclose(mi.Bitmap(tmp_path / "a.exr"), 1)


@pytest.mark.parametrize("name, what", [("no/a.exr", "check the folder"), ("a.webp", "no image format has the extension"),
                                        ("taken.exr", "this is a folder"), ("a", "no image format")])
def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path, name, what):
    (tmp_path / "taken.exr").mkdir()
    with pytest.raises(mi.UserError, match=what):
        mi.util.write_bitmap(tmp_path / name, image(2, 2, 3))
    mi.Thread.wait_for_tasks()
    assert [p.name for p in tmp_path.iterdir()] == ["taken.exr"]


@pytest.mark.parametrize("wait", [dr.sync_thread, mi.Thread.wait_for_tasks])
def test_an_image_that_is_lost_while_it_is_written_is_saved_elsewhere(tmp_path, monkeypatch, wait):
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    write = mi._bitmap.write

    def late(*args):
        (tmp_path / "out").rmdir()
        write(*args)
    monkeypatch.setattr(mi._bitmap, "write", late)
    mi.util.write_bitmap(tmp_path / "out" / "a.png", image(2, 3, 3))
    with pytest.raises(mi.UserError, match="the image is saved as") as error:
        wait()
    assert mi.Bitmap(str(error.value).split("saved as ")[1]).width() == 3
    wait()  # it is told once


def test_an_error_of_writing_is_told_by_the_next_write(tmp_path, monkeypatch):
    def fails(*args): raise mi.UserError("the disk is full")
    with monkeypatch.context() as m:
        m.setattr(tempfile, "tempdir", str(tmp_path))
        m.setattr(mi._bitmap, "write", fails)
        mi.util.write_bitmap(tmp_path / "a.png", image(2, 3, 3))
        mi._bitmap._tasks[0][0].join()
    with pytest.raises(mi.UserError, match="the disk is full"):
        mi.util.write_bitmap(tmp_path / "b.png", image(2, 3, 3))


@pytest.mark.parametrize("extension", ["png", "exr"])
def test_write_bitmap_takes_any_image(tmp_path, extension):
    for i, data in enumerate((image(4, 4, 3), mi.TensorXf(image(4, 4, 3)), mi.Bitmap(image(4, 4, 3)))):
        mi.util.write_bitmap(str(tmp_path / f"{i}.{extension}"), data, write_async=False)
        assert mi.Bitmap(tmp_path / f"{i}.{extension}").width() == 4


def test_convert_to_bitmap_shows_or_keeps_values():
    assert mi.util.convert_to_bitmap(image(2, 2, 3)).component_format() is Type.UInt8
    assert mi.util.convert_to_bitmap(image(2, 2, 3), False).component_format() is Type.Float32


def test_metadata_travels_with_the_file(tmp_path):
    b = mi.Bitmap(image(2, 2, 3))
    b.metadata()["author"] = "nobody"
    b.metadata()["scale"] = 2.5
    b.write(tmp_path / "a.exr")
    m = mi.Bitmap(tmp_path / "a.exr").metadata()
    assert m["author"] == "nobody" and m["scale"] == 2.5


def test_split_gives_layers_in_the_order_of_their_colours():
    a = image(2, 3, 5)
    parts = mi.Bitmap(a, channel_names=["B", "G", "R", "n.X", "n.Y"]).split()
    assert [n for n, _ in parts] == ["<root>", "n"]
    assert parts[0][1].pixel_format() is PF.RGB and np.array_equal(parts[0][1], a[..., 2::-1])
    assert parts[1][1].channel_names() == ["X", "Y"] and np.array_equal(parts[1][1], a[..., 3:])


def test_resampling_keeps_a_constant():
    b = mi.Bitmap(np.full((4, 6, 3), 0.3, np.float32))
    for f in (None, "box", "tent", "lanczos"):
        r = b.resample([9, 3], rfilter=f)
        assert (r.width(), r.height()) == (9, 3) and np.allclose(r, 0.3, atol=1e-6)

    class Tent:
        def radius(self): return 1.0
        def eval(self, x): return max(0.0, 1 - abs(x))
    a = mi.Bitmap(image(4, 4, 1))
    assert np.allclose(a.resample([8, 8], Tent()), a.resample([8, 8], "tent"), atol=1e-6)


def test_accumulate_adds_what_overlaps():
    a, b = mi.Bitmap(np.zeros((3, 3, 1), np.float32)), mi.Bitmap(np.ones((2, 2, 1), np.float32))
    a.accumulate(b, [2, 2])
    a.accumulate(b, [-1, 0])
    assert np.array_equal(a, [[1, 0, 0], [1, 0, 0], [0, 0, 1]])


def test_vflip_turns_upside_down():
    a = image(3, 2, 3)
    b = mi.Bitmap(a)
    b.vflip()
    assert np.array_equal(b, a[::-1])


def test_arithmetic_is_that_of_arrays():
    a = image(2, 3, 3)
    b = mi.Bitmap(a)
    assert np.allclose(2 * b + b / 4 - b, a * 1.25) and (b * 2).pixel_format() is PF.RGB
    with pytest.raises(TypeError, match="convert"):
        mi.Bitmap(np.zeros((1, 1), np.uint8)) + 1


def test_equality_is_that_of_pixels_and_formats():
    b = mi.Bitmap(image(2, 3, 3))
    for c in (copy.copy(b), copy.deepcopy(b), pickle.loads(pickle.dumps(b)), mi.Bitmap(b)):
        assert b == c
    assert not b == b.convert(component_format=Type.Float64) and b != "bitmap"


def test_notebooks_show_any_bitmap():
    for a in (image(2, 3), image(2, 3, 3), image(2, 3, 4), image(2, 3, 6)):
        assert mi.Bitmap(a)._repr_png_().startswith(b"\x89PNG")
        assert mi.Bitmap(a)._repr_html_().startswith("<img")


@pytest.mark.parametrize("bad, text", [
    (lambda: mi.Bitmap(np.zeros(3, np.float32)), "two or three dimensions"),
    (lambda: mi.Bitmap(np.zeros((2, 2, 3), np.int64)), "Int64"), (lambda: mi.Bitmap("missing.png"), "missing.png"),
    (lambda: mi.Bitmap(b"not an image"), "stream"), (lambda: mi.Bitmap(np.zeros((2, 2, 3)), PF.RGBA), "RGBA"),
    (lambda: mi.Bitmap(np.zeros((2, 2, 5), np.float32)).convert(PF.RGB), "ch0")])
def test_what_makes_no_bitmap_is_an_error(bad, text):
    with pytest.raises(Exception, match=text):
        bad()


def test_a_struct_lays_out_its_fields():
    s = mi.Struct().append("a", Type.UInt8).append("b", Type.Float32)
    assert s.size() == 8 and s.field("b").offset == 4 and s.dtype().names == ("a", "b")
    assert mi.Struct(pack=True).append("a", Type.UInt8).append("b", Type.Float32).size() == 5


def test_a_bitmap_is_the_texture_of_a_scene():
    b = mi.Bitmap(np.full((2, 2, 3), 0.25, np.float32))
    for image in (b, np.full((2, 2, 3), 0.25, np.float32), mi.TensorXf(b)):
        texture = mi.load_dict({"type": "bitmap", "bitmap" if image is b else "data": image, "raw": True})
        assert np.allclose(texture.eval(dr.zeros(mi.SurfaceInteraction3f, 1)), 0.25)


def test_scenes_look_for_files_where_the_file_resolver_says(tmp_path):
    mi.Bitmap(np.full((2, 2, 3), 0.25, np.float32)).write(tmp_path / "wall.exr")
    scene = {"type": "bitmap", "filename": "wall.exr", "raw": True}
    files = mi.Thread.thread().file_resolver()
    with pytest.raises(mi.UserError, match="wall.exr"):
        mi.load_dict(scene)
    files.append(tmp_path)
    try:
        si = dr.zeros(mi.SurfaceInteraction3f, 1)
        assert np.allclose(mi.load_dict(scene).eval(si), 0.25)
        text = '<texture version="3.0.0" type="bitmap"><string name="filename" value="wall.exr"/>' \
               '<boolean name="raw" value="true"/></texture>'
        assert np.allclose(mi.load_string(text).eval(si), 0.25)
    finally:
        del files[len(files) - 1]


def test_metadata_of_all_kinds_survive_a_file(tmp_path):
    b = mi.Bitmap(np.zeros((2, 3, 3), np.float32))
    m = b.metadata()
    m["text"], m["count"], m["size"], m["place"], m["to_world"] = "a", 15, 0.1, [1, 2, 3], mi.ScalarTransform4f().translate([4, 5, 6])
    b.write(tmp_path / "x.exr")
    back = mi.Bitmap(tmp_path / "x.exr").metadata()
    assert (back["text"], back["count"], back["size"]) == ("a", 15, 0.1) and type(back["count"]) is int
    assert list(back["place"]) == [1, 2, 3] and np.allclose(back["to_world"].numpy()[:3, 3], [4, 5, 6])
    back["count"] = 16
    assert b != mi.Bitmap(tmp_path / "x.exr") or b.metadata()["count"] == 15


def test_a_weight_is_divided_out_and_a_single_channel_is_one_of_a_tensor():
    b = mi.Bitmap(PF.RGBAW, mi.Struct.Type.Float32, [1, 3])
    np.asarray(b)[:, 0, :] = [(2, 0, 0, 0, 1), (2, 0, 0, 0, 2), (2, 0, 0, 0, 0)]
    assert np.asarray(b.convert(PF.RGBA, mi.Struct.Type.Float32, False))[:, 0, 0].tolist() == [2, 1, 2]
    assert mi.TensorXf(mi.Bitmap(np.zeros((2, 3), np.float32))).shape == (2, 3, 1)


def test_rows_are_resampled_with_their_boundary():
    f, source, B = mi.load_dict({"type": "tent"}), np.array([1, 2, 3, 4], np.float32), mi.FilterBoundaryCondition
    for condition, first in ((B.Clamp, 1), (B.Repeat, 1.75), (B.Mirror, 1), (B.Zero, 0.75), (B.One, 1)):
        r, target = mi.Resampler(f, 4, 8), np.zeros(8, np.float32)
        r.set_boundary_condition(condition)
        r.resample(source, 1, target, 1, 1)
        assert np.isclose(target[0], first) and np.isclose(target[3], 2.25)


def test_channels_take_new_names_and_files_keep_them(tmp_path):
    b = mi.Bitmap(PF.MultiChannel, mi.Struct.Type.Float32, [4, 5], 3)
    pixels = np.asarray(b)
    for i, field in enumerate(b.struct_()):
        field.name = f"layer.{i}"
    pixels[:] = 7  # still the memory of the bitmap
    b.metadata()["author"] = "somebody"
    assert "author" in str(b) and "layer.2" in str(b)
    b.write(tmp_path / "a.exr")
    read = mi.Bitmap(tmp_path / "a.exr")
    assert read.channel_names() == ["layer.0", "layer.1", "layer.2"] and np.all(np.asarray(read) == 7)
    with pytest.raises(mi.UserError, match='"layer.1"'):
        b.struct_()[0].name = "layer.1"
