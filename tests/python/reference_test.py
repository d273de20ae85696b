# tests/python/reference_test.py: entries of arrays are references: what changes them changes the array.
import gc

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, ArrayXf, Bool, Float, Int, Matrix2f, Quaternion4f, TensorXf, UInt


def test_a_change_of_a_component_is_one_of_the_vector():
    v = Array3f(1, 2, 3)
    v.x += 5
    y = v.y
    y += 3
    z = v[2]
    z += 1
    assert v.numpy().ravel().tolist() == [6, 5, 4]
    assert v.y is y and v[2] is z and v.z is z
    v += 1
    assert y[0] == 6
    v.y = 9
    assert y[0] == 9


def test_a_component_outlives_its_vector():
    x = (Array3f(1, 2, 3) * 2).x
    gc.collect()
    assert x[0] == 2
    x += 1
    assert x[0] == 3


def test_rows_of_matrices_and_their_entries_are_references():
    m = Matrix2f(1, 2, 3, 4)
    m[1][0] = 5
    m[0, 1] = 7
    row = m[0]
    row[0] = 9
    assert m.numpy().ravel().tolist() == [9, 7, 5, 4]
    e = m[1][1]
    del m, row
    gc.collect()
    assert e[0] == 4


def test_scatters_reach_components_and_the_array_of_a_tensor():
    v = dr.zeros(Array3f, 4)
    dr.scatter(v.y, Float(1, 2), UInt(0, 3))
    dr.scatter_add(v.z, Float(1, 2), UInt(0, 0))
    assert np.array_equal(v.numpy(), [[0, 0, 0, 0], [1, 0, 0, 2], [3, 0, 0, 0]])
    t = dr.zeros(TensorXf, (2, 2))
    dr.scatter(t.array, 5, UInt(1))
    a = t.array
    a += 1
    assert np.array_equal(t.numpy(), [[1, 6], [1, 1]])


def test_gradients_of_components_are_those_of_the_vector():
    v = Array3f(1, 2, 3)
    dr.enable_grad(v.x)
    dr.backward(dr.sum(v * v))
    assert dr.grad(v).numpy().ravel().tolist() == [2, 0, 0]


def test_copies_share_nothing():
    v = Array3f(1, 2, 3)
    w, u = Array3f(v), dr.copy(v)
    w.x = 7
    u.y += 1
    assert v.numpy().ravel().tolist() == [1, 2, 3]
    x = Float(1)
    s = Array3f(x, x, x)
    s.x += 1
    assert x[0] == 1 and s.y[0] == 1


def test_dynamic_arrays_broadcast_and_change_their_length():
    a = ArrayXf(1)
    first = a[0]
    same = a
    a += ArrayXf([1, 2, 3], 2, 3)
    assert a is same and len(a) == 3
    assert list(a[0]) == [2, 3, 4] and list(a[1]) == [3]
    assert list(first) == [1]  # it was of the one entry that is gone
    assert type(ArrayXf(1) + Array3f(1, 2, 3)) is ArrayXf
    with pytest.raises(RuntimeError, match="incompatible sizes"):
        ArrayXf(1, 2) + ArrayXf(1, 2, 3)


def test_masked_changes_touch_chosen_lanes_alone():
    a = Float(1, 2, 3)
    same = a
    a[Bool(False, True, False)] += 10
    assert a is same and list(a) == [1, 12, 3]


def test_components_that_are_not_there_raise_both_kinds_of_error():
    for error in (RuntimeError, AttributeError):
        with pytest.raises(error, match="does not have a 'w' component"):
            Array3f(1).w
        with pytest.raises(error, match="does not have a 'x' component"):
            Float(1).x = 2
    assert not hasattr(Float(1), "x") and hasattr(Array3f, "x")
    q = Quaternion4f(1, 2, 3, 4)
    q.w = 5
    assert q.w[0] == 5 and Int(3).state == dr.VarState.Literal
