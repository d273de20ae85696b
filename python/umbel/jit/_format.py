# jit/_format.py: arrays as text.
from .. import _core
from ._types import ArrayBase, Complex, Matrix, Quaternion, describe, is_tensor_v

_limit = 20  # elements of the lanes' dimension beyond which the middle is left out
_edge = 3
_most_dimensions = 64  # of tensors that are shown with a bracket for each; NumPy's have no more


def _number(x):
    if isinstance(x, float):
        return f"{x:g}"
    return str(x)


def _complex(re, im):
    if im == 0 and re == 0:
        return "0"
    parts = []
    if re != 0 or im != im:
        parts.append(f"{re:g}")
    if im != 0:
        parts.append(("+" if parts and im >= 0 else "") + f"{im:g}j")
    return "".join(parts)


def _quaternion(x, y, z, w):
    out = ""
    for v, unit in ((x, "i"), (y, "j"), (z, "k"), (w, "")):
        if v != 0:
            out += ("+" if out and v >= 0 else "") + f"{v:g}{unit}"
    return out or "0"


def _block(values, indent):
    """A nested list, the outer levels a line an entry; a mark of what is left out is a row by itself."""
    if not isinstance(values, list):
        return values
    if not values or not any(isinstance(v, list) for v in values):
        return "[" + ", ".join(values) + "]"
    sep = ",\n" + " " * (indent + 1)
    return "[" + sep.join(_block(v, indent + 1) for v in values) + "]"


def _skip(n):
    return f".. {n} skipped .."


def _sample(n, limit=None):
    """Places of the elements to show, None for those left out; a negative limit is none."""
    limit = limit or _limit
    if limit < 0 or n <= limit:
        return list(range(n))
    return list(range(_edge)) + [None] + list(range(n - _edge, n))


def _nest(flat, dims, limit=None):
    if not dims:
        return flat[0]
    if limit is not None:  # an array of any number of entries, without lanes
        return [_skip(len(flat) - 2 * _edge) if i is None else flat[i] for i in _sample(len(flat), limit)]
    step = len(flat) // dims[0] if dims[0] else 0
    return [_nest(flat[i * step:(i + 1) * step], dims[1:]) for i in range(dims[0])]


def _tensor(a, limit):
    shape = tuple(a.shape)
    values = _core.tensor_array(a).numpy()
    if len(shape) > _most_dimensions:
        listed = [_skip(len(values) - 2 * _edge) if i is None else _number(values[i].item()) for i in _sample(len(values), limit)]
        return f"{_block(listed, 0)} in {len(shape)} dimensions"

    def part(level, first, step):
        if level == len(shape):
            return _number(values[first].item())
        step //= max(shape[level], 1)
        return [_skip(shape[level] - 2 * _edge) if i is None else part(level + 1, first + i * step, step)
                for i in _sample(shape[level], limit)]
    return _block(part(0, 0, len(values)), 0)


def format_array(a, limit=None):
    """The text of an array: a row for each lane."""
    if any(s == 5 for s in (_core.state(a),)):
        return f"{type(a).__name__}[being recorded]"
    if is_tensor_v(a):
        return _tensor(a, limit)
    _, kind, _, dims = describe(type(a))
    if not dims:
        n = len(a)
        if n == 0:
            return "[]"
        values = a.numpy()
        return "[" + ", ".join(_skip(n - 2 * _edge) if i is None else _number(values[i].item())
                               for i in _sample(n, limit)) + "]"
    lanes = _core.width(a)
    if lanes == 0 or 0 in dims:
        return "[]"
    if any(n != lanes and n != 1 for n in _core.sizes(a)):
        return "[ragged array]"
    entries = [e.numpy() for e in _core.entries(a)]
    shape = [d if d >= 0 else len(a) for d in dims]
    rows = []
    for i in _sample(lanes, limit):
        if i is None:
            rows.append(_skip(lanes - 2 * _edge))
            continue
        flat = [e[i if len(e) > 1 else 0].item() for e in entries]
        if kind == Complex:
            rows.append(_complex(*flat))
        elif kind == Quaternion:
            rows.append(_quaternion(*flat))
        else:
            rows.append(_nest([_number(x) for x in flat], shape,
                              (limit or _limit) if _core.is_host(type(a)) and dims == (-1,) else None))
    if _core.is_host(type(a)):
        return _block(rows[0], 0) if isinstance(rows[0], list) else rows[0]
    if kind in (Complex, Quaternion):
        return "[" + ",\n ".join(rows) + "]"
    return "[" + ",\n ".join(_block(r, 1) if isinstance(r, list) else r for r in rows) + "]"
