# tests/python/silhouette_test.py: samples of silhouettes by hand, and how points of shapes move.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

F = mi.DiscontinuityFlags
SHAPES = {"sphere": {"type": "sphere", "center": [1, 2, 3], "radius": 0.5}, "disk": {"type": "disk"},
          "rectangle": {"type": "rectangle", "to_world": mi.ScalarTransform4f().scale([2, 1, 1])},
          "cylinder": {"type": "cylinder", "p1": [0, 0, 3], "radius": 0.5}, "cube": {"type": "cube"}}
CASES = [(n, f) for n, f in (("sphere", F.InteriorType), ("cylinder", F.InteriorType), ("cylinder", F.PerimeterType),
                             ("disk", F.PerimeterType), ("rectangle", F.PerimeterType),
                             ("cube", F.PerimeterType | F.DirectionSphere), ("cube", F.PerimeterType | F.DirectionLune))]


def numbers(n=6):
    x = dr.linspace(mi.Float, 0.013, 0.987, n)
    return mi.Point3f(dr.meshgrid(x, x, x))


@pytest.mark.parametrize("name, flags", CASES)
def test_a_sample_is_a_silhouette_and_knows_its_random_numbers(name, flags):
    shape, u = mi.load_dict(SHAPES[name]), numbers()
    assert mi.has_flag(shape.silhouette_discontinuity_types(), F(int(flags) & 3))
    ss = shape.sample_silhouette(u, flags)
    keep = dr.compress(ss.is_valid())
    ss, u = dr.gather(mi.SilhouetteSample3f, ss, keep), dr.gather(mi.Point3f, u, keep)
    assert len(keep) > 20 and dr.all(ss.shape == shape) and dr.all(ss.flags == int(flags))
    assert np.allclose(shape.invert_silhouette_sample(ss).numpy(), u.numpy(), atol=2e-4 if "Lune" in str(flags) else 2e-5)
    assert np.allclose(dr.dot(ss.n, ss.d).numpy(), 0, atol=1e-5)
    assert np.allclose(dr.dot(ss.n, ss.silhouette_d).numpy(), 0, atol=1e-5)
    # Beside the surface a ray passes it, on the other side it meets it: the surface ends there
    back, step = ss.p - 0.2 * ss.d, 2e-3 * mi.Vector3f(ss.n)
    beside, over = (shape.ray_test(mi.Ray3f(mi.Point3f(back + s), ss.d, maxt=0.4)).numpy() for s in (step, -step))
    steep = ss.foreshortening.numpy() > 0.2  # along an edge 2e-3 is too far
    assert beside[steep].mean() < 0.03 and over[steep].mean() > 0.95  # the side of a tube is met again


@pytest.mark.parametrize("name, flags, measure", [
    ("sphere", F.InteriorType, 4 * np.pi * 0.25 * 2 * np.pi), ("cylinder", F.InteriorType, 2 * np.pi * 0.5 * 3 * 2 * np.pi),
    ("cylinder", F.PerimeterType, 2 * np.pi * 4 * np.pi), ("disk", F.PerimeterType, 2 * np.pi * 4 * np.pi),
    ("rectangle", F.PerimeterType, 12 * 4 * np.pi), ("cube", F.PerimeterType | F.DirectionLune, 12 * 2 * np.pi)])
def test_densities_are_those_of_the_rays_that_touch(name, flags, measure):
    # A right angle between faces: half of all directions along an edge's wedge, of 4 pi; twelve edges of length 2
    ss = mi.load_dict(SHAPES[name]).sample_silhouette(numbers(12), flags)
    assert dr.all(ss.is_valid()) and np.allclose(np.mean(1 / ss.pdf.numpy()), measure * (2 if name == "cube" else 1), rtol=1e-3)


def test_shapes_have_silhouettes_of_their_types_only():
    ss = mi.load_dict(SHAPES["cube"]).sample_silhouette([0.1, 0.2, 0.3], F.InteriorType)
    assert dr.all(ss.discontinuity_type == int(F.Empty)) and not dr.any(ss.is_valid())
    with pytest.raises(mi.UserError, match="one type"):
        mi.load_dict(SHAPES["cylinder"]).sample_silhouette([0.1, 0.2, 0.3], F.AllTypes)
    assert "silhouette_d" in str(dr.zeros(mi.SilhouetteSample3f, 3)) and "shape" in str(dr.zeros(mi.SilhouetteSample3f, 3))


def test_scenes_choose_among_shapes_that_are_followed():
    scene = mi.load_dict({"type": "scene", **SHAPES})
    params = mi.traverse(scene)
    for name in ("sphere", "cylinder", "disk"):
        dr.enable_grad(params[f"{name}.to_world"])
    params.update()
    assert len(scene.silhouette_shapes()) == 3
    for flags in (F.InteriorType, F.PerimeterType, F.AllTypes):
        u = numbers()
        ss = scene.sample_silhouette(u, flags)
        assert dr.all(ss.is_valid()) and np.allclose(scene.invert_silhouette_sample(ss).numpy(), u.numpy(), atol=1e-4)
        assert len(np.unique(ss.scene_index.numpy())) == (3 if flags == F.AllTypes else 2)


def test_scenes_choose_shapes_by_their_weights():
    weights = {"sphere": 3.0, "cylinder": 1.0, "disk": 0.0}
    scene = mi.load_dict({"type": "scene", **{n: SHAPES[n] | {"silhouette_sampling_weight": w} for n, w in weights.items()}})
    params = mi.traverse(scene)
    for name in weights:
        dr.enable_grad(params[f"{name}.to_world"])
    params["cylinder.silhouette_sampling_weight"] = 2.0
    params.update()
    weights["cylinder"] = 2.0
    assert sorted(s.silhouette_sampling_weight() for s in scene.silhouette_shapes()) == [0, 2, 3]
    shapes, u = scene.silhouette_shapes(), mi.Point3f((dr.arange(mi.Float, 1000) + 0.5) / 1000, 0.3, 0.6)
    for flags, total in ((F.InteriorType, 5), (F.PerimeterType, 2)):
        ss = scene.sample_silhouette(u, flags)
        assert np.allclose(scene.invert_silhouette_sample(ss).numpy(), u.numpy(), atol=1e-4)
        for i, shape in enumerate(shapes):
            part = shape.silhouette_sampling_weight() / total
            chosen = ss.scene_index.numpy() == i
            has = bool(shape.silhouette_discontinuity_types() & int(flags))
            assert abs(chosen.mean() - part * has) < 2e-3
            if chosen.any():  # a shape alone has that density over its part
                of_shape = shape.sample_silhouette(shape.invert_silhouette_sample(ss), flags)
                assert np.allclose(ss.pdf.numpy()[chosen], part * of_shape.pdf.numpy()[chosen], rtol=1e-3)


def test_points_move_with_their_shape():
    scene = mi.load_dict({"type": "scene", "ball": SHAPES["sphere"], "cube": SHAPES["cube"], "wall": SHAPES["rectangle"]})
    params, shift = mi.traverse(scene), mi.Float(0)
    dr.enable_grad(shift)
    away = mi.Transform4f().translate(mi.Vector3f(shift, 2 * shift, 3 * shift))
    for name in ("ball", "wall"):
        params[f"{name}.to_world"] = away @ mi.Transform4f(params[f"{name}.to_world"])
    params["cube.vertex_positions"] = dr.ravel(away @ dr.unravel(mi.Point3f, params["cube.vertex_positions"]))
    params.update()
    for shape in scene.shapes():
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.p, si.uv, si.prim_index = [1.5, 2, 3], [0.2, 0.3], 0
        p = shape.differential_motion(si)
        dr.forward(shift, dr.ADFlag.ClearVertices)
        assert np.allclose(p.numpy().ravel(), [1.5, 2, 3]) and np.allclose(dr.grad(p).numpy().ravel(), [1, 2, 3])


@pytest.mark.parametrize("name", ["sphere", "cube"])
def test_hits_are_taken_to_the_silhouette_seen_from_a_point(name):
    shape, eye = mi.load_dict(SHAPES[name]), mi.Point3f(4, 3, 5)
    flags = F.InteriorType if name == "sphere" else F.PerimeterType
    aim = mi.Point3f([1, 1.1, 0.9], [2, 2.1, 1.9], [3, 3.1, 2.9]) if name == "sphere" else mi.Point3f(
        np.random.default_rng(1).uniform(-0.9, 0.9, (3, 40)))
    si = shape.ray_intersect(mi.Ray3f(eye, dr.normalize(aim - eye)))
    assert dr.all(si.is_valid())
    found = 0
    for sample in (0.1, 0.5, 0.9):
        ss = shape.primitive_silhouette_projection(eye, si, flags, mi.Float(sample))
        keep = dr.compress(ss.is_valid())
        found += len(keep)
        if len(keep):
            ss = dr.gather(mi.SilhouetteSample3f, ss, keep)
            assert np.allclose(ss.d.numpy(), dr.normalize(ss.p - eye).numpy(), atol=1e-5)
            assert np.allclose(dr.dot(ss.n, ss.d).numpy(), 0, atol=1e-5)
    assert found > 0
    if name == "cube":
        index, weight = shape.precompute_silhouette(eye)
        assert len(index) == 6 and dr.all(weight > 0)  # a cube's outline is a hexagon
        ss = shape.sample_precomputed_silhouette(eye, index, mi.Float(0.25))
        assert dr.all(ss.is_valid()) and np.allclose(ss.pdf.numpy(), 0.5)


def test_rays_that_met_nothing_have_no_silhouette():
    cube, eye = mi.load_dict(SHAPES["cube"]), mi.Point3f(4, 3, 5)
    si = cube.ray_intersect(mi.Ray3f(eye, dr.normalize(mi.Point3f([0, 50], 0, 0) - eye)))
    si.prim_index = dr.select(si.is_valid(), si.prim_index, 2**32 - 1)
    ss = cube.primitive_silhouette_projection(eye, si, F.PerimeterType, mi.Float(.5))
    assert not ss.is_valid()[1]
    ss = cube.sample_precomputed_silhouette(eye, mi.UInt32(0, 2**32 - 1), mi.Float(.5), mi.Bool(True, False))
    assert not ss.is_valid()[1]


def test_the_outline_of_a_sphere_is_a_circle():
    ball, eye = mi.load_dict(SHAPES["sphere"]), mi.Point3f(1, 2, 5)  # at a distance of 2
    index, weight = ball.precompute_silhouette(eye)
    assert index.numpy().tolist() == [int(F.InteriorType)] and weight.numpy().tolist() == [1]
    ss = ball.sample_precomputed_silhouette(eye, index, dr.linspace(mi.Float, 0, 1, 9))
    assert dr.all(ss.is_valid()) and np.allclose(dr.norm(ss.p - mi.Point3f(1, 2, 3)).numpy(), .5, atol=1e-6)
    assert np.allclose(dr.dot(ss.p - eye, ss.n).numpy(), 0, atol=1e-6) and np.allclose(dr.dot(ss.n, ss.d).numpy(), 0, atol=1e-6)
    radius = .5 * np.sqrt(1 - .25**2)
    assert np.allclose(1 / ss.pdf.numpy(), 2 * np.pi * radius, rtol=1e-5)
    inside = ball.sample_precomputed_silhouette(mi.Point3f(1, 2, 3.1), index, mi.Float(.3))
    assert not dr.any(inside.is_valid())
    with pytest.raises(mi.UserError, match="meshes and spheres"):
        mi.load_dict(SHAPES["disk"]).precompute_silhouette(eye)
