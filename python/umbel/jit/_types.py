# jit/_types.py: element types, and questions about array types.
import builtins

from .. import _core
from ._enum import NamedInt

ArrayBase = _core.ArrayBase
classes = _core.classes

Array, Matrix, Complex, Quaternion, Tensor = range(5)  # kinds, as in src/python/objects.h
vectors = set()  # types whose entries functions apply to, through _umbel_call: cooperative vectors


class JitBackend(NamedInt):
    """What computes arrays. The first four are the names that scripts know; of those, Metal is not there."""
    Invalid, CUDA, LLVM, Metal, Interp = range(5)


class VarType(NamedInt):
    """Type of an array's elements."""
    Void, Bool, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64 = range(10)
    Float16, Float32, Float64, Pointer = range(10, 14)
    # Names of the base types, as some scripts spell them
    BaseFloat = 11


_itemsize = (0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 8)
_float_types = (10, 11, 12)
_signed = (2, 4, 6, 8, 10, 11, 12)


def _type(arg):
    return arg if isinstance(arg, type) else type(arg)


def is_array_v(arg):
    """Whether the argument is an array or an array type."""
    return issubclass(_type(arg), ArrayBase) and _type(arg) is not ArrayBase


_described = {}


def describe(tp):
    """(element type, kind, sense, dimensions) of an array type."""
    d = _described.get(tp)
    if d is None:
        d = _described[tp] = _core.describe(tp)
    return d


def type_v(arg):
    """Element type of an array (type)."""
    tp = _type(arg)
    if is_array_v(tp):
        return VarType(describe(tp)[0])
    return VarType.Void


def _element(tp):
    if is_array_v(tp):
        return describe(tp)[0]
    return {bool: 1, int: 6, float: 11}.get(tp, 0)


def is_struct_v(arg):
    """Whether the argument is a structure of arrays: a dataclass, or a class with DRJIT_STRUCT."""
    tp = _type(arg)
    return hasattr(tp, "DRJIT_STRUCT") or hasattr(tp, "__dataclass_fields__")


def is_tensor_v(arg):
    """Whether the argument is a tensor, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] == Tensor


def is_matrix_v(arg):
    """Whether the argument is a matrix, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] == Matrix


def is_complex_v(arg):
    """Whether the argument is a complex number, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] == Complex


def is_quaternion_v(arg):
    """Whether the argument is a quaternion, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] == Quaternion


def is_special_v(arg):
    """Whether the argument is a matrix, a complex number or a quaternion, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] in (Matrix, Complex, Quaternion)


def is_vector_v(arg):
    """Whether the argument is an array of arrays, or its type."""
    return is_array_v(arg) and describe(_type(arg))[1] == Array and len(describe(_type(arg))[3]) > 0


def is_host_v(arg):
    """Whether the argument is an array of Python numbers, or its type."""
    return is_array_v(arg) and _core.is_host(_type(arg))


def is_jit_v(arg):
    """Whether the argument is an array that is computed by kernels, or its type."""
    return is_array_v(arg) and not _core.is_host(_type(arg))


def is_dynamic_v(arg):
    """Whether an object of the type has as many entries as it likes."""
    return is_jit_v(arg) or is_array_v(arg) and Dynamic in describe(_type(arg))[3]


def is_diff_v(arg):
    """Whether arrays of the type can carry derivatives."""
    return is_jit_v(arg)  # of integers too: gradients pass through structures of them


def is_mask_v(arg):
    """Whether elements are true or false."""
    return _element(_type(arg)) == 1


def is_float_v(arg):
    """Whether elements are floats."""
    return _element(_type(arg)) in _float_types


def is_half_v(arg):
    """Whether elements are floats of 16 bits."""
    return _element(_type(arg)) == 10


def is_integral_v(arg):
    """Whether elements are integers."""
    return 2 <= _element(_type(arg)) <= 9


def is_arithmetic_v(arg):
    """Whether elements are integers or floats."""
    return 2 <= _element(_type(arg)) <= 12


def is_signed_v(arg):
    """Whether elements have a sign."""
    return _element(_type(arg)) in _signed


def is_unsigned_v(arg):
    """Whether elements have no sign."""
    return _element(_type(arg)) in (1, 3, 5, 7, 9)


def is_iterable_v(arg):
    """Whether one can iterate over the argument as over an array."""
    return is_array_v(arg)


def depth_v(arg):
    """Number of dimensions: 1 for Float, 2 for Array3f, 0 for Python's numbers and tensors, which have any."""
    tp = _type(arg)
    if not is_array_v(tp) or is_tensor_v(tp):
        return 0
    return len(describe(tp)[3]) + (not _core.is_host(tp))


def size_v(arg):
    """Length of the first dimension; `Dynamic` where the object decides."""
    tp = _type(arg)
    if not is_array_v(tp):
        return 1
    if is_tensor_v(tp):
        return 0
    dims = describe(tp)[3]
    return dims[0] if dims else Dynamic


Dynamic = -1


def itemsize_v(arg):
    """Bytes of an element."""
    if not is_array_v(arg):
        raise TypeError(f"itemsize_v(): an array (type) is needed, not '{_type(arg).__name__}'")
    return _itemsize[_element(_type(arg))]


def backend_v(arg=None):
    """Backend that computes arrays of a type; of what is no array, JitBackend.Invalid."""
    if arg is not None and not is_jit_v(arg):
        return JitBackend.Invalid
    return _backend_named(_core.variant_info(_core.variant())[0])


def _backend_named(name):
    """The JitBackend of that name; what host algorithms call themselves is LLVM's."""
    return {"interp": JitBackend.Interp, "cuda": JitBackend.CUDA}.get(name, JitBackend.LLVM)


def scalar_t(arg):
    """Python's type for an element: bool, int or float."""
    e = _element(_type(arg))
    return _type(arg) if e == 0 else bool if e == 1 else float if e in _float_types else int


def value_t(arg):
    """Type of a[i]."""
    tp = _type(arg)
    if not is_array_v(tp):
        return tp
    if is_tensor_v(tp):
        return scalar_t(tp)
    entry = _core.entry_of(tp)
    return entry if entry and (describe(entry)[3] or not _core.is_host(tp)) else scalar_t(tp)


def leaf_t(arg):
    """Array type of the innermost dimension: Float for Matrix3f."""
    tp = _type(arg)
    return _core.array_of(tp) if is_array_v(tp) else tp


def array_t(arg):
    """The plain array type of the same shape: that of tensors, matrices, complex numbers and quaternions."""
    tp = _type(arg)
    if not is_array_v(tp):
        return tp
    e, kind, sense, dims = describe(tp)
    if kind == Array:
        return tp
    return _core.array_of(tp) if kind == Tensor else _core.lookup(e, Array, dims, 0, _core.is_host(tp))


def like(arg, dims, kind=Array):
    """The type of these dimensions and kind with the elements of `arg`, and lanes if it has any."""
    tp = _type(arg)
    return _core.lookup(describe(tp)[0], kind, dims, 0, _core.is_host(tp))


def mask_t(arg):
    """Type of comparisons."""
    tp = _type(arg)
    return _core.mask_of(tp) if is_array_v(tp) else bool


def tensor_t(arg):
    """Tensor type with the same elements; None of what is no array."""
    if not is_array_v(arg):
        return None
    return _core.lookup(_element(_type(arg)), Tensor, (), 0)


def matrix_t(arg):
    """Matrix type of this many rows and columns; None where there is none."""
    tp = _type(arg)
    if not is_array_v(tp):
        return None
    dims = describe(tp)[3]
    if len(dims) == 1:
        dims = (dims[0], dims[0])
    return _core.lookup(_element(tp), Matrix, dims, 0, _core.is_host(tp)) if dims else None


def replace_type_t(arg, vt):
    """The same type with elements of type `vt`."""
    tp = _type(arg)
    if not is_array_v(tp):
        return bool if vt == 1 else float if vt in _float_types else int
    r = _core.with_type(tp, int(vt))
    if r is None:
        raise RuntimeError(f"no array type is like {tp.__name__} with elements of type {VarType(vt).name}")
    return r


def replace_shape_t(arg, shape, kind="array"):
    """The array type with these dimensions (the last one is that of the lanes)."""
    if kind == "tensor":
        return tensor_t(arg)
    if kind == "matrix":
        return _core.lookup(_element(_type(arg)), Matrix, tuple(shape)[:-1], 0)
    return _core.lookup(_element(_type(arg)), Array, tuple(shape)[:-1], 0)


def _like(vt):
    def f(arg):
        return replace_type_t(arg, vt)
    f.__doc__ = f"The same type with elements of type {vt.name}."
    return f


int8_array_t, uint8_array_t = _like(VarType.Int8), _like(VarType.UInt8)
int16_array_t, uint16_array_t = _like(VarType.Int16), _like(VarType.UInt16)
int32_array_t, uint32_array_t = _like(VarType.Int32), _like(VarType.UInt32)
int64_array_t, uint64_array_t = _like(VarType.Int64), _like(VarType.UInt64)
float16_array_t, float32_array_t = _like(VarType.Float16), _like(VarType.Float32)
float64_array_t, bool_array_t = _like(VarType.Float64), _like(VarType.Bool)


def _same_width(arg, by_size):
    e = _element(_type(arg))
    return replace_type_t(arg, e if e in by_size.values() else by_size[_itemsize[e]])


def int_array_t(arg):
    """The same type with signed integers of the same width."""
    return _same_width(arg, {1: 2, 2: 4, 4: 6, 8: 8})


def uint_array_t(arg):
    """The same type with unsigned integers of the same width."""
    return _same_width(arg, {1: 3, 2: 5, 4: 7, 8: 9})


def float_array_t(arg):
    """The same type with floats of the same width (at least 16 bits)."""
    return _same_width(arg, {1: 10, 2: 10, 4: 11, 8: 12})


def reinterpret_array_t(arg, vt):
    """The same type with elements of type `vt`, of the same size."""
    return replace_type_t(arg, vt)


def detached_t(arg):
    """The type of values without derivatives: the same one."""
    return _type(arg)


def diff_array_t(arg):
    """The type of values with derivatives: the same one."""
    return _type(arg)


_python_rank = {bool: 1, int: 6, float: 11}


def _incompatible(a, b):
    return TypeError(f"expr_t(): incompatible types {a.__name__} and {b.__name__}")


def expr_t(*args):
    """Type of a sum of values of these types."""
    result = None
    for a in args:
        tp = _type(a)
        if tp is result:
            continue
        if isinstance(a, (list, tuple)) and result is not None and is_array_v(result):
            tp = expr_t(leaf_t(result), *a)  # numbers in a row fit an array of any length
        if result is None:
            result = tp
        elif is_array_v(tp) and is_array_v(result):
            r = _core.promote(tp, result)
            if r is None:
                raise _incompatible(tp, result)
            result = r
        elif is_array_v(tp) or is_array_v(result):
            array, other = (tp, result) if is_array_v(tp) else (result, tp)
            if other not in _python_rank:
                raise _incompatible(other, array)
            e = _element(array)
            if other is float and e not in _float_types:
                e = 11
            elif other is int and e == 1:
                e = 6
            result = replace_type_t(array, e)
        elif tp in _python_rank and result in _python_rank:
            result = builtins.max(tp, result, key=_python_rank.get)
        else:
            raise _incompatible(tp, result)
    return result


# ---- properties of numbers

_limits = {  # epsilon (half an ulp of 1), largest, smallest normal
    10: (2.0**-11, 65504.0, 2.0**-14),
    11: (2.0**-24, 3.4028234663852886e38, 2.0**-126),
    12: (2.0**-53, 1.7976931348623157e308, 2.0**-1022),
}


def _limit(arg):
    e = _element(_type(arg))
    if _type(arg) is float:
        e = 12
    if e not in _limits:
        raise TypeError(f"{_type(arg).__name__} has no elements of a float type")
    return _limits[e]


def epsilon(arg):
    """Largest relative error of rounding."""
    return _limit(arg)[0]


def one_minus_epsilon(arg):
    """Largest number below 1."""
    return 1 - _limit(arg)[0]


def recip_overflow(arg):
    """Below this, 1 / x overflows."""
    e, largest, _ = _limit(arg)
    return 1 / largest


def smallest(arg):
    """Smallest normal number above 0; of integers, the least."""
    e = _element(_type(arg))
    if e in _limits or _type(arg) is float:
        return _limit(arg)[2]
    bits = 8 * _itemsize[e]
    return -(1 << (bits - 1)) if e in _signed else 0


def largest(arg):
    """Largest finite number."""
    e = _element(_type(arg))
    if e in _limits or _type(arg) is float:
        return _limit(arg)[1]
    bits = 8 * _itemsize[e]
    return (1 << (bits - 1)) - 1 if e in _signed else (1 << bits) - 1
