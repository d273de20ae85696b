# umbel/_empty.py: compiled functions, also of arrays of size zero.
#
# What is compiled knows no such arrays. Of them every function of lanes is arrays of size zero: how many, and of which types, is
# found with one lane in the place of none.
import functools

from . import _core
from .jit import _create
from .jit._tree import leaves, map_leaves


def _filled(a):
    """An argument, with one lane where it has none; objects of scenes are what they are."""
    if isinstance(a, _core.Object):
        return a
    return map_leaves(lambda x: _create.with_lanes(x, 1) if _create.is_empty(x) else x, a)


def _of_nothing_too(f):
    """The function, which then returns arrays of size zero for those."""
    returns_none = f.__nb_signature__[0][0].endswith("-> None")

    @functools.wraps(f)
    def call(*args, **kwargs):
        try:
            return f(*args, **kwargs)
        except TypeError:  # no overload takes the arguments
            given = [a for a in (*args, *kwargs.values()) if not isinstance(a, _core.Object)]
            if not any(_create.is_empty(a) for a in leaves(given)):
                raise
        if returns_none:
            return None  # for each lane
        return _create.with_lanes(f(*map(_filled, args), **{k: _filled(a) for k, a in kwargs.items()}), 0)
    call.__nb_signature__ = f.__nb_signature__  # for stubs
    return call


def _is_of_lanes(f):
    return any("umbel.jit.ArrayBase" in text for text, *_ in getattr(f, "__nb_signature__", ()))


def install():
    for owner in (_core, _core.warp, _core.mueller, *(c for c in vars(_core).values() if isinstance(c, type))):
        for name, f in list(vars(owner).items()):
            if name.startswith("__") or name == "render_backward" or not _is_of_lanes(f):
                continue
            is_static = isinstance(owner, type) and type(f).__name__ != "nb_method"
            setattr(owner, name, staticmethod(_of_nothing_too(f)) if is_static else _of_nothing_too(f))


install()
