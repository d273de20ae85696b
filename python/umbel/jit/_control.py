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


# Functions among which lanes choose must agree in the types of their results. They are traced one after another;
# where one disagrees with those before it, all are traced again for the common types.

class _Retry(Exception):
    pass


class _Results:
    """The common structure of results: array types, and constants where all are equal."""

    def __init__(self, name):
        self.name, self.kinds, self.known = name, None, False

    def take(self, result):
        """The arrays of a result, of the common types."""
        if not self.known:
            self.kinds, self.known = _kinds(result), True
            return leaves(result)
        common = _common(self.name, self.kinds, result, "the result")
        if not _equal(common, self.kinds):
            self.kinds = common
            raise _Retry
        return leaves(_apply(self.kinds, result))

    def trace(self, record):
        """record(), until no function widens the types any more; its arrays as a result."""
        while True:
            try:
                arrays = record()
                return None if arrays is None else _fill(self.kinds, iter(arrays))
            except _Retry:
                pass


def _kinds(tree):
    if isinstance(tree, ArrayBase):
        return type(tree)
    kids = children(tree)
    return tree if kids is None else rebuild(tree, [_kinds(v) for _, v in kids])


def _is_kind(x): return isinstance(x, type) and is_array_v(x)


def _equal(a, b):
    if _is_kind(a) or _is_kind(b):
        return a is b
    x, y = children(a), children(b)
    if x is None or y is None:
        return x is y and _same_constant(a, b)
    return len(x) == len(y) and builtins.all(_equal(p[1], q[1]) for p, q in zip(x, y))


def _array_type(x):
    return x if isinstance(x, type) else type(x) if isinstance(x, ArrayBase) else _core.classes[
        "Bool" if isinstance(x, bool) else "Int" if isinstance(x, int) else "Float"]


def _common(name, a, b, where):
    """What both a structure of kinds and a result fit."""
    def value(x): return isinstance(x, (ArrayBase, bool, int, float)) or _is_kind(x)

    def disagree():
        kind = a.__name__ if _is_kind(a) else type(a).__name__
        raise UserError(f"{name}: {where} is {kind} in one function and {type(b).__name__} in another")
    if value(a) and value(b):
        if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
            if _same_constant(a, b):
                return a
            return expr_t(_array_type(a), _array_type(b))
        try:
            return expr_t(a if _is_kind(a) else type(a), type(b))
        except TypeError:
            disagree()
    x, y = children(a), children(b)
    if x is None or y is None:
        if x is None and y is None and _same_constant(a, b):
            return a
        disagree()
    if len(x) != len(y):
        raise UserError(f"{name}: {where} has {len(x)} entries in one function and {len(y)} in another")
    return rebuild(a, [_common(name, p[1], q[1], f"{where}[{p[0]}]") for p, q in zip(x, y)])


def _apply(kinds, value):
    if _is_kind(kinds):
        return value if type(value) is kinds else kinds(value)
    kids = children(kinds)
    if kids is None:
        return value
    return rebuild(value, [_apply(t, v) for (_, t), (_, v) in zip(kids, children(value))])


def _fill(kinds, arrays):
    if _is_kind(kinds):
        return next(arrays)
    kids = children(kinds)
    return kinds if kids is None else rebuild(kinds, [_fill(t, arrays) for _, t in kids])


def if_stmt(args, cond, true_fn, false_fn, arg_labels=(), rv_labels=(), label=None, mode=None, strict=True):
    """true_fn(*args) in the lanes where `cond` holds, false_fn(*args) in the others. Each lane runs one of them."""
    if mode == "scalar" or isinstance(cond, bool):
        return true_fn(*args) if cond else false_fn(*args)
    if not isinstance(cond, ArrayBase) or not is_mask_v(cond):
        raise UserError(f"if_stmt: the condition must be a mask, not {type(cond).__name__}")
    name = label or "if_stmt"
    results = _Results(name)

    def run(fn): return results.take(fn(*map_leaves(_core.copy, args)))  # a branch may change what it is given
    with _mode(JitFlag.SymbolicConditionals, mode):
        return results.trace(lambda: _core.if_(name, cond, lambda: run(true_fn), lambda: run(false_fn)))


def _call(name, number, mask, count, function, args, kwargs, mode):
    """function(i)(*args, **kwargs) where `number` is i + 1; zeros elsewhere."""
    tree = (args, kwargs)
    flat = leaves(tree)
    results = _Results(name)

    def callee(i, arrays):
        f = function(i)
        if f is None:
            return None
        a, k = replace_leaves(tree, iter(arrays))
        return results.take(f(*a, **k))
    with _mode(JitFlag.SymbolicCalls, mode):
        r = results.trace(lambda: _core.call(name, number, mask, flat, count, callee))
    if not results.known:
        raise UserError(f"{name}: there is no function to call")
    return r


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
