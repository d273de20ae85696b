# jit/_calls.py: calls of one of several Python functions a lane: switch, dispatch, func.
import builtins
import functools

from .. import _core
from ._create import is_empty, width, with_lanes
from ._control import check_mode, guarded, mode_scope, with_derivatives_inside
from ._eval import JitFlag, flag, scoped_set_flag
from ._hooks import UserError
from ._state import Copies, arrays, parts, type_name
from ._tree import empty, leaves, map_leaves, rebuild
from ._types import ArrayBase, is_mask_v


def check_compatibility(a, b, tp=True, name="result"):
    """Complains where two structures differ in their types, lengths or keys, or in values that are no arrays."""
    def differ(what, x, y): raise UserError(f"inconsistent {what} for field '{name}' ({x} and {y}); all functions must "
                                            "return the same structure of the same types")
    for x in (a, b):
        if isinstance(x, ArrayBase) and not _core.valid(x):
            raise UserError(f"field '{name}' is uninitialized")
    if type(a) is not type(b):
        if tp or isinstance(a, ArrayBase) or isinstance(b, ArrayBase):
            differ("types", f"'{type_name(a)}'", f"'{type_name(b)}'")
    if isinstance(a, ArrayBase):
        if _core.count(a) != _core.count(b):
            differ("sizes", _core.count(a), _core.count(b))
        return
    x, y = parts(a), parts(b)
    if x is None or y is None:
        if x is not None or y is not None or not (a is b or a == b):
            differ(f"scalar Python object of type '{type_name(a)}'", repr(a), repr(b))
        return
    if isinstance(a, dict) and list(a) != list(b):
        differ("dictionary keys", list(a), list(b))
    if len(x) != len(y):
        differ("sizes", len(x), len(y))
    for (k, v), (_, w) in zip(x, y):
        check_compatibility(v, w, tp, f"{name}.{k}" if not isinstance(a, (list, tuple, dict)) else f"{name}[{k}]")


def _fill(tree, values):
    if isinstance(tree, ArrayBase):
        return next(values)
    kids = parts(tree)
    return tree if kids is None else rebuild(tree, [_fill(v, values) for _, v in kids])


def _take_mask(args, kwargs):
    """The mask of a call: the keyword `active` or a last argument that is one. Functions see True in its place."""
    def truth(x): return type(x)(True) if isinstance(x, ArrayBase) else _core.classes["Bool"](True)
    if "active" in kwargs:
        mask = kwargs["active"]
        return mask, args, {**kwargs, "active": truth(mask)}
    if args and (isinstance(args[-1], bool) or (isinstance(args[-1], ArrayBase) and is_mask_v(args[-1])
                                                and _core.count(args[-1]) == 1)):
        return args[-1], (*args[:-1], truth(args[-1])), kwargs
    return True, args, kwargs


def widened(tree, lanes):
    """The structure with arrays of so many lanes in the place of those of one: results of a call have the width of the call,
    also where no lane calls, or all get the same."""
    if lanes < 2 or _core.is_recording():
        return tree
    everywhere = _core.full(_core.classes["Bool"], True, lanes)
    return map_leaves(lambda a: _core.select(everywhere, a, a) if _core.width(a) == 1 and _core.valid(a) else a, tree)


def as_wide_as(tree, *args):
    """The same, for results of a function of these arguments."""
    if _core.is_recording() or all(_core.width(a) != 1 for a in leaves(tree)):
        return tree
    return widened(tree, width(*args))


def call_of_nothing(where, name, count, function, args, kwargs, mode):
    """What functions return if there is no lane: arrays of size zero, as a call shows that no lane makes."""
    number, mask = _core.classes["UInt"](1), _core.classes["Bool"](False)
    _core.opaque(number)
    _core.opaque(mask)
    tree = args, kwargs
    tree = Copies(tree, [with_lanes(a, 1) if is_empty(a) else _core.copy(a) for a in arrays(tree)]).tree
    return with_lanes(_call(where, name, number, mask, count, function, *tree, mode), 0)


def _call(where, name, number, mask, count, function, args, kwargs, mode):
    """function(i)(*args, **kwargs) where `number` is i + 1; zeros elsewhere."""
    tree = (args, kwargs)
    flat = arrays(tree)
    sizes = {n for a in (number, *flat, *([mask] if isinstance(mask, ArrayBase) else []))
             if type(a) not in empty and (n := _core.width(a)) != 1}
    if sizes == {0}:
        return call_of_nothing(where, name, count, function, args, kwargs, mode)
    if len(sizes) > 1:
        first = _core.width(number)
        other = next(n for n in sizes if n != first)
        raise UserError(f"{where}: some of the call arguments have incompatible sizes (encountered arrays of length "
                        f"{first} and {other}); only a size of 1 fits all")
    with mode_scope(where, JitFlag.SymbolicCalls, mode, "a call"):
        result = with_derivatives_inside(where, lambda resumed, _: _trace(
            where, name, number, mask, count, function, tree, flat, resumed))
    return widened(result, max(sizes, default=1))


def _trace(where, name, number, mask, count, function, tree, flat, resumed):
    first = []

    def callee(i, values):
        f = function(i)
        if f is None:
            return None
        a, k = Copies(tree, values).tree
        result = guarded(where, getattr(f, "__qualname__", "the function"), resumed(lambda: f(*a, **k)))
        if first:
            try:
                check_compatibility(result, first[0])
            except UserError as e:
                raise UserError(f"{where}: {e}") from None
        else:
            first.append(result)
        return arrays(result)
    r = _core.call(name, number, mask, flat, count, callee)
    if not first:
        return None
    return _fill(first[0], iter(r))


def _checked(where, index, count, mask, mode):
    """In debug mode, indices out of bounds are reported."""
    if not flag(JitFlag.Debug):
        return
    bad = _core.active_lanes((index >= count) & (True if mask is True else mask))
    if mode == "evaluated" or (mode is None and not flag(JitFlag.SymbolicCalls) and not _core.is_recording()):
        if builtins.any(bad):
            worst = max(i for i, b in zip(index, bad if len(bad) > 1 else list(bad) * len(index)) if b)
            raise UserError(f"{where}: out-of-bounds callable ID {worst + 1} (must be < {count + 1}).")
    else:
        _core.print("Attempted to invoke callable with index {}, but this value must be strictly smaller than "
                    f"{count}\n", [index], bad)


def switch(index, targets, *args, mode=None, label=None, **kwargs):
    """targets[index](*args, **kwargs) for each lane; zeros where the index is out of range.

    A mask that is the last argument or called `active` chooses the lanes that call; the functions get it as True, the
    other lanes zeros. mode: "symbolic" (recorded) or "evaluated" (a kernel a function)."""
    where = "switch()"
    check_mode(where, mode)
    if isinstance(index, int):
        if kwargs.get("active", True) is False:
            return None
        return guarded(where, "the function", lambda: targets[index](*args, **kwargs))
    if type(index) is not _core.classes["UInt"]:
        raise UserError(f"{where}: the 'index' argument must be a Jit-compiled 1D 32-bit unsigned integer array, not "
                        f"'{type_name(index)}'; convert it to UInt")
    n = len(targets)
    if not n:
        raise UserError(f"{where}: there are no functions to choose from")
    mask, args, kwargs = _take_mask(args, kwargs)
    _checked(where, index, n, mask, mode)
    number = _core.classes["UInt"](_core.select(index < n, index + 1, 0))
    return _call(where, label or "switch", number, None if mask is True else mask, n, lambda i: targets[i], args, kwargs,
                 mode)


def dispatch(inst, target, *args, mode=None, label=None, **kwargs):
    """target(instance, *args, **kwargs) for the instance that each lane refers to; zeros where there is none. `inst` is
    an array of references, such as a BSDFPtr. Masks and modes are as those of switch()."""
    where = "dispatch()"
    check_mode(where, mode)
    if not hasattr(inst, "_umbel_numbers"):
        raise UserError(f"{where}: the first argument must be an array of instances, such as a BSDFPtr, not "
                        f"'{type_name(inst)}'")
    objects = list(inst._umbel_instances())
    number = inst._umbel_numbers()
    mask, args, kwargs = _take_mask(args, kwargs)

    def function(i):
        o = objects[i]
        return None if o is None else functools.partial(target, o)
    return _call(where, label or "dispatch", number, None if mask is True else mask, len(objects), function, args, kwargs,
                 mode)


class InstancePtr:
    """An array of references to Python objects, for dispatch()."""

    def __init__(self, objects, index):
        self._objects, self._index = list(objects), index

    def _umbel_instances(self): return self._objects

    def _umbel_numbers(self):
        UInt = _core.classes["UInt"]
        return UInt(_core.select(self._index < len(self._objects), UInt(self._index) + 1, 0))


def func(f=None, *, backend=None):
    """Decorator: the function becomes one of the kernel's own that calls share, instead of being part of each caller.
    Its results must depend on its arguments alone."""
    if f is None:
        return lambda g: func(g, backend=backend)

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        flat = arrays((args, kwargs))
        if not flat or any(is_empty(a) for a in flat):
            return f(*args, **kwargs)
        number = _core.classes["UInt"](1)
        _core.opaque(number)  # or the one function would become part of the caller
        first = []

        def callee(i, values):
            a, k = Copies((args, kwargs), values).tree
            first.append(guarded("func()", getattr(f, "__qualname__", "the function"), f, *a, **k))
            return arrays(first[0])
        with scoped_set_flag(JitFlag.OptimizeCalls, False):
            r = _core.call(getattr(f, "__name__", "func"), number, None, flat, 1, callee)
        return _fill(first[0], iter(r))
    return wrapper
