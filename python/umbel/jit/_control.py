# jit/_control.py: loops, conditionals and calls of Python functions, recorded once for all lanes.
import builtins
import contextlib

from .. import _core
from ._eval import JitFlag, flag, scoped_set_flag
from ._hooks import UserError
from ._tree import children, leaves, map_leaves, paths, rebuild, replace_leaves
from ._types import ArrayBase, describe, expr_t, is_array_v, is_mask_v


def _mode(kind, mode):
    """Whether to record; "scalar" is for conditions of Python's own."""
    if mode not in (None, "auto", "symbolic", "evaluated", "scalar"):
        raise ValueError(f"mode \"{mode}\" is unknown; it is symbolic, evaluated or scalar")
    if mode in (None, "auto"):
        return contextlib.nullcontext()
    return scoped_set_flag(kind, mode == "symbolic")


def _same_constant(a, b):
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def _fit(name, template, value, where=""):
    """`value` with arrays of the classes that `template` has; constants must not change."""
    if isinstance(template, ArrayBase):
        if type(value) is type(template):
            return value
        if isinstance(value, (bool, int, float)) or (isinstance(value, ArrayBase) and _widens(value, template)):
            return type(template)(value)
        raise UserError(f"{name}: {where or 'the value'} changes from {type(template).__name__} to "
                        f"{type(value).__name__}; keep its type")
    kids = children(template)
    if kids is None:
        if isinstance(value, ArrayBase) or not _same_constant(template, value):
            if isinstance(template, (bool, int, float)):
                kind = type(template).__name__
                raise UserError(f"{name}: {where or 'a value'} is a Python {kind} and changes; make it an array first, "
                                f"such as {'Float' if kind == 'float' else 'UInt' if kind == 'int' else 'Bool'}(...)")
        return value
    other = children(value)
    if other is None or len(other) != len(kids):
        raise UserError(f"{name}: {where or 'the state'} changes its structure from {type(template).__name__} to "
                        f"{type(value).__name__}")
    return rebuild(value, [_fit(name, t, v, f"{where}.{k}" if where else str(k))
                           for (k, t), (_, v) in zip(kids, other)])


def _widens(value, template):
    """Same shape and element type, another meaning: a Point3f where a Vector3f was."""
    a, b = describe(type(value)), describe(type(template))
    return a[0] == b[0] and a[3] == b[3] and a[1] == b[1] or (a[0] == b[0] and not a[3] and b[3] and a[1] == 0)


def while_loop(state, cond, body, labels=(), label=None, mode=None, strict=True, compress=None, max_iterations=None):
    """Runs body(*state) while cond(*state) holds, for each lane by itself, and returns the final state. The body
    returns the next state; it is recorded once and becomes part of the kernel."""
    state = tuple(state)
    name = label or "while_loop"
    first = cond(*map_leaves(_core.copy, state)) if mode != "scalar" else True
    if mode == "scalar" or isinstance(first, bool):
        while cond(*state):
            state = body(*state)
            state = state if isinstance(state, tuple) else (state,)
        return state
    if not isinstance(first, ArrayBase) or not is_mask_v(first):
        raise UserError(f"{name}: the condition must be a mask, not {type(first).__name__}")
    names = list(labels) or [f"variable {i}" for i in range(len(state))]
    flat = leaves(state)
    for where, a in paths(state):
        if isinstance(a, ArrayBase) and _core.width(a) == 0 and _core.entries(a):
            raise UserError(f"{name}: {where} has no elements; give it an initial value")

    def run_body(arrays):
        out = body(*replace_leaves(state, iter(arrays)))
        out = out if isinstance(out, tuple) else (out,) if len(state) == 1 else tuple(out)
        if len(out) != len(state):
            raise UserError(f"{name}: the body returns {len(out)} variables, not {len(state)}")
        return leaves(tuple(_fit(name, t, v, n) for t, v, n in zip(state, out, names)))

    with _mode(JitFlag.SymbolicLoops, mode):
        result = _core.loop(name, flat, lambda a: cond(*replace_leaves(state, iter(a))), run_body)
    return replace_leaves(state, iter(result))


class _Retry(Exception):
    """The branches disagree in their types: trace again with the common ones."""


def _array_type(x):
    return type(x) if isinstance(x, ArrayBase) else _core.classes[
        "Bool" if isinstance(x, bool) else "Int" if isinstance(x, int) else "Float"]


def _common(name, a, b, where):
    """A structure of types (or constants) that both results fit."""
    if isinstance(a, (ArrayBase, bool, int, float)) and isinstance(b, (ArrayBase, bool, int, float)):
        if not isinstance(a, ArrayBase) and not isinstance(b, ArrayBase):
            if type(a) is type(b) and a == b:
                return a
            return expr_t(_array_type(a), _array_type(b))
        try:
            return expr_t(a, b)
        except TypeError:
            raise UserError(f"{name}: {where} is {type(a).__name__} in one branch and {type(b).__name__} in the other"
                            ) from None
    x, y = children(a), children(b)
    if x is None or y is None:
        if x is None and y is None and _same_constant(a, b):
            return a
        raise UserError(f"{name}: {where} is {type(a).__name__} in one branch and {type(b).__name__} in the other")
    if len(x) != len(y):
        raise UserError(f"{name}: {where} has {len(x)} entries in one branch and {len(y)} in the other")
    return rebuild(a, [_common(name, p[1], q[1], f"{where}[{p[0]}]") for p, q in zip(x, y)])


def _apply(types, value):
    if isinstance(types, type) and is_array_v(types):
        return value if type(value) is types else types(value)
    kids = children(types)
    if kids is None:
        return value
    return rebuild(value, [_apply(t, v) for (_, t), (_, v) in zip(kids, children(value))])


def if_stmt(args, cond, true_fn, false_fn, arg_labels=(), rv_labels=(), label=None, mode=None, strict=True):
    """true_fn(*args) in the lanes where `cond` holds, false_fn(*args) in the others. Each lane runs one of them."""
    if mode == "scalar" or isinstance(cond, bool):
        return true_fn(*args) if cond else false_fn(*args)
    if not isinstance(cond, ArrayBase) or not is_mask_v(cond):
        raise UserError(f"if_stmt: the condition must be a mask, not {type(cond).__name__}")
    name = label or "if_stmt"
    types, seen = None, {}

    def run(which, fn):
        out = fn(*map_leaves(_core.copy, args))
        seen[which] = out
        if types is not None:
            return leaves(_apply(types, out))
        if which == 0:
            return [a for a in leaves(out)]
        if not _alike(seen[0], out):
            raise _Retry
        return leaves(out)

    with _mode(JitFlag.SymbolicConditionals, mode):
        try:
            arrays = _core.if_(name, cond, lambda: run(0, true_fn), lambda: run(1, false_fn))
        except _Retry:
            types = _common(name, seen[0], seen[1], "the result")
            arrays = _core.if_(name, cond, lambda: run(0, true_fn), lambda: run(1, false_fn))
            return _fill(types, iter(arrays))
    return replace_leaves(seen[0], iter(arrays))


def _fill(types, arrays):
    if isinstance(types, type) and is_array_v(types):
        return next(arrays)
    kids = children(types)
    return types if kids is None else rebuild(types, [_fill(t, arrays) for _, t in kids])


def _alike(a, b):
    if isinstance(a, ArrayBase) or isinstance(b, ArrayBase):
        return type(a) is type(b)
    x, y = children(a), children(b)
    if x is None or y is None:
        return x is y and _same_constant(a, b)
    return len(x) == len(y) and builtins.all(_alike(p[1], q[1]) for p, q in zip(x, y))


def _call(name, number, mask, count, function, args, kwargs, mode):
    """function(i)(*args, **kwargs) where `number` is i + 1; zeros elsewhere."""
    tree = (args, kwargs)
    flat = leaves(tree)
    types, seen = None, []

    def callee(i, arrays):
        f = function(i)
        if f is None:
            return None
        a, k = replace_leaves(tree, iter(arrays))
        out = f(*a, **k)
        if types is not None:
            return leaves(_apply(types, out))
        if seen and not _alike(seen[0], out):
            seen.append(out)
            raise _Retry
        seen.append(out)
        return leaves(out)

    with _mode(JitFlag.SymbolicCalls, mode):
        for _ in range(16):
            try:
                arrays = _core.call(name, number, mask, flat, count, callee)
                break
            except _Retry:
                types = _common(name, _apply_types(types, seen[0]), seen[-1], "the result")
                # Later callees may widen the types once more
                missing = [f for f in range(count) if function(f) is not None]
                if len(seen) <= len(missing):
                    for i in missing[len(seen):]:
                        pass
        if arrays is None:
            raise UserError(f"{name}: there is no function to call")
    if types is not None:
        return _fill(types, iter(arrays))
    return replace_leaves(seen[0], iter(arrays))


def _apply_types(types, value):
    return value if types is None else _apply(types, value)


def switch(index, targets, *args, active=True, mode=None, label=None, **kwargs):
    """targets[index](*args, **kwargs) for each lane; zeros where the index is out of range."""
    if isinstance(index, int):
        if active is True:
            return targets[index](*args, **kwargs)
        index = _core.classes["UInt"](index)
    if not targets:
        raise UserError("switch: no functions to choose from")
    index = index if type(index) is _core.classes["UInt"] else _core.classes["UInt"](index)
    n = len(targets)
    number = _core.select(index < n, index + 1, 0)
    number = _core.classes["UInt"](number)
    return _call(label or "switch", number, None if active is True else active, n, lambda i: targets[i], args, kwargs,
                 mode)


def dispatch(instances, func, *args, active=True, mode=None, label=None, **kwargs):
    """func(instance, *args, **kwargs) for the instance that each lane refers to. `instances` is an array of
    references: an object with `_umbel_numbers()`, numbers from 1 on, and `_umbel_instances()`."""
    objects = list(instances._umbel_instances())
    number = instances._umbel_numbers()

    def function(i):
        o = objects[i]
        return None if o is None else lambda *a, **k: func(o, *a, **k)
    return _call(label or "dispatch", number, None if active is True else active, len(objects), function, args, kwargs,
                 mode)


class InstancePtr:
    """An array of references to Python objects, for dispatch()."""

    def __init__(self, objects, index):
        self._objects, self._index = list(objects), index

    def _umbel_instances(self): return self._objects

    def _umbel_numbers(self):
        UInt = _core.classes["UInt"]
        return UInt(_core.select(self._index < len(self._objects), UInt(self._index) + 1, 0))
