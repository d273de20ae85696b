# tests/python/files_test.py: streams, structures of records, mapped files, tensors, volumes, paths, command lines.
import struct

import numpy as np
import pytest

import umbel as mi
from umbel import Struct, StructConverter
from umbel import filesystem as fs

NUMBERS = {"Int8": "b", "UInt8": "B", "Int16": "h", "UInt16": "H", "Int32": "i", "UInt32": "I", "Int64": "q", "UInt64": "Q",
           "Float16": "e", "Float32": "f", "Float64": "d"}


def fill(stream):
    stream.write_int64(-5)
    stream.write_string("täxt")
    stream.write_double(0.1)
    stream.write_bool(True)
    stream.write_line("a line")
    stream.flush()


def check(stream):
    assert (stream.read_int64(), stream.read_string(), stream.read_double(), stream.read_bool()) == (-5, "täxt", 0.1, True)


@pytest.mark.parametrize("order", list(mi.Stream.EByteOrder))
def test_streams_give_back_what_was_written(tmp_path, order):
    file = mi.FileStream(str(tmp_path / "x"), mi.FileStream.ETruncReadWrite)
    for s in (mi.MemoryStream(), file):
        s.set_byte_order(order)
        fill(s)
        s.seek(0)
        check(s)
        assert s.read_line() == "a line" and s.tell() == s.size()
        s.close()
        assert not s.can_read() and not s.can_write()


@pytest.mark.parametrize("kind", list(mi.ZStream.EStreamType))
def test_compressed_streams_give_back_what_was_written(kind):
    memory = mi.MemoryStream()
    z = mi.ZStream(memory, kind)
    fill(z)
    z.close()
    memory.seek(0)
    check(mi.ZStream(memory, kind))


def test_a_stream_that_only_counts_has_the_right_size():
    memory, dummy = mi.MemoryStream(), mi.DummyStream()
    fill(memory)
    fill(dummy)
    assert dummy.size() == memory.size()
    with pytest.raises(RuntimeError):
        dummy.read(1)


@pytest.mark.parametrize("to", NUMBERS)
@pytest.mark.parametrize("source", NUMBERS)
def test_numbers_survive_a_change_of_type_and_byte_order(source, to):
    a = Struct(byte_order=Struct.ByteOrder.BigEndian).append("v", Struct.Type[source])
    b = Struct(byte_order=Struct.ByteOrder.LittleEndian).append("v", Struct.Type[to])
    out = StructConverter(a, b).convert(struct.pack(">4" + NUMBERS[source], 0, 1, 2, 100))
    assert struct.unpack("<4" + NUMBERS[to], out) == (0, 1, 2, 100)


def test_conversion_rounds_clamps_and_decodes():
    T, F = Struct.Type, Struct.Flags
    floats = Struct().append("v", T.Float32)
    to_bytes = StructConverter(floats, Struct().append("v", T.Int8))
    assert struct.unpack("5b", to_bytes.convert(struct.pack("5f", -0.55, 0.45, 0.55, 200, -200))) == (-1, 0, 1, 127, -128)
    srgb = StructConverter(Struct().append("v", T.UInt8, F.Normalized | F.Gamma), floats)
    assert np.allclose(struct.unpack("2f", srgb.convert(bytes([0, 188]))), [0, 0.5028865], atol=1e-6)


def test_conversion_divides_by_weight_and_alpha_and_blends():
    T, F = Struct.Type, Struct.Flags
    weighted = Struct().append("v", T.Float32).append("w", T.Float32, F.Weight)
    assert struct.unpack("f", StructConverter(weighted, Struct().append("v", T.Float32)).convert(struct.pack("2f", 3, 2))) == (1.5,)
    pre = Struct().append("v", T.Float32, F.PremultipliedAlpha).append("a", T.Float32, F.Alpha)
    plain = Struct().append("v", T.Float32).append("a", T.Float32, F.Alpha)
    assert struct.unpack("2f", StructConverter(pre, plain).convert(struct.pack("2f", 1, 0.5))) == (2, 0.5)
    sums = Struct().append("s", T.Float32)
    sums["s"].blend = [(3.0, "v"), (4.0, "a")]
    assert struct.unpack("f", StructConverter(plain, sums).convert(struct.pack("2f", 1, 2))) == (11,)


def test_a_struct_that_lacks_a_field_is_refused():
    T = Struct.Type
    with pytest.raises(RuntimeError, match="\"b\""):
        StructConverter(Struct().append("a", T.UInt8), Struct().append("b", T.UInt8))


def test_mapped_files_are_memory(tmp_path):
    name = str(tmp_path / "map")
    m = mi.MemoryMappedFile(name, 16)
    np.asarray(m)[:] = np.arange(16)
    assert list(open(name, "rb").read()) == list(range(16))
    m.resize(8)
    assert m.size() == 8 and np.asarray(mi.MemoryMappedFile(name)).tolist() == list(range(8))


def test_tensors_in_files_come_back_by_name(tmp_path):
    name, a = str(tmp_path / "t"), np.arange(6, dtype=np.float32).reshape(2, 3)
    mi.tensor_io.write(name, a=a, b=np.arange(4, dtype=np.uint8))
    f = mi.TensorFile(name)
    assert "a" in f and "c" not in f and f["a"].shape() == [2, 3] and np.array_equal(f["a"].to(mi.TensorXf).numpy(), a)
    assert np.array_equal(mi.tensor_io.read(name)["b"], np.arange(4))
    mi.tensor_io.write(name, z=np.float16([0.5, -2, 65504]), a=np.int64([-1]))
    table = mi.tensor_io.read(name)
    assert list(table) == ["z", "a"] and table["z"].dtype == np.float16 and table["z"].tolist() == [0.5, -2, 65504]


def test_damaged_tensor_files_say_where(tmp_path):
    name = tmp_path / "t"
    mi.tensor_io.write(name, a=np.zeros((4, 4)))
    data = name.read_bytes()
    for damaged, text in ((data[:-1], "goes beyond the end"), (data[:20], "ends within"), (b"x" + data[1:], "is missing")):
        name.write_bytes(damaged)
        for read in (mi.tensor_io.read, mi.TensorFile):
            with pytest.raises(mi.UserError, match=text):
                read(str(name))


def test_volumes_survive_a_file(tmp_path):
    a = np.random.default_rng(0).random((2, 3, 4, 2)).astype(np.float32)
    mi.VolumeGrid(a).write(str(tmp_path / "v.vol"))
    g = mi.VolumeGrid(str(tmp_path / "v.vol"))
    assert np.array_equal(np.array(g), a) and np.ravel(g.size()).tolist() == [4, 3, 2] and np.isclose(g.max(), a.max())
    assert np.allclose(g.max_per_channel(), a.max(axis=(0, 1, 2)))
    with open(tmp_path / "v.vol", "rb") as f:
        assert np.array_equal(np.array(mi.VolumeGrid(f)), a)


def test_volumes_are_read_as_scenes_read_them(tmp_path):
    head = lambda kind, channels, x=1: b"VOL\x03" + struct.pack("<5i6f", kind, x, 1, 1, channels, 0, 0, 0, 1, 1, 1)
    def read(data):
        (tmp_path / "v.vol").write_bytes(data)
        return np.array(mi.VolumeGrid(tmp_path / "v.vol"))
    assert np.allclose(read(head(3, 1, 2) + bytes([255, 51])).ravel(), [1, .2])
    assert np.allclose(read(head(4, 3) + bytes([0, 7])).ravel(), [0, 0, 1], atol=1e-6)  # a direction: along z
    for data, text in ((head(1, 1, -1), "cannot be"), (head(1, 1), "ends early"), (head(9, 1), "encoding 9"),
                       (head(1, 1) + struct.pack("<f", float("nan")), "not finite"), (b"VOL", "is no volume")):
        with pytest.raises(RuntimeError, match=text):
            read(data)


def test_paths_are_taken_apart_and_put_together():
    p = fs.path("a/b") / "c.tar"
    assert str(p) == "a/b/c.tar" and p.filename() == "c.tar" and p.extension() == ".tar" and p.parent_path() == fs.path("a/b")
    assert p.replace_extension("zip") == fs.path("a/b/c.zip") and fs.absolute(p).is_absolute() and not fs.exists(p)


def test_a_command_line_is_taken_apart():
    p = mi.ArgParser()
    v, n, rest = p.add(["-v", "--verbose"]), p.add("-n", True), p.add("", True)
    p.parse(["program", "-vv", "file", "-n7", "-n", "8"])
    assert v.count() == 2 and n.as_int() == 7 and n.next().as_int() == 8 and rest.as_string() == "file"
    with pytest.raises(RuntimeError, match="needs a value"):
        p.parse(["program", "-n"])


def test_a_spiral_visits_every_block_once():
    s, seen = mi.Spiral([100, 80], [5, 7], 32), []
    while True:
        offset, size, number = s.next_block()
        if not np.ravel(size)[0]:
            break
        seen.append((*np.ravel(offset), *np.ravel(size), number))
    assert len(seen) == len(set(seen)) == s.block_count() == 12 and sum(b[2] * b[3] for b in seen) == 8000


def test_sizes_and_durations_read_well():
    assert mi.misc.mem_string(1500) == "1.46 KiB" and mi.misc.time_string(2010) == "2.01s"
    assert mi.Version("3.9.1") > mi.Version(3, 9, 0) and mi.MI_VERSION == str(mi.Version(3, 9, 1))
