# jit/detail.py: helpers that tests and libraries reach for; no part of what scripts need.
import contextlib

from .. import _core
from ._calls import check_compatibility
from ._control import if_stmt, while_loop
from ._tree import leaves
from ._types import ArrayBase


@contextlib.contextmanager
def scoped_rtld_deepbind():
    """Nothing to do: the libraries of others are not in our way."""
    yield


def collect_indices(tree):
    """Numbers of the nodes of all arrays in a structure."""
    return [i for a in leaves(tree) for i in _core.indices(a)]


def clear_registry():
    """Nothing to do: arrays of instances know their instances."""


def new_scope(backend=None):
    """Nothing to do: there are no scopes of value numbering."""


__all__ = ["ArrayBase", "check_compatibility", "clear_registry", "collect_indices", "if_stmt", "new_scope",
           "scoped_rtld_deepbind", "while_loop"]
