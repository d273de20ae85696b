# jit/_print.py: text with arrays in it, on the host and from recorded code.
import builtins
import sys
import warnings

from .. import _core
from ._format import format_array
from ._hooks import UserError
from ._tree import children, leaves, map_leaves
from ._types import ArrayBase, describe, is_mask_v, is_tensor_v, leaf_t

UInt, Bool = _core.classes["UInt"], _core.classes["Bool"]


# ---- text on the host

def _number(x):
    return f"{x:g}" if isinstance(x, float) else str(x)


def _text(value, indent, limit, nested=False):
    """An object as text; entries of structures are lines of their own, deeper ones further to the right."""
    if isinstance(value, ArrayBase):
        return format_array(value, limit).replace("\n", "\n" + " " * indent)
    if isinstance(value, str):
        return repr(value) if nested else value
    kids = children(value)
    if kids is None:
        return _number(value)
    if isinstance(value, dict):
        names, brackets = [f"{k!r}: " for k, _ in kids], "{}"
    elif isinstance(value, (list, tuple)):
        names, brackets = [""] * len(kids), "[]" if isinstance(value, list) else "()"
    else:
        names, brackets = [f"{k}=" for k, _ in kids], (type(value).__name__ + "[", "]")
    if not kids:
        return brackets[0] + brackets[1]
    pad = "\n" + " " * (indent + 2)
    lines = [n + _text(v, indent + 2, limit, True) for n, (_, v) in zip(names, kids)]
    return brackets[0] + pad + ("," + pad).join(lines) + "\n" + " " * indent + brackets[1]


def _fields(fmt, args, kwargs):
    """[text or (value,)]: the pieces of a format string, each field with its value."""
    out, literal, i, place, explicit = [], "", 0, 0, None
    while i < len(fmt):
        c = fmt[i]
        if fmt[i:i + 2] in ("{{", "}}"):
            literal += c
            i += 2
            continue
        if c != "{":
            literal += c
            i += 1
            continue
        end = fmt.find("}", i)
        if end < 0:
            raise UserError(f"format(): unmatched brace in format string (at position {i}).")
        name = fmt[i + 1:end]
        if name == "" or name.isdigit():
            if explicit is not None and explicit != bool(name):
                a, b = ("implicit", "explicit") if name else ("explicit", "implicit")
                raise UserError(f"format(): cannot switch from {a} to {b} field numbering.")
            explicit = bool(name)
            k = int(name) if name else place
            place += 1
            if k >= len(args):
                raise UserError(f"format(): missing positional argument {k} referenced by format string (at position {i}).")
            value = args[k]
        elif name in kwargs:
            value = kwargs[name]
        else:
            raise UserError(f'format(): missing keyword argument "{name}" referenced by format string (at position {i}).')
        out += [literal, (value,)]
        literal = ""
        i = end + 1
    return out + [literal]


def format(value="", *args, limit=20, **kwargs):
    """Text with arrays and structures of them in the places of {}; of one object, its text."""
    if not isinstance(value, str):
        return _text(value, 0, limit)
    return "".join(p if isinstance(p, str) else _text(p[0], 0, limit) for p in _fields(value, args, kwargs))


# ---- text from recorded code: values go to arrays, which are shown once the kernel has run

_pending = []


class _Capture:
    """What a print in a recorded body collects: for each lane that comes by, a slot of some arrays."""

    def __init__(self, values, active, limit):
        self.counter = _core.full(UInt, 0, 1)
        _core.opaque(self.counter)
        arrays = [e for a in leaves(values) for e in _core.entries(a)]
        lanes = builtins.max([_core.width(a) for a in arrays] + [_core.width(active) if isinstance(active, ArrayBase) else 1])
        self.limit = limit = limit if limit >= 0 else lanes
        if active is True:
            active = Bool(True)
        slot = _core.scatter_inc(self.counter, UInt(0) if lanes == 1 else _core.full(UInt, 0, lanes), active)
        active = active & (slot < limit)
        self.lane = self._store(_core.lane_index(lanes), slot, active)
        self.values = map_leaves(lambda a: _core.from_entries(type(a), [self._store(_core.detach(e), slot, active)
                                                                        for e in _core.entries(a)]), values)

    def _store(self, value, slot, active):
        target = _core.full(type(value), False if is_mask_v(value) else 0, self.limit)
        _core.opaque(target)
        _core.scatter(target, value, slot, active, 0)
        return target

    def read(self):
        """The values, in the order of lanes, and how many there were."""
        total = self.counter[0]
        n = builtins.min(total, self.limit)
        lane = self.lane.numpy()[:n]
        order = UInt(sorted(range(n), key=lambda k: lane[k])) if n else UInt()
        pick = lambda a: _core.gather(type(a), a, order, None) if n else type(a)()
        return map_leaves(pick, self.values), pick(self.lane), total


def flush():
    """Shows what recorded code has printed, once it has run."""
    if not _pending or _core.is_recording():
        return
    todo, _pending[:] = list(_pending), []
    for capture, fmt, end, file in todo:
        (args, kwargs), lane, total = capture.read()
        if total == 0:
            continue  # a body that no lane ran, or that was recorded again
        if total > capture.limit and getattr(file, "__name__", "") != "Errors":
            warnings.warn(f"print(): symbolic print statement only captured {capture.limit} of {total} available outputs; "
                          "raise its limit", RuntimeWarning)
        kwargs["thread_id"] = lane
        if file is not None and getattr(file, "__name__", "") == "Errors":
            file.write("".join(fmt.replace("{}", str(x)) + end for x in args[0]))
            continue
        _write(format(fmt, *args, limit=capture.limit, **kwargs) + end, file)


def _write(text, file):
    (sys.stdout if file is None else file).write(text)


def report(message, place, active):
    """With the next evaluation, a line of `message` for each lane of the mask, to the standard error stream; {} is the
    lane's element of `place`."""
    class Errors:
        @staticmethod
        def write(text): sys.stderr.write(text)
    _pending.append((_Capture(((place,), {}), active, 1024), message, "\n", Errors))


def print(fmt="{}", *args, active=True, sep=" ", end="\n", file=None, mode="auto", method=None, limit=20, **kwargs):
    """Prints text with arrays in the places of {}; mode "symbolic", or a recorded body, prints when the kernel runs,
    all lanes together, with {thread_id} for their numbers."""
    mode = "evaluated" if mode == "evaluate" else mode
    if mode not in ("auto", "symbolic", "evaluated"):
        raise UserError(f"print(): the mode must be 'auto', 'symbolic' or 'evaluated', not {mode!r}")
    if not isinstance(fmt, str):
        args, fmt = (fmt, *args), sep.join(["{}"] * (1 + len(args)))
    arrays = leaves((args, kwargs, active if active is not True else ()))
    recorded = builtins.any(_core.state(a) == 5 for a in arrays)
    if recorded and mode == "evaluated":
        raise UserError("print(): a value of a recorded loop, branch or call has no contents yet; use mode='symbolic'")
    if not recorded and mode != "symbolic":
        if isinstance(active, ArrayBase) and not (len(active) == 1 and _core.element(active, 0, 0)):
            active = _core.active_lanes(active)
            chosen, lanes = active.numpy(), len(active)

            def pick(a):  # on the host: lanes of an evaluated loop would mask a gather
                if _core.width(a) != lanes:
                    return a
                if is_tensor_v(a):
                    a = _core.tensor_array(a)
                entries = [e if len(e) == 1 else type(e)(e.numpy()[chosen]) for e in _core.entries(_core.detach(a))]
                return _core.from_entries(type(a), entries) if chosen.any() else type(a)()
            args, kwargs = map_leaves(pick, (args, kwargs))
        elif active is False:
            return
        _write(format(fmt, *args, limit=limit, **kwargs) + end, file)
        return
    format(fmt, *args, **dict.fromkeys(kwargs, ""), thread_id="") if not arrays else _fields(fmt, args, {**kwargs, "thread_id": 0})
    _pending.append((_Capture((args, dict(kwargs)), active, limit), fmt, end, file))
