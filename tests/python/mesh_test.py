# tests/python/mesh_test.py: meshes from arrays, images that films keep, and what scripts find in a scene.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def triangle(**options):
    mesh = mi.Mesh("triangle", vertex_count=3, face_count=1, **options)
    params = mi.traverse(mesh)
    params["vertex_positions"] = [0, 0, 0, 2, 0, 0, 0, 1, 0]
    params["faces"] = [0, 1, 2]
    params.update()
    return mesh


def view(**objects):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "path"},
        "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}, **objects})


def test_mesh_has_the_vertices_and_faces_of_its_arrays():
    mesh = triangle()
    assert isinstance(mesh, mi.Mesh) and mesh.is_mesh() and mesh.id() == "triangle"
    assert (mesh.vertex_count(), mesh.face_count()) == (3, 1)
    assert mesh.surface_area() == pytest.approx(1)
    assert dr.allclose(mesh.vertex_position(mi.UInt32(1)), [2, 0, 0])
    assert dr.all(mesh.face_indices(mi.UInt32(0)) == mi.Vector3u(0, 1, 2), axis=None)
    assert dr.allclose(mesh.face_normal(mi.UInt32(0)), [0, 0, 1])


def test_mesh_is_hit_where_its_arrays_say():
    scene = view(mesh=triangle())
    si = scene.ray_intersect(mi.Ray3f(mi.Point3f([0.2, 1.5], [0.2, 0.9], 3), mi.Vector3f(0, 0, -1)))
    assert np.array(si.is_valid()).tolist() == [True, False]
    assert si.t[0] == pytest.approx(3)


def test_mesh_may_be_a_light():
    props = mi.Properties()
    props["light"] = mi.load_dict({"type": "area", "radiance": 2.0})
    mesh = triangle(props=props)
    assert mesh.is_emitter()
    scene = view(mesh=mesh)
    assert len(scene.emitters()) == 1
    ref = dr.zeros(mi.SurfaceInteraction3f)
    ref.p = mi.Point3f(0.3, 0.3, 1)
    ds, weight = scene.sample_emitter_direction(ref, mi.Point2f(0.3, 0.6), False)
    assert dr.allclose(weight * ds.pdf, 2)


def test_smooth_normals_follow_the_vertices():
    assert dr.allclose(triangle(has_vertex_normals=True).vertex_normals_buffer(), [0, 0, 1] * 3)


def test_triangles_without_area_leave_derivatives_of_normals_finite():
    mesh = mi.Mesh("card", vertex_count=4, face_count=2, has_vertex_normals=True)
    params = mi.traverse(mesh)
    params["vertex_positions"] = [0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0]  # the last one is where the second is
    params["faces"] = [0, 1, 2, 0, 1, 3]
    params.update()
    scene = view(mesh=mesh)
    params = mi.traverse(scene)
    key = next(k for k in params.keys() if k.endswith("vertex_positions"))
    x = mi.Float(params[key])
    dr.enable_grad(x)
    params[key] = x
    params.update()
    si = scene.ray_intersect(mi.Ray3f(mi.Point3f(0.3, 0.3, 3), mi.Vector3f(0, 0, -1)))
    dr.backward(si.sh_frame.n.x)
    g = np.array(dr.grad(x))
    assert np.isfinite(g).all() and np.abs(g).max() > 0.1, g


def test_file_of_a_mesh_has_the_same_mesh(tmp_path):
    mesh = triangle(has_vertex_normals=True, has_vertex_texcoords=True)
    mesh.write_ply(tmp_path / "triangle.ply")
    again = mi.load_dict({"type": "ply", "filename": str(tmp_path / "triangle.ply")})
    for buffer in ("vertex_positions_buffer", "vertex_normals_buffer", "vertex_texcoords_buffer", "faces_buffer"):
        assert np.array_equal(getattr(mesh, buffer)(), getattr(again, buffer)()), buffer


def test_file_of_a_mesh_has_vertices_that_were_not_passed_on_yet(tmp_path):
    mesh = triangle()
    params = mi.traverse(mesh)
    moved = mi.Float(params["vertex_positions"]) + 2
    params["vertex_positions"] = moved
    mesh.write_ply(tmp_path / "triangle.ply")
    again = mi.load_dict({"type": "ply", "filename": str(tmp_path / "triangle.ply")})
    assert np.array_equal(again.vertex_positions_buffer(), moved)
    assert [names for _, names in params.update()] == [{"vertex_positions"}]  # told all the same
    assert params.update() == []


def test_mesh_in_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(mi.UserError, match="cannot be written"):
        triangle().write_ply(tmp_path / "missing" / "triangle.ply")


def test_arrays_that_make_no_mesh_are_an_error():
    params = mi.traverse(triangle())
    params["faces"] = [0, 1, 3]
    with pytest.raises(mi.UserError, match="vertex 4 of 3"):
        params.update()


def test_film_keeps_the_last_image():
    scene = view(sky={"type": "constant", "radiance": 0.5})
    film = scene.sensors()[0].film()
    with pytest.raises(mi.UserError, match="no image has been rendered"):
        film.develop()
    image = mi.render(scene, spp=4)
    assert np.array_equal(film.develop(), image)
    assert np.array_equal(np.array(film.bitmap()), image)


def test_environment_is_the_light_around_the_scene():
    assert view().environment() is None
    scene = view(sky={"type": "constant"})
    assert scene.environment().is_environment()
    assert len(scene.emitters()) == 1


@pytest.mark.parametrize("colour", ["rgb", "spectral"])
def test_plain_number_of_light_is_white(colour):
    with mi.set_variant("llvm_" + colour):
        scene = view(sky={"type": "constant", "radiance": 2.0})
        image = np.array(mi.render(scene, spp=1024)).mean(axis=(0, 1))
    assert np.allclose(image, 2, rtol=0.02)


def test_parameters_of_one_object_begin_with_their_names():
    assert mi.traverse(mi.load_dict({"type": "diffuse"})).keys() == ["reflectance.value"]


def test_sampler_of_a_dictionary_gives_numbers_for_each_lane():
    sampler = mi.load_dict({"type": "independent", "sample_count": 4})
    sampler.seed(1, wavefront_size=64)
    u, v = np.array(sampler.next_1d()), np.array(sampler.next_1d())
    assert len(np.unique(np.concatenate([u, v]))) == 128
    assert np.all((u >= 0) & (u < 1))


def test_sensor_knows_where_it_stands():
    to_world = mi.ScalarTransform4f().translate([1, 2, 3])
    sensor = mi.load_dict({"type": "perspective", "to_world": to_world})
    assert np.allclose(np.array(sensor.world_transform().matrix).reshape(4, 4)[:3, 3], [1, 2, 3])
