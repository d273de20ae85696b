# jit/_eval.py: evaluation, flags, the history of kernels, messages from kernels.
import builtins
import enum

from .. import _core
from ._tree import children, leaves, paths
from ._types import ArrayBase, describe, is_float_v


def schedule(*args):
    """Adds the arguments to the next evaluation; whether there is anything to do."""
    r = False
    for a in leaves(args, None, "_umbel_unevaluable"):
        r |= _core.schedule(a)
    return r


def eval(*args):
    """Computes the arguments, and all pending side effects, in one kernel where sizes agree. Does not wait."""
    arrays = leaves(args, None, "_umbel_unevaluable")
    todo = [a for a in arrays if _core.state(a) in (2, 4, 6)]
    if args and not todo:
        return False
    _core.eval(todo)
    return True


def make_opaque(*args):
    """Evaluates the arguments, constants too: they become data, and no longer part of programs."""
    for a in leaves(args, None, "_umbel_unevaluable"):
        _core.opaque(a)


def sync_thread():
    """Waits for all kernels and reports their errors."""
    _core.synchronize()


def sync_device(): _core.synchronize()
def sync_all_devices(): _core.synchronize()
def flush_malloc_cache(): _core.trim()
def flush_kernel_cache(): _core.flush_kernels()
def flush_thread(): _core.eval([])
def thread_count(): return _core.thread_count()
def set_thread_count(n): _core.set_thread_count(n)


# ---- flags

class JitFlag(enum.IntEnum):
    """Optimizations and modes. Those that Umbel does not have are accepted and do nothing."""
    ValueNumbering = _core.flags["ValueNumbering"]
    ConstantPropagation = _core.flags["Simplify"]
    SymbolicLoops = _core.flags["RecordLoops"]
    SymbolicConditionals = _core.flags["RecordIfs"]
    SymbolicCalls = _core.flags["RecordCalls"]
    OptimizeLoops = _core.flags["OptimizeLoops"]
    OptimizeCalls = _core.flags["OptimizeCalls"]
    MergeFunctions = _core.flags["MergeFunctions"]
    CodeMotion = _core.flags["CodeMotion"]
    FlattenConditionals = _core.flags["FlattenIfs"]
    KernelCache = _core.flags["KernelCache"]
    KernelHistory = _core.flags["History"]
    Async = _core.flags["Async"]
    Verify = _core.flags["Verify"]
    # names without effect
    KernelFreezing = 1 << 20
    LaunchBlocking = 1 << 21
    Debug = 1 << 22
    ReuseIndices = 1 << 23
    FastMath = 1 << 24
    PrintIR = 1 << 25
    CompressLoops = 1 << 26
    PacketOps = 1 << 27
    ForceOptiX = 1 << 28
    ShaderExecutionReordering = 1 << 29
    ScatterReduceLocal = 1 << 30
    SymbolicScope = 1 << 31
    FreezingScope = 1 << 32
    EnableObjectTraversal = 1 << 33
    SpillToSharedMemory = 1 << 34
    # older spellings
    LoopRecord = SymbolicLoops
    LoopOptimize = OptimizeLoops
    VCallRecord = SymbolicCalls
    VCallOptimize = OptimizeCalls
    VCallDeduplicate = MergeFunctions
    Recording = SymbolicScope


_own = {JitFlag.KernelFreezing: True, JitFlag.ReuseIndices: True, JitFlag.PacketOps: True}


def flag(f):
    """Whether a flag is set."""
    f = JitFlag(f)
    if f == JitFlag.SymbolicScope:
        return _core.is_recording()
    if f == JitFlag.FreezingScope:
        return _core.is_freezing()
    if f == JitFlag.LaunchBlocking:
        return not _core.flag(int(JitFlag.Async))
    return _own.get(f, False) if f >= 1 << 20 else _core.flag(int(f))


def set_flag(f, value):
    """Sets or clears a flag."""
    f = JitFlag(f)
    if f == JitFlag.LaunchBlocking:
        _core.set_flag(int(JitFlag.Async), not value)
    elif f >= 1 << 20:
        _own[f] = bool(value)
    else:
        _core.set_flag(int(f), bool(value))


class scoped_set_flag:
    """with scoped_set_flag(flag, value): sets a flag until the end."""

    def __init__(self, flag, value=True):
        self._flag, self._value = flag, value

    def __enter__(self):
        self._before = flag(self._flag)
        set_flag(self._flag, self._value)

    def __exit__(self, *exc):
        set_flag(self._flag, self._before)


# ---- kernels

class KernelType(enum.IntEnum):
    JIT, Reduce, CallReduce, Other = range(4)


def kernel_history(types=None):
    """What has run since the last call, while JitFlag.KernelHistory is set: a list of dictionaries."""
    sync_thread()
    out = []
    for k in _core.take_history():
        k["type"] = KernelType.JIT if k["name"].startswith("kernel") else KernelType.Other
        k["hash"] = k["name"]
        k["uses_optix"] = False
        if types is None or k["type"] in types:
            out.append(k)
    return out


def kernel_history_clear():
    """Forgets what has run."""
    _core.take_history()


def last_program():
    """The program of the last kernel, one line an instruction."""
    return _core.last_program()


def graphviz(as_string=False):
    """The program of the last kernel as a drawing of Graphviz's."""
    text = _core.last_program_dot()
    if as_string:
        return text
    try:
        import graphviz as library
    except ImportError:
        return text
    return library.Source(text)


def whos():
    """What the compiler holds: nodes and memory."""
    s = _core.memory_stats()
    builtins.print(f"{_core.live_nodes()} nodes, {s['buffers']} arrays of {s['in_use'] / 2**20:.1f} MiB, "
                   f"{s['cached'] / 2**20:.1f} MiB kept for reuse")


def memory_stats():
    """Bytes in use, cached, at the peak; numbers of arrays."""
    return _core.memory_stats()


def set_label(*args, **kwargs):
    """Names arrays; accepted, as names do not appear in programs."""


def profile_mark(message): pass
def profile_enable(value=True): return _nothing()


class _nothing:
    def __init__(self, *args): pass
    def __enter__(self): return self
    def __exit__(self, *exc): pass


def profile_range(message): return _nothing()


def reorder_threads(key, num_bits, value):
    """Groups lanes of equal key on GPUs that can; elsewhere nothing happens."""
    return value


def expand_threshold(): return 0
def set_expand_threshold(value): pass


class LogLevel(enum.IntEnum):
    Disable, Error, Warn, Info, InfoSym, Debug, Trace = range(7)


_level = LogLevel.Warn


def log_level(): return _level


def set_log_level(level):
    global _level
    _level = LogLevel(level)


# ---- text

def format(value="", *args, limit=20, **kwargs):
    """Text with arrays in the places of {}."""
    if not isinstance(value, str) or (not args and not kwargs and "{" not in value):
        return str(value) if isinstance(value, (str, ArrayBase)) else _describe(value)
    return value.format(*(_Shown(a) for a in args), **{k: _Shown(v) for k, v in kwargs.items()})


def _describe(tree):
    kids = None if isinstance(tree, ArrayBase) else children(tree)
    if kids is None:
        return str(tree)
    if isinstance(tree, (list, tuple)):
        inner = ", ".join(_describe(v) for _, v in kids)
        return f"[{inner}]" if isinstance(tree, list) else f"({inner})"
    lines = ",\n".join(f"  {k}={_describe(v)}" for k, v in kids)
    return f"{type(tree).__name__}[\n{lines}\n]"


class _Shown:
    def __init__(self, value): self._value = value
    def __format__(self, spec):
        v = self._value
        if isinstance(v, ArrayBase) or children(v) is not None:
            return _describe(v)
        return builtins.format(v, spec)
    def __getattr__(self, name): return _Shown(getattr(self._value, name))
    def __getitem__(self, key): return _Shown(self._value[key])


def print(fmt="{}", *args, active=True, sep=" ", end="\n", file=None, mode="auto", method="auto", limit=20, **kwargs):
    """Prints arrays; from a recorded body, each lane's values when the kernel runs."""
    if not isinstance(fmt, str):
        args, fmt = (fmt, *args), sep.join(["{}"] * (1 + len(args)))
    recorded = builtins.any(_core.state(a) == 5 for a in leaves((args, kwargs, active if active is not True else ())))
    if not recorded:
        builtins.print(format(fmt, *args, **kwargs), end=end, file=file)
        return
    # One placeholder of the kernel's message for each value
    import string
    text, values, auto = "", [], 0
    for literal, field, spec, _ in string.Formatter().parse(fmt):
        text += literal
        if field is None:
            continue
        if field == "":
            value = args[auto]
            auto += 1
        else:
            value, _ = string.Formatter().get_field(field, args, kwargs)
        if isinstance(value, ArrayBase):
            entries = _core.entries(value)
            values += entries
            text += "{}" if len(entries) == 1 else "[" + ", ".join(["{}"] * len(entries)) + "]"
        else:
            text += str(value)
    _core.print(text + end.removesuffix("\n"), values, None if active is True else active)
