"""umbel.jit: arrays whose computations are recorded, differentiated, compiled and run.

The names are those of Dr.Jit: `import umbel.jit as dr`. Array types are in umbel.jit.auto, and there are no
separate ones for derivatives: whether a value has any is a property of the value.
"""
import enum as _enum
import sys as _sys
import types as _modules

from .. import _core
from . import _format, _hooks, _tensor
from ._hooks import DeviceError, InternalError, UserError

_core.set_hooks({
    "UserError": UserError, "DeviceError": DeviceError, "InternalError": InternalError,
    "number_unary": _hooks.number_unary, "number_binary": _hooks.number_binary, "fma": _hooks.fma,
    "select": _hooks.select, "and_mask": _hooks.and_mask, "power": _hooks.power, "matmul": _hooks.matmul,
    "special_binary": _hooks.special_binary, "special_unary": _hooks.special_unary, "norm": _hooks.norm,
    "get_item": _hooks.get_item, "set_item": _hooks.set_item, "iterate": _hooks.iterate,
    "foreign_array": _hooks.foreign_array, "format": _format.format_array, "make_tensor": _tensor.make_tensor,
    "tensor_binary": _tensor.tensor_binary, "tensor_get": _tensor.tensor_get, "tensor_set": _tensor.tensor_set,
})

from ._types import *
from ._types import ArrayBase, VarType, Dynamic
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
                      reinterpret_array, repeat, scatter, scatter_add, scatter_add_kahan, scatter_inc,
                      scatter_reduce, slice, sort, tile, unravel)
from ._reduce import (all, all_nested, any, any_nested, argmax, argmin, block_prefix_reduce, block_prefix_sum,
                      block_reduce, block_sum, count, cumsum, max, max_nested, mean, median, min, min_nested, none,
                      none_nested, prefix_reduce, prefix_sum, prod, prod_nested, reduce, std, sum, sum_nested, var)
from ._grad import (ADFlag, ADMode, CustomOp, accum_grad, ad_live, backward, backward_from, backward_to, clear_grad,
                    custom, detach, disable_grad, enable_grad, enqueue, forward, forward_from, forward_to, grad,
                    grad_enabled, graphviz_ad, isolate_grad, relative_grad, replace_grad, resume_grad, set_grad, set_grad_enabled,
                    suspend_grad, traverse, whos_ad, wrap_ad)
from ._eval import *
from ._eval import eval, format, print
from ._control import InstancePtr, dispatch, if_stmt, switch, while_loop
from .ast import hint, syntax
from .random import Generator, PCG32, Philox4x32, rng
from .texture import FilterMode, WrapMode, textures
from ._colour import linear_srgb_to_oklab, linear_to_srgb, oklab_to_linear_srgb, srgb_to_linear
from .freezing import freeze, func
from ._matmul import matmul
from . import hashgrid, nn, opt
from ._filter import convolve, resample, sh_eval, upsample
from .interop import wrap
from . import _methods
from ._methods import VarState

_methods.install()


def _array_module(name, doc):
    """A module that offers the array types, as scripts import them."""
    module = _modules.ModuleType(name, doc)
    for key, cls in _core.classes.items():
        setattr(module, key, cls)
    for key, cls in (*textures.items(), ("PCG32", PCG32), ("Philox4x32", Philox4x32)):
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
scalar = _array_module("umbel.jit.scalar", "Python's numbers, and arrays of them.")
for _name, _cls in _core.host_classes.items():
    setattr(scalar, _name, _cls)
scalar.Float = scalar.Float32 = scalar.Float64 = float
scalar.Bool = scalar.Mask = bool
scalar.Int = scalar.UInt = scalar.Int32 = scalar.UInt32 = scalar.Int64 = scalar.UInt64 = int


class JitBackend(_enum.IntEnum):
    """What computes arrays."""
    Invalid, LLVM, Interp = range(3)


def set_backend(name):
    """Backend of new arrays: "llvm" or "interp"."""
    current = _core.variant()
    _core.choose_variant(name + current[current.index("_"):])


def has_backend(name):
    return str(name).lower().rpartition(".")[2] in ("llvm", "interp")
