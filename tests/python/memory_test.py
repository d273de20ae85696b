# tests/python/memory_test.py: making, gathering, scattering, reducing, rearranging arrays, against NumPy.
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array2f, Array3f, Array3u, Bool, Float, Float64, Int, Matrix2f, TensorXf, UInt


def test_ranges():
    assert list(dr.arange(Int, 5)) == [0, 1, 2, 3, 4] and list(dr.arange(Float, 1, 5, 2)) == [1, 3]
    assert list(dr.arange(Int, 5, 0, -2)) == [5, 3, 1]
    assert np.allclose(dr.linspace(Float, 0, 1, 5).numpy(), np.linspace(0, 1, 5))
    assert np.allclose(dr.linspace(Float, 0, 1, 4, endpoint=False).numpy(), np.linspace(0, 1, 4, endpoint=False))
    for indexing in ("xy", "ij"):
        ours = dr.meshgrid(Float(1, 2, 3), Float(4, 5), indexing=indexing)
        theirs = np.meshgrid([1, 2, 3], [4, 5], indexing=indexing)
        assert all(np.array_equal(a.numpy(), b.ravel()) for a, b in zip(ours, theirs))
    a, b, c = dr.meshgrid(dr.arange(Int, 2), dr.arange(Int, 3), dr.arange(Int, 4), indexing="ij")
    n = np.meshgrid(range(2), range(3), range(4), indexing="ij")
    assert np.array_equal(c.numpy(), n[2].ravel()) and np.array_equal(a.numpy(), n[0].ravel())


def test_constants_of_every_kind():
    assert dr.zeros(Array3f, 4).shape == (3, 4) and list(dr.full(Float, 2, 3)) == [2, 2, 2]
    assert dr.ones(TensorXf, (2, 3)).shape == (2, 3) and len(dr.empty(Float, 7)) == 7
    assert dr.opaque(Float, 3).state == dr.VarState.Evaluated and Float(3).state == dr.VarState.Literal
    assert np.array_equal(dr.identity(Matrix2f).numpy()[..., 0], np.eye(2))

    @dataclass
    class Pair:
        a: Float
        b: Array3f
    p = dr.zeros(Pair, 5)
    assert len(p.a) == 5 and p.b.shape == (3, 5)

    class Struct:
        DRJIT_STRUCT = {"u": UInt, "v": Array2f}
    s = dr.zeros(Struct, 3)
    assert len(s.u) == 3 and dr.width(s) == 3


def test_gather_reads_elements_records_and_structures():
    data = np.arange(12, dtype=np.float32)
    assert list(dr.gather(Float, Float(data), UInt(3, 0))) == [3, 0]
    assert np.array_equal(dr.gather(Array3f, Float(data), UInt(0, 2)).numpy(), [[0, 6], [1, 7], [2, 8]])
    assert list(dr.gather(Float, Float(data), UInt(3, 0), Bool(True, False))) == [3, 0]
    assert np.array_equal(dr.gather(Array3f, Array3f(data.reshape(3, 4)), UInt(1, 3)).numpy(),
                          data.reshape(3, 4)[:, [1, 3]])
    r = dr.gather(dict, {"a": Float(data), "b": [Int(range(12))]}, UInt(5))
    assert r["a"][0] == 5 and r["b"][0][0] == 5
    assert list(dr.gather(Array3f, Float(data), Array3u(1, 2, 3)).numpy().ravel()) == [1, 2, 3]


def test_scatter_writes_in_place():
    t = dr.zeros(Float, 4)
    dr.scatter(t, Float(5, 6), UInt(1, 3))
    assert list(t) == [0, 5, 0, 6]
    dr.scatter(t, 1, UInt(0), active=False)
    dr.scatter_add(t, Float(1, 1, 1), UInt(0, 0, 1))
    assert list(t) == [2, 6, 0, 6]
    dr.scatter_reduce(dr.ReduceOp.Max, t, 3.0, UInt(0, 1))
    assert list(t) == [3, 6, 0, 6]
    flat = dr.zeros(Float, 6)
    dr.scatter(flat, Array3f([1, 4], [2, 5], [3, 6]), UInt(1, 0))
    assert list(flat) == [4, 5, 6, 1, 2, 3]
    v = dr.zeros(Array3f, 2)
    dr.scatter(v, Array3f(1, 2, 3), UInt(1))
    assert np.array_equal(v.numpy(), [[0, 1], [0, 2], [0, 3]])
    counter = dr.zeros(UInt, 1)
    ranks = dr.scatter_inc(counter, dr.zeros(UInt, 10))
    assert sorted(ranks) == list(range(10)) and counter[0] == 10


def test_a_histogram_agrees_with_numpy():
    data = np.random.default_rng(1).integers(0, 16, 10000)
    bins = dr.zeros(UInt, 16)
    dr.scatter_add(bins, UInt(1), UInt(data))
    assert np.array_equal(bins.numpy(), np.bincount(data, minlength=16))


def test_ravel_and_unravel_are_inverse():
    v = Array3f([1, 2], [3, 4], [5, 6])
    assert list(dr.ravel(v)) == [1, 3, 5, 2, 4, 6] and list(dr.ravel(v, order="C")) == [1, 2, 3, 4, 5, 6]
    assert np.array_equal(dr.unravel(Array3f, dr.ravel(v)).numpy(), v.numpy())
    assert np.array_equal(dr.unravel(Array3f, dr.ravel(v, order="C"), order="C").numpy(), v.numpy())
    m = Matrix2f([[1, 2], [3, 4]])
    assert np.array_equal(dr.unravel(Matrix2f, dr.ravel(m)).numpy(), m.numpy())


def test_rearranging():
    a = Float(1, 2, 3)
    assert list(dr.tile(a, 2)) == [1, 2, 3, 1, 2, 3] and list(dr.repeat(a, 2)) == [1, 1, 2, 2, 3, 3]
    assert list(dr.concat([a, Float(4)])) == [1, 2, 3, 4] and list(dr.reverse(a)) == [3, 2, 1]
    assert list(dr.sort(Float(3, 1, 2))) == [1, 2, 3] and list(dr.argsort(Float(3, 1, 2), descending=True)) == [0, 2, 1]
    assert list(dr.compress(Bool(True, False, True))) == [0, 2] and len(dr.compress(Bool(False, False))) == 0
    lanes, count = dr.compress(Bool(True, False, True, True), 2)
    assert list(lanes) == [0, 2] and list(count) == [3] and type(lanes) is type(count) is UInt
    lanes, count = dr.compress(Bool(False, True), size=3)
    assert list(lanes) == [1, 0, 0] and list(count) == [1]
    assert [len(a) for a in dr.compress(Bool(True, True), 0)] == [0, 1] and [list(a) for a in dr.compress(Bool(), 2)] == [[0, 0], [0]]
    with pytest.raises(dr.ArgumentError, match="-1"):
        dr.compress(Bool(True), -1)
    assert dr.slice(Float(1, 2, 3), 1) == 2


def test_binary_search_finds_the_first_place():
    data = np.sort(np.random.default_rng(2).random(1000).astype(np.float32))
    keys = np.random.default_rng(3).random(50).astype(np.float32)
    d, k = Float(data), Float(keys)
    r = dr.binary_search(0, 1000, lambda i: dr.gather(Float, d, UInt(i)) < k)
    assert np.array_equal(r.numpy(), np.searchsorted(data, keys))
    assert dr.binary_search(0, 5, lambda i: i < 3) == 3


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean"])
def test_reductions_agree_with_numpy(name):
    data = np.random.default_rng(4).random((3, 50))
    f, n = getattr(dr, name), getattr(np, name)
    assert np.allclose(f(dr.auto.Float64(data[0]))[0], n(data[0]))
    v = dr.auto.Array3f64(data)
    assert np.allclose(f(v).numpy(), n(data, axis=0))
    assert np.allclose(f(v, axis=None)[0], n(data))
    assert np.allclose(f(v, axis=1).numpy().ravel(), n(data, axis=1))
    t = dr.auto.TensorXf64(data.reshape(3, 5, 10))
    for axis in (0, 1, 2, (0, 1), (0, 2), None):
        assert np.allclose(f(t, axis=axis).numpy(), n(data.reshape(3, 5, 10), axis=axis))
    assert np.allclose(f([1.0, 2.0, 4.0]), n([1.0, 2.0, 4.0]))


def test_masks_reduce():
    m = Bool(True, False, True)
    assert dr.any(m)[0] and not dr.all(m)[0] and not dr.none(m)[0] and dr.count(m)[0] == 2
    assert dr.all([True, True]) and not dr.any([False])
    v = Array3f(1, 2, 3) < 2
    assert dr.any(v)[0] and not dr.all(v)[0] and dr.any(v, axis=None)[0]
    assert dr.sum(Float())[0] == 0
    with pytest.raises(TypeError, match="a mask is needed"):
        dr.all(Float(1))


def test_statistics():
    d = np.random.default_rng(6).normal(size=101)
    f = dr.auto.Float64(d)
    assert np.allclose(dr.var(f)[0], d.var()) and np.allclose(dr.std(f)[0], d.std())
    assert dr.median(f)[0] == np.median(d) and dr.argmax(f)[0] == d.argmax() and dr.argmin(f)[0] == d.argmin()


def test_prefixes_and_runs():
    d = np.random.default_rng(7).integers(1, 9, 12)
    u = UInt(d)
    assert np.array_equal(dr.cumsum(u).numpy(), d.cumsum())
    assert np.array_equal(dr.prefix_sum(u).numpy(), d.cumsum() - d)
    assert np.array_equal(dr.block_sum(u, 3).numpy(), d.reshape(-1, 3).sum(1))
    assert np.array_equal(dr.prefix_reduce(dr.ReduceOp.Max, u, exclusive=False).numpy(), np.maximum.accumulate(d))
    assert np.array_equal(dr.block_prefix_sum(u, 4).numpy(), (d.reshape(-1, 4).cumsum(1) - d.reshape(-1, 4)).ravel())
    assert np.array_equal(dr.prefix_reduce(dr.ReduceOp.Add, u, exclusive=False, reverse=True).numpy(),
                          d[::-1].cumsum()[::-1])
    t = dr.auto.TensorXu(d.reshape(3, 4))
    assert np.array_equal(dr.cumsum(t, axis=0).numpy(), d.reshape(3, 4).cumsum(0))


def test_local_arrays_belong_to_a_lane():
    local = dr.alloc_local(Float, 4, value=Float(0))
    lane = dr.arange(UInt, 3)
    local.write(Float(1, 2, 3), lane)
    assert list(local.read(lane)) == [1, 2, 3] and list(local.read(lane + 1)) == [0, 0, 0]


@dr.syntax
def squares_by_loop(n, mode):
    local, i = dr.alloc_local(UInt, 10), UInt(0)
    while dr.hint(i < n, mode=mode):
        local[i] = i * i
        i += 1
    return local


@pytest.mark.parametrize("mode", ["symbolic", "evaluated"])
def test_local_arrays_keep_what_loops_and_branches_write(mode):
    local = squares_by_loop(UInt(5, 7), mode)
    assert list(local[3]) == [9, 9] and list(local[6]) == [0, 36] and list(local[UInt(4)]) == [16, 16]
    copied = dr.Local(local)
    copied[3] = UInt(1)
    assert list(local[3]) == [9, 9] and copied[3][0] == 1

    @dr.syntax
    def choose(i):
        local = dr.alloc_local(UInt, 1, value=dr.zeros(UInt, 2))
        if dr.hint(i > 0, mode=mode):
            local[0] = 10
        else:
            local[0] = 11
        return local[0]
    assert list(choose(UInt(0, 1))) == [11, 10]


@pytest.mark.parametrize("tp, dtype", [(Float, np.float32), (Float64, np.float64)])
def test_compensated_sums_keep_what_rounding_takes(tp, dtype):
    rng = np.random.default_rng(1)
    values = (rng.standard_normal(10000) * 10. ** rng.integers(-6, 7, 10000)).astype(dtype)
    index = rng.integers(0, 3, 10000)
    first, second = dr.zeros(tp, 3), dr.zeros(tp, 3)
    for part in np.split(np.arange(10000), 4):
        dr.scatter_add_kahan(first, second, tp(values[part]), UInt(index[part]))
    exact = [sum(Fraction(float(v)) for v in values[index == i]) for i in range(3)]
    both = [Fraction(float(a)) + Fraction(float(b)) for a, b in zip(first, second)]
    unit = float(np.finfo(dtype).eps) * float(np.abs(values).sum())  # what plain sums may be wrong by
    for a, total, found in zip(first, exact, both):
        assert abs(found - total) < 1e-4 * unit and abs(Fraction(float(a)) - total) < unit


def test_compensated_sums_add_up_over_calls_and_have_derivatives():
    total, lost = Float(1e8), Float(0)
    for _ in range(3):
        dr.scatter_add_kahan(total, lost, Float(1), UInt(0))
    assert total[0] == 1e8 and lost[0] == 3
    dr.scatter_add_kahan(total, lost, Float(5, 7), UInt(0, 0), Bool(True, False))
    assert total[0] == 1e8 + 8 and lost[0] == 0
    x, total, lost = Float(1, 2, 3), dr.zeros(Float, 2), dr.zeros(Float, 2)
    dr.enable_grad(x)
    dr.scatter_add_kahan(total, lost, x * x, UInt(1, 1, 0))
    dr.backward(total * Float(10, 1))
    assert list(total) == [9, 5] and list(x.grad) == [2, 4, 60]
    for bad in ((dr.zeros(Float, 1), dr.zeros(Float, 2)), (dr.zeros(Int, 1), dr.zeros(Int, 1))):
        with pytest.raises(TypeError, match="of one type and size"):
            dr.scatter_add_kahan(*bad, 1, UInt(0))


def test_runs_backwards_may_end_with_a_short_one():
    x = Float(1, 2, 3, 4, 5, 6)
    assert list(dr.block_prefix_sum(x, 4, reverse=True)) == [9, 7, 4, 0, 6, 0]
    assert list(dr.block_prefix_sum(x, 4, exclusive=False, reverse=True)) == [10, 9, 7, 4, 11, 6]
    assert list(dr.block_prefix_reduce(dr.ReduceOp.Max, x, 4, exclusive=False, reverse=True)) == [4, 4, 4, 4, 6, 6]
    dr.enable_grad(x)
    dr.backward(dr.block_prefix_sum(x, 4, reverse=True) * Float(1, 1, 1, 1, 10, 1))
    assert list(x.grad) == [0, 1, 2, 3, 0, 10]
    first = dr.prefix_sum(dr.auto.Array3f(float("inf"), 1, 2))[0]
    assert first[0] == 0


def test_a_search_between_python_numbers_is_signed():
    table = dr.arange(Float, 10)
    place = dr.binary_search(0, 10, lambda i: dr.gather(Float, table, i) < Float(-1, 2.5, 20))
    assert list(place) == [0, 3, 10] and list(dr.maximum(place - 1, 0)) == [0, 2, 9]
