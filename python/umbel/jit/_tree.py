# jit/_tree.py: structures of arrays: lists, tuples, dictionaries, dataclasses, classes with DRJIT_STRUCT.
from .. import _core
from ._types import ArrayBase, vectors

empty = {c for c in _core.classes.values() if 0 in _core.describe(c)[3]}  # Color0f ...: arrays of no arrays, without lanes
_atoms = (bool, int, float, str, bytes, type(None), type, complex)


def _fields(tp):
    """Names of the fields of a structure type, or None."""
    names = tp.__dict__.get("_umbel_fields")
    if names is not None:
        return names
    struct = getattr(tp, "DRJIT_STRUCT", None)
    if isinstance(struct, dict):
        return tuple(struct)
    fields = getattr(tp, "__dataclass_fields__", None)
    return tuple(fields) if fields is not None else None


def children(tree):
    """[(key, value)] of a structure; None of anything else."""
    tp = type(tree)
    if tp is list or tp is tuple:
        return list(enumerate(tree))
    if tp is dict:
        return list(tree.items())
    if isinstance(tree, ArrayBase) or tp in _atoms:
        return None
    if isinstance(tree, tuple) or isinstance(tree, list):
        return list(enumerate(tree))
    if isinstance(tree, dict):
        return list(tree.items())
    listed = getattr(tp, "_umbel_names", None)  # of objects whose fields differ from one to another
    names = _fields(tp) if listed is None else listed(tree)
    if names is not None:
        return [(n, getattr(tree, n)) for n in names if hasattr(tree, n)]
    items = getattr(tree, "_umbel_items", None)  # such as scene parameters
    return list(items()) if items is not None else None


def rebuild(tree, values):
    """A structure like `tree` with these children."""
    tp = type(tree)
    if isinstance(tree, list):
        return list(values)
    if isinstance(tree, tuple):
        return tp(*values) if hasattr(tp, "_fields") else tp(values)
    if isinstance(tree, dict):
        return tp(zip(tree.keys(), values))
    names = [n for n, _ in children(tree)]
    copy = getattr(tp, "_umbel_copy", None)
    result = tp.__new__(tp) if copy is None else copy(tree)
    if copy is None and hasattr(tree, "__dict__"):
        result.__dict__.update(tree.__dict__)
    for n, v in zip(names, values):
        object.__setattr__(result, n, v)
    return result


def leaves(tree, out=None, unless=None):
    """All arrays in a structure, in order. Cooperative vectors refuse what their attribute `unless` says."""
    if out is None:
        out = []
    if isinstance(tree, ArrayBase):
        if type(tree) not in empty:
            out.append(tree)
        return out
    if unless is not None and type(tree) in vectors:
        from ._hooks import UserError
        raise UserError(getattr(tree, unless))
    kids = children(tree)
    if kids:
        for _, v in kids:
            leaves(v, out, unless)
    return out


def map_leaves(f, tree, *rest):
    """The structure with f(array, arrays at the same places of `rest`...) in the place of each array."""
    if isinstance(tree, ArrayBase):
        return tree if type(tree) in empty else f(tree, *rest)
    kids = children(tree)
    if kids is None:
        return tree
    others = []
    for r in rest:
        k = children(r)
        if k is None or len(k) != len(kids):
            raise TypeError("the structures differ: one has "
                            f"{len(kids)} entries, another {len(k) if k else 'none'}")
        others.append([v for _, v in k])
    return rebuild(tree, [map_leaves(f, v, *(o[i] for o in others)) for i, (_, v) in enumerate(kids)])


def replace_leaves(tree, values):
    """The structure with these arrays, an iterator, in the places of its own."""
    if isinstance(tree, ArrayBase):
        return tree if type(tree) in empty else next(values)
    kids = children(tree)
    if kids is None:
        return tree
    return rebuild(tree, [replace_leaves(v, values) for _, v in kids])


def paths(tree, prefix="", out=None):
    """[(name, array or other leaf)]: where each leaf of a structure is, for messages."""
    if out is None:
        out = []
    kids = None if isinstance(tree, ArrayBase) else children(tree)
    if kids is None:
        out.append((prefix, tree))
        return out
    for k, v in kids:
        if isinstance(tree, (list, tuple)):
            name = f"{prefix}[{k}]"
        elif isinstance(tree, dict):
            name = f"{prefix}[{k!r}]"
        else:
            name = f"{prefix}.{k}"
        paths(v, name, out)
    return out
