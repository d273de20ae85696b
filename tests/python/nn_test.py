# tests/python/nn_test.py: cooperative vectors, matrices in buffers, modules, hash encodings.
import math

import numpy as np
import pytest

import umbel.jit as dr
import umbel.jit.nn as nn
from umbel.jit.auto import (Array2f, Array3f, ArrayXf, Float, Float16, Float64, PCG32, TensorXf, TensorXf16, UInt)


def normal(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_vectors_gather_entries_from_structures():
    x = nn.CoopVec(Array3f(1, 2, 3), [Float(4, 5), {"a": 6}], TensorXf([[7, 7], [8, 8]]))
    assert len(x) == 7 and x.type is Float and nn.cast(x, Float16).type is Float16
    assert np.array(TensorXf(x)).tolist() == [[1, 1], [2, 2], [3, 3], [4, 5], [6, 6], [7, 7], [8, 8]]
    with pytest.raises(TypeError, match="at least one"):
        nn.CoopVec(1, 2)
    with pytest.raises(RuntimeError, match="incompatible lengths"):
        x + nn.CoopVec(Float(1))


def test_vectors_compute_entry_by_entry():
    x, y = nn.CoopVec(Float(1), Float(-2)), nn.CoopVec(Float(3), Float(4))
    for result, expected in ((x + y, (4, 2)), (1 - x, (0, 3)), (x * Float(2), (2, -4)), (dr.maximum(x, 0), (1, 0)),
                             (dr.minimum(Float(0), x), (0, -2)), (dr.fma(x, 2, y), (5, 0)), (abs(x), (1, 2)),
                             (dr.exp2(x), (2, .25)), (dr.step(x, 0), (1, 0)), (dr.clip(y, 0, 3.5), (3, 3.5))):
        assert tuple(e[0] for e in result) == expected
    with pytest.raises(RuntimeError, match="cannot be evaluated"):
        dr.eval(x)
    with pytest.raises(RuntimeError, match="grad-enabled components"):
        dr.enable_grad(x)


@pytest.mark.parametrize("tensor", [TensorXf16, TensorXf])
@pytest.mark.parametrize("shape", [(3, 5), (16, 16), (33, 20)])
def test_products_agree_with_numpy(tensor, shape):
    leaf = dr.leaf_t(tensor)
    a, b = tensor(normal(shape)), tensor(normal(shape[0], 2))
    for A, bias in ((nn.view(a), nn.view(b)), nn.pack(a, b)):
        for transpose in (False, True):
            m = shape[0] if transpose else shape[1]
            x = tensor(normal((m, 40), 3))
            v = nn.CoopVec([leaf(x[i]) for i in range(m)])
            r = np.array(tensor(nn.matvec(A, v, None if transpose else bias, transpose=transpose)))
            matrix = np.array(a, np.float64).T if transpose else np.array(a, np.float64)
            expected = matrix @ np.array(x, np.float64) + (0 if transpose else np.array(b, np.float64)[:, None])
            assert np.allclose(r, expected, rtol=2e-3 if tensor is TensorXf16 else 1e-5, atol=1e-2)


@pytest.mark.parametrize("shape", [(2, 3), (24, 17)])
def test_derivatives_of_products_are_exact(shape):
    n, m = shape
    a, b, x = normal(shape), normal(n, 2), normal((m, 100), 3)
    A, bias = nn.pack(TensorXf(a), TensorXf(b))
    rows = [Float(r) for r in x]
    dr.enable_grad(A.buffer, rows)
    g = normal((n, 100), 4)
    y = ArrayXf(nn.matvec(A, nn.CoopVec(rows), bias))
    dr.backward(dr.sum(dr.sum(y * ArrayXf(g))))
    assert np.allclose(np.array(TensorXf(nn.unpack(A.grad))), g @ x.T, atol=1e-3)
    assert np.allclose(np.array(bias.grad.buffer)[n * m:], g.sum(1), atol=1e-3)
    assert np.allclose([np.array(r.grad) for r in rows], a.T @ g, atol=1e-4)
    # forward: of weights, bias and vector together
    A, bias = nn.pack(TensorXf(a), TensorXf(b))
    dr.enable_grad(A.buffer, rows)
    A.buffer.grad = Float(np.concatenate([2 * a.ravel(), 3 * b]))
    for r in rows:
        r.grad = r * 5
    y = ArrayXf(nn.matvec(A, nn.CoopVec(rows), bias))
    dr.forward_to(y)
    assert np.allclose(np.array(y.grad), 7 * a @ x + 3 * b[:, None], atol=1e-3)


def test_products_work_in_recorded_loops_and_calls():
    A = nn.pack(TensorXf([[1, 2], [3, 4]]), layout="training")
    dr.enable_grad(A.buffer)

    def body(i, x, y):
        x, y = nn.matvec(A, nn.CoopVec(x, y)) * .5
        return i + 1, x, y
    x = Float(1, 2)
    dr.enable_grad(x)
    _, u, v = dr.while_loop((UInt(0, 0), x, Float(1, 1)), lambda i, x, y: i < 2, body, max_iterations=2)
    assert dr.allclose(u, (7 * x + 10) / 4) and dr.allclose(v, (15 * x + 22) / 4)
    dr.backward(u)
    assert dr.allclose(x.grad, 7 / 4)
    # d/dA11 of (A A (x, 1))_1 = A11 x + A12 + A11 x, over 4, at x = 1 and 2
    assert dr.allclose(A.buffer.grad[0], (2 * 3 + 2 * 2) / 4)
    z = dr.switch(UInt(0, 1), [lambda x: list(nn.matvec(A, nn.CoopVec(x, x)))[0], lambda x: x], dr.detach(x))
    assert dr.allclose(z, [3, 2])


def test_blocks_of_matrices():
    X = TensorXf(np.arange(24).reshape(4, 6))
    v = nn.view(X)[1:3, 2:]
    assert v.shape == (2, 4) and v.stride == 6 and v.offset == 8 and v.size == 10
    assert np.array(TensorXf(v)).tolist() == [[8, 9, 10, 11], [14, 15, 16, 17]]
    assert np.array(TensorXf(v.T)).tolist() == [[8, 14], [9, 15], [10, 16], [11, 17]]
    with pytest.raises(TypeError, match="unpack"):
        TensorXf(nn.pack(X))
    with pytest.raises(RuntimeError, match="incompatible shapes"):
        v @ nn.CoopVec(Float(1))


def make_net(tensor=TensorXf):
    return nn.Sequential(nn.SinEncode(2, .1), nn.Linear(-1, 8), nn.LeakyReLU(), nn.Linear(-1, 3)).alloc(tensor, 2)


def test_networks_agree_on_tensors_and_vectors():
    net = make_net()
    packed = nn.pack(net, layout="training")
    x = normal((2, 7))
    y = np.array(TensorXf(packed(nn.CoopVec(*[Float(r) for r in x]))))
    assert y.shape == (3, 7) and np.allclose(y, np.array(net(TensorXf(x))), atol=1e-5)
    with pytest.raises(RuntimeError, match="pack"):
        net(nn.CoopVec(Float(1), Float(2)))
    with pytest.raises(RuntimeError, match="CoopVec"):
        packed(TensorXf(x))
    with pytest.raises(RuntimeError, match="alloc"):
        nn.Linear(2, 2)(TensorXf(x))
    with pytest.raises(TypeError, match="Tensor type"):
        nn.Linear(2, 2).alloc(Float)


def test_modules_are_dictionaries_of_parameters():
    net = make_net(TensorXf16)
    assert list(net) == ["layers.1.weights", "layers.1.bias", "layers.3.weights", "layers.3.bias"]
    net["layers.1.bias"] = TensorXf(np.ones(8))
    assert isinstance(net["layers.1.bias"], TensorXf16) and net.layers[1].bias.array[0] == 1
    with pytest.raises(KeyError):
        net["layers.0.weights"]
    packed = nn.pack(net)
    assert list(packed) == ["weights"] and len(packed["weights"]) == 8 * 8 + 8 + 24 + 3
    packed["weights"] = dr.zeros(Float16, 99)
    assert all(e[0] == 0 for e in packed(nn.CoopVec(Float16(1), Float16(2))))
    assert list(dr.copy(packed)) == ["weights"]


def test_a_network_learns():
    net = nn.pack(nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(-1, 1)).alloc(TensorXf, 1), layout="training")
    opt = dr.opt.Adam(lr=4e-2, params=net)
    x = dr.linspace(Float, -1, 1, 64)
    for _ in range(300):
        net.update(opt)
        y, = net(nn.CoopVec(x))
        loss = dr.mean((y - dr.sin(3 * x))**2)
        dr.backward(loss)
        opt.step()
    assert loss[0] < 2e-2


def test_triangle_and_sine_encodings_follow_their_formulas():
    x = Float64(.11, .87)
    tri = lambda t: 1 - 4 * np.abs(t - np.round(t))
    for cls, s, c in ((nn.TriEncode, lambda t: tri(t - .25), tri),
                      (nn.SinEncode, lambda t: np.sin(2 * np.pi * t), lambda t: np.cos(2 * np.pi * t))):
        out = [np.array(e) for e in cls(3, .15)(nn.CoopVec(x))]
        for i in range(3):
            t = 2**i * np.array(x) + i * .15
            assert np.allclose(out[2 * i], s(t)) and np.allclose(out[2 * i + 1], c(t))


def test_a_hash_grid_interpolates_between_vertices():
    grid = nn.HashGridEncoding(Float, 2, n_levels=1, base_resolution=4, align_corners=True)
    assert grid.n_params == 32 and grid.n_output_features == 2
    table = normal((4, 4, 2))
    grid.set_params(Float(table.ravel()))
    dr.enable_grad(grid.data)
    x, y = Float(1 / 3, .5), Float(2 / 3, .5)
    f = grid([x, y])
    centre = table[1:3, 1:3].reshape(4, 2).mean(0)  # rows are those of the second coordinate
    assert np.allclose([f[0][0], f[1][0]], table[2, 1], atol=1e-5) and np.allclose([f[0][1], f[1][1]], centre, atol=1e-5)
    dr.backward(dr.sum(f[0]))
    g = np.array(grid.data.grad).reshape(4, 4, 2)
    assert np.isclose(g.sum(), 2, atol=1e-5) and np.isclose(g[2, 1, 0], 1.25, atol=1e-5)


def test_fine_levels_share_a_table():
    grid = nn.HashGridEncoding(Float16, 3, n_levels=8, hashmap_size=2**10, base_resolution=4)
    assert grid.level_offset(1) == 64 and grid.level_offset(8) == 64 + 512 + 6 * 1024
    rng = PCG32(100)
    out = grid([rng.next_float32() for _ in range(3)])
    assert len(out) == 16 and dr.all(dr.abs(out) <= 1.1e-4, axis=None)
    assert dr.all(grid([Float(.5)] * 3, active=False) == 0, axis=None)
    with pytest.raises(AssertionError):
        grid.set_params(Float16(1, 2))
    with pytest.warns(RuntimeWarning, match="multiple of 2"):
        nn.HashGridEncoding(Float, 2, n_levels=1, n_features_per_level=1)


def test_permutohedral_encoding_reproduces_linear_functions():
    grid = nn.PermutoEncoding(Float, 3, n_levels=1, base_resolution=3, align_corners=True)
    z, y, x = np.meshgrid(np.arange(3), np.arange(3), np.arange(3), indexing="ij")
    table = np.stack([x + 10 * y + 100 * z, x - y], -1).ravel()
    grid.set_params(Float(np.append(table, [0] * (grid.n_params - 54))))
    rng = PCG32(50)
    p = [rng.next_float32() for _ in range(3)]
    out = grid(p)
    assert dr.allclose(out[0], 2 * (p[0] + 10 * p[1] + 100 * p[2]), rtol=1e-4)
    assert dr.allclose(out[1], 2 * (p[0] - p[1]), atol=1e-4)


def test_encodings_are_layers():
    grid = nn.HashGridEncoding(Float, 2, n_levels=4)
    net = nn.pack(nn.Sequential(nn.HashEncodingLayer(grid), nn.Linear(-1, 3)).alloc(TensorXf, 2))
    assert len(net(nn.CoopVec(Float(.1), Float(.2)))) == 3 and list(net) == ["weights"]
    assert net.layers[1].config[0] == 8 and math.isclose(grid.init_scale, 1e-4)


@pytest.mark.parametrize("tensor", [TensorXf, TensorXf16])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_host_functions_compute_what_the_program_would(tensor, transpose, together, monkeypatch):
    n, m, lanes = 9, 3, 1003  # no multiples of what is done together
    leaf = dr.leaf_t(tensor)
    rows, columns = (m, n) if transpose else (n, m)
    results = []
    for small in (0, 10**6):
        monkeypatch.setattr(nn.coop, "SmallBuffer", small)
        a, b = tensor(normal((n, m)) * .25), tensor(normal(rows, 2))
        A, bias = nn.pack(a, b) if together else (nn.pack(a), nn.pack(b))
        x = [leaf(r) for r in normal((columns, lanes), 3) * .25]
        dr.enable_grad(A.buffer, bias.buffer, x)
        y = nn.matvec(A, nn.CoopVec(x), bias, transpose=transpose)
        loss = Float(0)
        for k, e in enumerate(y):
            loss += dr.sum(Float(e) * Float(normal(lanes, 10 + k))) * (1 / 64)
        dr.backward(loss)
        results.append([np.array(g.grad, np.float32) for g in (A.buffer, bias.buffer, *x)])
        A, bias = nn.pack(a, b) if together else (nn.pack(a), nn.pack(b))
        dr.enable_grad(A.buffer, bias.buffer, x)
        A.buffer.grad, bias.buffer.grad = A.buffer * 2, bias.buffer * 2
        for v in x:
            v.grad = v * 3
        y = list(nn.matvec(A, nn.CoopVec(x), bias, transpose=transpose))
        dr.forward_to(y)
        results[-1] += [np.array(e.grad, np.float32) for e in y]
    tolerance = 2e-4 if tensor is TensorXf else 2e-2
    assert all(np.allclose(p, q, rtol=tolerance, atol=tolerance) for p, q in zip(*results))


def test_gradients_are_taken_inside_loops():
    A = nn.pack(TensorXf(np.arange(100).reshape(10, 10) * .01), layout="training")
    dr.enable_grad(A.buffer)
    with dr.suspend_grad():
        def body(i):
            with dr.resume_grad():
                y = nn.matvec(A, nn.CoopVec([Float(1)] * 10))
                dr.backward(list(y)[0] * Float(i + 1))
            return (i + 1,)
        dr.eval(dr.while_loop((dr.arange(UInt, 40) * 0,), lambda i: i < 3, body))
    g = np.array(A.buffer.grad).reshape(10, 10)
    assert np.allclose(g[0], 40 * (1 + 2 + 3)) and not g[1:].any()


def test_a_training_step_is_few_kernels_and_compiles_once(variant):
    net = nn.Sequential(nn.Linear(-1, 32), nn.ReLU(), nn.Linear(-1, 32), nn.ReLU(), nn.Linear(-1, 3)).alloc(TensorXf16, 2)
    net = nn.pack(net, layout="training")
    opt = dr.opt.Adam(lr=1e-3, params=net)
    u = dr.linspace(Float16, 0, 1, 1000)

    def step():
        net.update(opt)
        rgb = Array3f(*(Float(e) for e in net(nn.CoopVec(u, 1 - u))))
        dr.backward(dr.mean(dr.squared_norm(rgb - .5)))
        opt.step()
    step()
    step()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        step()
        kernels = dr.kernel_history([dr.KernelType.JIT])
    most = 13 if variant.startswith("cuda") else 5  # where reductions and products of matrices are kernels, too
    assert len(kernels) <= most and all(k["cache_hit"] for k in kernels)
