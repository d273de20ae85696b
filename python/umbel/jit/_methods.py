# jit/_methods.py: attributes and methods of all arrays.
import math

from .. import _core
from ._enum import NamedInt
from ._hooks import ArgumentError, ComponentError
from ._print import _pending, flush
from ._special import imag, real
from ._tensor import swapaxes, transpose
from ._types import ArrayBase, Complex, Quaternion, Tensor, describe, is_tensor_v, leaf_t, like


class VarState(NamedInt):
    """What an array is at the moment."""
    Invalid, Literal, Unevaluated, Evaluated, Dirty, Symbolic, Mixed, Undefined = range(8)


def numpy(self):
    """A NumPy array: of one array in place, of nested ones a copy of shape (entries..., lanes)."""
    import numpy as np
    if _pending:
        flush()
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
    import numpy as np
    a = np.asarray(numpy(self))
    return a.astype(dtype) if dtype is not None and a.dtype != dtype else a.copy() if copy else a


def __dlpack__(self, stream=None, dl_device=None, copy=None, **kwargs):
    """A DLPack capsule: of one array in place, on the device that computes it, unless a copy or the host is asked for.

    All that was queued for it has run, so that no stream has to wait. `stream`, on GPUs: where the capsule's user computes, by
    DLPack's numbers. Its memory is used again after what the user has queued when it lets the capsule go.
    """
    here = __dlpack_device__(self)
    there = here if dl_device is None else tuple(int(n) for n in dl_device)
    if there not in (here, (_cpu, 0)):
        raise BufferError(f"__dlpack__(): the array is on the device {here}, and can be had there or on the host, {_cpu, 0}, "
                          f"not on {there}")
    if copy is False and there != here:
        raise BufferError(f"__dlpack__(): the array is on the device {here}, and on {there} is a copy; ask for copy=None")
    if copy is False and not is_tensor_v(self) and describe(type(self))[3]:
        raise BufferError("__dlpack__(): nested arrays are several, which are together in a copy only; ask for copy=None")
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise TypeError(f"__dlpack__(): stream is a number or None, not '{type(stream).__name__}'")
    if there[0] == _cuda:
        return _core.device_memory(self, list(_core.shape(self)), stream in (None, 0, 1), bool(copy))
    if (is_tensor_v(self) or not describe(type(self))[3]) and not copy and there == here:
        return _core.memory(self, list(_core.shape(self)), False)
    return (numpy(self).copy() if copy or there != here else numpy(self)).__dlpack__()


_cpu, _cuda = 1, 2  # DLPack's numbers of kinds of devices


def __dlpack_device__(self):
    device = _core.cuda_device(self) if is_tensor_v(self) or not describe(type(self))[3] else -1
    return (_cuda, device) if device >= 0 else (_cpu, 0)


def torch(self):
    """A PyTorch tensor, in place where numpy() is, or on the GPU."""
    import torch as library
    if __dlpack_device__(self)[0] == _cuda:
        return library.from_dlpack(self)
    return library.from_numpy(numpy(self))


def jax(self):
    """A JAX array."""
    import jax.numpy as jnp
    if __dlpack_device__(self)[0] == _cuda:
        return jnp.from_dlpack(self)
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
        return _core.tensor_view(self)  # a change of it is one of the tensor
    return _core.from_entries(like(self, dims), _core.entries(self))


def _label(self):
    from ._grad import label
    return label(self)


def _set_label(self, name):
    from ._grad import set_label
    set_label(self, name)


def memview(self):
    """The memory as a memoryview: of one array in place, of nested ones a copy."""
    return memoryview(numpy(self))


def _component(name):
    message = "{} does not have a '" + name + "' component."

    def get(self):
        raise ComponentError(message.format(type(self).__name__))

    def put(self, value):
        raise ComponentError(message.format(type(self).__name__))
    return property(get, put, doc=f"The component {name} of a vector: a reference, changes of it are changes of the vector.")


def _set_part(self, name, value):
    kind = describe(type(self))[1]
    if kind not in (Complex, Quaternion):
        raise ArgumentError(f"type '{type(self).__name__}' is not complex-valued, cannot assign to '{name}'.")
    if kind == Complex:
        self[1 if name == "imag" else 0] = value
    elif name == "real":
        self[3] = value
    else:
        for i in range(3):
            self[i] = value[i]


def _matrix_transpose(self):
    """Rows become columns."""
    return transpose(self)


def _last_two_transpose(self):
    """The last two dimensions exchanged: matrices in a batch become their transposes."""
    if _core.describe(type(self))[1] != Tensor:
        return transpose(self)
    if len(self.shape) < 2:
        raise TypeError("mT: a tensor must have at least 2 dimensions")
    return swapaxes(self, -1, -2)


def __reduce__(self):
    return _restore, (type(self), _core.describe(type(self))[1] == Tensor, numpy(self))


def _restore(cls, tensor, data):
    if tensor or not describe(cls)[3]:
        return cls(data)
    if describe(cls)[1] == Complex:
        return cls(data.real.copy(), data.imag.copy())
    shape = (*data.shape, 1) if _core.is_host(cls) else data.shape
    flat = data.reshape(math.prod(shape[:-1]), shape[-1])
    return _core.from_entries(cls, [leaf_t(cls)(row) for row in flat])


def __copy__(self): return _core.copy(self)
def __deepcopy__(self, memo): return _core.copy(self)


def __format__(self, spec):
    return repr(self) if not spec else format(item(self), spec)


def _meta(cls):
    """What the class is, in words, as tests choose among types."""
    e, kind, _, dims = describe(cls)
    host = _core.is_host(cls)
    facts = [f"type={_names[e]}"] + ([] if host else [f"backend={_core.variant_info(_core.variant())[0]}", "is_jit=1"])
    if kind or dims:
        facts.append(("is_vector=1", "is_matrix=1", "is_complex=1", "is_quaternion=1", "is_tensor=1")[kind])
    shape = () if kind == Tensor else dims if host else (*dims, -1)
    facts += ([] if host else ["is_diff=1"]) + [f"shape=({', '.join('*' if d < 0 else str(d) for d in shape)})"]
    return "ArrayMeta[\n  " + ",\n  ".join(facts) + "\n]"


def _description(cls):
    """What help() says of a class."""
    e, kind, sense, dims = describe(cls)
    element = "true or false" if e == 1 else f"{'unsigned ' if _names[e][0] == 'u' else ''}integers of {_names[e].strip('uint')} bits" \
        if "int" in _names[e] else f"floats of {_names[e][5:]} bits"
    size = " × ".join("any number of" if d < 0 else str(d) for d in dims)
    what = {0: f"An array of {size} entries" if dims else "An array", 1: f"A matrix of {size} entries", 2: "A complex number",
            3: "A quaternion", 4: "A tensor: an array with any number of axes"}[kind]
    return f"{what}; elements are {element}." + ("" if _core.is_host(cls) else " A lane each, computed by kernels.")


_names = ("void", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64")


def install():
    for f in (numpy, memview, torch, jax, tf, item, tolist, __array__, __dlpack__, __dlpack_device__, __reduce__, __copy__,
              __deepcopy__, __format__):
        setattr(ArrayBase, f.__name__, f)
    ArrayBase.to_numpy = numpy
    for name, get, put in (
            ("shape", _core.shape, None), ("ndim", lambda a: len(_core.shape(a)), None),
            ("grad", _grad, _set_grad), ("array", _array, None), ("T", _matrix_transpose, None),
            ("mT", _last_two_transpose, None), ("real", real, lambda a, v: _set_part(a, "real", v)),
            ("imag", imag, lambda a, v: _set_part(a, "imag", v)), ("label", _label, _set_label),
            ("index", _core.index, None), ("index_ad", _core.index_ad, None),
            ("state", lambda a: VarState(_core.state(a)), None)):
        setattr(ArrayBase, name, property(get, put))
    for name in "xyzw":
        setattr(ArrayBase, name, _component(name))
    ArrayBase.__doc__ = "What all arrays have in common."
    ArrayBase.__array_priority__ = 1000
    ArrayBase.__class_getitem__ = classmethod(lambda cls, key: cls)  # for annotations
    for cls in (*_core.classes.values(), *_core.host_classes.values()):
        cls.__slots__ = ()
        cls.__meta__ = _meta(cls)
        cls.__doc__ = _description(cls)
