# bench/jit/rival.py: Dr.Jit's side of the jit suite; README.md says what each row measures.
import itertools
import os
import sys

import drjit as dr
import numpy as np
from drjit.llvm import ArrayXf, Float, UInt32

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rival import about, row, seconds, serve  # noqa: E402

N = 1 << 24
RECORDS = 1 << 22
RECORD = 16

about.update(name="drjit", version=dr.__version__)
# Factors of which no kernel in a cache has seen one before.
fresh = (1 + k * 2.0**-23 for k in itertools.count(int.from_bytes(os.urandom(2), "little")))


def owned(x):
    # Memory borrowed from NumPy is not aligned, and Dr.Jit quietly gives up packet gathers on it.
    x = x + dr.opaque(type(x), 0)
    dr.eval(x)
    dr.sync_thread()
    return x


def random_floats(n, low=0.0, high=1.0):
    return owned(Float(np.random.default_rng(1).uniform(low, high, n).astype(np.float32)))


def random_indices(n, below):
    return owned(UInt32(np.random.default_rng(2).integers(0, below, n, dtype=np.uint32)))


def timed(make):
    """Time of tracing, launching and waiting for `make()`, with warm kernels."""

    def once():
        dr.eval(make())
        dr.sync_thread()

    return seconds(once)


# ---- Compiling


def compile_chain(operations):
    x, y, z = (random_floats(1000) for _ in range(3))
    x = x * next(fresh)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        for _ in range(operations // 2):
            x = x * y
            x = x + z
        dr.eval(x)
        dr.sync_thread()
        kernels = [k for k in dr.kernel_history() if k["type"] == dr.KernelType.JIT]
    if len(kernels) != 1 or kernels[0]["cache_hit"]:
        raise RuntimeError(f"{len(kernels)} kernels, or a cached one, where one was to be compiled")
    return kernels[0]["backend_time"] * 1e-3


@row("chain 10000")
def chain_10000():
    return compile_chain(10_000)


@row("chain 30000")
def chain_30000():
    return compile_chain(30_000)


# ---- Streaming, 2^24 lanes


@row("saxpy")
def saxpy():
    x, y, a = random_floats(N), random_floats(N), dr.opaque(Float, 1.5)
    return timed(lambda: dr.fma(a, x, y))


@row("sin")
def sin():
    x = random_floats(N, -10, 10)
    return timed(lambda: dr.sin(x))


@row("exp")
def exp():
    x = random_floats(N, -10, 10)
    return timed(lambda: dr.exp(x))


@row("log")
def log():
    x = random_floats(N, 0.001, 100)
    return timed(lambda: dr.log(x))


@row("pow")
def pow_():
    x, y = random_floats(N, 0.001, 100), random_floats(N, -3, 3)
    return timed(lambda: dr.power(x, y))


@row("sum")
def sum_():
    x = random_floats(N)
    return timed(lambda: dr.sum(x))


@row("prefix sum")
def prefix_sum():
    x = random_floats(N)
    return timed(lambda: dr.cumsum(x))


@row("sort permutation")
def sort_permutation():
    keys = random_indices(N, 2**32)
    return timed(lambda: dr.argsort(keys))


# ---- Random access


@row("gather")
def gather():
    x, index = random_floats(N), random_indices(N, N)
    return timed(lambda: dr.gather(Float, x, index))


def scatter_add(cells):
    target, x, index = dr.zeros(Float, cells), random_floats(N), random_indices(N, cells)
    dr.eval(target)

    def once():
        dr.scatter_add(target, x, index)
        return target

    return timed(once)


@row("scatter-add random")
def scatter_add_random():
    return scatter_add(N)


@row("scatter-add 16 cells")
def scatter_add_16():
    return scatter_add(16)


def record_sum(packets):
    # The sum of a record's fields: one store a lane, so that the fetch decides.
    x, index = random_floats(RECORDS * RECORD), random_indices(RECORDS, RECORDS)

    def once():
        record = dr.gather(ArrayXf, x, index, shape=(RECORD, RECORDS))
        total = record[0]
        for i in range(1, RECORD):
            total = total + record[i]
        return total

    with dr.scoped_set_flag(dr.JitFlag.PacketOps, packets):
        return timed(once)


@row("packet gather")
def packet_gather():
    return record_sum(True)


@row("record by single gathers")
def single_gathers():
    return record_sum(False)


# ---- Closures


class Lobe:
    def __init__(self, i):
        self.scale, self.shift = dr.opaque(Float, 0.5 + 0.0001 * i), dr.opaque(Float, 0.25 + 0.0002 * i)

    def apply(self, x, y):
        for _ in range(8):
            x = dr.sqrt(x * self.scale + y) * self.shift + x * 0.5
        return x


def closures(count):
    lobes = [Lobe(i) for i in range(count)]
    x = random_floats(1 << 22)
    y = owned(x + 1)
    ids = random_indices(1 << 22, count)
    functions = [lobe.apply for lobe in lobes]

    def once():  # it takes no values from outside in other ways than as arguments
        dr.eval(dr.switch(ids, functions, x * y, y))
        dr.sync_thread()
    return seconds(once)


row("closures, 1 instance")(lambda: closures(1))
row("closures, 16 instances")(lambda: closures(16))
row("closures, 1,000 instances")(lambda: closures(1000))

serve()
