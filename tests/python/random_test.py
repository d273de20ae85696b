# tests/python/random_test.py: random numbers and textures.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import (Array2f, Array2f64, Float, Float64, PCG32, Philox4x32, TensorXf, TensorXf64, Texture1f,
                            Texture2f, Texture2f64, Texture3f, UInt, UInt64)


def reference_pcg(n, state=0x853C49E6748FEA9B, seq=0xDA3E39CB94B95BDB):
    mask, inc, s, out = (1 << 64) - 1, (seq << 1 | 1) & ((1 << 64) - 1), 0, []

    def step():
        nonlocal s
        old = s
        s = (old * 0x5851F42D4C957F2D + inc) & mask
        x, r = ((old >> 18) ^ old) >> 27 & 0xFFFFFFFF, old >> 59
        return (x >> r | x << (-r & 31)) & 0xFFFFFFFF
    step()
    s = (s + state) & mask
    step()
    return [step() for _ in range(n)]


def test_pcg_follows_its_definition():
    g = PCG32()
    assert [g.next_uint32()[0] for _ in range(10)] == reference_pcg(10)
    g = PCG32(4)
    assert list(g.next_uint32()) == [reference_pcg(1, 0x853C49E6748FEA9B + i, 0xDA3E39CB94B95BDB + i)[0]
                                     for i in range(4)]


def test_pcg_jumps_and_measures():
    a, b = PCG32(3), PCG32(3)
    for _ in range(7):
        a.next_uint32()
    b += 7
    assert np.array_equal(a.state.numpy(), b.state.numpy())
    assert list(a - PCG32(3)) == [7, 7, 7]
    b -= 7
    assert np.array_equal(b.state.numpy(), PCG32(3).state.numpy())


def test_uniform_and_normal_deviates_have_their_moments():
    g = PCG32(100000)
    u, z = g.next_float32().numpy(), g.next_float32_normal().numpy()
    assert abs(u.mean() - 0.5) < 5e-3 and abs(u.var() - 1 / 12) < 2e-3 and u.min() >= 0 and u.max() < 1
    assert abs(z.mean()) < 2e-2 and abs(z.std() - 1) < 1e-2
    b = g.next_uint32_bounded(10).numpy()
    assert b.max() == 9 and abs(np.bincount(b) / 1e5 - 0.1).max() < 5e-3
    r = dr.rng(7)
    for draw, mean, std in ((r.random(Float, 100000), 0.5, 12**-0.5), (r.normal(Float64, 100000), 0, 1),
                            (r.uniform(Float, 100000, -1, 3), 1, 4 * 12**-0.5)):
        assert abs(draw.numpy().mean() - mean) < 2e-2 and abs(draw.numpy().std() - std) < 2e-2
    assert r.random(TensorXf, (2, 3)).shape == (2, 3) and r.random(Array2f, 5).shape == (2, 5)
    assert not np.array_equal(dr.rng(1).random(Float, 5).numpy(), dr.rng(2).random(Float, 5).numpy())
    i = r.integers(UInt, 1000, 3, 6).numpy()
    assert set(i) == {3, 4, 5}


def test_philox_is_a_function_of_its_counter():
    a = Philox4x32(5, UInt(1, 2)).next_uint32x4().numpy()
    b = Philox4x32(5, UInt(2)).next_uint32x4().numpy()
    assert np.array_equal(a[:, 1], b[:, 0]) and not np.array_equal(a[:, 0], a[:, 1])
    u = Philox4x32(1, dr.arange(UInt, 50000)).next_float32x4().numpy()
    assert abs(u.mean() - 0.5) < 5e-3 and abs(u.var() - 1 / 12) < 2e-3


def bilinear(image, u, v, wrap):
    h, w = image.shape
    x, y = u * w - 0.5, v * h - 0.5
    x0, y0 = int(np.floor(x)), int(np.floor(y))

    def at(i, j):
        if wrap == dr.WrapMode.Clamp:
            i, j = min(max(i, 0), h - 1), min(max(j, 0), w - 1)
        elif wrap == dr.WrapMode.Repeat:
            i, j = i % h, j % w
        else:
            i, j = (k % (2 * n) if k % (2 * n) < n else 2 * n - 1 - k % (2 * n) for k, n in ((i, h), (j, w)))
        return image[i, j]
    s, t = x - x0, y - y0
    return ((at(y0, x0) * (1 - s) + at(y0, x0 + 1) * s) * (1 - t) +
            (at(y0 + 1, x0) * (1 - s) + at(y0 + 1, x0 + 1) * s) * t)


@pytest.mark.parametrize("wrap", list(dr.WrapMode))
def test_textures_interpolate(wrap):
    rng = np.random.default_rng(1)
    image = rng.random((4, 5))
    texture = Texture2f64(TensorXf64(image[..., None]), wrap_mode=wrap)
    u, v = rng.uniform(-1, 2, (2, 50))
    ours = texture.eval(Array2f64(u, v))[0].numpy()
    assert np.allclose(ours, [bilinear(image, a, b, wrap) for a, b in zip(u, v)])


def test_textures_of_other_kinds():
    t = Texture1f(TensorXf([[1.0], [3.0]]), filter_mode=dr.FilterMode.Nearest)
    assert list(t.eval(Float(0.1, 0.9))[0]) == [1, 3]
    t = Texture3f((2, 2, 2), 3)
    t.set_value(Float([2.0] * 24))
    assert t.shape == (2, 2, 2, 3) and [c[0] for c in t.eval(dr.auto.Array3f(0.3, 0.4, 0.5))] == [2, 2, 2]
    flat = Texture2f(TensorXf(np.full((4, 4, 1), 5.0)))
    assert dr.allclose(flat.eval_cubic(Array2f(0.3, 0.6))[0], 5)
    with pytest.raises(RuntimeError, match="tensor dimension"):
        Texture2f(TensorXf([1.0]))


def test_cubic_gradients_agree_with_derivatives():
    image = np.random.default_rng(2).random((6, 5, 1))
    t = Texture2f64(TensorXf64(image))
    p = Array2f64([0.3, 0.7], [0.4, 0.2])
    value, slope = t.eval_cubic_grad(p)
    dr.enable_grad(p)
    y = t.eval_cubic(p)[0]
    assert np.allclose(y.numpy(), value[0].numpy())
    dr.backward(y)
    assert np.allclose(p.grad.numpy(), slope[0].numpy())


def test_texture_gradients_reach_the_texels():
    t = Texture2f64((2, 2), 1)
    data = Float64(1, 2, 3, 4)
    dr.enable_grad(data)
    t.set_value(data)
    dr.backward(t.eval(Array2f64(0.5, 0.5))[0])
    assert np.allclose(data.grad.numpy(), 0.25)


def test_generators_give_the_numbers_that_scripts_know():
    # Of Dr.Jit 1.5 for these seeds
    g = dr.rng(1)
    assert np.allclose(g.random(Float, 4), [0.517474, 0.413664, 0.99131, 0.56833], atol=1e-6)
    assert np.allclose(dr.rng(1).normal(Float, 4), [1.1617, -0.680635, -3.03756, 0.701924], atol=1e-4)
    assert list(dr.rng(1).integers(UInt, 4, high=10)) == [5, 4, 9, 5]
    h = g.clone()
    assert list(g.random(Float, 3)) == list(h.random(Float, 3)) and "counter=2" in repr(g)
    order = dr.rng(2).permutation(UInt, 100)
    assert sorted(order) == list(range(100)) and list(order) != list(range(100))


def test_generators_go_back():
    g = PCG32(3)
    forth = [g.next_float32_normal(), g.next_float16(), g.next_uint64(), g.next_float64_normal(), g.next_float16_normal()]
    back = [g.prev_float16_normal(), g.prev_float64_normal(), g.prev_uint64(), g.prev_float16(), g.prev_float32_normal()]
    for a, b in zip(forth, back[::-1]):
        assert list(a) == list(b)
    g.state = 1234 + dr.arange(UInt, 3)
    assert type(g.state) is dr.auto.UInt64 and len(g.next_uint32()) == 3
    assert isinstance(dr.scalar.PCG32().next_float32(), float)


def test_scalar_arrays_have_one_number_an_entry():
    r = dr.rng(3).random(dr.scalar.Array3f, 3)
    assert np.array(r).shape == (3,) and np.allclose(np.array(r), [0.214934, 0.988699, 0.506957])
    assert np.array(dr.rng(3).normal(dr.scalar.Array3f, (3,))).shape == (3,)
    with pytest.raises(ValueError):
        dr.rng(3).random(dr.scalar.Array3f, 4)
