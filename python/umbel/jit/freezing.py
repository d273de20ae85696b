# jit/freezing.py: @freeze: functions whose kernels are compiled once.
#
# The inputs become data, and the results are evaluated, so that calls that differ in numbers alone find their
# kernels in the cache. The function itself is traced at each call, so it may do whatever it likes.
import functools

from .. import _core
from ._tree import leaves, paths
from ._types import ArrayBase


class FrozenFunction:
    """What @freeze makes of a function."""

    def __init__(self, f, state_fn=None, limit=None, warn_after=10, backend=None, auto_opaque=True, enabled=True):
        functools.update_wrapper(self, f)
        self.f, self._state_fn, self._enabled = f, state_fn, enabled
        self._layouts = set()

    def _layout(self, inputs):
        out = []
        for where, a in paths(inputs):
            if isinstance(a, ArrayBase):
                out.append((where, type(a), tuple(min(s, 2) for s in _core.sizes(a)), _core.grad_enabled(a)))
            else:
                try:
                    hash(a)
                    out.append((where, a))
                except TypeError:
                    out.append((where, id(a)))
        return tuple(out)

    def __call__(self, *args, **kwargs):
        if not self._enabled or _core.is_recording():
            return self.f(*args, **kwargs)
        inputs = [args, kwargs]
        if self._state_fn is not None:
            inputs.append(self._state_fn(*args, **kwargs))
        for a in leaves(inputs):
            _core.opaque(a)
        self._layouts.add(self._layout(inputs))
        result = self.f(*args, **kwargs)
        _core.eval([a for a in leaves([result, inputs]) if _core.state(a) in (2, 4, 6)])
        return result

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    @property
    def n_recordings(self):
        """Layouts of inputs (types, one lane or many, constants) that were met."""
        return len(self._layouts)

    @property
    def n_cached_recordings(self): return len(self._layouts)

    def clear(self): self._layouts.clear()


def freeze(f=None, **options):
    """Decorator: calls of the function compile nothing after the first, whatever the numbers in its inputs."""
    if f is None:
        return lambda g: FrozenFunction(g, **options)
    return FrozenFunction(f, **options)


def func(f=None, **options):
    """Decorator for functions that are large and used often. Equal bodies are compiled once in any case, so the
    function is returned as it is."""
    return (lambda g: g) if f is None else f
