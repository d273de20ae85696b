# tests/python/transform_test.py: transforms, frames and boxes.
import copy
import pickle

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

T = mi.Transform4f
rng = np.random.default_rng(0)


def test_a_chain_applies_from_right_to_left():
    t = T().translate([1, 2, 3]).rotate([0, 0, 1], 90).scale([2, 1, 1])
    assert np.allclose(t @ mi.Point3f(1, 0, 0), np.array([[1], [4], [3]]), atol=1e-6)
    static = T.translate([1, 2, 3]) @ T.rotate([0, 0, 1], 90) @ T.scale([2, 1, 1])
    assert np.allclose(t.numpy(), static.numpy())


def test_numbers_stay_in_double_precision():
    t = T().translate([1 / 3, 0, 0])
    assert t.numpy().dtype == np.float64 and t.numpy()[0, 3] == 1 / 3
    assert T(t.numpy()).numpy()[0, 3] == 1 / 3


@pytest.mark.parametrize("traced", [False, True])
def test_the_inverse_undoes_every_step(traced):
    def n(*v): return mi.Vector3f(*v) + mi.Float(dr.opaque(mi.Float, 0)) if traced else v
    for t in (T().translate(n(1, 2, 3)), T().scale(n(2, 3, 4)), T().rotate(n(1, 2, 3), 50), T().perspective(45, 0.1, 10),
              T().look_at(n(1, 2, 3), n(4, 4, 4), n(0, 1, 0)), T().orthographic(1, 5)):
        assert np.allclose((t @ t.inverse()).numpy(), np.eye(4), atol=1e-5)
        assert np.allclose(np.linalg.inv(t.numpy()).T, np.array(t.inverse_transpose)[..., 0], atol=1e-4)


def test_points_vectors_and_normals_transform_by_their_kind():
    m = rng.normal(size=(4, 4))
    m[3] = 0, 0, 0, 1
    t, v = T(m), rng.normal(size=3)
    assert np.allclose((t @ mi.Point3f(v)).numpy()[:, 0], m[:3, :3] @ v + m[:3, 3], atol=1e-5)
    assert np.allclose((t @ mi.Vector3f(v)).numpy()[:, 0], m[:3, :3] @ v, atol=1e-5)
    assert np.allclose((t @ mi.Normal3f(v)).numpy()[:, 0], np.linalg.inv(m[:3, :3]).T @ v, atol=1e-4)
    assert type(t @ mi.Point3f(v)) is mi.Point3f and type(t @ mi.Normal3f(v)) is mi.Normal3f
    assert type(t @ mi.Vector3f(v)) is mi.Vector3f and type(t @ list(v)) is mi.Point3f


def test_a_projective_point_is_divided_by_w():
    p = T().perspective(90, 1, 3) @ mi.Point3f(1, 2, 2)
    assert np.allclose(p.numpy()[:, 0], [0.5, 1, 0.75], atol=1e-6)


def test_rays_move_with_their_origin_and_direction():
    ray = T().translate([1, 0, 0]).scale(2) @ mi.Ray3f(mi.Point3f(1, 1, 1), mi.Vector3f(0, 0, 1))
    assert np.allclose(ray.o, [[3], [2], [2]]) and np.allclose(ray.d, [[0], [0], [2]])


def test_gradients_pass_through_a_transform():
    angle = mi.Float(30)
    dr.enable_grad(angle)
    dr.backward((T().rotate([0, 0, 1], angle) @ mi.Point3f(1, 0, 0)).y)
    assert np.allclose(dr.grad(angle), np.pi / 180 * np.cos(np.pi / 6), rtol=1e-5)


def test_a_transform_is_a_state_of_loops():
    i, t = mi.UInt(0), T()
    i, t = dr.while_loop((i, t), lambda i, t: i < 4, lambda i, t: (i + 1, t @ T().translate([1, 0, 0])))
    assert np.allclose(t @ mi.Point3f(0), [[4], [0], [0]])
    assert np.allclose(t.numpy()[:3, 3], [4, 0, 0])


def test_a_transform_has_as_many_matrices_as_its_entries_have_lanes():
    t = T().translate([mi.Float(1, 2, 3), 0, 0])
    assert t.numpy().shape == (4, 4, 3) and np.allclose(t.translation().x, [1, 2, 3])


def test_a_changed_matrix_counts_after_update():
    t = T()
    t.matrix[0, 3] = 5
    t.update()
    assert np.allclose(t.inverse() @ mi.Point3f(5, 0, 0), 0)


def test_has_scale_tells_rotations_from_the_rest():
    assert not T().rotate([1, 1, 0], 33).translate([1, 2, 3]).has_scale() and T().scale([1, 2, 1]).has_scale()


def test_copies_are_equal():
    t = T().look_at([1, 2, 3], [0, 0, 0], [0, 1, 0])
    assert t == copy.deepcopy(t) and t == pickle.loads(pickle.dumps(t)) and not (t == T())


def test_planar_transforms_turn_counter_clockwise():
    p = mi.Transform3f().translate([1, 0]).rotate(90) @ mi.Point2f(1, 0)
    assert np.allclose(p.numpy()[:, 0], [1, 1], atol=1e-6)


@pytest.mark.parametrize("bad, text", [
    (lambda: T().look_at([0, 0, 0], [0, 0, 0], [0, 1, 0]), "origin to target"),
    (lambda: T().look_at([0, 0, 0], [0, 1, 0], [0, 1, 0]), "`up`"),
    (lambda: T().scale([1, 0, 1]), "inverse"), (lambda: T(np.zeros((4, 4))).inverse(), "inverse"),
    (lambda: T().rotate([0, 0, 0], 5), "axis"), (lambda: T().translate([1, 2]), "3 numbers"),
    (lambda: T(np.eye(3)), "4 by 4"), (lambda: T().translate("abc"), "numbers")])
def test_what_makes_no_transform_is_an_error(bad, text):
    with pytest.raises(Exception, match=text):
        bad()


def test_a_frame_is_orthonormal_around_its_normal():
    n = rng.normal(size=(3, 100))
    n /= np.linalg.norm(n, axis=0)
    f = mi.Frame3f(mi.Vector3f(n))
    basis = np.array([f.s, f.t, f.n])
    assert np.allclose(np.einsum("ikl,jkl->ijl", basis, basis), np.eye(3)[..., None], atol=1e-5)
    v = mi.Vector3f(1, 2, 3)
    assert np.allclose(f.to_local(f.to_world(v)), v, atol=1e-5)
    assert np.allclose(T().to_frame(f) @ v, f.to_world(v), atol=1e-5)
    assert np.allclose(T().from_frame(f) @ v, f.to_local(v), atol=1e-5)
    assert np.allclose(mi.Frame3f.tan_theta_2(mi.Vector3f(0.6, 0, 0.8)), 0.5625, atol=1e-6)
    assert np.allclose(mi.Frame3f.sincos_phi(mi.Vector3f(0, 0, 1)), [[0], [1]])


def test_a_box_holds_what_it_was_expanded_by():
    b = mi.BoundingBox3f()
    assert not dr.all(b.valid())
    for p in ([1, 2, 3], [-1, 0, 1]):
        b.expand(p)
    assert dr.all(b.contains([0, 1, 2])) and not dr.all(b.contains([0, 3, 2]))
    assert np.allclose(b.extents(), 2) and np.allclose(b.volume(), 8) and np.allclose(b.surface_area(), 24)
    assert np.allclose(b.squared_distance([0, 1, 6]), 9) and np.allclose(b.corner(5), [[1], [0], [3]])
    hit, near, far = b.ray_intersect(mi.Ray3f(mi.Point3f(0, 1, -1), mi.Vector3f(0, 0, 2)))
    assert dr.all(hit) and np.allclose([near[0], far[0]], [1, 2])
    assert np.allclose(b.bounding_sphere().radius, np.sqrt(3))
    assert int(mi.BoundingBox3f([0, 0, 0], [1, 3, 2]).major_axis()[0]) == 1
    hit, near, far = b.bounding_sphere().ray_intersect(mi.Ray3f(mi.Point3f(0, 1, -8), mi.Vector3f(0, 0, 1)))
    assert np.allclose([near[0], far[0]], [10 - 3 ** 0.5, 10 + 3 ** 0.5], rtol=1e-5)
