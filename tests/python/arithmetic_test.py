# tests/python/arithmetic_test.py: operators: promotion, broadcasting, in place, against NumPy.
import operator

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import (Array2f, Array3b, Array3f, Array3i, Array33f, ArrayXf, Bool, Complex2f, Float, Float16,
                            Float64, Int, Int8, Int64, Matrix2f, Matrix3f, Matrix4f, Quaternion4f, TensorXf, TensorXi,
                            UInt, UInt8, UInt64)

rng = np.random.default_rng(1)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("cls", [Float, Float64])
def test_float_operators_agree_with_numpy(op, cls):
    dtype = np.float32 if cls is Float else np.float64
    a, b = rng.normal(size=100).astype(dtype), rng.normal(size=100).astype(dtype)
    with dr.scoped_set_flag(dr.JitFlag.FastMath, False):  # lest GPUs round quotients otherwise
        assert np.array_equal(op(cls(a), cls(b)).numpy(), op(a, b))
        assert np.array_equal(op(cls(a), 2.5).numpy(), op(a, dtype(2.5)))
        assert np.array_equal(op(2.5, cls(a)).numpy(), op(dtype(2.5), a))


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor])
@pytest.mark.parametrize("cls,dtype", [(Int, np.int32), (UInt, np.uint32), (Int64, np.int64), (UInt8, np.uint8)])
def test_integer_operators_wrap_like_numpy(op, cls, dtype):
    info = np.iinfo(dtype)
    a, b = (rng.integers(info.min, info.max, 100, dtype=dtype, endpoint=True) for _ in range(2))
    assert np.array_equal(op(cls(a), cls(b)).numpy(), op(a, b))


def test_integers_that_do_not_fit_are_errors():
    for f in (lambda: Int(1) + 2**31, lambda: 2**31 + Int(1), lambda: Int(1) - (2**31 + 1), lambda: UInt(1) + 2**32,
              lambda: UInt(1) + -1, lambda: Int(1) < 2**31, lambda: Int(1) & 2**31, lambda: Int64(1) + 2**63,
              lambda: UInt64(1) + 2**64, lambda: Array3i(1) + 2**31, lambda: TensorXi([1]) + 2**31, lambda: dr.maximum(Int(1), 2**31), lambda: dr.select(Bool(True), Int(1), 2**31),
              lambda: dr.fma(Int(1), 2**31, 1), lambda: Bool(True) + 2**31):
        with pytest.raises(RuntimeError, match="does not fit"):
            f()
    assert (Int(1) + (2**31 - 1))[0] == -2**31 and (Int(1) + -2**31)[0] == 1 - 2**31 and (UInt(1) + (2**32 - 1))[0] == 0
    assert (UInt64(1) + 2**63)[0] == 2**63 + 1 and (Float(1) + 2**31)[0] == 2.**31


def test_integer_division_truncates():
    assert (Int(-7) // 2)[0] == -3 and (Int(-7) % 3)[0] == -1 and (7 // Int(2))[0] == 3
    with pytest.raises(TypeError):
        Int(7) / 2
    with pytest.raises(TypeError):
        Float(7) // 2


@pytest.mark.parametrize("a,b,cls", [
    (Int(1), UInt(1), UInt), (Int(1), 1.5, Float), (Bool(True), 1, Int), (Float(1), Float64(1), Float64),
    (Float16(1), 1.5, Float16), (Array3f(1), Float(1), Array3f), (Array3f(1), Array3i(1), Array3f),
    (Array33f(1), Array3f(1), Array33f), (TensorXf([1]), Float(1), TensorXf), (Float(1), TensorXf([1]), TensorXf),
    (Int8(1), Int(1), Int), (UInt64(1), Int(1), UInt64)])
def test_results_have_the_wider_type(a, b, cls):
    assert type(a + b) is cls and type(b + a) is cls


def test_points_vectors_and_normals_keep_their_meaning():
    import umbel as mi
    p, v, n = mi.Point3f(1, 2, 3), mi.Vector3f(1, 1, 1), mi.Normal3f(0, 0, 1)
    assert type(p + v) is mi.Point3f and type(v + p) is mi.Point3f
    assert type(v * 2) is mi.Vector3f and type(2 * n) is mi.Normal3f
    assert type(v + Array3f(1)) is mi.Vector3f
    assert type(v < 2) is Array3b


def test_comparisons_give_masks():
    a = np.array([1, 2, 3, np.nan], np.float32)
    for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        r = op(Float(a), 2)
        assert type(r) is Bool and np.array_equal(r.numpy(), op(a, 2))
    assert not (Float(1) == None)  # noqa: E711


def test_assigning_operators_change_the_object():
    a = Float(1, 2)
    b = a
    a += 1
    assert a is b and list(b) == [2, 3]
    a += Float64(1)  # another type: another object
    assert type(a) is Float64 and list(b) == [2, 3]


def test_powers():
    x = np.array([-2, 0.5, 3], np.float32)
    assert np.allclose((Float(x) ** 3).numpy(), x**3)
    assert np.allclose((Float(x) ** -2).numpy(), x**-2.0)
    assert np.allclose((Float(np.abs(x)) ** 0.5).numpy(), np.abs(x)**0.5)
    assert (Int(3) ** 4)[0] == 81 and np.allclose((2.0 ** Float(x)).numpy(), 2.0**x)


def test_masks_choose_numbers():
    m = Bool(True, False)
    assert list(Float(3) & m) == [3, 0]
    assert list(dr.select(m, 1.0, Float(2))) == [1, 2]
    r = dr.select(Array3f(1, 2, 3) > 1.5, 0, Array3f(1, 2, 3))
    assert np.array_equal(r.numpy().ravel(), [1, 0, 0])
    s = dr.select(m, {"a": Float(1), "b": [Int(2)]}, {"a": Float(3), "b": [Int(4)]})
    assert list(s["a"]) == [1, 3] and list(s["b"][0]) == [2, 4]


def test_matrices_agree_with_numpy():
    for cls, n in ((Matrix2f, 2), (Matrix3f, 3), (Matrix4f, 4)):
        a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
        v = rng.normal(size=n).astype(np.float32)
        A, B = cls(a), cls(b)
        assert np.allclose((A @ B).numpy()[..., 0], a @ b, atol=1e-5)
        assert np.allclose((A * B).numpy()[..., 0], a @ b, atol=1e-5)
        V = dr.value_t(A)(v)
        assert np.allclose((A @ V).numpy().ravel(), a @ v, atol=1e-5)
        assert np.allclose(dr.rcp(A).numpy()[..., 0], np.linalg.inv(a), rtol=1e-3, atol=1e-4)
        assert np.allclose(dr.det(A)[0], np.linalg.det(a), rtol=1e-3, atol=1e-5)
        assert np.allclose(A.T.numpy()[..., 0], a.T)
        assert np.allclose((A * 2 + 1).numpy()[..., 0], a * 2 + np.eye(n))
        assert np.allclose(dr.trace(A)[0], np.trace(a), atol=1e-6)


def test_complex_numbers_agree_with_python():
    z, w = 1 + 2j, 0.5 - 1j
    Z, W = Complex2f(z.real, z.imag), Complex2f(w.real, w.imag)

    def close(a, b):
        assert abs(complex(a[0][0], a[1][0]) - b) < 1e-5 * max(1, abs(b))
    import cmath
    close(Z * W, z * w)
    close(Z / W, z / w)
    close(1 / Z, 1 / z)
    close(Z + 1, z + 1)
    close(dr.conj(Z), z.conjugate())
    for f in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"):
        close(getattr(dr, f)(Z), getattr(cmath, f)(z))
    close(Z ** W, z ** w)
    assert abs(abs(Z)[0] - abs(z)) < 1e-6


def test_quaternions_rotate():
    q = dr.rotate(Quaternion4f, Array3f(0, 0, 1), Float(np.pi / 2))
    assert dr.allclose(dr.quat_apply(q, Array3f(1, 0, 0)), [0, 1, 0], atol=1e-6)
    m = dr.quat_to_matrix(Matrix3f, q)
    assert dr.allclose(m @ Array3f(1, 0, 0), [0, 1, 0], atol=1e-6)
    assert dr.allclose(dr.matrix_to_quat(m), q, atol=1e-6)
    assert dr.allclose(dr.euler_to_quat(dr.quat_to_euler(q)), q, atol=1e-6)
    one = q * dr.rcp(q)
    assert dr.allclose(one, [0, 0, 0, 1], atol=1e-6)


def test_errors_say_what_does_not_fit():
    with pytest.raises(dr.UserError, match="sizes 2 and 3 do not match"):
        Float(1, 2) + Float(1, 2, 3)
    with pytest.raises(TypeError, match="Array2f and Array3f"):
        Array2f(1) + Array3f(1)
    with pytest.raises(TypeError, match="does not fit"):
        UInt(-1)
    with pytest.raises(TypeError, match="only supported for scalar mask"):
        bool(Float(1))
    with pytest.raises(TypeError):
        Float(1) + "a"
    with pytest.raises(TypeError):
        Float(1) + 1j


def test_dynamic_arrays_hold_any_number_of_entries():
    a = ArrayXf([1, 2], [3, 4], [5, 6])
    assert len(a) == 3 and a.shape == (3, 2)
    assert np.array_equal((a + 1).numpy(), a.numpy() + 1)
    assert list(dr.sum(a)) == [9, 12]


def test_a_mask_keeps_numbers_or_makes_them_0():
    mask = Bool(True, False, True)
    for tp in (Int, UInt, Float, dr.auto.Int64):
        x = tp(5, 6, 7)
        y = tp(x)
        y &= mask
        assert list(x & mask) == [5, 0, 7] == list(y) and type(x & mask) is tp
        assert list(x & True) == [5, 6, 7] and list(x & False) == [0, 0, 0]
    assert list(Int(5, 6, 7) & 3) == [1, 2, 3] and list(mask & Int(5, 6, 7)) == [1, 0, 1]  # bits
    assert (Array3i(5, 6, 7) & Array3b(True, False, True))[2][0] == 7
    assert list(dr.scalar.Array3i(5, 6, 7) & dr.scalar.Array3b(True, False, True)) == [5, 0, 7]
    t = dr.auto.TensorXf([float("nan"), 1]) & dr.auto.TensorXb([False, True])
    assert list(t.array) == [0, 1]


def test_integers_beside_numpys_floats_are_floats():
    half = np.full(3, 0.5)
    x = Int(1, 2, 3)
    assert list(x + half) == [1.5, 2.5, 3.5] == list(half + x) and type(x + half) is Float64
    assert type(x * half.astype(np.float32)) is Float and type(Float(1, 2, 3) + half) is Float
    assert list(x < half * 3) == [True, False, False] and list(x + np.array([1, 2, 3])) == [2, 4, 6]
    assert np.allclose((Array3i(1, 2, 3) + half).numpy().ravel(), [1.5, 2.5, 3.5])
    assert (dr.auto.TensorXi([1, 2, 3]) + half).array[0] == 1.5


def test_powers_of_whole_numbers():
    assert list(2 ** Int(1, 2, -1)) == [2, 4, 0.5] and list(dr.power(2, UInt(3, 0))) == [8, 1]
    assert type(2 ** Array3i(1, 2, 3)) is Array3f and type(2 ** dr.scalar.Array3f(1, 2, 3)) is dr.scalar.Array3f
    assert dr.all(dr.auto.TensorXf([float("inf"), 2]) ** 0 == 1)
