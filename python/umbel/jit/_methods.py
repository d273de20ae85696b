# jit/_methods.py: attributes and methods of all arrays.
import enum

from .. import _core
from ._types import ArrayBase, Complex, Tensor, describe, is_tensor_v, leaf_t
from ._special import imag, real, transpose


class VarState(enum.IntEnum):
    """What an array is at the moment."""
    Invalid, Literal, Unevaluated, Evaluated, Dirty, Symbolic, Mixed = range(7)


def numpy(self):
    """A NumPy array: of one array in place, of nested ones a copy of shape (entries..., lanes)."""
    import numpy as np
    if is_tensor_v(self) or not describe(type(self))[3]:
        shape = list(_core.shape(self))
        n = 1
        for s in shape:
            n *= s
        if n == 0:
            return np.empty(shape, dtype=_dtypes()[describe(type(self))[0]])
        return _core.memory(self, shape, True)
    shape = _core.shape(self)
    dtype = _dtypes()[describe(type(self))[0]]
    entries = _core.entries(self)
    out = np.empty((len(entries), _core.width(self)), dtype=dtype)
    _core.eval(entries)
    for i, e in enumerate(entries):
        out[i] = numpy(e) if len(e) else 0
    if describe(type(self))[1] == Complex:
        out = out[0] + out[1] * (1j if dtype != np.float64 else np.complex128(1j))
        return out[0] if _core.is_host(type(self)) else out
    return out.reshape(shape)


def _dtypes():
    import numpy as np
    return (None, np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
            np.float16, np.float32, np.float64)


def __array__(self, dtype=None, copy=None):
    a = numpy(self)
    return a.astype(dtype) if dtype is not None and a.dtype != dtype else a.copy() if copy else a


def __dlpack__(self, stream=None, **kwargs):
    """A DLPack capsule: of one array in place."""
    if is_tensor_v(self) or not describe(type(self))[3]:
        return _core.memory(self, list(_core.shape(self)), False)
    return numpy(self).__dlpack__()


def __dlpack_device__(self):
    return (1, 0)  # the CPU


def torch(self):
    """A PyTorch tensor, in place where numpy() is."""
    import torch as library
    return library.from_numpy(numpy(self))


def jax(self):
    """A JAX array."""
    import jax.numpy as jnp
    return jnp.asarray(numpy(self))


def tf(self):
    """A TensorFlow tensor."""
    import tensorflow
    return tensorflow.convert_to_tensor(numpy(self))


def item(self):
    """The only element, as a number of Python's."""
    if len(_core.entries(self)) != 1 or _core.width(self) != 1:
        raise RuntimeError(f"item(): the array has {_core.width(self)} elements; one is needed")
    return _core.element(self, 0, 0)


def tolist(self): return numpy(self).tolist()


def _grad(self):
    from ._grad import grad
    return grad(self)


def _set_grad(self, value):
    from ._grad import set_grad
    set_grad(self, value)


def _array(self):
    """The elements of a tensor as a flat array; of special arrays the plain one of the same shape."""
    e, kind, sense, dims = describe(type(self))
    if kind == Tensor:
        return _core.tensor_array(self)
    return _core.from_entries(_core.lookup(e, 0, dims, 0), _core.entries(self))


_labels = {}


def _label(self): return _labels.get(_core.index(self)) if _core.entries(self) else None


def _set_label(self, name): _labels[_core.index(self)] = name


def __reduce__(self):
    return _restore, (type(self), _core.describe(type(self))[1] == Tensor, numpy(self))


def _restore(cls, tensor, data):
    if tensor or not describe(cls)[3]:
        return cls(data)
    if describe(cls)[1] == Complex:
        return cls(data.real.copy(), data.imag.copy())
    flat = data.reshape(-1, data.shape[-1])
    return _core.from_entries(cls, [leaf_t(cls)(row) for row in flat])


def __copy__(self): return _core.copy(self)
def __deepcopy__(self, memo): return _core.copy(self)


def __format__(self, spec):
    return repr(self) if not spec else format(item(self), spec)


def install():
    for f in (numpy, torch, jax, tf, item, tolist, __array__, __dlpack__, __dlpack_device__, __reduce__, __copy__,
              __deepcopy__, __format__):
        setattr(ArrayBase, f.__name__, f)
    ArrayBase.to_numpy = numpy
    for name, get, put in (
            ("shape", _core.shape, None), ("ndim", lambda a: len(_core.shape(a)), None),
            ("grad", _grad, _set_grad), ("array", _array, None), ("T", transpose, None), ("mT", transpose, None),
            ("real", real, None), ("imag", imag, None), ("label", _label, _set_label),
            ("index", _core.index, None), ("index_ad", _core.index_ad, None),
            ("state", lambda a: VarState(_core.state(a)), None)):
        setattr(ArrayBase, name, property(get, put))
    ArrayBase.__array_priority__ = 1000
    # Facts about the class, as class attributes
    for cls in _core.classes.values():
        cls.__slots__ = ()
