# tests/python/reduce_test.py: reductions along axes, medians, counts; repeating, tiling and slicing arrays.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit import scalar
from umbel.jit.auto import (Array22b, Array2f, Array3b, Array3f, Array3i, Array4u, ArrayXf, Bool, Float, Int, TensorXb,
                            TensorXf, UInt)

DATA = np.random.default_rng(3).normal(size=(2, 3, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_of_tensors_agree_with_numpy(axis, keepdims):
    t = TensorXf(DATA)
    for ours, theirs in ((dr.sum, np.sum), (dr.max, np.max), (dr.mean, np.mean), (dr.var, np.var)):
        a, b = ours(t, axis=axis, keepdims=keepdims), theirs(DATA, axis=axis, keepdims=keepdims)
        assert a.shape == b.shape and np.allclose(a.numpy(), b, atol=1e-5)
    assert np.allclose(dr.norm(t, axis=axis, keepdims=keepdims).numpy(),
                       np.sqrt(np.sum(DATA * DATA, axis=axis, keepdims=keepdims)), atol=1e-5)
    mask = dr.any(t > 1, axis=axis, keepdims=keepdims)
    assert np.array_equal(mask.numpy(), np.any(DATA > 1, axis=axis, keepdims=keepdims))


def test_a_median_is_an_element():
    assert dr.median(Float(4, 1, 3, 2))[0] == 2
    t = TensorXf([[3, 1, 2], [6, 5, 4]])
    assert dr.median(t).numpy().tolist() == [2, 5]
    value, place = dr.median(t, return_index=True)
    assert value.numpy().tolist() == [2, 5] and place.numpy().tolist() == [2, 1]
    assert dr.median(t, axis=0, keepdims=True).shape == (1, 3) and dr.median(t, axis=None).numpy() == 3


def test_places_of_extrema():
    t = TensorXf([[1, 5], [3, 0]])
    assert dr.argmin(t)[0] == 3 and dr.argmin(t, axis=0).numpy().tolist() == [0, 1]
    assert dr.argmax(t, axis=1, keepdims=True).shape == (2, 1) and dr.argmax(Array3f(1, 5, 3))[0] == 1


def test_counts():
    assert dr.count(Array22b(True)).numpy().ravel().tolist() == [2, 2]
    assert dr.count((True, Bool(True, False)))[0] == 2
    assert dr.count(TensorXb([[True, False], [True, True]]), axis=0).numpy().tolist() == [2, 1]
    assert dr.count(scalar.Array3b(True, False, True)) == 2 and dr.count(Array3b(True, False, True))[0] == 2


def test_what_cannot_be_reduced_is_refused():
    for wrong in (lambda: dr.all(Float(1)), lambda: dr.sum("text"), lambda: dr.sum(Array3f(1), axis=4),
                  lambda: dr.sum(Array3f(1), axis=0, keepdims=True), lambda: dr.all((True, "text"))):
        with pytest.raises(RuntimeError):
            wrong()


def test_repeating_and_tiling():
    x = Float(1, 2)
    assert dr.tile(x, 1) is x and dr.repeat(x, 1) is x
    assert list(dr.tile(x, (2,))) == [1, 2, 1, 2]
    assert list(dr.repeat(Float(1, 2, 3), UInt(1, 0, 2))) == [1, 3, 3]
    assert dr.tile(x, (2, 2)).numpy().tolist() == [[1, 2, 1, 2]] * 2
    assert dr.repeat(TensorXf([[1, 2], [3, 4]]), UInt(2, 1), axis=0).numpy().tolist() == [[1, 2], [1, 2], [3, 4]]
    assert dr.tile(Array2f(1, 2), 2).shape == (2, 2)
    with pytest.raises(ValueError):
        dr.tile(x, -1)
    with pytest.raises(RuntimeError, match="do not match"):
        dr.repeat(x, UInt(1, 2, 3))


def test_slices_are_numbers_and_scalar_arrays():
    v = Array3i([1, 2], [3, 4], [5])
    assert dr.slice(Int(1, 2, 3), 2) == 3 and type(dr.slice(v, 1)) is scalar.Array3i
    assert list(dr.slice(v, 1)) == [2, 4, 5]
    assert dr.slice(v, [1, 0]).numpy().tolist() == [[2, 1], [4, 3], [5, 5]]
    with pytest.raises(IndexError):
        dr.slice(Float(1, 2), 5)


def test_negative_indices_count_from_the_end():
    a = Float(1, 2, 3, 4, 5)
    assert list(a[Int(-1, -2)]) == [5, 4]
    a[Int(-1, 0)] = Float(8, 9)
    a[1::2] = Float(6, 7)
    assert list(a) == [9, 6, 3, 7, 8]
    b = a
    a[:] = 0
    assert b is a and list(a) == [0] * 5


def test_swizzles_read_and_write():
    a = Array4u(1, 2, 3, 4)
    assert list(dr.slice(a.xywz)) == [1, 2, 4, 3] and len(a.wyzwwx) == 6
    a.xyw = a.yyx
    assert list(dr.slice(a)) == [2, 2, 3, 1]
    a.yz = UInt(5)
    assert list(dr.slice(a)) == [2, 5, 5, 1]
    with pytest.raises(IndexError):
        a.xy = a.xyz
    with pytest.raises(AttributeError):
        Array3f(1).xw


def test_shapes_follow_from_their_elements():
    v = Array2f([1, 2, 3], [4, 5, 6])
    assert dr.reshape(Array3f, v, (3, -1), order="C").numpy().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert dr.reshape(Array3f, v, (3, -1)).numpy().tolist() == [[1, 5], [4, 3], [2, 6]]
    assert dr.reshape(ArrayXf, dr.arange(Float, 6), (2, 3)).shape == (2, 3)
    assert dr.reshape(dict, {"a": dr.arange(TensorXf, 6)}, (3, -1))["a"].shape == (3, 2)
    for shape in ((-1, -1), (4, -1), (4, 5)):
        with pytest.raises(RuntimeError):
            dr.reshape(TensorXf, dr.arange(Float, 6), shape)
    with pytest.raises(RuntimeError, match="ragged"):
        dr.shape(Array2f([1, 2], [1, 2, 3]))
