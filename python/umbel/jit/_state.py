# jit/_state.py: what bodies of loops, branches and calls are given, and how their results find back.
#
# A body gets copies, so that a trace can be repeated and two branches begin with the same values. Afterwards a copy
# that is among the results stands for its original: an array that the body changed in place (x += 1) is changed for
# the caller, too, an array that it left alone is the caller's object, and so are lists, dictionaries and structures.
from .. import _core
from ._hooks import UserError
from ._tree import children, rebuild
from ._types import ArrayBase, describe


def parts(tree):
    """Children of a structure; None of arrays, constants, and objects with parameters of their own."""
    if isinstance(tree, ArrayBase) or hasattr(tree, "_umbel_items"):
        return None
    return children(tree)


def arrays(tree, out=None):
    """All arrays in a structure, in order."""
    out = [] if out is None else out
    if isinstance(tree, ArrayBase):
        out.append(tree)
    else:
        for _, v in parts(tree) or ():
            arrays(v, out)
    return out


def _walk(tree, visit):
    if not isinstance(tree, ArrayBase):
        visit(tree)
        for _, v in parts(tree) or ():
            _walk(v, visit)


def introduce(state):
    """Tells members of a structure that do not know yet what they belong to (a hit of no scene, which is to hold one later)
    what all others belong to, if that is one thing: a body is traced before it hands them over."""
    lost, owners = [], []

    def visit(tree):
        if hasattr(tree, "_umbel_owner"):
            owner = tree._umbel_owner()
            if owner is None:
                lost.append(tree)
            elif not any(o is owner for o in owners):
                owners.append(owner)
    _walk(state, visit)
    if len(owners) == 1:
        for v in lost:
            v._umbel_belong(owners[0])


def meanings(state):
    """What numbers in a structure stand for, which are references to objects: their lists."""
    out = []
    _walk(state, lambda tree: out.append(tree._umbel_meaning()) if hasattr(tree, "_umbel_meaning") else None)
    return out


class Copies:
    """A structure with other arrays in it, and where each of its objects comes from."""

    def __init__(self, tree, values):
        self._origin = {}  # id of a copy: (copy, original)
        self.tree = self._copy(tree, iter(values))

    def _copy(self, tree, values):
        if isinstance(tree, ArrayBase):
            copy = next(values)
        else:
            kids = parts(tree)
            if kids is None:
                return tree
            copy = rebuild(tree, [self._copy(v, values) for _, v in kids])
        self._origin[id(copy)] = (copy, tree)
        return copy

    def original(self, x):
        """What x is a copy of, or None."""
        entry = self._origin.get(id(x))
        return None if entry is None else entry[1]


_anywhere = object()


def put_back(tree, origins, values, home=_anywhere):
    """A result with the final arrays (an iterator; None where an array is as it was given), in the caller's objects
    where every one of `origins` (from an object to what it is a copy of) agrees that the place has such an object.
    `tree` is a list: the place in each result. `home`: the only object that may be in the place."""
    originals = [origin(t) for origin, t in zip(origins, tree)]
    first = originals[0]
    mine = first if first is not None and all(o is first for o in originals) and (home is _anywhere or home is first) else None
    sample = tree[0]
    if isinstance(sample, ArrayBase):
        final = next(values)
        if final is None:
            return _core.copy(home if first is None else first) if mine is None else mine
        if mine is None or mine is final:
            return final
        _core.assign(mine, final)
        return mine
    kids = [parts(t) for t in tree]
    if kids[0] is None:
        return sample
    homes = None if home is _anywhere else parts(home)

    def home_of(i): return _anywhere if home is _anywhere else homes[i][1] if homes and i < len(homes) else None
    new = [put_back([k[i][1] for k in kids], origins, values, home_of(i)) for i in range(len(kids[0]))]
    if mine is None:
        return rebuild(sample, new)
    old = parts(mine)
    if len(old) == len(new) and all(a[1] is b for a, b in zip(old, new)):
        return mine
    if isinstance(mine, list):
        mine[:] = new
    elif isinstance(mine, dict):
        mine.update(zip((k for k, _ in kids[0]), new))
    elif isinstance(mine, tuple):
        return rebuild(mine, new)
    else:
        for (k, _), v in zip(kids[0], new):
            object.__setattr__(mine, k, v)
    return mine


# ---- names and checks

def type_name(x):
    tp = x if isinstance(x, type) else type(x)
    return f"{tp.__module__}.{tp.__qualname__}" if issubclass(tp, ArrayBase) else tp.__name__


def labelled(values, labels, fallback="arg"):
    """(name, value) of the entries of a tuple."""
    return [(labels[i] if i < len(labels) else f"{fallback}{i}", v) for i, v in enumerate(values)]


def child_name(tree, name, key):
    if isinstance(tree, (list, tuple)):
        return f"{name}[{key}]"
    return f"{name}[{key!r}]" if isinstance(tree, dict) else f"{name}.{key}"


def check_initialized(where, name, tree):
    """Complains about arrays without elements."""
    if isinstance(tree, ArrayBase):
        if not _core.valid(tree):
            raise UserError(f"{where}: state variable '{name}' of type '{type_name(tree)}' is uninitialized; give it a "
                            "value on every path")
        return
    for k, v in parts(tree) or ():
        check_initialized(where, child_name(tree, name, k), v)


def _same_constant(a, b):
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def fit(where, name, before, after, strict=True, sizes=True):
    """`after`, checked to have the types and sizes that `before` has. Types of one shape that differ in their meaning
    only (a Point3f where a Vector3f was) are converted."""
    def refuse(text): raise UserError(f"{where}: {text}")
    if isinstance(before, ArrayBase) or isinstance(after, ArrayBase):
        if type(after) is not type(before):
            if not (isinstance(before, ArrayBase) and isinstance(after, ArrayBase) and _alike(before, after)):
                refuse(f"the type of state variable '{name}' changed from '{type_name(before)}' to "
                       f"'{type_name(after)}', which is not permitted; convert it to keep the type")
            after = type(before)(after)
        check_initialized(where, name, after)
        a, b = _core.width(before), _core.width(after)
        entries = _core.count(before), _core.count(after)
        if entries[0] != entries[1]:
            a, b = entries
        if entries[0] != entries[1] or (sizes and a != b and a != 1 and b != 1):
            refuse(f"the size of state variable '{name}' of type '{type_name(before)}' changed from {a} to {b}; only a "
                   "size of 1 may grow")
        return after
    if type(before) is type(after) and hasattr(before, "_umbel_meaning") and \
            before._umbel_meaning() != after._umbel_meaning():
        after = before._umbel_merge(after)  # references with the numbers that `before` has for them
    kids, other = parts(before), parts(after)
    if kids is None and other is None:
        if type(before) is not type(after):
            if strict:
                refuse(f"the type of state variable '{name}' changed from '{type_name(before)}' to "
                       f"'{type_name(after)}', which is not permitted; convert it to keep the type")
        elif strict and not _same_constant(before, after):
            refuse(f"the non-array state variable '{name}' of type '{type_name(before)}' changed from '{before}' to "
                   f"'{after}'; make it an array, such as Float({before}), or pass strict=False if the value that "
                   "remains does not matter")
        return after
    if kids is None or other is None or type(before) is not type(after):
        refuse(f"the type of state variable '{name}' changed from '{type_name(before)}' to '{type_name(after)}', which "
               "is not permitted; keep its structure")
    if [k for k, _ in kids] != [k for k, _ in other]:
        if isinstance(before, dict):
            refuse(f"the keys of state variable '{name}' changed from {[k for k, _ in kids]} to "
                   f"{[k for k, _ in other]}, which is not permitted")
        refuse(f"the length of state variable '{name}' changed from {len(kids)} to {len(other)}, which is not permitted")
    new = [fit(where, child_name(before, name, k), v, o, strict, sizes) for (k, v), (_, o) in zip(kids, other)]
    return after if all(n is o for n, (_, o) in zip(new, other)) else rebuild(after, new)


def _alike(a, b):
    """Same element type, kind and shape, another meaning."""
    x, y = describe(type(a)), describe(type(b))
    return x[0] == y[0] and x[1] == y[1] and x[3] == y[3]
