# tests/python/scalar_test.py: arrays without lanes, whose entries are Python's numbers.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.jit import auto, scalar


def test_entries_are_numbers_of_python():
    a, u = scalar.Array3f(1, 2, 3), scalar.Array3u(4, 5, 6)
    assert type(a[0]) is float and type(u.y) is int and list(u) == [4, 5, 6]
    assert type((a > 1)[2]) is bool and repr(a) == "[1, 2, 3]" and repr(u.zx) == "[6, 4]"
    a[1], a.z = 7, 8
    assert list(a) == [1, 7, 8]
    m = scalar.Matrix3f(2)
    assert type(m[0]) is scalar.Array3f and m[0][0] == 2 and type(m[0][0]) is float


def test_arithmetic_stays_without_lanes_until_it_meets_some():
    a, lanes = scalar.Array3f(1, 2, 3), auto.Float(1, 2)
    for result in (a + 1, 2 * a, a * scalar.Array3u(1, 2, 3), -a, dr.sin(a), dr.minimum(a, 2), dr.select(a > 1, a, 0),
                   dr.normalize(a), dr.fma(a, a, 1)):
        assert type(result) is scalar.Array3f
    assert type(a == a) is scalar.Array3b
    for result in (a * lanes, auto.Array3f(1) + a, dr.select(lanes > 1, a, 0)):
        assert type(result) is auto.Array3f
    assert dr.allclose(dr.select(lanes > 1, a, 0).x, [0, 1])


def test_reductions_give_numbers():
    a = scalar.Array3f(1, 2, 3)
    for got, expected in ((dr.sum(a), 6), (dr.prod(scalar.Array2u(8, 4)), 32), (dr.max(a), 3), (dr.dot(a, a), 14),
                          (dr.squared_norm(a), 14), (dr.all(a > 0), True), (dr.any(a > 3), False)):
        assert got == expected and type(got) in (float, int, bool)
    assert dr.norm(a) == pytest.approx(14 ** .5)


def test_shapes_and_numpy_have_no_dimension_of_lanes():
    a = scalar.Array3f(1, 2, 3)
    assert a.shape == (3,) and dr.shape(a) == (3,) and np.array_equal(np.array(a), [1, 2, 3])
    assert scalar.Matrix3f(1).shape == (3, 3) and dr.depth_v(a) == 1 and dr.value_t(a) is float
    assert not dr.is_jit_v(a) and dr.is_array_v(a) and dr.mask_t(a) is scalar.Array3b


def test_arrays_of_several_lanes_do_not_fit():
    assert list(scalar.Array2f(auto.Array2f(1, 2))) == [1, 2]
    with pytest.raises(TypeError, match="entries are numbers"):
        scalar.Array2f(auto.Float(1, 2), 3)


def test_scalar_names_of_the_renderer_have_them():
    assert mi.ScalarVector3f is scalar.Vector3f and mi.Vector3f is auto.Vector3f
    film = mi.load_dict({"type": "hdrfilm", "width": 8, "height": 4})
    assert np.zeros(film.size()).shape == (8, 4) and film.crop_size()[0] / 2 == 4
    t = mi.ScalarTransform4f().translate([1, 2, 3])
    assert list(t @ mi.ScalarPoint3f(0)) == [1, 2, 3] and np.array(t.matrix).shape == (4, 4)
    assert type(t @ mi.Point3f(0)) is auto.Point3f and type(mi.Transform4f(t).matrix) is auto.Matrix4f
    box = mi.load_dict({"type": "sphere", "radius": 2}).bbox()
    assert list(box.center()) == [0, 0, 0] and box.extents()[0] == 4 and box.volume() == 64
    assert box.valid() is True and box.contains([1, 1, 1])


def test_references_are_to_one_object():
    with mi.set_variant("scalar_rgb"):
        scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "bsdf": {"type": "diffuse", "id": "grey"}},
                              "light": {"type": "point", "position": [0, 0, 5]}})
        hit, miss = (scene.ray_intersect(mi.Ray3f([x, 0, 5], [0, 0, -1])) for x in (0, 3))
        assert hit.shape.id() == "ball" and hit.bsdf().id() == "grey"
        assert hit.shape and not miss.shape and not miss.bsdf()
        with pytest.raises(AttributeError, match="no object"):
            miss.shape.id()
        with pytest.raises(AttributeError, match="nonsense"):
            hit.shape.nonsense
    with mi.set_variant("llvm_rgb"):
        scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere"}})
        hit = scene.ray_intersect(mi.Ray3f([0, 0, 5], [0, 0, -1]))
        with pytest.raises(AttributeError, match="ShapePtr.*'id'"):
            hit.shape.id()
        with pytest.raises(TypeError, match="compare them with None"):
            bool(hit.shape)
