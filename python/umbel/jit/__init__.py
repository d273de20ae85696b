"""umbel.jit: arrays whose computations are recorded, differentiated, compiled and run.

The names are those of Dr.Jit: `import umbel.jit as dr`. Array types are in umbel.jit.auto, and there are no
separate ones for derivatives: whether a value has any is a property of the value.
"""
import os as _os
import sys as _sys
import types as _modules
import typing as _typing

from .. import _core
from . import _format, _hooks, _tensor
from ._hooks import ArgumentError, DeviceError, InsideBody, InternalError, StateAccess, UserError

_core.set_hooks({
    "UserError": UserError, "DeviceError": DeviceError, "InternalError": InternalError,
    "StateAccess": StateAccess, "InsideBody": InsideBody,
    "ArgumentError": ArgumentError, "complex_parts": _hooks.complex_parts, "from_tensor": _hooks.from_tensor,
    "number_unary": _hooks.number_unary, "number_binary": _hooks.number_binary, "fma": _hooks.fma,
    "select": _hooks.select, "and_mask": _hooks.and_mask, "power": _hooks.power, "matmul": _hooks.matmul,
    "special_binary": _hooks.special_binary, "special_unary": _hooks.special_unary, "norm": _hooks.norm,
    "get_item": _hooks.get_item, "set_item": _hooks.set_item, "iterate": _hooks.iterate,
    "foreign_array": _hooks.foreign_array, "format": _format.format_array, "make_tensor": _tensor.make_tensor,
    "tensor_binary": _tensor.tensor_binary, "tensor_get": _tensor.tensor_get, "tensor_set": _tensor.tensor_set,
})

_core.name_lines_of_scripts(_os.path.dirname(_os.path.dirname(__file__)) + _os.sep)

from ._types import *
from ._types import ArrayBase, Dynamic, JitBackend, VarType
from ._create import (arange, empty, empty_like, full, full_like, linspace, meshgrid, ones, ones_like, opaque,
                      opaque_width, shape, width, zeros, zeros_like)
from ._math import *
from ._math import e, fma, power
from ._special import (arg, conj, det, diag, euler_to_quat, frob, identity, imag, inverse, inverse_transpose,
                       matrix_to_quat, polar_decomp, quat_apply, quat_to_euler, quat_to_matrix, real, slerp, trace,
                       transform_compose, transform_decompose)
from ._tensor import (array_split, column_stack, concat, dstack, expand_dims, hstack, moveaxis, newaxis,
                      reshape, row_stack, slice_index, split, squeeze, stack, swapaxes, take, take_interp, transpose,
                      vstack)
from ._memory import (Local, ReduceMode, ReduceOp, alloc_local, argsort, binary_search, compress, copy, gather, ravel,
                      reinterpret_array, repeat, scatter, scatter_add, scatter_cas, scatter_exch, scatter_inc,
                      scatter_reduce, slice, sort, tile, unravel)
from ._reduce import (all, all_nested, any, any_nested, argmax, argmin, block_prefix_reduce, block_prefix_sum,
                      block_reduce, block_sum, count, cumsum, max, max_nested, mean, median, min, min_nested, none,
                      none_nested, prefix_reduce, prefix_sum, prod, prod_nested, reduce, std, sum, sum_nested, var)
from ._grad import (ADFlag, ADMode, CustomOp, accum_grad, ad_live, backward, backward_from, backward_to, clear_grad,
                    custom, detach, disable_grad, enable_grad, enqueue, forward, forward_from, forward_to, grad,
                    grad_enabled, gradient, graphviz_ad, hvp, isolate_grad, label, relative_grad, replace_grad, resume_grad, set_grad,
                    set_grad_enabled, set_label,
                    suspend_grad, tangent, traverse, whos_ad, wrap_ad)
from ._compensated import scatter_add_kahan
from ._eval import *
from ._eval import eval
from ._print import format, print
from ._control import if_stmt, while_loop
from .ast import hint, syntax
from .random import Generator, PCG32, Philox4x32, rng
from .texture import FilterMode, WrapMode, textures
from ._colour import linear_srgb_to_oklab, linear_to_srgb, oklab_to_linear_srgb, srgb_to_linear
from .freezing import freeze
from ._matmul import matmul
from . import hashgrid, nn, opt
from ._filter import convolve, resample, sh_eval, upsample
from .interop import wrap
from ._calls import InstancePtr, dispatch, func, switch
from . import _methods, config, dda, detail, random
from ._event import Event
from ._methods import VarState

_methods.install()


def _array_module(name, doc):
    """A module that offers the array types, as scripts import them."""
    module = _modules.ModuleType(name, doc)
    for key, cls in _core.classes.items():
        setattr(module, key, cls)
    for key, cls in (*textures.items(), ("PCG32", PCG32), ("Philox4x32", Philox4x32), ("Event", Event)):
        setattr(module, key, cls)
    for alias, key in (("Int32", "Int"), ("UInt32", "UInt"), ("Float32", "Float"), ("Mask", "Bool")):
        setattr(module, alias, _core.classes[key])
    _sys.modules[name] = module
    return module


auto = _array_module("umbel.jit.auto", "Array types. Their backend is that of the variant.")
for _name in ("auto.ad", "llvm", "llvm.ad", "interp", "interp.ad"):
    _array_module("umbel.jit." + _name, "The types of umbel.jit.auto.")
for _name in ("auto", "llvm", "interp"):
    _sys.modules["umbel.jit." + _name].ad = _sys.modules[f"umbel.jit.{_name}.ad"]
    _sys.modules["umbel.jit." + _name].__path__ = []
llvm, interp = _sys.modules["umbel.jit.llvm"], _sys.modules["umbel.jit.interp"]


class _Device(_modules.ModuleType):
    """The types of umbel.jit.auto; the first use of one makes the backend that of new arrays, if the script has chosen none.

    Where the backend is not there, the module can be imported, and its types cannot be used.
    """

    def __getattr__(self, name):
        if name.startswith("_") or not hasattr(auto, name):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        backend = self.__name__.split(".")[2]
        if not has_backend(backend):  # asked for now: most scripts import umbel for other backends, and need no driver started
            cls = self._absent(name, backend)
        else:
            if _core.variant() == "llvm_rgb":
                set_backend(backend)
            cls = getattr(auto, name)
        setattr(self, name, cls)
        return cls

    def _absent(self, name, backend):
        def refuse(*args, **kwargs):
            raise DeviceError(f"{self.__name__}.{name}: the backend '{backend}' is not there; use umbel.jit.llvm or auto")
        return type(name, (), {"__new__": lambda cls, *a, **k: refuse(), "__module__": self.__name__,
                               "__doc__": f"An array type of the backend {backend}, which is not there."})


for _name in ("cuda", "cuda.ad", "metal", "metal.ad"):
    _sys.modules["umbel.jit." + _name] = _Device("umbel.jit." + _name)
for _name in ("cuda", "metal"):
    globals()[_name] = _sys.modules["umbel.jit." + _name]
    globals()[_name].ad = _sys.modules[f"umbel.jit.{_name}.ad"]
    globals()[_name].__path__ = []
scalar = _array_module("umbel.jit.scalar", "Python's numbers, and arrays of them.")
for _name, _cls in _core.host_classes.items():
    setattr(scalar, _name, _cls)
scalar.PCG32 = random.ScalarPCG32
for _suffix, _name in zip("b i u i64 u64 f16 f f64".split(), "Bool Int UInt Int64 UInt64 Float16 Float Float64".split()):
    setattr(scalar, "ArrayX" + _suffix, _core.classes[_name])  # as many numbers as one likes: lanes
scalar.Float = scalar.Float32 = scalar.Float64 = float
scalar.Bool = scalar.Mask = bool
scalar.Int = scalar.UInt = scalar.Int32 = scalar.UInt32 = scalar.Int64 = scalar.UInt64 = int


AnyArray = ArrayBase  # for annotations
ArrayT = _typing.TypeVar("ArrayT", bound=ArrayBase)
__version__ = "1.5.0"  # of the interface: that of Dr.Jit


def set_backend(name):
    """Backend of new arrays: "llvm", "interp" or "cuda"."""
    current = _core.variant()
    _core.choose_variant(name + current[current.index("_"):])


def has_backend(backend):
    """Whether a backend is there: a JitBackend, or its name."""
    name = backend.name if isinstance(backend, JitBackend) else str(backend)
    return name.lower() in ("llvm", "interp") or name.lower() == "cuda" and _core.has_cuda()
