# tests/python/shape_test.py: shapes on their own, lanes that refer to shapes, and what is known where rays meet them.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

T = mi.ScalarTransform4f
KINDS = ["sphere", "disk", "cylinder", "rectangle", "cube"]


def ray(o, d): return mi.Ray3f(mi.Point3f(*o), mi.Vector3f(*d))


@pytest.mark.parametrize("kind, count, area", [("sphere", 1, 4 * np.pi), ("disk", 1, np.pi), ("cylinder", 1, 2 * np.pi),
                                               ("rectangle", 2, 4), ("cube", 12, 24)])
def test_shape_says_what_it_is(kind, count, area):
    shape = mi.load_dict({"type": kind, "to_world": T().scale(2)})
    assert shape.primitive_count() == shape.effective_primitive_count() == count
    assert dr.allclose(shape.surface_area(), 4 * area)
    assert shape.shape_type() == {"cube": mi.ShapeType.Mesh}.get(kind) or getattr(mi.ShapeType, kind.capitalize())
    assert shape.is_mesh() == (kind in ("rectangle", "cube"))
    assert not shape.is_emitter() and not shape.is_sensor() and shape.sensor() is None
    assert shape.interior_medium() is None and not shape.is_medium_transition()
    shape.set_id("other")
    assert shape.id() == "other"


@pytest.mark.parametrize("precision", ["", "_double"])
@pytest.mark.parametrize("kind", KINDS)
def test_samples_lie_where_rays_meet_the_shape(kind, precision):
    with mi.set_variant(mi.variant() + precision):
        shape = mi.load_dict({"type": kind, "to_world": T().translate([1, 2, 3]).rotate([1, 1, 0], 30).scale(2)})
        u = np.random.default_rng(1).random((2, 64))
        ps = shape.sample_position(0, mi.Point2f(u))
        si = shape.ray_intersect(mi.Ray3f(mi.Point3f(ps.p + ps.n * 0.5), mi.Vector3f(-ps.n)))
        assert dr.all(si.is_valid()) and dr.allclose(si.p, ps.p, atol=1e-4)
        assert dr.allclose(si.n, ps.n, atol=1e-4) and dr.allclose(si.t, 0.5, atol=1e-4)
        assert dr.allclose(si.uv, ps.uv, atol=1e-4)
        assert dr.allclose(shape.pdf_position(ps) * shape.surface_area(), 1)
        assert dr.all(shape.ray_test(mi.Ray3f(si.spawn_ray(si.n).o, mi.Vector3f(-ps.n))))


@pytest.mark.parametrize("kind", KINDS)
def test_densities_of_directions_match_their_samples(kind):
    shape = mi.load_dict({"type": kind, "to_world": T().translate([1, 2, 3])})
    it = dr.zeros(mi.Interaction3f, 64)
    it.p = mi.Point3f(4, 5, 9)
    ds = shape.sample_direction(it, mi.Point2f(np.random.default_rng(1).random((2, 64))))
    assert dr.allclose(shape.pdf_direction(it, ds), ds.pdf, rtol=1e-4)
    assert dr.allclose(it.p + ds.d * ds.dist, ds.p, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_parameterization_is_inverse_to_texture_coordinates(kind):
    shape = mi.load_dict({"type": kind, "to_world": T().translate([1, 2, 3]).scale(2)})
    uv = mi.Point2f([0.3, 0.7, 0.2], [0.6, 0.2, 0.9])
    si = shape.eval_parameterization(uv)
    assert dr.all(si.is_valid()) and dr.allclose(si.uv, uv, atol=1e-5)
    assert not dr.any(shape.eval_parameterization([1.5, -0.1]).is_valid())


def test_mesh_without_texture_coordinates_has_no_parameterization():
    mesh = mi.Mesh("triangle", 3, 1)
    with pytest.raises(RuntimeError, match="does not have UV coordinates"):
        mesh.eval_parameterization([0.1, 0.2])


@pytest.mark.parametrize("kind, o, d", [("sphere", (0.3, 0.2, -5), (0.02, 0, 1)), ("cylinder", (0.3, -5, 0.4), (0, 1, 0.01)),
                                        ("disk", (0.3, 0.2, -5), (0, 0, 1)), ("rectangle", (0.3, 0.2, -5), (0, 0, 1))])
def test_derivatives_by_uv_match_finite_differences(kind, o, d):
    with mi.set_variant(mi.variant() + "_double"):
        scene = mi.load_dict({"type": "scene", "shape": {"type": kind, "to_world": T().rotate([1, 0, 0], 10).scale(1.5)}})
        shape, r, h = scene.shapes()[0], ray(o, d), 1e-5
        si = scene.ray_intersect(r, mi.RayFlags.All | mi.RayFlags.dNSdUV)
        for dp, dn, step in ((si.dp_du, si.dn_du, (h, 0)), (si.dp_dv, si.dn_dv, (0, h))):
            a, b = (shape.eval_parameterization(si.uv + s * mi.Point2f(*step)) for s in (1, -1))
            assert dr.allclose((a.p - b.p) / (2 * h), dp, atol=1e-5)
            assert dr.allclose((a.n - b.n) / (2 * h), dn, atol=1e-5)


def test_shape_alone_follows_its_changes():
    shape = mi.load_dict({"type": "sphere"})
    assert dr.all(shape.ray_test(ray((0, 0, -5), (0, 0, 1))))
    params = mi.traverse(shape)
    params["to_world"] = mi.Transform4f().translate([9, 0, 0])
    params.update()
    assert not dr.any(shape.ray_test(ray((0, 0, -5), (0, 0, 1))))


def mesh_file(tmp_path, normals=True):
    path = tmp_path / "triangle.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n" + ("vn 0 0 1\nf 1//1 2//1 3//1\n" if normals else "f 1 2 3\n"))
    return {"type": "obj", "filename": str(path)}


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("kind", ["obj", "rectangle", "cube"])
def test_mirrored_meshes_have_both_normals_on_the_side_of_the_shading_normal(kind, flip, tmp_path):
    shape = mesh_file(tmp_path) if kind == "obj" else {"type": kind}
    scene = mi.load_dict({"type": "scene", "m": {**shape, "flip_normals": flip, "to_world": T().scale([-1, 1, 1])}})
    si = scene.ray_intersect(ray((-0.25, 0.25, 3), (0, 0, -1)))
    out = -1 if flip else 1
    assert dr.allclose(si.n, [0, 0, out]) and dr.allclose(si.sh_frame.n, [0, 0, out])
    ps = scene.shapes()[0].sample_position(0, [0.3, 0.4])
    assert kind == "cube" or dr.allclose(ps.n, [0, 0, out])
    assert scene.shapes()[0].has_flipped_normals() == flip


def test_flipped_normals_leave_the_arrays_of_a_mesh_alone(tmp_path):
    plain, flipped = (mi.load_dict({**mesh_file(tmp_path), "flip_normals": f}) for f in (False, True))
    for buffer in ("faces_buffer", "vertex_normals_buffer"):
        assert np.array_equal(getattr(plain, buffer)(), getattr(flipped, buffer)())


def test_meshes_without_normals_get_smooth_ones_unless_they_are_to_look_faceted(tmp_path):
    mesh = mi.load_dict(mesh_file(tmp_path, normals=False))
    assert mesh.has_vertex_normals() and dr.allclose(mesh.vertex_normals_buffer(), [0, 0, 1] * 3)
    faceted = mi.load_dict({**mesh_file(tmp_path), "face_normals": True})
    assert not faceted.has_vertex_normals() and faceted.has_face_normals()


def pair():
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "radius": 0.5, "to_world": T().translate([-2, 0, 0])},
                          "cube": {"type": "cube", "flip_normals": True}})
    return scene, scene.ray_intersect(ray(([-2, 0, 9], 0, -5), (0, 0, 1)))


def test_lanes_refer_to_the_shapes_that_they_met():
    scene, si = pair()
    ball, cube = scene.shapes()
    assert np.array(si.shape == ball).tolist() == [True, False, False]
    assert np.array(si.shape == None).tolist() == [False, False, True]
    assert si.shape[0] is ball and si.shape[1] is cube and si.shape[2] is None
    assert np.array(si.shape.is_mesh()).tolist() == [False, True, False]
    assert np.array(si.shape.shape_type()).tolist() == [128, 1, 0]
    assert np.array(si.shape.has_flipped_normals()).tolist() == [False, True, False]
    assert np.allclose(si.shape.surface_area(), [np.pi, 24, 0])
    ps = si.shape.sample_position(0, mi.Point2f([0.3] * 3, [0.4] * 3))
    assert dr.allclose(dr.gather(mi.Point3f, ps.p, 0), ball.sample_position(0, [0.3, 0.4]).p)
    assert dr.allclose(dr.gather(mi.Point3f, ps.p, 1), cube.sample_position(0, [0.3, 0.4]).p)
    assert np.allclose(np.array(ps.pdf), [1 / np.pi, 1 / 24, 0])


def test_masks_of_calls_by_reference_may_come_by_position():
    scene = mi.load_dict({"type": "scene", "a": {"type": "sphere", "tint": {"type": "uniform", "value": 0.25}},
                          "b": {"type": "cube", "to_world": T().translate([4, 0, 0])}})
    si = scene.ray_intersect(ray(([0, 4], 0, 5), (0, 0, -1)))
    some = mi.Bool([True, False])
    assert dr.allclose(si.shape.eval_attribute_1("tint", si, some), [0.25, 0])
    assert dr.allclose(si.shape.eval_attribute("tint", si, active=some).x, [0.25, 0])
    ps = si.shape.sample_position(0, mi.Point2f(0.3), some)
    assert dr.allclose(si.shape.pdf_position(ps, some), [1 / (4 * np.pi), 0])
    assert list(mi.MeshPtr(si.shape).vertex_position(mi.UInt32(0), True).x)[1] != 0


def test_results_have_the_width_of_the_call_where_no_lane_calls():
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere"}, "light": {"type": "constant"}})
    si = scene.ray_intersect(mi.Ray3f(mi.Point3f(dr.linspace(mi.Float, -0.5, 0.5, 4), 0, 5), mi.Vector3f(0, 0, -1)))
    ctx, wo, u, bsdf = mi.BSDFContext(), mi.Vector3f(0, 0, 1), mi.Point2f(0.3, 0.4), si.bsdf()
    for off in (False, mi.Bool(False), dr.full(mi.Bool, False, 4)):
        results = [bsdf.eval(ctx, si, wo, off), bsdf.eval_pdf(ctx, si, wo, off), bsdf.sample(ctx, si, 0.5, u, off),
                   bsdf.eval_diffuse_reflectance(si, off), si.emitter(scene).eval(si, off),
                   dr.zeros(mi.BSDFPtr).eval(ctx, si, wo, off),
                   scene.sample_emitter_direction(si, u, True, off),
                   scene.sample_emitter_ray(0., dr.linspace(mi.Float, 0, 1, 4), u, u, off)]
        for r in results:
            assert all(dr.width(part) == 4 for part in (r if isinstance(r, tuple) else (r,)))
        assert dr.all(results[0] == 0, axis=None)


def test_pointers_to_meshes_leave_other_shapes_out():
    scene, si = pair()
    meshes = mi.MeshPtr(scene.shapes_dr())
    assert meshes[0] is None and meshes[1] is scene.shapes()[1]
    assert np.array(meshes.vertex_count()).tolist() == [0, 24]
    normals = meshes.face_normal(mi.UInt32([0, 0]), active=mi.Bool([False, True]))
    assert np.allclose(np.array(normals)[:, 1], [0, -1, 0])
    assert dr.width(mi.ShapePtr()) == 0 and dr.width(dr.zeros(mi.MeshPtr, 3)) == 3


def test_hit_names_triangle_and_place_of_its_own_mesh():
    scene, _ = pair()
    pi = scene.ray_intersect_preliminary(ray(([-2, 0.5], 0.25, -5), (0, 0, 1)))
    assert np.array(pi.prim_index).tolist()[0] == 0 and np.array(pi.shape_index).tolist() == [0, 1]
    cube = scene.shapes()[1]
    again = cube.ray_intersect_triangle(dr.gather(mi.UInt32, pi.prim_index, 1), ray((0.5, 0.25, -5), (0, 0, 1)))
    assert dr.allclose(again.t, 4) and dr.allclose(again.prim_uv, dr.gather(mi.Point2f, pi.prim_uv, 1))
    si = again.compute_surface_interaction(ray((0.5, 0.25, -5), (0, 0, 1)))
    assert dr.allclose(si.p, [0.5, 0.25, -1])


def test_edges_know_the_triangle_on_the_other_side():
    mesh = mi.Mesh("square", 4, 2)
    params = mi.traverse(mesh)
    params["vertex_positions"] = [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0]
    params["faces"] = [0, 1, 2, 0, 2, 3]
    params.update()
    mesh.build_directed_edges()
    none = 2**32 - 1
    assert np.array(mesh.opposite_dedge(dr.arange(mi.UInt32, 6))).tolist() == [none, none, 3, 2, none, none]
    assert np.array(mesh.edge_indices(1, 2)).ravel().tolist() == [3, 0]
    assert dr.allclose(mesh.bbox(1).max, [1, 1, 0])
    twice = mesh.merge(mesh)
    assert twice.face_count() == 4 and dr.allclose(twice.surface_area(), 2)


def test_hits_follow_the_ray():
    scene = mi.load_dict({"type": "scene", "r": {"type": "rectangle"}})
    for value, wanted in (("p", [1, 0, 0]), ("uv", [0.5, 0]), ("n", [0, 0, 0])):
        r = ray((-0.3, -0.3, -10), (0, 0, 1))
        dr.enable_grad(r.o)
        out = getattr(scene.ray_intersect(r), value) + 0 * r.o.x
        dr.forward(r.o.x)
        assert dr.allclose(dr.grad(out), wanted, atol=1e-5), value


def test_hits_follow_the_vertices_of_a_mesh(tmp_path):
    scene = mi.load_dict({"type": "scene", "m": {**mesh_file(tmp_path), "id": "m"}})
    params = mi.traverse(scene)
    start = dr.unravel(mi.Point3f, params["m.vertex_positions"])
    r = ray((0.2, 0.3, 5), (0, 0, -1))

    def moved(axis, value, flags=mi.RayFlags.All):
        by = mi.Vector3f(0)
        dr.enable_grad(by)
        params["m.vertex_positions"] = dr.ravel(mi.Point3f(start + by))
        params.update()
        out = getattr(scene.ray_intersect(r, flags), value) + 0 * by.x
        dr.forward(getattr(by, axis))
        return dr.grad(out)
    assert scene.shapes()[0].parameters_grad_enabled() is False
    assert dr.allclose(moved("z", "t"), -1)
    assert dr.allclose(moved("x", "p"), 0, atol=1e-6)
    assert dr.allclose(moved("x", "p", mi.RayFlags.All | mi.RayFlags.FollowShape), [1, 0, 0])
    assert dr.allclose(moved("x", "uv"), [-1, 0])
    assert dr.allclose(moved("x", "uv", mi.RayFlags.All | mi.RayFlags.FollowShape), 0)
    assert dr.allclose(moved("z", "t", mi.RayFlags.All | mi.RayFlags.DetachShape), 0)
    assert scene.shapes()[0].parameters_grad_enabled()


def test_interaction_of_nothing_is_not_valid():
    assert dr.none(dr.zeros(mi.SurfaceInteraction3f, 4).is_valid())
    assert "instance=[0x0]" in str(dr.zeros(mi.SurfaceInteraction3f))


def test_neighbouring_rays_tell_how_texture_coordinates_change():
    r = mi.RayDifferential3f(mi.Point3f(0.1, 0.2, 5), mi.Vector3f(0, 0, -1))
    si = mi.load_dict({"type": "rectangle"}).ray_intersect(r)
    si.compute_uv_partials(r)
    assert not dr.any(si.has_uv_partials())
    r.o_x, r.o_y, r.d_x, r.d_y, r.has_differentials = r.o + mi.Vector3f(0.1, 0, 0), r.o + mi.Vector3f(0, 0.1, 0), r.d, r.d, True
    si.compute_uv_partials(r)
    assert dr.allclose(si.duv_dx, [0.05, 0]) and dr.allclose(si.duv_dy, [0, 0.05])


def test_rays_see_a_mesh_as_it_was_when_they_were_cast():
    scene = mi.load_dict({"type": "scene", "cube": {"type": "cube"}})
    t = scene.ray_intersect_preliminary(ray((0, 0, -5), (0, 0, 1))).t
    params = mi.traverse(scene)
    params["cube.vertex_positions"] = params["cube.vertex_positions"] + 50
    params.update()
    del scene, params
    assert dr.allclose(t, 4)


def test_other_material_is_seen_by_scenes_that_exist():
    scene, si = pair()
    scene.shapes()[0].set_bsdf(mi.load_dict({"type": "diffuse", "reflectance": 0.25}))
    si = scene.ray_intersect(ray((-2, 0, -5), (0, 0, 1)))
    assert dr.allclose(si.bsdf().eval_diffuse_reflectance(si), 0.25)


def test_hits_can_be_differentiated_again_and_again(tmp_path):
    scene = mi.load_dict({"type": "scene", "m": {**mesh_file(tmp_path), "id": "m"}})
    params = mi.traverse(scene)
    positions = params["m.vertex_positions"]
    dr.enable_grad(positions)
    params.set_dirty("m.vertex_positions")
    params.update()
    for wanted in ([0, 0, -1] + 6 * [0], 2 * [0] + [-2] + 6 * [0]):
        dr.backward(scene.ray_intersect(ray((1e-6, 1e-6, 5), (0, 0, -1))).t)
        assert dr.allclose(dr.grad(positions), wanted, atol=1e-4)


@pytest.mark.parametrize("kind", ["sphere", "disk", "cylinder", "rectangle", "cube"])
def test_rays_that_were_recorded_outlive_their_scene(kind):
    def distances():
        scene = mi.load_dict({"type": "scene", "shape": {"type": kind}})
        o = mi.Point3f(dr.linspace(mi.Float, -.4, .4, 100), .1, -5)
        return scene.ray_intersect(mi.Ray3f(o, mi.Vector3f(0, 0, 1))).t
    kept = mi.load_dict({"type": "scene", "shape": {"type": kind}})
    t = distances()  # nothing has run yet, and the scene is gone
    others = [mi.load_dict({"type": kind, "to_world": mi.ScalarTransform4f().scale(k + 2)}) for k in range(8)]
    o = mi.Point3f(dr.linspace(mi.Float, -.4, .4, 100), .1, -5)
    assert len(others) == 8 and dr.all(t == kept.ray_intersect(mi.Ray3f(o, mi.Vector3f(0, 0, 1))).t)


# As in Mitsuba 3: it says where the unit sphere or tube is
@pytest.mark.parametrize("d, matrix", [
    ({"type": "sphere", "center": [1, 2, 3], "radius": 2.0}, T().translate([1, 2, 3]).scale(2)),
    ({"type": "sphere", "center": [1, 0, 0], "radius": 2.0, "to_world": T().scale(3)}, T().translate([3, 0, 0]).scale(6)),
    ({"type": "cylinder", "p0": [1, 0, 0], "p1": [1, 0, 4], "radius": 0.5}, T().translate([1, 0, 0]).scale([0.5, 0.5, 4]))])
def test_to_world_has_centre_and_size_in_it(d, matrix):
    shape = mi.load_dict(d)
    params = mi.traverse(shape)
    assert np.allclose(params["to_world"].matrix.numpy().squeeze(), np.array(matrix.matrix))
    assert not {"center", "radius", "p0", "p1"} & set(params.keys())
    before = shape.bbox()
    params["to_world"] = mi.Transform4f().translate([0, 0, 1]) @ params["to_world"]
    params.update()
    assert np.allclose(np.array(shape.bbox().min), np.array(before.min) + [0, 0, 1])
    params["to_world"] = mi.Transform4f().scale(3)
    params.update()
    low, high = (np.array(v).ravel() for v in (shape.bbox().min, shape.bbox().max))
    assert np.allclose(high, 3) and np.allclose(low[:2], -3) and np.isclose(low[2], -3 if d["type"] == "sphere" else 0)


def test_no_ray_passes_between_triangles_where_tests_are_robust(variant):
    n = 1 << 22
    rng = mi.PCG32(n)
    scene = mi.load_dict({"type": "scene", "embree_use_robust_intersections": True,
                          "cube": {"type": "cube", "to_world": T().rotate([1, 2, 3], 40)}})
    turn = mi.Transform4f().rotate([1, 2, 3], 40)
    x = rng.next_float32() * 1.8 - 0.9  # along the diagonals of a face, where two triangles meet
    y = dr.select(rng.next_float32() < 0.5, x, -x)
    p = turn @ mi.Point3f(x, y, 1)
    # From far away, but not so flat that rounding leads past the cube; 11 of them pass otherwise
    o = turn @ mi.Point3f(rng.next_float32() * 6000 - 3000, rng.next_float32() * 6000 - 3000, 1000 + 3000 * rng.next_float32())
    assert dr.all(scene.ray_test(mi.Ray3f(o, dr.normalize(p - o))))


def test_records_are_made_from_each_other_and_from_their_fields():
    ray = mi.Ray3f([0, 0, 0], [0, 0, 1], 0.5, [])
    for short in (mi.Ray3f(ray, 3), mi.Ray3f(ray, mi.Float(3)), mi.Ray3f(ray, maxt=3), mi.Ray3f(other=ray, maxt=3)):
        assert float(short.maxt) == 3 and float(short.time) == 0.5 and dr.all(short.d == ray.d)
    assert float(mi.Ray3f(ray).maxt) == float(ray.maxt) > 3

    fields = dict(p=[1, 2, 3], n=[0, 0, 1], uv=[0.25, 0.5], time=0.5, pdf=0.125, delta=True, d=[0, 1, 0], dist=4)
    for ds in (mi.DirectionSample3f(*fields.values(), None), mi.DirectionSample3f(**fields)):
        for name, value in fields.items():
            assert np.ravel(getattr(ds, name)).tolist() == np.ravel(value).tolist(), name
        copy = mi.DirectionSample3f(ds)
        assert float(copy.dist) == 4 and np.ravel(copy.d).tolist() == [0, 1, 0]

    ps = mi.PositionSample3f(ds)
    si = mi.SurfaceInteraction3f(ps=ps, wavelengths=[])
    assert np.ravel(si.p).tolist() == [1, 2, 3] and np.ravel(si.uv).tolist() == [0.25, 0.5] and float(si.time) == 0.5
    assert np.ravel(mi.BSDFSample3f([0, 0, 1]).sampled_component).tolist() == [0xffffffff]
    for make in (mi.Interaction3f, mi.SurfaceInteraction3f, mi.DirectionSample3f):
        with pytest.raises(TypeError, match="no field 'q'"):
            make(q=1)


def test_arguments_have_mitsubas_names():
    si = mi.SurfaceInteraction3f(t=1, p=[0, 0, 0], n=[0, 0, 1])
    assert np.allclose(np.ravel(si.spawn_ray_to(t=mi.Point3f(0, 0, 2)).d), [0, 0, 1])
    with mi.set_variant(mi.variant() + "_polarized"):
        m, si = mi.mueller.linear_polarizer(mi.UnpolarizedSpectrum(1)), mi.SurfaceInteraction3f()
        si.sh_frame = mi.Frame3f(dr.normalize(mi.Vector3f(1, 1, 1)))
        a, b = dr.normalize(mi.Vector3f(0.2, 0, 1)), dr.normalize(mi.Vector3f(0, -0.8, 1))
        local = si.to_local_mueller(M_world=m, wi_world=a, wo_world=b)
        world = si.to_world_mueller(M_local=local, wi_local=si.to_local(a), wo_local=si.to_local(b))
        assert dr.allclose(world, m, atol=1e-5)
    box = mi.BoundingBox3f([0, 0, 0], [1, 1, 1])
    assert dr.all(box.contains(p=[0.5, 0.5, 0.5]) & box.contains(bbox=box) & box.overlaps(bbox=box, strict=True))
    shape, it = mi.load_dict({"type": "sphere"}), mi.Interaction3f(p=[0, 0, 3])
    ds = shape.sample_direction(it=it, sample=[0.3, 0.4])
    assert dr.allclose(shape.pdf_direction(it=it, ps=ds), ds.pdf)
