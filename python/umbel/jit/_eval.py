# jit/_eval.py: evaluation, flags, the history of kernels, messages from kernels.
import builtins
import sys
import time
import warnings

from .. import _core
from . import _print
from ._enum import NamedInt
from ._tree import leaves
from ._types import JitBackend, _backend_named


def schedule(*args):
    """Adds the arguments to the next evaluation; whether there is anything to do."""
    r = False
    for a in _arrays(args):
        r |= _core.schedule(a)
    return r


def _arrays(tree):
    """All arrays but local ones, which are never evaluated."""
    return [a for a in leaves(tree, None, "_umbel_unevaluable") if not _core.is_local(a)]


def eval(*args):
    """Computes the arguments, and all pending side effects, in one kernel where sizes agree. Does not wait."""
    arrays = _arrays(args)
    todo = [a for a in arrays if _core.state(a) in (2, 4, 6)]
    if args and not todo and not _print._pending:
        return False
    _core.eval(todo)
    _print.flush()
    return True


def make_opaque(*args):
    """Evaluates the arguments, constants too: they become data, and no longer part of programs."""
    for a in _arrays(args):
        _core.opaque(a)


_at_sync = []  # functions that wait for what else is under way, such as files that are being written


def sync_thread():
    """Waits for all kernels, and for files that are being written, and reports their errors."""
    _core.synchronize()
    _print.flush()
    for wait in _at_sync:
        wait()


def sync_device():
    """The same as sync_thread()."""
    sync_thread()


def sync_all_devices():
    """The same as sync_thread()."""
    sync_thread()


def flush_malloc_cache():
    """Gives memory that is kept for later arrays back to the system, and that of GPUs to their drivers."""
    _core.trim()


def flush_kernel_cache():
    """Forgets compiled kernels; those on disk stay."""
    _core.flush_kernels()


def flush_thread():
    """Starts what is scheduled."""
    _core.eval([])


def thread_count():
    """How many threads run kernels."""
    return _core.thread_count()


def set_thread_count(n):
    """How many threads run kernels from now on; 0: one a core."""
    _core.set_thread_count(n)


# ---- flags

class JitFlag(NamedInt):
    """Optimizations and modes. Of those that Umbel does not have, a warning says so where they are set otherwise than it works."""
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
    FastMath = _core.flags["FastMath"]  # on GPUs, where it is set at the start
    # of Python's part
    KernelFreezing = 1 << 20
    LaunchBlocking = 1 << 21
    Debug = 1 << 22
    # those that cannot be changed: see _fixed
    ReuseIndices = 1 << 23
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
    ForbidSynchronization = 1 << 35
    Default = 0  # what is set at the start: see flag()
    # older spellings
    LoopRecord = SymbolicLoops
    LoopOptimize = OptimizeLoops
    VCallRecord = SymbolicCalls
    VCallOptimize = OptimizeCalls
    VCallDeduplicate = MergeFunctions
    Recording = SymbolicScope


_own = {JitFlag.KernelFreezing: True, JitFlag.Debug: False}
_fixed = {  # as Umbel works, and what to do about it
    JitFlag.ReuseIndices: (True, "numbers of nodes are always used again"),
    JitFlag.PacketOps: (True, "records are always gathered whole where that is faster"),
    JitFlag.ScatterReduceLocal: (True, "lanes of a warp always add up before they meet in memory"),
    JitFlag.SpillToSharedMemory: (True, "the driver decides where registers spill to"),
    JitFlag.ShaderExecutionReordering: (True, "reorder_threads() keeps the order everywhere"),
    JitFlag.PrintIR: (False, "last_program() shows the program of a kernel"),
    JitFlag.CompressLoops: (False, "loops keep their lanes"),
    JitFlag.ForceOptiX: (False, "rays are traced without OptiX"),
    JitFlag.EnableObjectTraversal: (True, "frozen functions look into objects in any case"),
    JitFlag.ForbidSynchronization: (False, "kernel_history() shows which operations wait"),
}


def flag(f):
    """Whether a flag is set."""
    f = JitFlag(f)
    if f == JitFlag.SymbolicScope:
        return _core.is_recording()
    if f == JitFlag.FreezingScope:
        return _core.is_freezing()
    if f == JitFlag.LaunchBlocking:
        return not _core.flag(int(JitFlag.Async))
    if f in _fixed:
        return _fixed[f][0]
    return _own[f] if f in _own else f < 1 << 20 and _core.flag(int(f))


def set_flag(f, value):
    """Sets or clears a flag."""
    f = JitFlag(f)
    if f == JitFlag.LaunchBlocking:
        _core.set_flag(int(JitFlag.Async), not value)
    elif f in _fixed:
        stays, why = _fixed[f]
        if bool(value) != stays:
            warnings.warn(f"{f} stays {stays}: {why}", stacklevel=2)
    elif f in _own:
        _own[f] = bool(value)
    elif f >= 1 << 20:
        raise ValueError(f"{f} tells what is going on, and cannot be set")
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

class KernelType(NamedInt):
    """What an entry of the history is: a compiled kernel, or an operation on whole arrays."""
    JIT, Aggregate, BlockPrefixReduce, BlockReduce, Compress, Dot, LLVMHostFunc, Memcpy, Memset, MkPerm, Poke, \
        BatchedGemm = range(12)
    Reduce, CallReduce, Other = BlockReduce, Aggregate, LLVMHostFunc


class KernelRecordingMode(NamedInt):
    """Whether a kernel ran as part of a frozen function."""
    Inactive, Recorded, Replayed = range(3)


_kinds = {"copy": KernelType.Memcpy, "fill": KernelType.Memset, "reduce": KernelType.BlockReduce, "dot": KernelType.Dot,
          "prefix": KernelType.BlockPrefixReduce, "compress": KernelType.Compress, "sort": KernelType.MkPerm}


def kernel_history(types=None):
    """What has run since the last call, while JitFlag.KernelHistory is set: a list of dictionaries.

    Of kernels on GPUs, `registers` and `local_bytes` are those of a thread, and `occupancy` the part of the threads that a processor
    could have at a time.
    """
    sync_thread()
    out = []
    for k in _core.take_history():
        name = k["name"]
        kind = next((t for stem, t in _kinds.items() if stem in name), KernelType.LLVMHostFunc)
        k["type"] = KernelType.JIT if name.startswith("kernel") else kind
        k["hash"] = name
        k["uses_optix"] = False
        if k["type"] != KernelType.JIT:
            k["cache_hit"] = True  # nothing to compile
        k["backend"] = _backend_named(k["backend"])
        k["recording_mode"] = KernelRecordingMode.Inactive
        k["ir"] = None
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


def whos(as_string=False):
    """What the compiler holds: nodes and memory."""
    s = _core.memory_stats()
    text = (f"{_core.live_nodes()} nodes, {s['buffers']} arrays of {s['in_use'] / 2**20:.1f} MiB, "
            f"{s['cached'] / 2**20:.1f} MiB kept for reuse")
    for d in s["devices"]:
        text += (f"\n{d['name']} ({d['number']}): arrays of {d['in_use'] / 2**20:.1f} MiB, {d['cached'] / 2**20:.1f} MiB kept for "
                 f"reuse, {d['free'] / 2**20:.1f} of {d['total'] / 2**20:.1f} MiB free")
    if as_string:
        return text
    builtins.print(text)


def memory_stats():
    """Bytes in use, cached, at the peak; numbers of arrays. `devices`: bytes of each GPU that was used so far."""
    return _core.memory_stats()


def profile_mark(message):
    """A line of the log, shown at LogLevel.Info."""
    if _profiling and _level >= LogLevel.Info:
        builtins.print(f"{message}", file=sys.stderr, flush=True)


_profiling = True


class profile_enable:
    """with profile_enable(value): whether marks and ranges are shown until the end."""

    def __init__(self, value=True):
        self._value = value

    def __enter__(self):
        global _profiling
        self._before, _profiling = _profiling, self._value
        return self

    def __exit__(self, *exc):
        global _profiling
        _profiling = self._before


class profile_range:
    """with profile_range(message): a line of the log with the time that it took, shown at LogLevel.Info; waits for kernels then."""

    def __init__(self, message):
        self._message = message

    def __enter__(self):
        self._shown = _profiling and _level >= LogLevel.Info
        if self._shown:
            sync_thread()
            self._begun = time.perf_counter()
        return self

    def __exit__(self, *exc):
        if self._shown:
            sync_thread()
            profile_mark(f"{self._message}: {time.perf_counter() - self._begun:.6f} s")


def reorder_threads(key, num_bits, value):
    """Groups lanes of equal key on GPUs that can; elsewhere nothing happens."""
    return value


class LogLevel(NamedInt):
    """How important messages are."""
    Disable, Error, Warn, Info, InfoSym, Debug, Trace = range(7)


_level = LogLevel.Warn


def log_level():
    """Down to which level messages are shown."""
    return _level


def set_log_level(level):
    """Shows messages down to this level."""
    global _level
    _level = LogLevel(level)
