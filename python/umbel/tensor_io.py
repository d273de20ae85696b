"""Files of tensors by name: write(filename, a=array, b=array), read(filename)."""
import struct

from . import _core


def fields(filename):
    """{name: (type, offset, shape)} of a file."""
    from ._struct import Type
    return {name: (Type(kind), offset, tuple(shape)) for name, (kind, offset, shape) in _core.tensor_fields(str(filename)).items()}


def read(filename):
    """{name: NumPy array} of a file."""
    import numpy as np
    from ._struct import numpy_type
    table = fields(filename)
    with open(filename, "rb") as f:
        data = f.read()
    return {name: np.frombuffer(data, numpy_type(t), int(np.prod(shape, dtype=np.int64)), offset).reshape(shape)
            for name, (t, offset, shape) in table.items()}


def write(filename, align=8, **fields):
    """Writes arrays, or texts, under their names; each begins at a multiple of `align` bytes."""
    import numpy as np
    from ._struct import type_of
    arrays = {name: np.frombuffer(v.encode(), np.uint8) if isinstance(v, str) else np.ascontiguousarray(v)
              for name, v in fields.items()}
    size = 18 + sum(13 + len(name.encode()) + 8 * a.ndim for name, a in arrays.items())
    head, body = b"tensor_file\0" + struct.pack("<BBI", 1, 0, len(arrays)), b""
    for name, a in arrays.items():
        body += bytes(-(size + len(body)) % align)
        head += struct.pack("<H", len(name.encode())) + name.encode()
        head += struct.pack(f"<HBQ{a.ndim}Q", a.ndim, type_of(a.dtype), size + len(body), *a.shape)
        body += a.tobytes()
    with open(filename, "wb") as f:
        f.write(head + body)
