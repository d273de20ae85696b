"""umbel.jit.detail: parts of the array library that scripts seldom call: structures of arrays, scopes, statistics."""
from .. import _core
from ._create import full
from ._hooks import UserError
from ._memory import ReduceOp
from ._reduce import _neutral
from ._tree import children, leaves, map_leaves
from ._types import ArrayBase, describe, is_array_v, is_float_v, is_mask_v


class NullContextManager:
    """with NullContextManager(): nothing happens."""

    def __enter__(self): return None
    def __exit__(self, *exc): return None


class scoped_rtld_deepbind(NullContextManager):
    """Accepted: extension modules need no particular way of loading here."""


def any_symbolic(tree):
    """Whether any array of a structure is a value of a recorded loop, branch or call."""
    return any(_core.state(a) == 5 for a in leaves(tree))


def collect_indices(tree):
    """Numbers of the nodes of all arrays of a structure, in order."""
    return [_core.index(e) for a in leaves(tree) for e in _core.entries(a)]


def reset(tree):
    """A structure of the same types without elements."""
    return map_leaves(lambda a: type(a)(), tree)


def new_grad(array):
    """An array of the same value that derivatives of the old one do not pass through."""
    r = _core.copy(_core.detach(array))
    if _core.grad_enabled(array):
        from ._grad import enable_grad
        enable_grad(r)
    return r


def check_compatibility(a, b, limit_sizes, name=""):
    """An error unless two structures have the same types, and with `limit_sizes` sizes that fit together."""
    if type(a) is not type(b):
        raise UserError(f"{name}: inconsistent types: '{type(a).__name__}' and '{type(b).__name__}'")
    if isinstance(a, ArrayBase):
        m, n = _core.width(a), _core.width(b)
        if limit_sizes and m != n and 1 not in (m, n):
            raise UserError(f"{name}: inconsistent sizes: {m} and {n} lanes")
        return
    x, y = children(a), children(b)
    if x is None:
        return
    if [k for k, _ in x] != [k for k, _ in y]:
        raise UserError(f"{name}: inconsistent entries: {[k for k, _ in x]} and {[k for k, _ in y]}")
    for (k, u), (_, v) in zip(x, y):
        check_compatibility(u, v, limit_sizes, f"{name}.{k}" if name else str(k))


def reduce_identity(dtype, op, size=1):
    """What leaves a reduction unchanged: 0 for sums, 1 for products, infinities for extrema."""
    return full(dtype, _neutral(ReduceOp(op), dtype), size)


def can_scatter_reduce(dtype, op):
    """Whether scatter_reduce() takes arrays of this type with this operation."""
    op = ReduceOp(op)
    if not is_array_v(dtype):
        return False
    if is_mask_v(dtype):
        return op in (ReduceOp.Identity, ReduceOp.And, ReduceOp.Or)
    return not (is_float_v(dtype) and op in (ReduceOp.And, ReduceOp.Or))


def import_tensor(tensor, ad=False):
    """A tensor of another library as one of ours."""
    from ._hooks import foreign_array
    array = foreign_array(tensor)
    name = {"bool": "b", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i", "uint32": "u",
            "int64": "i64", "uint64": "u64", "float16": "f16", "float32": "f", "float64": "f64"}[str(array.dtype)]
    return _core.classes["TensorX" + name](array)


def block_mkperm(values, block_size, bucket_count):
    """Order in which the elements of each run of `block_size` are sorted by their bucket; equal ones keep theirs."""
    n = len(values)
    run = _core.lane_index(n) // block_size
    return _core.sort_permutation(run * bucket_count + values, False)


# ---- scopes: equal operations of two scopes are separate nodes in other implementations; here numbers alone

_scopes = {}


def scope(backend):
    """The current scope of a backend."""
    return _scopes.get(backend, (0, 0))[0]


def new_scope(backend):
    """Begins a scope with a number of its own."""
    last = _scopes.get(backend, (0, 0))[1] + 1
    _scopes[backend] = (last, last)
    return last


def set_scope(backend, value):
    """Goes back to a scope."""
    _scopes[backend] = (value, max(value, _scopes.get(backend, (0, 0))[1]))


def advance_scope(backend, n):
    """The scope n further on."""
    set_scope(backend, scope(backend) + n)
    return scope(backend)


# ---- statistics

_leaks = False


def leak_warnings():
    """Whether objects that are left over at the end are reported."""
    return _leaks


def set_leak_warnings(value):
    """Whether objects that are left over at the end are reported. Kept; there is nothing to report."""
    global _leaks
    _leaks = bool(value)


def malloc_watermark(backend=None):
    """The most bytes that arrays had at a time: on the host, or, for the backend CUDA, on all GPUs together."""
    stats = _core.memory_stats()
    return sum(d["peak"] for d in stats["devices"]) if getattr(backend, "name", backend) == "CUDA" else stats["peak"]


def llvm_version():
    """Version of LLVM that compiles kernels, as three numbers."""
    return tuple(int(x) for x in _core.llvm_fingerprint().split()[0].removeprefix("llvm-").split("."))


def cuda_version():
    """The version of CUDA that the driver of the GPU in use is for, as two numbers; zeros in variants of the host."""
    version = _core.cuda_facts()[0]
    return version // 1000, version % 1000 // 10


def cuda_compute_capability():
    """Of the GPU in use, such as 90 for 9.0; 0 in variants of the host."""
    return _core.cuda_facts()[1]


def clear_registry():
    """Does nothing: objects leave the registry by themselves."""


def freeze_discard(backend, reason):
    """Accepted: there are no recordings that must go."""


def traverse_py_cb_ro(tree, f):
    """f(number of its node) for each array of a structure."""
    for i in collect_indices(tree):
        f(i)
