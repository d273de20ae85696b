# umbel/_struct.py: Struct, the layout of binary records, and StructConverter, from one layout to another.
import sys
from .jit._enum import NamedFlags, NamedInt


class Type(NamedInt):
    """Type of a field, or of a bitmap's components."""
    Invalid, UInt8, Int8, UInt16, Int16, UInt32, Int32, UInt64, Int64, Float16, Float32, Float64 = range(12)

    def __repr__(self): return f"Type.{self.name}"


class ByteOrder(NamedInt):
    """The order of a number's bytes in memory."""
    Native, LittleEndian, BigEndian = range(3)
    HostByteOrder = 0


class Flags(NamedFlags):
    """How a field's number is to be understood."""
    Empty = 0
    Normalized = 1  # integers stand for [0, 1], or [-1, 1]
    Gamma = 2  # encoded with sRGB's transfer function
    Check = 4  # must be the default value
    Assert = 4
    Default = 8  # the default value, where the source has no such field
    Weight = 16  # others are divided by it
    Alpha = 32
    PremultipliedAlpha = 64


_codes = "? u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8".split()
_flag_names = {1: "normalized", 2: "gamma", 4: "check", 8: "default", 16: "weight", 32: "alpha", 64: "premultiplied alpha"}


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
    """One entry of a Struct. `blend`, pairs of weight and name, makes it a sum of the source's fields."""

    def __init__(self, name, type, offset, flags=0, value=0.0):
        self.name, self.type, self.offset, self.flags, self.value = name, type_of(type), offset, flags, value
        self.blend = []

    @property
    def size(self):
        """In bytes."""
        return numpy_type(self.type).itemsize

    @property
    def default(self):
        """The same as `value`."""
        return self.value

    @default.setter
    def default(self, value): self.value = value

    def copy(self):
        f = Field(self.name, self.type, self.offset, self.flags, self.value)
        f.blend = list(self.blend)
        return f

    def _key(self): return self.name, self.type, self.offset, int(self.flags), float(self.value), list(self.blend)
    def __eq__(self, other): return isinstance(other, Field) and self._key() == other._key()
    __hash__ = None

    def _text(self):
        notes = [n for bit, n in _flag_names.items() if int(self.flags) & bit]
        if self.blend:
            notes.append("blend=<" + " + ".join(f"{w:g} * {n}" for w, n in self.blend) + ">")
        return f"{self.type.name.lower()} {self.name}; // @{self.offset}" + "".join(", " + n for n in notes)

    def __repr__(self): return f"Field[\n  {self._text()}\n]"


class Struct:
    """The layout of a record: fields one after the other, aligned unless `pack` is set."""
    Type, ByteOrder, Flags, Field = Type, ByteOrder, Flags, Field

    def __init__(self, pack=False, byte_order=ByteOrder.Native):
        self._pack, self._order, self._fields = False, ByteOrder(byte_order), []
        if isinstance(pack, Struct):
            self._pack, self._order, self._fields = pack._pack, pack._order, [f.copy() for f in pack._fields]
        elif isinstance(pack, (bool, int)):
            self._pack = bool(pack)
        else:
            self._read_dtype(pack)

    def _read_dtype(self, dtype):
        import numpy as np
        dtype = np.dtype(dtype)
        if dtype.names is None:
            raise TypeError(f"Struct: the NumPy type {dtype} has no fields")
        orders = {dtype[n].byteorder for n in dtype.names} - {"|"}
        if ">" in orders:
            self._order = ByteOrder.BigEndian
        for n in dtype.names:
            self._fields.append(Field(n, dtype[n].newbyteorder("="), dtype.fields[n][1]))
        self._pack = dtype.itemsize == self._end()

    def append(self, name, type=None, flags=0, value=0.0, default=None):
        """Adds a field; returns the struct."""
        if isinstance(name, Field):
            field = name.copy()
        else:
            field = Field(name, type, self._end(), flags, value if default is None else default)
            if not self._pack:
                field.offset = -(-field.offset // field.size) * field.size
        if self.has_field(field.name):
            raise RuntimeError(f"Struct::append(): a field with the name \"{field.name}\" already exists!")
        self._fields.append(field)
        return self

    def _end(self): return self._fields[-1].offset + self._fields[-1].size if self._fields else 0

    def align(self):
        """Bytes that a record's address is a multiple of."""
        return 1 if self._pack else max((f.size for f in self._fields), default=1)
    alignment = align

    def nbytes(self):
        """Bytes of a record."""
        a = self.align()
        return -(-self._end() // a) * a
    size = nbytes

    def byte_order(self): return self._order
    def set_byte_order(self, order): self._order = ByteOrder(order)
    def pack(self): return self._pack
    def set_pack(self, pack): self._pack = bool(pack)
    def field_count(self): return len(self._fields)
    def has_field(self, name): return any(f.name == name for f in self._fields)

    def field(self, name):
        """The field of that name."""
        for f in self._fields:
            if f.name == name:
                return f
        raise RuntimeError(f"Struct: unable to find entry \"{name}\"; there are {[f.name for f in self._fields]}")

    def validate(self):
        """Complains about fields that overlap, have no type or contradictory flags."""
        end = 0
        for f in self._fields:
            if f.type is Type.Invalid:
                raise RuntimeError(f"Struct: the field \"{f.name}\" has no type")
            if f.offset < end:
                raise RuntimeError(f"Struct: the field \"{f.name}\" at byte {f.offset} begins before the one before it ends, "
                                   f"at {end}")
            if int(f.flags) & Flags.Alpha and int(f.flags) & Flags.PremultipliedAlpha:
                raise RuntimeError(f"Struct: the field \"{f.name}\" cannot be alpha and be premultiplied by it")
            end = f.offset + f.size

    def _is_big(self): return self._order is ByteOrder.BigEndian or (self._order is ByteOrder.Native and sys.byteorder == "big")

    def dtype(self):
        """The same as a type of NumPy's."""
        import numpy as np
        order = ">" if self._is_big() else "<"
        return np.dtype({"names": [f.name for f in self._fields],
                         "formats": [numpy_type(f.type).newbyteorder(order) for f in self._fields],
                         "offsets": [f.offset for f in self._fields], "itemsize": self.nbytes()})

    @staticmethod
    def is_float(t): return type_of(t) >= Type.Float16
    @staticmethod
    def is_integer(t): return Type.Invalid < type_of(t) < Type.Float16
    @staticmethod
    def is_unsigned(t): return numpy_type(type_of(t)).kind == "u"
    @staticmethod
    def is_signed(t): return not Struct.is_unsigned(t)

    @staticmethod
    def range(t):
        """The least and the largest number of a type."""
        import numpy as np
        d = numpy_type(type_of(t))
        info = np.finfo(d) if d.kind == "f" else np.iinfo(d)
        return float(info.min), float(info.max)

    def __len__(self): return len(self._fields)
    def __contains__(self, name): return self.has_field(name)
    def __iter__(self): return iter(self._fields)
    def __getitem__(self, i): return self.field(i) if isinstance(i, str) else self._fields[i]

    def __eq__(self, other):
        return isinstance(other, Struct) and (self._pack, self._order, self._fields) == (
            other._pack, other._order, other._fields)

    __hash__ = None

    def __repr__(self):
        rows, end = "", 0
        for f in self._fields:
            rows += _padding(f.offset - end) + f"  {f._text()}\n"
            end = f.offset + f.size
        return "Struct[\n" + rows + _padding(self.nbytes() - end) + "]"


def _padding(n): return f"  // {n} byte{'s' if n > 1 else ''} of padding\n" if n > 0 else ""


def _decode(x):
    """Linear numbers of sRGB's."""
    import numpy as np
    return np.where(x <= 0.04045, x / 12.92, ((np.maximum(x, 0) + 0.055) / 1.055) ** 2.4)


def _encode(x):
    import numpy as np
    return np.where(x <= 0.0031308, x * 12.92, 1.055 * np.maximum(x, 0) ** (1 / 2.4) - 0.055)


class StructConverter:
    """Turns records of one layout into those of another: fields are found by name, their types and flags converted."""

    def __init__(self, source, target, jit=True, dither=False, working_precision=Type.Float32):
        source.validate()
        target.validate()
        self._source, self._target = source, target
        for f in target:
            for _, name in f.blend or [(1, f.name)]:
                if not source.has_field(name) and not (int(f.flags) & Flags.Default):
                    raise RuntimeError(f"StructConverter: Unable to find field \"{name}\": the output data structure has a field "
                                       f"\"{f.name}\" that reads it, and no default value")
        if len([f for f in source if int(f.flags) & Flags.Alpha]) > 1 and any(self._alpha_step(f) for f in target):
            raise RuntimeError("StructConverter: the source has several alpha channels; premultiplication can be changed with "
                               "one only")

    def source(self): return self._source
    def target(self): return self._target

    def _alpha_step(self, f):
        """1: divide by alpha, -1: multiply, 0: neither."""
        if f.blend or not self._source.has_field(f.name):
            return 0
        bit = Flags.PremultipliedAlpha
        return bool(int(self._source.field(f.name).flags) & bit) - bool(int(f.flags) & bit)

    @staticmethod
    def _load(records, f):
        """A field in linear numbers."""
        import numpy as np
        x = records[f.name].astype(np.float64)
        if int(f.flags) & Flags.Normalized and f.type < Type.Float16:
            x = x / np.iinfo(numpy_type(f.type)).max
        return _decode(x) if int(f.flags) & Flags.Gamma else x

    @staticmethod
    def _store(x, f):
        import numpy as np
        d = numpy_type(f.type)
        if int(f.flags) & Flags.Gamma:
            x = _encode(x)
        if d.kind == "f":
            return x.astype(d)
        info = np.iinfo(d)
        if int(f.flags) & Flags.Normalized:
            x = x * info.max
        x = np.rint(x)
        # Doubles have no 2^63 - 1: what is too large is set afterwards
        out = np.where((x > info.min) & (x < info.max), x, 0).astype(d)
        out[x >= info.max], out[x <= info.min] = info.max, info.min
        return out

    def convert(self, input, height=1):
        """The records of a buffer, converted, as bytes."""
        import numpy as np
        raw = np.frombuffer(memoryview(np.ascontiguousarray(input)).cast("B") if isinstance(input, np.ndarray) else input,
                            dtype=np.uint8)
        size = self._source.nbytes()
        if not size or raw.size % size:
            raise RuntimeError(f"StructConverter: {raw.size} bytes are no whole number of records of {size} bytes: "
                               "Input length is not divisible by record size!")
        records = raw.view(self._source.dtype())
        for f in self._source:
            if int(f.flags) & Flags.Check and (records[f.name] != f.value).any():
                raise RuntimeError(f"StructConverter: Conversion failed! The field \"{f.name}\" must be {f.value:g}")
        out = np.zeros(len(records), dtype=self._target.dtype())
        weight = self._weight(records)
        for f in self._target:
            out[f.name] = self._field(records, f, weight)
        return out.tobytes()

    def _weight(self, records):
        """One over the weights, where the target has none."""
        import numpy as np
        found = [f for f in self._source if int(f.flags) & Flags.Weight]
        if not found or any(int(f.flags) & Flags.Weight for f in self._target):
            return None
        w = self._load(records, found[0])
        return 1 / np.where(w == 0, 1, w)

    def _field(self, records, f, weight):
        import numpy as np
        if f.blend:
            x = sum(w * self._load(records, self._source.field(name)) for w, name in f.blend)
        elif not self._source.has_field(f.name):
            return np.full(len(records), f.value).astype(numpy_type(f.type))
        else:
            g, step = self._source.field(f.name), self._alpha_step(f)
            same = Flags.Normalized | Flags.Gamma
            if g.type is f.type and int(g.flags) & same == int(f.flags) & same and not step and weight is None:
                return records[f.name]
            x = self._load(records, g)
            if step:
                a = self._load(records, next(h for h in self._source if int(h.flags) & Flags.Alpha))
                x = x * a if step < 0 else np.where(a > 0, x / np.where(a > 0, a, 1), 0)
        return self._store(x if weight is None else x * weight, f)
