# jit/freezing.py: @freeze: functions that are traced once; later calls launch the recorded kernels with new inputs.
#
# The core (src/python/freeze.cpp) finds the arrays among the inputs, decides whether a recording fits, and replays it. Here is
# what needs Python: calling the function, its result as a template with holes in the places of arrays, and what the function
# did to the lists, dictionaries and objects that it was given.
import functools
import logging

from .. import _core
from ._eval import JitFlag, _own
from ._tree import _fields
from ._types import ArrayBase


def fields(tp):
    """Names of the attributes of a class that are inputs, or None."""
    own = getattr(tp, "_umbel_frozen_fields", None)
    return tuple(own) if own is not None else _fields(tp)


def _children(tree):
    """[(key, value)] of a structure, None of anything else."""
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, (ArrayBase, type)):
        return None
    names = fields(type(tree))
    return None if names is None else [(n, getattr(tree, n)) for n in names if hasattr(tree, n)]


def _get(container, key):
    return container[key] if isinstance(container, (list, tuple, dict)) else getattr(container, key)


def _set(container, key, value):
    if isinstance(container, (list, dict)):
        container[key] = value
    else:
        object.__setattr__(container, key, value)


# ---- results

class _Hole:
    """Stands for an array, by number."""
    __slots__ = ("number",)
    def __init__(self, number): self.number = number
    def __eq__(self, other): return type(other) is _Hole and other.number == self.number


class _Struct:
    """Stands for an object with fields."""
    __slots__ = ("type", "names", "values", "rest")
    def __init__(self, type, names, values, rest):
        self.type, self.names, self.values, self.rest = type, names, values, rest

    def __eq__(self, other):
        return type(other) is _Struct and (other.type, other.names, other.values) == (self.type, self.names, self.values)


def _template(tree, arrays):
    if isinstance(tree, ArrayBase):
        for i, a in enumerate(arrays):
            if a is tree:
                return _Hole(i)
        arrays.append(tree)
        return _Hole(len(arrays) - 1)
    kids = _children(tree)
    if kids is None or isinstance(tree, _core.Object):
        return tree
    values = [_template(v, arrays) for _, v in kids]
    if isinstance(tree, list):
        return values
    if isinstance(tree, tuple):
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    if isinstance(tree, dict):
        return type(tree)(zip([k for k, _ in kids], values))
    names = [k for k, _ in kids]
    rest = {k: v for k, v in getattr(tree, "__dict__", {}).items() if k not in names}
    return _Struct(type(tree), names, values, rest)


def _filled(template, arrays):
    tp = type(template)
    if tp is _Hole:
        return arrays[template.number]
    if tp is _Struct:
        result = template.type.__new__(template.type)
        if template.rest:
            result.__dict__.update(template.rest)
        for n, v in zip(template.names, template.values):
            object.__setattr__(result, n, _filled(v, arrays))
        return result
    if isinstance(template, list):
        return [_filled(v, arrays) for v in template]
    if isinstance(template, tuple):
        values = [_filled(v, arrays) for v in template]
        return tp(*values) if hasattr(tp, "_fields") else tp(values)
    if isinstance(template, dict):
        return tp((k, _filled(v, arrays)) for k, v in template.items())
    return template


# ---- what becomes of the inputs

def _snapshot(tree, path=(), out=None):
    """[(path, structure, its children)] of all structures in the inputs."""
    if out is None:
        out = []
    kids = _children(tree)
    if kids is not None and len(path) < 64:
        out.append((path, tree, kids))
        for k, v in kids:
            _snapshot(v, path + (k,), out)
    return out


def _writes(snapshot, arrays):
    """[(path, key, template)]: entries that were added or replaced; key None: all of a list; template None: removed."""
    out = []
    for path, container, before in snapshot:
        if isinstance(container, tuple):
            continue
        after = _children(container)
        if isinstance(container, list) and len(after) != len(before):
            out.append((path, None, _template([v for _, v in after], arrays), False))
            continue
        old = dict(before)
        for k, v in after:
            if k not in old or (old[k] is not v and not _equal_atoms(old[k], v)):
                out.append((path, k, _template(v, arrays), False))
        new = dict(after)
        out += [(path, k, None, True) for k in old if k not in new and isinstance(container, dict)]
    return out


def _equal_atoms(a, b):
    return type(a) is type(b) and isinstance(a, (int, float, str, bool, bytes)) and a == b


class _Bridge:
    """What the core asks of Python."""

    def __init__(self, function):
        self._function = function

    fields = staticmethod(fields)

    def run(self, inputs):
        f = self._function
        try:
            return f.f(*inputs["args"], **inputs["kwargs"])
        except Exception as e:
            raise RuntimeError(f"{f.__name__}(): error while a frozen function was recorded: {e}") from e

    def snapshot(self, inputs):
        return _snapshot(inputs)

    def describe(self, snapshot, inputs, result):
        arrays = []
        template = _template(result, arrays)
        writes = _writes(snapshot, arrays) or None
        f = self._function.f  # names that the function has bound anew
        if inputs["nonlocals"]:
            for n, c in zip(f.__code__.co_freevars, f.__closure__):
                if n in inputs["nonlocals"] and c.cell_contents is not inputs["nonlocals"][n]:
                    writes = (writes or []) + [(("nonlocals",), n, _template(c.cell_contents, arrays), False)]
        for n, v in inputs["globals"].items():
            now = f.__globals__.get(n)
            if now is not v:
                writes = (writes or []) + [(("globals",), n, _template(now, arrays), False)]
        if isinstance(result, ArrayBase) and writes is None:
            template = None
        return template, arrays, writes

    def same(self, a, b, writes_a, writes_b):
        try:
            return bool(a == b and writes_a == writes_b)
        except Exception:
            return False

    def fill(self, template, writes, inputs, arrays):
        for path, key, value, removed in writes or ():
            if path == ("nonlocals",):
                f = self._function.f
                cell = f.__closure__[f.__code__.co_freevars.index(key)]
                cell.cell_contents = _filled(value, arrays)
                continue
            if path == ("globals",):
                self._function.f.__globals__[key] = _filled(value, arrays)
                continue
            container = inputs
            for k in path:
                container = _get(container, k)
            if removed:
                del container[key]
            elif key is None:
                container[:] = _filled(value, arrays)
            else:
                _set(container, key, _filled(value, arrays))
        return _filled(template, arrays)

    def stored(self, count, cached):
        self._function._warn(count, cached)


class FrozenFunction:
    """What @freeze makes of a function."""

    def __init__(self, f, state_fn=None, limit=None, warn_after=10, backend=None, auto_opaque=True, enabled=True):
        functools.update_wrapper(self, f)
        self.f, self.enabled = f, enabled
        self._state_fn, self._limit, self._warn_after, self._backend = state_fn, limit, warn_after, backend
        self._core, self._bridge = _core.FrozenFunction(-1 if limit is None else limit, auto_opaque), _Bridge(self)
        code = getattr(f, "__code__", None)  # none of what is not written in Python
        self._globals, self._nonlocals = (code.co_names, code.co_freevars) if code else ((), ())

    def _closure(self):
        """The variables outside of the function that it uses: they are inputs, too."""
        if not self._nonlocals and not self._globals:
            return {}, {}
        g = self.f.__globals__
        cells = {}
        for n, c in zip(self._nonlocals, self.f.__closure__ or ()):
            try:
                cells[n] = c.cell_contents
            except ValueError:  # not bound yet
                pass
        return {n: g[n] for n in self._globals if n in g}, cells

    def __call__(self, *args, **kwargs):
        if (not self.enabled or self._limit == 0 or not _own[JitFlag.KernelFreezing] or _core.is_recording()
                or _core.is_freezing()):
            return self.f(*args, **kwargs)
        global_values, cells = self._closure()
        inputs = {"args": args, "kwargs": kwargs, "globals": global_values, "nonlocals": cells}
        if self._state_fn is not None:
            inputs["state"] = self._state_fn(*args, **kwargs)
        return self._core.call(self._bridge, inputs, self._backend is not None and self._check_backend())

    def _check_backend(self):
        """Whether a backend was named; it must be that of the arrays."""
        wanted = getattr(self._backend, "name", self._backend).lower()
        name = _core.variant_info(_core.variant())[0]
        if wanted not in (name, "invalid"):
            raise RuntimeError(f"freeze: the backend is to be \"{wanted}\", but arrays are computed by \"{name}\"")
        return wanted == name

    def __get__(self, instance, owner=None):
        return self if instance is None else FrozenMethod(self, instance)

    def _warn(self, count, cached):
        if self._warn_after >= 0 and count > self._warn_after:
            logging.getLogger("umbel").warning(
                "%s: the frozen function has been recorded %d times, and %d recordings are kept. It is recorded again when "
                "types, Python values, or which arrays have one size change from call to call: pass what changes as arrays",
                self.__name__, count, cached)

    @property
    def n_recordings(self):
        """How often the function was recorded."""
        return self._core.count()

    @property
    def n_cached_recordings(self):
        """Recordings that later calls can use."""
        return self._core.cached()

    def clear(self):
        """Forgets all recordings."""
        self._core.clear()


class FrozenMethod:
    """A frozen function as a method of an object, which is its first input."""

    def __init__(self, function, instance):
        self._function, self._instance = function, instance
        functools.update_wrapper(self, function.f)

    def __call__(self, *args, **kwargs): return self._function(self._instance, *args, **kwargs)

    @property
    def n_recordings(self): return self._function.n_recordings

    @property
    def n_cached_recordings(self): return self._function.n_cached_recordings

    def clear(self): self._function.clear()


def freeze(f=None, *, state_fn=None, limit=None, warn_after=10, backend=None, auto_opaque=True, enabled=True):
    """Decorator: the first call of the function records what it launches; later calls launch that again, with their inputs.

    Inputs are arguments, variables of the enclosing scopes that the function names, and what `state_fn`, called with the
    arguments, returns: any structures of arrays, and scene objects. A call is recorded anew where types, structure, Python's
    numbers, gradients, or the sets of arrays of one size differ. Constants among the arrays become data when they change
    (`auto_opaque=False`: at once). At most `limit` recordings are kept; more than `warn_after` give a warning.
    """
    def decorate(g):
        return FrozenFunction(g, state_fn, limit, warn_after, backend, auto_opaque, enabled)
    return decorate if f is None else decorate(f)
