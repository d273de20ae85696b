# tests/python/tensor_test.py: tensors index, broadcast and reshape as NumPy's arrays do.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, Bool, Float, Int, TensorXf, TensorXi, UInt

n = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("key", [
    0, -1, (0,), (1, 2), (1, 2, 3), (slice(None), 1), (Ellipsis, 2), (0, Ellipsis), (slice(None), slice(None, None, -1)),
    (1, slice(0, 2), slice(1, 4, 2)), (None, 0), (slice(None), None, 1), (Ellipsis, None), (slice(5, 9),),
    (slice(None), slice(2, 0, -1), 0)])
def test_basic_indexing(key):
    r = TensorXf(n)[key]
    assert r.shape == n[key].shape and np.array_equal(r.numpy(), n[key])


@pytest.mark.parametrize("key", [
    ([0, 1, 1],), (slice(None), [2, 0]), ([0, 1], [2, 0]), (slice(None), [0, 2], [1, 3]), (0, [0, 2]),
    (slice(None), slice(None), [3, 1, 1, 0]), (slice(None), [-1, 0])])
def test_indexing_by_arrays(key):
    ours = tuple(Int(k) if isinstance(k, list) else k for k in key)
    r = TensorXf(n)[ours]
    assert r.shape == n[key].shape and np.array_equal(r.numpy(), n[key])


@pytest.mark.parametrize("key,value", [
    ((0, 1), 7), ((slice(None), slice(None), 0), [1, 2, 3]), ((1,), n[0]), ((Ellipsis, slice(1, 3)), 5),
    ((slice(None), 1, slice(None, None, -1)), [1, 2, 3, 4])])
def test_assignment(key, value):
    a, b = TensorXf(n.copy()), n.copy()
    a[key] = TensorXf(value) if not isinstance(value, int) else value
    b[key] = value
    assert np.array_equal(a.numpy(), b)


def test_errors():
    t = TensorXf(n)
    with pytest.raises(IndexError):
        t[2]
    with pytest.raises(IndexError):
        t[0, 0, 0, 0]
    with pytest.raises(ValueError, match="incompatible shapes"):
        t + TensorXf([1, 2])
    with pytest.raises(dr.UserError, match="got 3, expected 4"):
        TensorXf(Float(1, 2, 3), shape=(2, 2))
    with pytest.raises(TypeError, match='unsupported type "str"'):
        t["a"]


@pytest.mark.parametrize("key", [
    [0, -1], range(1, -3, -1), np.array([-2, 1, 0]), np.array([True, False]), [False, True], (slice(None), [2, -3]),
    (slice(None), slice(None), np.array([True, False, True, True])), ([[0, 1], [-1, -2]], 1), [], np.array([1], np.uint64)])
def test_indices_of_the_host_are_those_of_numpy(key):
    r, expected = TensorXf(n)[key], n[list(key) if isinstance(key, range) else key]
    assert r.shape == expected.shape and np.array_equal(r.numpy(), expected)
    a, b = TensorXf(n.copy()), n.copy()
    a[key] = 7.
    b[list(key) if isinstance(key, range) else key] = 7
    assert np.array_equal(a.numpy(), b)


@pytest.mark.parametrize("key, said", [
    ([0, 2], "index 2 .*size 2"), (np.array([0, 55]), "index 55 .*size 2"), ([-3], "index -3 .*size 2"), (range(3), "index 2 .*size 2"),
    ((slice(None), [0, 9]), "axis 1: index 9 .*size 3"), (np.array([2**63], np.uint64), f"index {2**63} "),
    (np.array([True, False, True]), r"mask of shape \(3,\) .*2 elements"), ([.5], "float64")])
def test_indices_of_the_host_stay_inside(key, said):
    t = TensorXf(n.copy())
    with pytest.raises(IndexError, match=said):
        t[key]
    with pytest.raises(IndexError, match=said):
        t[key] = 1.
    assert np.array_equal(t.numpy(), n)


def test_indices_of_flat_arrays_do_so_too():
    a, b = Float(1, 2, 3), np.array([1, 2, 3], np.float32)
    for key in ([0, -1], range(2), np.array([True, False, True]), np.array([2, 0]), [True, False, False]):
        assert np.array_equal(a[key].numpy(), b[list(key) if isinstance(key, range) else key])
        c, d = Float(a), b.copy()
        c[key] = 7.
        d[list(key) if isinstance(key, range) else key] = 7
        assert np.array_equal(c.numpy(), d)
    for key in ([0, 5], [-4], np.array([3]), [True], [[0, 1]], [.5]):
        with pytest.raises(IndexError):
            a[key]
        with pytest.raises(IndexError):
            a[key] = 1.
    with pytest.raises(IndexError, match="index 9 .*size 3"):
        dr.slice(a, [0, 9])
    with pytest.raises(IndexError, match="index 3 .*size 2"):
        dr.slice_index(UInt, (2, 3), ([0, 3], 1))


def test_tensors_of_more_dimensions_than_numpy_has():
    t = dr.full(TensorXf, 5, [1] * 200)
    for text in (str(t), repr(t)):
        assert text == "[5] in 200 dimensions"
    for f in (lambda: t.numpy(), lambda: np.array(t), lambda: t.__dlpack__(), lambda: dr.zeros(TensorXf, [1] * 65).numpy()):
        with pytest.raises(ValueError, match="dimensions.*64"):
            f()
    assert dr.zeros(TensorXf, [1] * 64).numpy().shape == (1,) * 64
    assert str(dr.zeros(TensorXf, [1] * 3)) == "[[[0]]]" and dr.sum(t) == 5 and t[0].shape == (1,) * 199


@pytest.mark.parametrize("a,b", [((2, 3, 4), (3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((2, 3, 4), ()),
                                 ((1,), (2, 3)), ((2, 3, 4), (2, 3, 4))])
def test_broadcasting(a, b):
    rng = np.random.default_rng(1)
    x, y = rng.random(a).astype(np.float32), rng.random(b).astype(np.float32)
    for op in (np.add, np.subtract, np.multiply):
        r = op(TensorXf(x).numpy(), y)
        ours = {np.add: TensorXf(x) + TensorXf(y), np.subtract: TensorXf(x) - TensorXf(y),
                np.multiply: TensorXf(x) * TensorXf(y)}[op]
        assert ours.shape == r.shape and np.allclose(ours.numpy(), r)
    assert np.array_equal((TensorXf(x) < TensorXf(y)).numpy(), x < y)


def test_arrays_and_numbers_meet_tensors():
    t = TensorXf(n)
    assert np.array_equal((t + 1).numpy(), n + 1) and np.array_equal((2 * t).numpy(), 2 * n)
    assert np.array_equal((t * Float(2)).numpy(), 2 * n)
    assert np.array_equal((t + Float(1, 2, 3, 4)).numpy(), n + [1, 2, 3, 4])
    assert np.allclose(dr.sin(t).numpy(), np.sin(n), atol=1e-6)
    assert np.array_equal(dr.select(t > 10, t, 0).numpy(), np.where(n > 10, n, 0))
    assert np.array_equal(dr.maximum(t, 5).numpy(), np.maximum(n, 5))
    assert np.array_equal(dr.fma(t, 2, 1).numpy(), n * 2 + 1)


def test_shapes():
    t = TensorXf(n)
    assert np.array_equal(dr.reshape(t, (4, -1)).numpy(), n.reshape(4, -1))
    assert np.array_equal(dr.reshape(TensorXf, Float(1, 2, 3, 4), (2, 2)).numpy(), [[1, 2], [3, 4]])
    assert np.array_equal(dr.transpose(t).numpy(), n.T)
    assert np.array_equal(dr.transpose(t, (1, 0, 2)).numpy(), n.transpose(1, 0, 2))
    assert np.array_equal(dr.moveaxis(t, 0, -1).numpy(), np.moveaxis(n, 0, -1))
    assert np.array_equal(dr.swapaxes(t, 0, 2).numpy(), n.swapaxes(0, 2))
    assert dr.expand_dims(t, 1).shape == (2, 1, 3, 4) and dr.squeeze(dr.expand_dims(t, 1)).shape == n.shape
    assert np.array_equal(dr.tile(t, (2, 1, 3)).numpy(), np.tile(n, (2, 1, 3)))
    assert np.array_equal(dr.repeat(t, 2, axis=1).numpy(), n.repeat(2, axis=1))
    assert np.array_equal(dr.reverse(t, axis=1).numpy(), n[:, ::-1])


def test_joining_and_splitting():
    a, b = n, n + 100
    A, B = TensorXf(a), TensorXf(b)
    for axis in (0, 1, 2, -1):
        assert np.array_equal(dr.concat([A, B], axis).numpy(), np.concatenate([a, b], axis))
        assert np.array_equal(dr.stack([A, B], axis).numpy(), np.stack([a, b], axis))
    assert np.array_equal(dr.vstack([Float(1, 2), Float(3, 4)]).numpy(), np.vstack([[1, 2], [3, 4]]))
    assert np.array_equal(dr.hstack([A, B]).numpy(), np.hstack([a, b]))
    assert np.array_equal(dr.dstack([A, B]).numpy(), np.dstack([a, b]))
    assert np.array_equal(dr.column_stack([Float(1, 2), Float(3, 4)]).numpy(), np.column_stack([[1, 2], [3, 4]]))
    for ours, theirs in zip(dr.array_split(A, 3, 2), np.array_split(a, 3, 2)):
        assert np.array_equal(ours.numpy(), theirs)
    assert np.array_equal(dr.take(A, UInt(2, 0), axis=1).numpy(), a.take([2, 0], axis=1))


@pytest.mark.parametrize("a,b", [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)),
                                 ((5, 2, 3), (5, 3, 2)), ((1, 40), (40, 2)), ((3,), (3,))])
def test_products(a, b):
    rng = np.random.default_rng(2)
    x, y = rng.random(a), rng.random(b)
    r = dr.auto.TensorXf64(x) @ dr.auto.TensorXf64(y)
    assert r.shape == (x @ y).shape and np.allclose(r.numpy(), x @ y)


def test_tensors_of_other_arrays():
    v = Array3f([1, 2], [3, 4], [5, 6])
    assert np.array_equal(TensorXf(v).numpy(), v.numpy())
    assert np.array_equal(Array3f(TensorXf(v)).numpy(), v.numpy())
    assert list(Float(TensorXf([1, 2]))) == [1, 2] and TensorXf(5).shape == ()
    assert list(TensorXf(n).array) == list(range(24)) and type(TensorXi(TensorXf(n))) is TensorXi


def test_gradients_pass_through_indexing_and_broadcasting():
    t = dr.auto.TensorXf64(n)
    dr.enable_grad(t)
    y = dr.sum(t[0, :, 1:3] * dr.auto.TensorXf64([[1.0], [2.0], [3.0]]), axis=None)
    dr.backward(y)
    expected = np.zeros_like(n)
    expected[0, :, 1:3] = [[1], [2], [3]]
    assert np.array_equal(t.grad.numpy(), expected)


def test_filters_keep_constants_and_pass_gradients():
    flat = dr.auto.TensorXf64(np.ones((6, 5)))
    for name in ("box", "linear", "hamming", "cubic", "lanczos", "gaussian"):
        assert np.allclose(dr.resample(flat, (3, 11), name).numpy(), 1)
        assert np.allclose(dr.convolve(flat, name, 2, normalize=True).numpy(), 1)
    dr.enable_grad(flat)
    dr.backward(dr.resample(flat, (12, 10), "linear"))
    assert np.allclose(dr.sum(flat.grad)[()].numpy(), 120)
    with pytest.raises(RuntimeError, match="there are box"):
        dr.resample(flat, (2, 2), "sharp")
    assert np.array_equal(dr.upsample(TensorXf(n), scale_factor=(1, 2, 3)).numpy(), n.repeat(2, 1).repeat(3, 2))


def test_arrays_of_indices_apart_come_first():
    x = np.arange(840, dtype=np.float32).reshape(4, 5, 6, 7)
    t, i, j = TensorXf(x), [0, 2, 3], [1, 0, 3]
    a, b = UInt(i), UInt(j)
    assert np.array_equal(t[:, a, :, b].numpy(), x[:, i, :, j])
    assert np.array_equal(t[:, a, None, b].numpy(), x[:, i, None, j])
    assert np.array_equal(t[:, a, ..., b].numpy(), x[:, i, ..., j])
    assert np.array_equal(t[None, a, None, b].numpy(), x[None, i, None, j])
    assert np.array_equal(t[:, a, 2, b].numpy(), x[:, i, 2, j])
    assert t[0, :, a].shape == (5, 3, 7)  # a single number separates nothing, as in PyTorch


def test_mT_exchanges_the_last_two_dimensions():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert np.array_equal(TensorXf(x).mT.numpy(), x.swapaxes(1, 2))
    assert TensorXf(np.zeros((0, 3, 4))).mT.shape == (0, 4, 3)
    with pytest.raises(TypeError, match="2 dimensions"):
        TensorXf([1, 2]).mT


def test_axes_must_be_a_permutation():
    x = TensorXf(np.zeros((2, 3, 4)))
    for axes in ((0, 0, 1), (0, 1)):
        with pytest.raises(ValueError, match="permutation"):
            dr.transpose(x, axes)
    with pytest.raises(ValueError, match="duplicate"):
        dr.expand_dims(x, (0, 0))
