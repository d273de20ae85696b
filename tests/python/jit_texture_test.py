# tests/python/jit_texture_test.py: lookups of textures, their derivatives, 8-bit storage, writing; filters along axes.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit import FilterMode, WrapMode, auto
from umbel.jit.auto import (Array2f, Array2f16, Array2i, Array2u, Array3f, Bool, Float, TensorXf, TensorXu8,
                            Texture1f, Texture2f, Texture2f16, Texture2f64, Texture2f8u, UInt)


def random(*shape, seed=0):
    return np.random.default_rng(seed).random(shape).astype(np.float32)


@pytest.mark.parametrize("wrap, index", [(WrapMode.Repeat, lambda i, n: i % n),
                                         (WrapMode.Clamp, lambda i, n: np.clip(i, 0, n - 1)),
                                         (WrapMode.Mirror, lambda i, n: np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n)))])
@pytest.mark.parametrize("channels", [1, 3, 6])
def test_lookups_interpolate_and_wrap(wrap, index, channels):
    data, u, v = random(4, 3, channels), random(50, seed=1) * 3 - 1, random(50, seed=2) * 3 - 1
    x, y = u * 3 - .5, v * 4 - .5
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = (x - i)[:, None], (y - j)[:, None]
    texel = lambda a, b: data[index(j + b, 4), index(i + a, 3)]
    expected = (texel(0, 0) * (1 - s) * (1 - t) + texel(1, 0) * s * (1 - t) + texel(0, 1) * (1 - s) * t + texel(1, 1) * s * t)
    for cls, tolerance in ((Texture2f, 1e-5), (Texture2f64, 1e-5), (Texture2f16, 2e-3)):
        texture = cls(dr.tensor_t(cls([1, 1], 1).value())(data), wrap_mode=wrap)
        out = texture.eval(Array2f(u, v))
        assert dr.leaf_t(out) is Float and len(out) == channels  # the precision is that of the position
        assert np.allclose(np.array(out).T, expected, atol=tolerance)
        corners = texture.eval_fetch(Array2f(u, v))
        assert np.allclose(np.array(corners[1]).T, texel(1, 0), atol=tolerance)
    nearest = Texture2f(TensorXf(data), filter_mode=FilterMode.Nearest, wrap_mode=wrap).eval(Array2f(u, v))
    assert np.allclose(np.array(nearest).T, data[index(np.floor(v * 4).astype(int), 4), index(np.floor(u * 3).astype(int), 3)])
    assert type(texture.eval(Array2f16(u, v))) is type(Array2f16(0, 0)) or channels != 2
    assert list(Texture2f([4, 3], 1, wrap_mode=wrap).wrap(Array2i(-1, 5))) == [index(np.int64(-1), 3), index(np.int64(5), 4)]


def test_masked_lanes_read_zero():
    texture, active = Texture1f(TensorXf([[1], [2]])), Bool(True, False)
    assert np.array(texture.eval(Float(.5, .5), active)).tolist() == [[1.5, 0]]
    assert np.array(texture.eval(Float(.5), False)).tolist() == [[0]]


def test_gradients_reach_texels_and_positions():
    data = Float(random(24))
    dr.enable_grad(data)
    texture = Texture2f([4, 3], 2)
    texture.set_value(data)
    pos = Array2f(.4, .6)
    dr.enable_grad(pos)
    dr.backward(texture.eval(pos)[0])
    assert dr.allclose(dr.sum(data.grad), 1) and dr.all(dr.isfinite(pos.grad))
    for lookup in (texture.eval, texture.eval_cubic):
        f = lambda p: float(lookup(Array2f(*p))[1][0])
        h = 1e-3
        pos = Array2f(.4, .6)
        dr.enable_grad(pos)
        dr.backward(lookup(pos)[1])
        assert np.allclose(np.array(pos.grad)[:, 0], [(f((.4 + h, .6)) - f((.4 - h, .6))) / (2 * h),
                                                      (f((.4, .6 + h)) - f((.4, .6 - h))) / (2 * h)], atol=5e-3)


def test_cubic_derivatives_agree_with_differences():
    texture = Texture2f64(auto.TensorXf64(random(5, 3, 2)), wrap_mode=WrapMode.Repeat)
    p, h = np.array([.3, .45]), 1e-5
    at = lambda q: texture.eval_cubic_grad(auto.Array2f64(*q))
    value, slopes, curvature = texture.eval_cubic_hessian(auto.Array2f64(*p))
    assert dr.is_matrix_v(curvature[0])
    assert dr.allclose(value, texture.eval_cubic(auto.Array2f64(*p))) and dr.allclose(value, at(p)[0])
    for axis in range(2):
        step = h * np.eye(2)[axis]
        (v1, s1), (v0, s0) = at(p + step), at(p - step)
        for c in range(2):
            assert np.isclose(slopes[c][axis][0], (v1[c][0] - v0[c][0]) / (2 * h), atol=1e-5)
            for other in range(2):
                assert np.isclose(curvature[c][axis][other][0], (s1[c][other][0] - s0[c][other][0]) / (2 * h), atol=1e-4)


def test_splines_reproduce_constants_and_lines():
    texture = Texture1f(TensorXf(np.arange(8.)[:, None]))
    x = Float(.3, .5, .6)
    assert dr.allclose(texture.eval_cubic(x)[0], x * 8 - .5) and dr.allclose(texture.eval_cubic_grad(x)[1][0][0], 8)


def test_data_is_replaced_and_checked():
    texture = Texture2f([2, 2], 1)
    texture.set_tensor(TensorXf(np.arange(12).reshape(2, 3, 2)))
    assert texture.shape == (2, 3, 2) and texture.channel_count() == 2 and texture.tensor().shape == (2, 3, 2)
    assert dr.allclose(texture.eval(Array2f(1, 0)), Array2f(4, 5)) and not texture.migrated()
    for wrong in (lambda: texture.set_value(Float(1, 2)), lambda: texture.set_tensor(TensorXf([[1]])), lambda: Texture2f([3], 1),
                  lambda: Texture2f([3, 3], 0), lambda: Texture2f([2, 2], 1, srgb=True),
                  lambda: texture.write(Array2u(0, 0), [Float(1), Float(2)])):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(TypeError, match="2 coordinates"):
        texture.eval(Array3f(0))


@pytest.mark.parametrize("srgb", [False, True])
def test_bytes_are_numbers_from_0_to_1(srgb):
    data = (random(2, 2, 5) * 255).astype(np.uint8)
    texture = Texture2f8u(TensorXu8(data), srgb=srgb, filter_mode=FilterMode.Nearest)
    x = data[0, 0] / 255
    decoded = np.where(x <= .04045, x / 12.92, ((x + .055) / 1.055)**2.4)
    expected = np.where(np.arange(5) % 4 != 3, decoded, x) if srgb else x  # alpha stays
    assert np.allclose(np.array(texture.eval(Array2f(.25, .25)))[:, 0], expected, atol=1e-4) and texture.srgb() == srgb
    smooth = Texture2f8u(TensorXu8(data), srgb=srgb)
    pos = Array2f(.45, .55)
    dr.enable_grad(pos)
    dr.backward(smooth.eval(pos)[0])
    assert dr.all(dr.isfinite(pos.grad)) and np.array(pos.grad).any()


def test_textures_are_written():
    for cls in (Texture2f, Texture2f16):
        texture = cls([4, 8], 3, writable=True)
        i = dr.arange(UInt, 32)
        texture.write(Array2u(i % 8, i // 8), [Float(i * 3 + c) * .01 for c in range(3)], i < 30)
        assert np.allclose(np.array(texture.value()), np.where(np.arange(96) < 90, np.arange(96) * .01, 0), atol=1e-3)
    for srgb, expected in ((False, [128] * 4), (True, [188, 188, 188, 128])):
        texture = Texture2f8u([1, 1], 4, writable=True, srgb=srgb)
        texture.write(Array2u(0, 0), [Float(.5)] * 4)
        assert [int(v) for v in texture.value()] == expected


def test_discrete_kernels_convolve_as_numpy():
    x = random(13)
    for n in (1, 3, 4, 8):
        k = random(n, seed=n) - .5
        assert np.allclose(np.array(dr.convolve(Float(x), list(k))), np.convolve(x, k, mode="same"), atol=1e-5)
    assert dr.allclose(dr.convolve(Float(1, 2, 10, 100), "linear", 2, normalize=True), [4 / 3, 3.75, 30.5, 70])
    image = TensorXf(random(5, 6))
    assert dr.allclose(dr.convolve(image, [1., 2, 1], axis=-1), dr.convolve(image, [1., 2, 1], axis=1))


@pytest.mark.parametrize("boundary, pad", [("zero", "constant"), ("nearest", "edge"), ("wrap", "wrap"),
                                           ("reflect", "symmetric"), ("mirror", "reflect")])
def test_boundaries_are_those_of_numpys_padding(boundary, pad):
    x, k = random(9), [.2, -1, .5, 2, .3]
    expected = np.convolve(np.pad(x, 2, mode=pad), k, mode="valid")
    assert np.allclose(np.array(dr.convolve(Float(x), k, boundary=boundary)), expected, atol=1e-5)
    # the derivative is the transpose, for changes of resolution, too
    for apply in (lambda v: dr.convolve(v, k, boundary=boundary), lambda v: dr.resample(v, (4,), boundary=boundary)):
        v = Float(x)
        dr.enable_grad(v)
        y = apply(v)
        g = Float(random(len(y), seed=3))
        dr.backward(dr.sum(y * g))
        assert np.isclose(np.dot(np.array(v.grad), x), np.dot(np.array(g), np.array(dr.detach(y))), rtol=1e-4)


def test_resampling_keeps_means_and_reports_mistakes():
    assert dr.allclose(dr.resample(Float(1, 2, 3), (6,), filter="box"), [1, 1, 2, 2, 3, 3])
    assert dr.allclose(dr.resample(Float(1, 2, 10, 11), (2,), filter="box"), [1.5, 10.5])
    x = Float(1, 2, 3, 4, 5)
    for call, message in ((lambda: dr.convolve(x, [1., 2], filter_radius=1), "must be None"),
                          (lambda: dr.convolve(x, lambda v: 1.), "must be specified"),
                          (lambda: dr.convolve(x, []), "kernel is empty"),
                          (lambda: dr.convolve(x, [1.], boundary="nope"), "invalid boundary"),
                          (lambda: dr.convolve(x, [1.] * 7, boundary="wrap"), "cannot be larger than the array"),
                          (lambda: dr.convolve(x, [1.], mode="nope"), "'mode' must be"),
                          (lambda: dr.resample(x, (4, 4)), "same number of axes")):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_upsampling_repeats_elements_and_evaluates_textures():
    with pytest.warns(DeprecationWarning):
        assert np.array(dr.upsample(TensorXf([[1, 2]]), scale_factor=[2, 2])).tolist() == [[1, 1, 2, 2]] * 2
        texture = dr.upsample(Texture2f(TensorXf(random(2, 3, 1))), shape=[4, 6])
        assert texture.shape == (4, 6, 1)
        with pytest.raises(TypeError, match="multiples"):
            dr.upsample(TensorXf([[1, 2]]), shape=[1, 3])


@pytest.mark.parametrize("At", [False, True])
@pytest.mark.parametrize("Bt", [False, True])
@pytest.mark.parametrize("batch", [((), ()), ((3,), (3,)), ((), (2, 3)), ((2, 1), (1, 3))])
@pytest.mark.parametrize("large", [0, 2**40])
def test_products_of_tensors_broadcast_transpose_and_differentiate(At, Bt, batch, large, monkeypatch):
    from umbel.jit import _matmul
    monkeypatch.setattr(_matmul, "LargeProduct", large)  # by the host, or recorded
    n, k, m = (9, 20, 35) if large == 0 else (4, 20, 5)
    a = random(*batch[0], *((k, n) if At else (n, k)))
    b = random(*batch[1], *((m, k) if Bt else (k, m)), seed=1)
    left, right = np.swapaxes(a, -1, -2) if At else a, np.swapaxes(b, -1, -2) if Bt else b
    A, B = TensorXf(a), TensorXf(b)
    dr.enable_grad(A, B)
    C = dr.matmul(A, B, At=At, Bt=Bt)
    assert np.allclose(np.array(dr.detach(C)), left @ right, atol=1e-5)
    g = random(*C.shape, seed=2)
    dr.set_grad(C, TensorXf(g))
    dr.backward_to(A, B)

    def reduced(x, shape):
        x = x.sum(axis=tuple(range(x.ndim - len(shape))))
        return x.sum(axis=tuple(i for i, s in enumerate(shape) if s == 1 and x.shape[i] != 1), keepdims=True)
    da, db = g @ np.swapaxes(right, -1, -2), np.swapaxes(left, -1, -2) @ g
    assert np.allclose(np.array(A.grad), reduced(np.swapaxes(da, -1, -2) if At else da, a.shape), atol=1e-4)
    assert np.allclose(np.array(B.grad), reduced(np.swapaxes(db, -1, -2) if Bt else db, b.shape), atol=1e-4)


def test_products_of_tensors_refuse_what_does_not_fit():
    zeros = lambda *shape: dr.zeros(TensorXf, shape)
    for a, b, At in (((3, 4), (5, 6), False), ((), (5, 3), False), ((5,), (5, 3), True), ((1,) * 7 + (3, 4), (4, 5), False),
                     ((2, 3, 4), (3, 4, 5), False)):
        with pytest.raises(ValueError):
            dr.matmul(zeros(*a), zeros(*b), At=At)
    assert dr.matmul(zeros(3, 0), zeros(0, 5)).shape == (3, 5) and dr.matmul(zeros(5), zeros(5)).shape == ()


def test_textures_are_made_of_nested_lists():
    t = Texture2f([[[1], [2]], [[3], [4]]])
    assert t.shape == (2, 2, 1) and list(t.value()) == [1, 2, 3, 4]
