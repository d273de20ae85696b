# tests/python/exchange_test.py: atomic exchanges with elements of arrays.
import pytest

import umbel.jit as dr
from umbel.jit.auto import Bool, Float, Float64, UInt, UInt16


def test_an_exchange_gives_what_was_there():
    t = UInt(10, 20, 30)
    before = dr.scatter_exch(t, UInt(1, 2), UInt(0, 2))
    assert list(before) == [10, 30] and list(t) == [1, 20, 2]
    t = Float64(10, 20, 30)
    before = dr.scatter_exch(t, Float64(1, 2), UInt(0, 2), Bool(True, False))
    assert list(before) == [10, 0] and list(t) == [1, 20, 30]


def test_lanes_that_meet_follow_one_another():
    n = 5000
    t = dr.zeros(UInt, 1)
    before = dr.scatter_exch(t, dr.arange(UInt, n) + 1, dr.zeros(UInt, n))
    assert sorted([*before, t[0]]) == list(range(n + 1))  # a chain: each value was there once


def test_one_of_many_lanes_wins_a_comparison():
    t = UInt(0, 7)
    before, done = dr.scatter_cas(t, UInt(0), dr.arange(UInt, 1000) + 1, dr.zeros(UInt, 1000))
    winner = list(done).index(True)
    assert dr.count(done)[0] == 1 and t[0] == winner + 1 and t[1] == 7
    assert before[winner] == 0


def test_a_comparison_is_of_bits():
    nan = float("nan")
    t = Float(nan, 0.0, 1.5)
    before, done = dr.scatter_cas(t, compare=Float(nan, -0.0, 1.5), value=Float(1, 2, 3), index=UInt(0, 1, 2))
    assert list(done) == [True, False, True] and list(t) == [1, 0, 3]
    t = UInt16(1, 2)
    before, done = dr.scatter_cas(t, UInt16(1), UInt16(9), UInt(0, 1), Bool(False, True))
    assert list(done) == [False, False] and list(t) == [1, 2]


def test_exchanges_work_in_recorded_loops():
    t = dr.zeros(UInt, 4)
    lane = dr.arange(UInt, 4)
    i, total = dr.while_loop((UInt(0), dr.zeros(UInt, 4)), lambda i, s: i < 3,
                             lambda i, s: (i + 1, s + dr.scatter_exch(t, lane * 10 + i, lane)))
    assert list(total) == [1, 21, 41, 61] and list(t) == [2, 12, 22, 32]


def test_a_lock_lets_each_lane_in_once():
    n = 200
    owner = dr.zeros(UInt, 1)
    lane = dr.arange(UInt, n) + 1
    tries, inside = dr.while_loop(
        (dr.zeros(UInt, n), dr.full(Bool, False, n)), lambda k, done: ~done & (k < 10_000),
        lambda k, done: (k + 1, dr.scatter_cas(owner, UInt(0), lane, UInt(0))[1] &
                         (dr.scatter_exch(owner, UInt(0), UInt(0), False) == 0)))
    assert dr.count(inside)[0] == 1


def test_masks_and_gradients_are_refused():
    with pytest.raises(RuntimeError, match="masks"):
        dr.scatter_exch(Bool(True, False), Bool(True), UInt(0))
    x = Float(1, 2)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match="no derivative"):
        dr.scatter_exch(x, Float(1), UInt(0))
