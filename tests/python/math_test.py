# tests/python/math_test.py: functions of arrays against NumPy and Python's math.
import math

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import (Array2f, Array3f, Bool, Float, Float64, Int, Matrix3f, Matrix4f, UInt, UInt64)

x = np.linspace(-3, 3, 61)


@pytest.mark.parametrize("name,f,domain", [
    ("sin", np.sin, x), ("cos", np.cos, x), ("tan", np.tan, x), ("exp", np.exp, x), ("exp2", np.exp2, x),
    ("sinh", np.sinh, x), ("cosh", np.cosh, x), ("tanh", np.tanh, x), ("asinh", np.arcsinh, x),
    ("atan", np.arctan, x), ("asin", np.arcsin, x / 3), ("acos", np.arccos, x / 3), ("atanh", np.arctanh, x / 3.5),
    ("log", np.log, np.exp(x)), ("log2", np.log2, np.exp(x)), ("sqrt", np.sqrt, np.exp(x)),
    ("acosh", np.arccosh, 1 + np.exp(x)), ("cbrt", np.cbrt, x), ("abs", np.abs, x), ("floor", np.floor, x),
    ("ceil", np.ceil, x), ("trunc", np.trunc, x), ("round", np.round, x), ("rcp", np.reciprocal, np.exp(x)),
    ("rsqrt", lambda a: 1 / np.sqrt(a), np.exp(x)), ("deg2rad", np.deg2rad, x), ("rad2deg", np.rad2deg, x)])
def test_functions_agree_with_numpy(name, f, domain):
    g = getattr(dr, name)
    assert np.allclose(g(Float64(domain)).numpy(), f(domain), rtol=1e-13, atol=1e-15)
    assert np.allclose(g(Float(domain)).numpy(), f(domain.astype(np.float32)), rtol=1e-5, atol=1e-6)
    assert math.isclose(g(float(domain[7])), f(domain[7]), rel_tol=1e-12)


def test_functions_of_two_and_three_arguments():
    a, b = np.random.default_rng(0).normal(size=(2, 50))
    A, B = Float64(a), Float64(b)
    assert np.allclose(dr.atan2(A, B).numpy(), np.arctan2(a, b))
    assert np.array_equal(dr.minimum(A, B).numpy(), np.minimum(a, b))
    assert np.array_equal(dr.maximum(A, 0).numpy(), np.maximum(a, 0))
    assert np.allclose(dr.fma(A, B, 1).numpy(), a * b + 1)
    assert np.allclose(dr.lerp(A, B, 0.25).numpy(), 0.75 * a + 0.25 * b)
    assert np.allclose(dr.hypot(A, B).numpy(), np.hypot(a, b))
    assert np.array_equal(dr.copysign(A, B).numpy(), np.copysign(a, b))
    assert np.array_equal(dr.clip(A, -0.5, 0.5).numpy(), np.clip(a, -0.5, 0.5))
    assert dr.minimum(1, 2.5) == 1 and dr.maximum(1, 2.5) == 2.5 and dr.fma(2, 3, 4) == 10


def test_special_functions():
    from math import erf, lgamma
    assert np.allclose(dr.erf(Float64(x)).numpy(), [erf(v) for v in x], atol=1e-15)
    p = np.exp(x)
    assert np.allclose(dr.lgamma(Float64(p)).numpy(), [lgamma(v) for v in p], atol=1e-13)
    assert np.allclose(dr.erf(dr.erfinv(Float64(x / 3.5))).numpy(), x / 3.5, atol=1e-14)


def test_bits():
    v = np.array([0, 1, 6, 0x80000000, 0xFFFFFFFF], np.uint32)
    assert list(dr.popcnt(UInt(v))) == [0, 1, 2, 1, 32]
    assert list(dr.lzcnt(UInt(v))) == [32, 31, 29, 0, 0]
    assert list(dr.tzcnt(UInt(v))) == [32, 0, 1, 31, 0]
    assert list(dr.brev(UInt(v))) == [0, 0x80000000, 0x60000000, 1, 0xFFFFFFFF]
    assert dr.log2i(UInt(8))[0] == 3
    assert dr.mul_wide(UInt(1 << 31), 4)[0] == 1 << 33 and dr.mul_hi(UInt(1 << 31), 4)[0] == 2
    assert dr.reinterpret_array(UInt, Float(1))[0] == 0x3F800000


def test_classification():
    a = Float(1, math.inf, -math.inf, math.nan)
    assert list(dr.isnan(a)) == [False, False, False, True]
    assert list(dr.isinf(a)) == [False, True, True, False]
    assert list(dr.isfinite(a)) == [True, False, False, False]


def test_vectors():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 3, 20))
    A, B = dr.auto.Array3f64(a), dr.auto.Array3f64(b)
    assert np.allclose(dr.dot(A, B).numpy(), (a * b).sum(0))
    assert np.allclose(dr.norm(A).numpy(), np.linalg.norm(a, axis=0))
    assert np.allclose(dr.cross(A, B).numpy(), np.cross(a, b, axis=0))
    assert np.allclose(dr.normalize(A).numpy(), a / np.linalg.norm(a, axis=0))
    assert np.allclose(dr.abs_dot(A, B).numpy(), abs((a * b).sum(0)))
    an, bn = a / np.linalg.norm(a, axis=0), b / np.linalg.norm(b, axis=0)
    angle = np.arccos((an * bn).sum(0))
    assert np.allclose(dr.unit_angle(dr.normalize(A), dr.normalize(B)).numpy(), angle)
    assert np.allclose(dr.dot(Float64(a[0]), Float64(b[0]))[0], a[0] @ b[0])


def test_matrix_decompositions():
    m = np.random.default_rng(5).normal(size=(3, 3)) + 2 * np.eye(3)
    M = dr.auto.Matrix3f64(m)
    q, p = dr.polar_decomp(M)
    qn = q.numpy()[..., 0]
    assert np.allclose(qn @ qn.T, np.eye(3), atol=1e-6)
    assert np.allclose((q @ p).numpy()[..., 0], m, atol=1e-10)
    t = np.eye(4)
    t[:3, :3], t[:3, 3] = m, [1, 2, 3]
    T = dr.auto.Matrix4f64(t)
    assert np.allclose(dr.transform_compose(*dr.transform_decompose(T)).numpy()[..., 0], t, atol=1e-6)


def test_safe_functions_have_finite_derivatives_at_their_ends():
    for f, at in ((dr.safe_sqrt, 0.0), (dr.safe_asin, 1.0), (dr.safe_acos, -1.0)):
        a = Float(at)
        dr.enable_grad(a)
        y = f(a)
        dr.backward(y)
        assert np.isfinite(a.grad[0])


def test_colours_convert_back():
    c = np.linspace(0, 1, 11)
    assert np.allclose(dr.srgb_to_linear(dr.linear_to_srgb(Float64(c))).numpy(), c, atol=1e-12)
    rgb = dr.auto.Array3f64(0.2, 0.5, 0.8)
    assert dr.allclose(dr.oklab_to_linear_srgb(dr.linear_srgb_to_oklab(rgb)), rgb, atol=1e-6)
