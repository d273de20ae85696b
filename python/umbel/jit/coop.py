"""umbel.jit.coop: vectors of many entries a lane, and matrices in memory that multiply them.

A CoopVec holds the activations of a neural network for each lane; a MatrixView says where in a buffer the weights of
a layer are. The public names are in umbel.jit.nn.
"""
from .. import _core
from ._tree import children, map_leaves, rebuild
from ._types import ArrayBase, VarType, describe, expr_t, is_array_v, is_tensor_v, leaf_t, vectors

UInt = _core.classes["UInt"]
SmallBuffer = 64


def _fail(what, message):
    from ._hooks import UserError
    raise UserError(f"{what}: {message}")


class CoopVec:
    """A vector of arrays, one an entry: `CoopVec(x, y, 0.5)`, or of any structure of arrays and numbers.

    It adds, subtracts and multiplies with vectors, arrays and numbers, and knows dr.minimum, maximum, fma, exp2,
    log2, tanh and the like. `list(v)`, `ArrayXf(v)` and `TensorXf(v)` give the entries back.
    """
    DRJIT_STRUCT = {"_parts": list}
    _umbel_unevaluable = "Cooperative vectors cannot be evaluated. They must be unpacked into regular variables."
    _umbel_no_leaf = "to create a differentiable cooperative vector, construct it from grad-enabled components."

    def __init__(self, *args):
        parts = []
        _flatten(args, parts)
        if not parts:
            _fail("CoopVec()", "cannot be empty!")
        arrays = [p for p in parts if isinstance(p, ArrayBase)]
        if not arrays:
            raise TypeError("CoopVec(): at least one array of lanes is required as input, such as a Float16")
        tp = expr_t(*arrays)
        self._parts = [p if type(p) is tp else tp(p) for p in parts]

    @classmethod
    def _of(cls, parts):
        self = cls.__new__(cls)
        self._parts = parts
        return self

    @property
    def type(self):
        """Array type of the entries."""
        return type(self._parts[0])

    @property
    def index(self): return _core.index(self._parts[0])

    def __len__(self): return len(self._parts)
    def __iter__(self): return iter(list(self._parts))

    def __repr__(self):
        lanes = max(_core.width(p) for p in self._parts)
        return f"umbel.jit.nn.CoopVec[{self.type.__module__}.{self.type.__name__}, shape=({len(self)}, {lanes})]"

    # ---- arithmetic
    def _with(self, f, *others):
        """f(entry, entries of the others...), entry by entry. Others may be vectors, arrays and numbers."""
        columns = []
        for o in others:
            if isinstance(o, CoopVec):
                if len(o) != len(self):
                    _fail("CoopVec", f"the cooperative vectors have incompatible lengths ({len(self)} and {len(o)})!")
                columns.append(o._parts)
            else:
                columns.append([o] * len(self))
        tp = self.type
        out = [f(*row) for row in zip(self._parts, *columns)]
        return CoopVec._of([x if type(x) is tp else tp(x) for x in out])

    def _binary(self, op, other):
        if not isinstance(other, (CoopVec, ArrayBase, int, float)):
            return NotImplemented
        return self._with(op, other)

    def __add__(self, o): return self._binary(lambda a, b: a + b, o)
    def __radd__(self, o): return self._binary(lambda a, b: b + a, o)
    def __sub__(self, o): return self._binary(lambda a, b: a - b, o)
    def __rsub__(self, o): return self._binary(lambda a, b: b - a, o)
    def __mul__(self, o): return self._binary(lambda a, b: a * b, o)
    def __rmul__(self, o): return self._binary(lambda a, b: b * a, o)
    def __truediv__(self, o): return self._binary(lambda a, b: a / b, o)
    def __neg__(self): return self._with(lambda a: -a)
    def __abs__(self): return self._with(abs)

    # ---- called by the functions of umbel.jit
    def _umbel_call(self, f, *args):
        """f(args...), where one of the arguments is a vector."""
        return self._with(lambda _, *row: f(*row), *args)


vectors.add(CoopVec)


def _flatten(tree, out):
    if isinstance(tree, ArrayBase):
        if is_tensor_v(tree):
            if len(tree.shape) > 1:
                for i in range(tree.shape[0]):
                    _flatten(tree[i], out)
            else:
                out.append(tree.array)
        elif describe(type(tree))[3]:
            out += _core.entries(tree)
        else:
            out.append(tree)
    elif isinstance(tree, (int, float)):
        out.append(tree)
    elif isinstance(tree, CoopVec):
        out += tree._parts
    else:
        kids = children(tree)
        items = [v for _, v in kids] if kids is not None else list(tree) if hasattr(tree, "__iter__") else None
        if items is None:
            raise TypeError(f"CoopVec(): cannot take entries from an object of type '{type(tree).__name__}'")
        for v in items:
            _flatten(v, out)


def cast(arg, dtype, /):
    """The vector with entries of another type."""
    if not isinstance(arg, CoopVec) or not is_array_v(dtype):
        raise TypeError("cast(): a CoopVec and an array type such as Float16 are needed")
    tp = leaf_t(dtype)
    return CoopVec._of([tp(p) for p in arg._parts])


# ---- matrices in memory

class MatrixView:
    """A matrix, or a vector as a matrix of one column, within a buffer that may hold more of them.

    Element (i, j) is at `offset + i * stride + j`. `A[a:b, c:d]` is a block of it, `A @ x` and matvec() multiply.
    `layout` is "row_major", "inference" or "training"; here all of them are stored row by row.
    """
    DRJIT_STRUCT = {"layout": str, "buffer": None, "dtype": VarType, "shape": tuple, "offset": int, "size": int,
                    "stride": int, "transpose": bool}

    def __init__(self):
        self.layout, self.buffer, self.dtype = "row_major", None, VarType.Void
        self.shape, self.offset, self.size, self.stride, self.transpose = (0, 0), 0, 0, 0, False

    def _copy(self, **changes):
        v = MatrixView.__new__(MatrixView)
        v.__dict__.update(self.__dict__)
        v.__dict__.update(changes)
        return v

    @property
    def T(self):
        """The transpose, of the same memory."""
        return self._copy(transpose=not self.transpose)

    @property
    def grad(self):
        """The gradient, seen the same way."""
        return self._copy(buffer=_core.grad(self.buffer))

    def __matmul__(self, x):
        return matvec(self, x) if isinstance(x, CoopVec) else NotImplemented

    def __getitem__(self, key):
        if self.layout != "row_major":
            _fail("MatrixView.__getitem__()", "only a matrix in row-major layout has blocks; unpack() it first")
        key = key if isinstance(key, tuple) else (key, slice(None))
        if len(key) != 2:
            _fail("MatrixView.__getitem__()", f"a row and a column are needed, not {len(key)} indices")
        first, step, count = [], [], []
        for k, n in zip(key, self.shape):
            if isinstance(k, int):
                k = slice(k, k + 1) if k >= 0 else slice(n + k, n + k + 1)
            if not isinstance(k, slice):
                _fail("MatrixView.__getitem__()", f"expected 'int' or 'slice', got '{type(k).__name__}'!")
            r = range(*k.indices(n))
            if not len(r) or r.step < 1:
                _fail("MatrixView.__getitem__()", "input array may not be empty!")
            first.append(r.start)
            step.append(r.step)
            count.append(len(r))
        if step[1] != 1:
            _fail("MatrixView.__getitem__()", "columns of a block must follow one another")
        stride = self.stride * step[0]
        return self._copy(shape=tuple(count), offset=self.offset + first[0] * self.stride + first[1], stride=stride,
                          size=(count[0] - 1) * stride + count[1])

    def __repr__(self):
        buffer = type(self.buffer)
        return (f"umbel.jit.nn.MatrixView[\n    dtype={self.dtype},\n    layout=\"{self.layout}\",\n"
                f"    shape={self.shape},\n    stride={self.stride},\n    offset={self.offset}\n    size={self.size}\n"
                f"    buffer=<{buffer.__module__}.{buffer.__name__} instance>\n]")

    def _flat(self):
        """The elements as (array, shape), row by row."""
        if self.layout != "row_major":
            raise TypeError("This tensor is in an inference/training-optimal layout. To convert it back into tensor "
                            "form, you must unpack it into a row-major representation via nn.unpack().")
        rows, columns = self.shape
        lane = _core.lane_index(rows * columns)
        i, j = (lane % rows, lane // rows) if self.transpose else (lane // columns, lane % columns)
        whole = not self.transpose and self.stride == columns and self.offset == 0 and \
            len(self.buffer) == rows * columns
        flat = self.buffer if whole else _core.gather(type(self.buffer), self.buffer,
                                                      i * self.stride + j + self.offset, None)
        return flat, (columns, rows) if self.transpose else (rows, columns)


def view(arg, /):
    """A view of a matrix or vector where it is, for matvec() or to cut blocks for pack()."""
    if isinstance(arg, MatrixView):
        return arg
    if not is_array_v(arg) or describe(type(arg))[3]:
        raise TypeError(f"view(): a tensor or an array is needed, not '{type(arg).__name__}'")
    shape = tuple(arg.shape)
    if len(shape) not in (1, 2):
        _fail("view()", "tensor must have 1 or 2 dimensions!")
    rows, columns = shape if len(shape) == 2 else (shape[0], 1)
    v = MatrixView()
    v.buffer, v.shape, v.stride, v.size = arg.array if is_tensor_v(arg) else arg, (rows, columns), columns, \
        rows * columns
    v.dtype = VarType(describe(type(arg))[0])
    return v


def _repack(what, args, layout):
    """The structure with views into one new buffer in the place of tensors and views."""
    from .nn import Module
    parts, views = [], []

    def visit(tree):
        if isinstance(tree, ArrayBase) or isinstance(tree, MatrixView):
            source = view(tree)
            plain = source._copy(layout="row_major", transpose=False)
            flat, (rows, columns) = plain._flat()
            if parts and type(flat) is not type(parts[0]):
                raise TypeError(f"{what}: encountered different input formats ({type(parts[0]).__name__} vs "
                                f"{type(flat).__name__})")
            parts.append(flat)
            new = plain._copy(offset=sum(len(p) for p in parts[:-1]), stride=columns, size=rows * columns,
                              transpose=source.transpose, layout=layout if columns > 1 else "row_major")
            views.append(new)
            return new
        kids = children(tree)
        if kids is None:
            return tree
        new = rebuild(tree, [visit(v) for _, v in kids])
        if isinstance(tree, Module):
            new._packed = layout != "row_major"
        return new

    result = [visit(a) for a in args]
    if parts:
        from ._tensor import concat
        from ._types import tensor_t
        buffer = parts[0]
        if len(parts) > 1:
            tensor = tensor_t(buffer)
            buffer = concat([tensor(p, (len(p),)) for p in parts]).array
        else:
            buffer = type(buffer)(buffer)
        _core.opaque(buffer)
        for v in views:
            v.buffer = buffer
    return result[0] if len(result) == 1 else tuple(result)


def pack(*args, layout="inference"):
    """Matrices and vectors, tensors or views in any structure, in one buffer: the same structure with views into it.

    Of a Module, a copy whose only parameter is that buffer. Gradients flow through.
    """
    if layout not in ("inference", "training"):
        _fail("pack()", "'layout' must equal \"inference\" or \"training\"!")
    return _repack("pack()", args, layout)


def unpack(*args):
    """What pack() made, row by row again: views that tensors can be made of."""
    return _repack("unpack()", args, "row_major")


def matvec(A, x, b=None, /, transpose=False):
    """A @ x + b, or with the transpose of A. Sums are of single precision where the matrix is of half precision."""
    if not isinstance(A, MatrixView) or not isinstance(x, CoopVec) or not (b is None or isinstance(b, MatrixView)):
        raise TypeError("matvec(): a MatrixView, a CoopVec and, for the bias, a MatrixView are needed; see nn.pack() "
                        "and nn.view()")
    transpose = bool(transpose) != A.transpose
    rows, columns = A.shape[::-1] if transpose else A.shape
    if len(x) != columns:
        _fail("matvec()", f"incompatible shapes. Attempted to multiply a {rows}x{columns} matrix by a vector with "
              f"{len(x)} elements.")
    if b is not None and b.shape[0] * b.shape[1] != rows:
        _fail("matvec()", f"incompatible shapes. The bias has {b.size} elements, the product {rows}.")
    leaf = type(A.buffer)
    if x.type is not leaf or b is not None and type(b.buffer) is not leaf or describe(leaf)[0] not in (10, 11, 12):
        _fail("matvec()", f"incompatible input types: the matrix is of {leaf.__name__}, the vector of "
              f"{x.type.__name__}; both must be Float16, or both Float")
    # A host function serves each packet of lanes; small products are better off in the program, and those of a body
    # that is differentiated as a whole must be there.
    if describe(leaf)[0] != 12 and len(A.buffer) > SmallBuffer and not _core.is_collecting():
        contiguous = b is None or b.shape[1] == 1 and b.stride == 1 or b.shape[0] == 1
        if contiguous:
            return CoopVec._of(_core.matvec(A.buffer, (A.offset, A.stride, *A.shape), transpose,
                                            None if b is None else b.buffer, 0 if b is None else b.offset, x._parts))
    return CoopVec._of(_product(A, x._parts, b, transpose, rows, columns))


def _product(A, x, b, transpose, rows, columns):
    """Recorded element by element."""
    leaf = type(A.buffer)
    wide = leaf if describe(leaf)[0] != 10 else _core.classes["Float"]
    half = wide is not leaf
    x = [wide(p) for p in x] if half else x

    def weight(view, i, j):
        w = _core.gather(leaf, view.buffer, UInt(view.offset + i * view.stride + j), None)
        return wide(w) if half else w
    out = []
    for i in range(rows):
        s = None if b is None else weight(b, i if b.shape[1] == 1 else 0, 0 if b.shape[1] == 1 else i)
        for j in range(columns):
            w = weight(A, j, i) if transpose else weight(A, i, j)
            s = w * x[j] if s is None else _core.fma(w, x[j], s)
        out.append(leaf(s) if half else s)
    return out
