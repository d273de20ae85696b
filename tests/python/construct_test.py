# tests/python/construct_test.py: arrays from numbers, sequences and foreign memory, and back; types and text.
import pickle

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.jit.auto import *  # noqa: F403
from umbel.jit.auto import Array3f, Array3i, Array33f, Bool, Float, Float64, Int, Int64, Matrix3f, TensorXf, UInt


def test_numbers_sequences_and_arrays_convert():
    assert list(Float(1, 2, 3)) == [1, 2, 3] and list(Float([1, 2])) == [1, 2] and list(Float(range(3))) == [0, 1, 2]
    assert list(Int(Float(1.7, -1.7))) == [1, -1] and list(Float(True)) == [1]
    assert Array3f(1, 2, 3).shape == (3, 1) and Array3f([1, 2], 3, 4).shape == (3, 2)
    assert np.array_equal(Array3f(Array3i(1, 2, 3)).numpy().ravel(), [1, 2, 3])
    assert np.array_equal(Matrix3f(2).numpy()[..., 0], 2 * np.eye(3))
    assert np.array_equal(Matrix3f(*range(9)).numpy()[..., 0], np.arange(9).reshape(3, 3))
    assert np.array_equal(Matrix3f([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).numpy()[..., 0], np.arange(1, 10).reshape(3, 3))


@pytest.mark.parametrize("cls,dtype", [
    ("Float", np.float32), ("Float64", np.float64), ("Float16", np.float16), ("Int", np.int32), ("UInt", np.uint32),
    ("Int64", np.int64), ("UInt64", np.uint64), ("Int8", np.int8), ("UInt8", np.uint8), ("Int16", np.int16),
    ("Bool", np.bool_)])
def test_numpy_arrays_of_equal_layout_are_used_in_place(cls, dtype):
    source = np.array([1, 0, 1, 1, 0], dtype)
    a = getattr(dr.auto, cls)(source)
    assert np.array_equal(a.numpy(), source) and a.numpy().dtype == dtype
    assert np.shares_memory(a.numpy(), source)


def test_other_layouts_are_copied_and_converted():
    source = np.arange(10, dtype=np.float64)
    assert list(Float(source[::2])) == [0, 2, 4, 6, 8]
    assert list(UInt(source)) == list(range(10))
    assert np.array_equal(Array3f(np.arange(6).reshape(3, 2)).numpy(), np.arange(6).reshape(3, 2))
    with pytest.raises(TypeError, match=r"array of shape \(2, 3\)"):
        Array3f(np.zeros((2, 3)))
    with pytest.raises(TypeError):
        Float(np.array(["a"]))


def test_scattering_leaves_foreign_memory_alone():
    source = np.zeros(4, np.float32)
    a = Float(source)
    dr.scatter(a, 5.0, UInt(1))
    assert list(a) == [0, 5, 0, 0] and source[1] == 0


def test_results_outlive_their_array():
    data = (dr.arange(Float, 1000) * 2).numpy()
    import gc
    gc.collect()
    assert data[999] == 1998


def test_foreign_memory_lives_as_long_as_it_is_used():
    import gc
    import weakref

    class Owner(np.ndarray):
        pass
    source = np.arange(1000, dtype=np.float32).view(Owner)
    alive = weakref.ref(source)
    a = Float(source) + 1
    del source
    gc.collect()
    assert alive() is not None and a[999] == 1000
    del a
    dr.sync_thread()
    Float(np.zeros(3, np.float32))  # the next call lets go
    gc.collect()
    assert alive() is None


def test_dlpack_goes_both_ways(variant):
    if not variant.startswith("cuda"):  # NumPy has no arrays there; other libraries are tried in cuda_test.py
        a = dr.arange(Float, 10)
        n = np.from_dlpack(a)
        assert np.array_equal(n, np.arange(10)) and np.shares_memory(n, a.numpy())

    class OnlyDLPack:
        def __init__(self, a): self.a = a
        def __dlpack__(self, **kw): return self.a.__dlpack__()
        def __dlpack_device__(self): return self.a.__dlpack_device__()
    source = np.arange(5, dtype=np.float32)
    assert list(Float(OnlyDLPack(source))) == [0, 1, 2, 3, 4]


def test_arrays_print_lane_by_lane():
    assert str(Float(1, 2.5)) == "[1, 2.5]"
    assert str(dr.arange(Int, 100)) == "[0, 1, 2, .. 94 skipped .., 97, 98, 99]"
    assert str(Array3f([1, 2], 2, 3)) == "[[1, 2, 3],\n [2, 2, 3]]"
    assert str(Matrix3f(1)).replace(" ", "") == "[[[1,0,0],\n[0,1,0],\n[0,0,1]]]"
    assert str(TensorXf([[1, 2], [3, 4]])) == "[[1, 2],\n [3, 4]]"
    assert str(Complex2f(1, -2)) == "[1-2j]"


def test_arrays_survive_pickling():
    for a in (Float(1, 2), Array3f([1, 2], 3, 4), Matrix3f(2), TensorXf(np.ones((2, 3))), Bool(True, False)):
        b = pickle.loads(pickle.dumps(a))
        assert type(b) is type(a) and np.array_equal(a.numpy(), b.numpy())


def test_components_by_name():
    v = Array3f(1, 2, 3)
    assert v.x[0] == 1 and v.zy.shape == (2, 1) and v.zyx.z[0] == 1
    v.x += 5
    v.yz = Array3f(7, 8, 9)[0:2]
    assert list(v.numpy().ravel()) == [6, 7, 8]
    with pytest.raises(AttributeError):
        v.w
    with pytest.raises(AttributeError):
        Float(1).x


def test_entries_by_index_slice_array_and_mask():
    f = Float(1, 2, 3, 4)
    assert f[1] == 2 and f[-1] == 4 and list(f[1:3]) == [2, 3] and list(f[::-1]) == [4, 3, 2, 1]
    assert list(f[UInt(3, 0)]) == [4, 1]
    with pytest.raises(IndexError):
        f[4]
    f[1] = 7
    f[f > 3] = 0
    assert list(f) == [1, 0, 3, 0]
    v = Array3f(1, 2, 3)
    v[1] = 9
    assert list(v.numpy().ravel()) == [1, 9, 3] and v[0:2].shape == (2, 1)
    m = Matrix3f(1)
    m[0, 2] = 5
    assert m[0, 2][0] == 5 and m[0][2][0] == 5


def test_types_follow_the_variant():
    with mi.set_variant("llvm_spectral_double"):
        assert mi.Float is Float64 and mi.Vector3f.__name__ == "Vector3f64" and len(mi.Spectrum(1)) == 4
        assert mi.Normal3f(0, 0, 1).z[0] == 1
    with mi.set_variant("llvm_mono"):
        assert mi.Float is Float and len(mi.Spectrum(1)) == 1
    with mi.set_variant("llvm_rgb_polarized"):
        assert mi.Spectrum(1).shape == (4, 4, 3, 1)
    assert mi.ScalarFloat is float
    with pytest.raises(AttributeError):
        mi.Vectro3f
    with pytest.raises(mi.UserError, match="unknown variant"):
        mi.set_variant("llvm_rbg")


def test_arrays_of_two_variants_of_one_backend_meet():
    with mi.set_variant("llvm_rgb"):
        a = Float(1, 2)
        with mi.set_variant("llvm_mono_double"):
            b = Float64(1, 2)
            assert list(a + b) == [2, 4]


def test_type_traits():
    assert dr.mask_t(Array3f).__name__ == "Array3b" and dr.value_t(Array3f) is Float and dr.scalar_t(Array3f) is float
    assert dr.depth_v(Array3f) == 2 and dr.size_v(Array3f) == 3 and dr.itemsize_v(Float64) == 8
    assert dr.is_matrix_v(Matrix3f) and dr.is_tensor_v(TensorXf) and not dr.is_tensor_v(Float)
    assert dr.expr_t(Float, Int) is Float and dr.expr_t(Int, float) is Float
    assert dr.replace_type_t(Array3f, dr.VarType.Int32) is Array3i and dr.leaf_t(Matrix3f) is Float
    assert dr.uint_array_t(Float64).__name__ == "UInt64" and dr.int_array_t(Array3f) is Array3i
    assert dr.tensor_t(Float) is TensorXf and dr.array_t(TensorXf) is Float


def test_classes_can_be_subclassed():
    class Mine(Array3f):
        def total(self): return dr.sum(self)
    m = Mine(1, 2, 3)
    assert m.total()[0] == 6 and isinstance(m, Array3f) and (m + 1).shape == (3, 1)
    m.note = "kept"
    assert m.note == "kept"


def test_threads_share_arrays():
    import threading
    a = dr.arange(Float, 1000)
    results = []

    def work(k):
        for _ in range(20):
            results.append(dr.sum(a * k)[0] == 499500 * k)
            x = a * 1
            dr.enable_grad(x)
            dr.backward(dr.sqrt(x + 1) * dr.gather(Float, x, UInt(k)))
            assert np.isfinite(x.grad.numpy()).all()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 80 and all(results)
