# umbel/_struct.py: Struct: the types of binary records, as far as scripts name them.
import enum
import sys


class Type(enum.IntEnum):
    """Type of a field, or of a bitmap's components."""
    Invalid, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float16, Float32, Float64 = range(12)
    __str__ = enum.Enum.__str__

    def __repr__(self): return f"Type.{self.name}"


class ByteOrder(enum.IntEnum):
    LittleEndian, BigEndian, HostByteOrder = range(3)
    Native = 2


class Flags(enum.IntFlag):
    Empty, Normalized, Gamma, Weight, Assert, Alpha, PremultipliedAlpha, Default = 0, 1, 2, 4, 8, 16, 32, 64
    Check = 8


_codes = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split()


def type_of(value):
    """The Type that a Type, a NumPy type, an array type or a name ("uint8") stands for."""
    if isinstance(value, Type):
        return value
    from . import jit as dr
    if isinstance(value, type) and issubclass(value, dr.ArrayBase):
        return Type[dr.type_v(value).name]
    import numpy as np
    dtype = np.dtype(value)
    code = dtype.str[1:]
    if code not in _codes:
        raise TypeError(f"no component has the type {dtype}; there are "
                        + ", ".join(t.name for t in Type if t is not Type.Invalid))
    return Type(_codes.index(code))


def numpy_type(t):
    """NumPy's type for a Type."""
    import numpy as np
    return np.dtype(_codes[t])


class Field:
    """One entry of a Struct."""

    def __init__(self, name, type, offset, flags, default):
        self.name, self.type, self.offset, self.flags, self.default = name, type, offset, flags, default
        self.size = numpy_type(type).itemsize

    def __repr__(self): return f"{self.type.name.lower()} {self.name}; // @{self.offset}"


class Struct:
    """The layout of a record: fields one after the other, aligned unless `pack` is set."""
    Type, ByteOrder, Flags, Field = Type, ByteOrder, Flags, Field

    def __init__(self, pack=False, byte_order=ByteOrder.HostByteOrder):
        if isinstance(pack, Struct):
            self._pack, self._order, self._fields = pack._pack, pack._order, list(pack._fields)
            return
        self._pack, self._order, self._fields = bool(pack), byte_order, []

    def append(self, name, type, flags=Flags.Empty, default=0.0):
        """Adds a field; returns the struct."""
        if any(f.name == name for f in self._fields):
            raise ValueError(f"Struct: there is a field \"{name}\" already")
        field = Field(name, type_of(type), self._end(), flags, default)
        if not self._pack:
            field.offset = -(-field.offset // field.size) * field.size
        self._fields.append(field)
        return self

    def _end(self): return self._fields[-1].offset + self._fields[-1].size if self._fields else 0
    def alignment(self): return 1 if self._pack else max((f.size for f in self._fields), default=1)
    align = alignment

    def size(self):
        """Bytes of a record."""
        a = self.alignment()
        return -(-self._end() // a) * a
    nbytes = size

    def byte_order(self): return self._order
    def pack(self): return self._pack
    def field_count(self): return len(self._fields)
    def has_field(self, name): return any(f.name == name for f in self._fields)

    def field(self, name):
        """The field of that name."""
        for f in self._fields:
            if f.name == name:
                return f
        raise KeyError(f"Struct: there is no field \"{name}\"; there are {[f.name for f in self._fields]}")

    def dtype(self):
        """The same as a type of NumPy's."""
        import numpy as np
        big = self._order == ByteOrder.BigEndian or (self._order == 2 and sys.byteorder == "big")
        order = ">" if big else "<"
        return np.dtype({"names": [f.name for f in self._fields],
                         "formats": [numpy_type(f.type).newbyteorder(order) for f in self._fields],
                         "offsets": [f.offset for f in self._fields], "itemsize": self.size()})

    def __len__(self): return len(self._fields)
    def __getitem__(self, i): return self._fields[i] if isinstance(i, int) else self.field(i)
    def __eq__(self, other): return isinstance(other, Struct) and self.dtype() == other.dtype()
    __hash__ = None

    def __repr__(self):
        return "Struct[\n" + "".join(f"  {f}\n" for f in self._fields) + "]"
