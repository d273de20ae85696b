# umbel/_streams.py: streams of bytes, files in memory, and files of tensors.
import enum
import os
import struct
import sys
import tempfile
import zlib


class EByteOrder(enum.Enum):
    """The order of a number's bytes."""
    EBigEndian = 0
    ELittleEndian = 1
    ENetworkByteOrder = 0


_formats = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
            "uint64": "Q", "single": "f", "float": "f", "double": "d", "bool": "?"}


class Stream:
    """Bytes that are read and written at a position; numbers in the stream's byte order."""
    EByteOrder = EByteOrder
    EBigEndian, ELittleEndian = EByteOrder.EBigEndian, EByteOrder.ELittleEndian

    def __init__(self): self._order = self.host_byte_order()

    @staticmethod
    def host_byte_order():
        """That of this machine."""
        return EByteOrder.ELittleEndian if sys.byteorder == "little" else EByteOrder.EBigEndian

    def byte_order(self): return self._order
    def set_byte_order(self, order): self._order = order
    def flush(self): pass

    def _check(self, can, what):
        if not can:
            raise RuntimeError(f"{type(self).__name__}: cannot {what}: {'it is closed' if self._closed() else 'not permitted'}")

    def _closed(self): return not (self.can_read() or self.can_write())

    def skip(self, n):
        """Moves ahead."""
        self.seek(self.tell() + n)

    def read_line(self):
        """Text up to the end of the line."""
        data = b""
        while self.tell() < self.size():
            c = self.read(1)
            if c == b"\n":
                break
            data += c
        return data.decode().removesuffix("\r")

    def write_line(self, text): self.write((text + "\n").encode())

    def read_string(self):
        """A text that write_string() has written."""
        return self.read(self.read_uint32()).decode()

    def write_string(self, text):
        """Its length, as an uint32, and its bytes."""
        data = text.encode()
        self.write_uint32(len(data))
        self.write(data)

    def _number(self, code): return ("<" if self._order is EByteOrder.ELittleEndian else ">") + code
    def _rows(self): return []

    def __repr__(self):
        name = lambda o: "little-endian" if o is EByteOrder.ELittleEndian else "big-endian"
        rows = [*self._rows()[:1 if isinstance(self, FileStream) else 0], f"host_byte_order = {name(self.host_byte_order())}",
                f"byte_order = {name(self._order)}", f"can_read = {int(self.can_read())}",
                f"can_write = {int(self.can_write())}", *self._rows()[1 if isinstance(self, FileStream) else 0:]]
        if not self._closed():
            rows += [f"pos = {self.tell()}", f"size = {self.size()}"]
        return f"{type(self).__name__}[\n  " + ",\n  ".join(rows) + "\n]"


def _add_numbers():
    for name, code in _formats.items():
        def read(self, code=code):
            f = self._number(code)
            return struct.unpack(f, self.read(struct.calcsize(f)))[0]

        def write(self, value, code=code): self.write(struct.pack(self._number(code), value))
        read.__name__, write.__name__ = f"read_{name}", f"write_{name}"
        setattr(Stream, read.__name__, read)
        setattr(Stream, write.__name__, write)


_add_numbers()


class MemoryStream(Stream):
    """A stream in memory, which grows."""

    def __init__(self, capacity=512):
        super().__init__()
        self._data, self._position, self._capacity, self._open = bytearray(), 0, capacity, True

    def can_read(self): return self._open
    def can_write(self): return self._open
    def close(self): self._open = False
    def tell(self): return self._position
    def seek(self, position): self._position = position
    def size(self): return len(self._data)
    def capacity(self): return max(self._capacity, len(self._data))
    def owns_buffer(self): return True
    def raw_buffer(self): return bytes(self._data)

    def truncate(self, size):
        self._check(self._open, "truncate")
        self._data = self._data[:size] + bytes(max(0, size - len(self._data)))
        self._position = min(self._position, size)

    def read(self, n=None):
        """That many bytes; all that are left unless it is said how many."""
        self._check(self._open, "read")
        n = len(self._data) - self._position if n is None else n
        if self._position + n > len(self._data):
            raise RuntimeError(f"MemoryStream: cannot read {n} bytes at {self._position} of {len(self._data)}")
        self._position += n
        return bytes(self._data[self._position - n:self._position])

    def write(self, data):
        self._check(self._open, "write")
        end = self._position + len(data)
        self._data += bytes(max(0, end - len(self._data)))
        self._data[self._position:end] = data
        self._position = end

    def _rows(self): return [f"owns_buffer = {int(self.owns_buffer())}", f"capacity = {self.capacity()}"]


class DummyStream(Stream):
    """Forgets what is written and knows how much it was."""

    def __init__(self):
        super().__init__()
        self._size = self._position = 0
        self._open = True

    def can_read(self): return False
    def can_write(self): return self._open
    def close(self): self._open = False
    def tell(self): return self._position
    def seek(self, position): self._position = position
    def size(self): return self._size
    def read(self, n=None): self._check(False, "read")

    def truncate(self, size):
        self._check(self._open, "truncate")
        self._size, self._position = size, min(self._position, size)

    def write(self, data):
        self._check(self._open, "write")
        self._position += len(data)
        self._size = max(self._size, self._position)


class FileStream(Stream):
    """A file."""

    class EMode(enum.Enum):
        ERead = 0
        EReadWrite = 1
        ETruncReadWrite = 2

    ERead, EReadWrite, ETruncReadWrite = EMode.ERead, EMode.EReadWrite, EMode.ETruncReadWrite

    def __init__(self, p, mode=EMode.ERead):
        super().__init__()
        self._path, self._mode = os.fspath(p) if hasattr(p, "__fspath__") else str(p), mode
        try:
            self._file = open(self._path, {self.ERead: "rb", self.EReadWrite: "r+b", self.ETruncReadWrite: "w+b"}[mode])
        except OSError as e:
            raise RuntimeError(f"FileStream: \"{self._path}\" cannot be opened: {e.strerror}") from None

    def path(self):
        from .filesystem import path
        return path(self._path)

    def can_read(self): return not self._file.closed
    def can_write(self): return not self._file.closed and self._mode is not self.ERead
    def close(self): self._file.close()
    def flush(self): self._file.flush()
    def tell(self): return self._file.tell()
    def seek(self, position): self._file.seek(position)

    def size(self):
        self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def truncate(self, size):
        self._check(self.can_write(), "truncate")
        position = self.tell()
        self._file.truncate(size)
        self._file.seek(min(position, size))

    def read(self, n=None):
        """That many bytes; all that are left unless it is said how many."""
        self._check(self.can_read(), "read")
        n = self.size() - self.tell() if n is None else n
        data = self._file.read(n)
        if len(data) != n:
            raise RuntimeError(f"FileStream: \"{self._path}\" ends after {len(data)} of {n} bytes")
        return data

    def write(self, data):
        self._check(self.can_write(), "write")
        self._file.write(data)

    def _rows(self): return [f'path = "{self._path}"']


class ZStream(Stream):
    """Compresses what is written to another stream, and what is read from it the other way round."""

    class EStreamType(enum.Enum):
        EDeflateStream = 0
        EGZipStream = 1

    EDeflateStream, EGZipStream = EStreamType.EDeflateStream, EStreamType.EGZipStream

    def __init__(self, child_stream, stream_type=EStreamType.EDeflateStream, level=-1):
        super().__init__()
        bits = zlib.MAX_WBITS + (16 if stream_type is self.EGZipStream else 0)
        self._child = child_stream
        self._pack, self._unpack, self._rest, self._used = zlib.compressobj(level, wbits=bits), zlib.decompressobj(bits), b"", False

    def child_stream(self): return self._child
    def can_read(self): return self._child is not None and self._child.can_read()
    def can_write(self): return self._child is not None and self._child.can_write()
    def tell(self): raise RuntimeError("ZStream: a compressed stream has no positions")
    size = tell
    def seek(self, position): self.tell()
    def truncate(self, size): self.tell()

    def write(self, data):
        self._check(self.can_write(), "write")
        self._used = True
        self._child.write(self._pack.compress(data))

    def read(self, n):
        self._check(self.can_read(), "read")
        while len(self._rest) < n:
            left = min(4096, self._child.size() - self._child.tell())
            if left <= 0:
                raise RuntimeError(f"ZStream: the stream ends after {len(self._rest)} of {n} bytes")
            self._rest += self._unpack.decompress(self._child.read(left))
        data, self._rest = self._rest[:n], self._rest[n:]
        return data

    def flush(self):
        if self._used and self.can_write():
            self._child.write(self._pack.flush(zlib.Z_SYNC_FLUSH))

    def close(self):
        if self._child is not None and self._used and self._child.can_write():
            self._child.write(self._pack.flush())
        self._child = None

    def __del__(self): self.close()

    def __repr__(self): return f"ZStream[\n  child_stream = {self._child}\n]"


class MemoryMappedFile:
    """A file whose bytes are memory: `MemoryMappedFile(name)`, `(name, write=True)`, a new one of a size, or of an array."""

    def __init__(self, filename, size=None, write=False, array=None):
        import numpy as np
        self._name, self._temporary = os.fspath(filename) if hasattr(filename, "__fspath__") else str(filename), False
        if isinstance(size, bool):
            size, write = None, size
        elif size is not None and not isinstance(size, int):
            size, array = None, size
        if array is not None:
            array = np.ascontiguousarray(array)
            size = array.nbytes
        if size is not None:
            with open(self._name, "wb") as f:
                f.truncate(size)
            write = True
        self._map(bool(write))
        if array is not None:
            self._view[:] = array.reshape(-1).view(np.uint8)

    def _map(self, write):
        import numpy as np
        self._write = write
        try:
            n = os.path.getsize(self._name)
            self._view = np.memmap(self._name, dtype=np.uint8, mode="r+" if write else "r") if n else np.zeros(0, np.uint8)
        except OSError as e:
            raise RuntimeError(f"MemoryMappedFile: \"{self._name}\" cannot be opened: {e.strerror}") from None

    @staticmethod
    def create_temporary(size):
        """A file that is gone when nobody uses it any more."""
        handle, name = tempfile.mkstemp(prefix="umbel_")
        os.close(handle)
        made = MemoryMappedFile(name, size)
        made._temporary = True
        return made

    def size(self): return len(self._view)
    def can_write(self): return self._write

    def filename(self):
        from .filesystem import path
        return path(self._name)

    def data(self):
        """Address of the first byte."""
        return self._view.ctypes.data

    def resize(self, size):
        """Makes the file that long; arrays of before keep what they saw."""
        if not self._write:
            raise RuntimeError(f"MemoryMappedFile: \"{self._name}\" is open for reading only")
        self._view.flush() if hasattr(self._view, "flush") else None
        os.truncate(self._name, size)
        self._map(True)

    def __array__(self, dtype=None, copy=None):
        import numpy as np
        view = self._view.view(np.ndarray)
        return view.astype(dtype) if dtype is not None and dtype != np.uint8 else view.copy() if copy else view

    def __del__(self):
        if getattr(self, "_temporary", False):
            self._view = None
            try:
                os.remove(self._name)
            except OSError:
                pass

    def _rows(self):
        from .misc import mem_string
        return [f'filename = "{self._name}"', f"size = {mem_string(self.size())}"]

    def __repr__(self): return f"{type(self).__name__}[\n  " + ",\n  ".join(self._rows()) + "\n]"


class TensorFile(MemoryMappedFile):
    """Tensors of any shape by name, in one file; see tensor_io for writing."""

    class Field:
        """One of them."""

        def __init__(self, file, dtype, offset, shape): self._file, self.dtype, self.offset, self._shape = file, dtype, offset, shape
        def shape(self): return list(self._shape)

        def numpy(self):
            import numpy as np
            from ._struct import numpy_type
            t = numpy_type(self.dtype)
            n = int(np.prod(self._shape, dtype=np.int64))
            return np.frombuffer(self._file.__array__(), dtype=t, count=n, offset=self.offset).reshape(self._shape)

        def to(self, dtype):
            """As a tensor, or an array, of that class."""
            return dtype(self.numpy())

        def _text(self):
            return f"dtype = {self.dtype.name.lower()},\noffset = {self.offset},\nshape = {list(self._shape)}"

        def __repr__(self): return "TensorFile.Field[\n  " + self._text().replace("\n", "\n  ") + "\n]"

    def __init__(self, filename):
        super().__init__(filename)
        from . import tensor_io
        self._fields = {name: TensorFile.Field(self, *place) for name, place in tensor_io.fields(filename).items()}

    def __contains__(self, name): return name in self._fields

    def __getitem__(self, name):
        if name not in self._fields:
            raise RuntimeError(f"TensorFile: there is no field \"{name}\"; there are {list(self._fields)}")
        return self._fields[name]

    def __repr__(self):
        fields = ",\n".join(f'    "{n}" => [\n      ' + f._text().replace("\n", "\n      ") + "\n    ]" for n, f in self._fields.items())
        return "TensorFile[\n  " + ",\n  ".join(self._rows()) + ",\n  fields = {\n" + fields + "\n  }\n]"


__all__ = ["Stream", "MemoryStream", "DummyStream", "FileStream", "ZStream", "MemoryMappedFile", "TensorFile"]
