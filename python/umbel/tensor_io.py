"""Files of tensors by name: write(filename, a=array, b=array), read(filename)."""
import struct

_magic = b"tensor_file\0"


def read_header(data):
    """{name: (type, offset, shape)} of a file's bytes."""
    from ._struct import Type
    if data[:12] != _magic or data[12:14] != b"\x01\x00":
        raise RuntimeError("this is no tensor file of version 1.0: its first bytes differ")
    at, fields = 18, {}
    for _ in range(struct.unpack_from("<I", data, 14)[0]):
        length, = struct.unpack_from("<H", data, at)
        name = data[at + 2:at + 2 + length].decode()
        at += 2 + length
        rank, kind, offset = struct.unpack_from("<HBQ", data, at)
        at += 11
        fields[name] = Type(kind), offset, struct.unpack_from(f"<{rank}Q", data, at)
        at += 8 * rank
    return fields


def read(filename):
    """{name: NumPy array} of a file."""
    import numpy as np
    from ._struct import numpy_type
    with open(filename, "rb") as f:
        data = f.read()
    return {name: np.frombuffer(data, numpy_type(t), int(np.prod(shape, dtype=np.int64)), offset).reshape(shape)
            for name, (t, offset, shape) in read_header(data).items()}


def write(filename, align=8, **fields):
    """Writes arrays, or texts, under their names; each begins at a multiple of `align` bytes."""
    import numpy as np
    from ._struct import type_of
    arrays = {name: np.frombuffer(v.encode(), np.uint8) if isinstance(v, str) else np.ascontiguousarray(v)
              for name, v in fields.items()}
    size = 18 + sum(13 + len(name.encode()) + 8 * a.ndim for name, a in arrays.items())
    head, body = _magic + struct.pack("<BBI", 1, 0, len(arrays)), b""
    for name, a in arrays.items():
        body += bytes(-(size + len(body)) % align)
        head += struct.pack("<H", len(name.encode())) + name.encode()
        head += struct.pack(f"<HBQ{a.ndim}Q", a.ndim, type_of(a.dtype), size + len(body), *a.shape)
        body += a.tobytes()
    with open(filename, "wb") as f:
        f.write(head + body)
