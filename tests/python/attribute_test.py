# tests/python/attribute_test.py: attributes of meshes and shapes, as scripts read, change and differentiate them.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

COLOURS = [1, 0, 0, 0, 1, 0, 0, 0, 1]


def triangle(bsdf=None, **options):
    props = mi.Properties()
    if bsdf is not None:
        props["bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh("triangle", vertex_count=3, face_count=1, props=props, **options)
    params = mi.traverse(mesh)
    params["vertex_positions"] = [0, 0, 0, 1, 0, 0, 0, 1, 0]
    params["faces"] = [0, 1, 2]
    params.update()
    return mesh


def tinted(name="vertex_color"):
    return {"type": "diffuse", "reflectance": {"type": "mesh_attribute", "name": name}}


def at(x, y, face=0):
    si = dr.zeros(mi.SurfaceInteraction3f, dr.width(mi.Float(x)))
    si.p, si.prim_index = mi.Point3f(x, y, 0), mi.UInt32(face)
    return si


def rays(x, y): return mi.Ray3f(mi.Point3f(x, y, 3), mi.Vector3f(0, 0, -1))


def test_attribute_of_vertices_is_interpolated_and_that_of_faces_is_constant():
    mesh = triangle()
    mesh.add_attribute("vertex_color", 3, COLOURS)
    mesh.add_attribute("face_heat", 1, [7])
    assert dr.allclose(mesh.eval_attribute_3("vertex_color", at([0, 0.25], [0, 0.5])), [[1, 0.25], [0, 0.25], [0, 0.5]])
    assert dr.allclose(mesh.eval_attribute("vertex_color", at(0.25, 0.5)), [0.25, 0.25, 0.5])
    assert dr.allclose(mesh.eval_attribute_1("face_heat", at(0.25, 0.5)), 7)
    assert dr.allclose(mesh.eval_attribute_x("vertex_color", at(1, 0)), [0, 1, 0])
    assert len(mesh.eval_attribute_x("face_heat", at(0, 0))) == 1


def test_attribute_that_is_missing_is_zero():
    assert dr.allclose(triangle().eval_attribute("vertex_color", at(0, 0)), 0)


@pytest.mark.parametrize("name, size, values, message", [
    ("color", 3, COLOURS, 'must start with either "vertex_" or "face_"'),
    ("vertex_color", 3, [1, 2], "needs 3 numbers for each of 3 vertices"),
    ("face_heat", 1, [1, 2], "for each of 1 faces")])
def test_attribute_that_does_not_fit_is_an_error(name, size, values, message):
    with pytest.raises(mi.UserError, match=message):
        triangle().add_attribute(name, size, values)


def test_attributes_come_and_go():
    mesh = triangle()
    assert not mesh.has_mesh_attributes()
    mesh.add_attribute("vertex_color", 3, COLOURS)
    assert mesh.has_mesh_attributes() and dr.all(mesh.has_attribute("vertex_color"))
    assert "vertex_color: 3 floats" in str(mesh)
    with pytest.raises(RuntimeError, match="already exists"):
        mesh.add_attribute("vertex_color", 3, COLOURS)
    assert np.array_equal(mesh.attribute_buffer("vertex_color"), COLOURS)
    mesh.remove_attribute("vertex_color")
    assert not dr.any(mesh.has_attribute("vertex_color"))
    with pytest.raises(RuntimeError, match="not found"):
        mesh.remove_attribute("vertex_color")
    with pytest.raises(RuntimeError, match="doesn't exist"):
        mesh.attribute_buffer("vertex_color")


def test_attribute_is_a_parameter_that_changes_the_image():
    mesh = triangle(tinted())
    mesh.add_attribute("vertex_color", 3, COLOURS)
    scene = mi.load_dict({"type": "scene", "mesh": mesh})
    si = scene.ray_intersect(rays(0.25, 0.5))
    assert dr.allclose(si.bsdf().eval_diffuse_reflectance(si), [0.25, 0.25, 0.5])
    params = mi.traverse(scene)
    params["mesh.vertex_color"] = mi.Float(COLOURS) * 0.5
    params.update()
    assert dr.allclose(si.bsdf().eval_diffuse_reflectance(si), [0.125, 0.125, 0.25])


@pytest.mark.parametrize("colour", ["rgb", "mono", "spectral"])
def test_colours_of_vertices_look_like_a_texture_of_those_colours(colour):
    def image(bsdf):
        mesh = triangle(bsdf)
        mesh.add_attribute("vertex_color", 3, [0.2, 0.5, 0.7] * 3)
        return np.array(mi.render(mi.load_dict({
            "type": "scene", "mesh": mesh, "sky": {"type": "constant"}, "integrator": {"type": "path", "max_depth": 2},
            "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 2, "height": 2}, "fov": 5,
                       "to_world": mi.ScalarTransform4f().look_at([0.3, 0.3, 3], [0.3, 0.3, 0], [0, 1, 0])}}), spp=256))
    with mi.set_variant("llvm_ad_" + colour):
        plain = image({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.2, 0.5, 0.7]}})
        assert np.allclose(image(tinted()), plain, rtol=2e-2)


def test_two_meshes_that_share_a_material_show_their_own_attributes():
    bsdf = mi.load_dict(tinted("face_color"))
    shapes = {}
    for i in range(2):
        mesh = triangle()
        mesh.set_id(f"triangle{i}")
        mesh.set_bsdf(bsdf)
        mesh.add_attribute("face_color", 3, [0.1 + i, 0.2, 0.3])
        params = mi.traverse(mesh)
        params["vertex_positions"] = [2 * i, 0, 0, 2 * i + 1, 0, 0, 2 * i, 1, 0]
        params.update()
        shapes[f"mesh{i}"] = mesh
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "center": [0, 5, 0]}, **shapes})
    si = scene.ray_intersect(rays([0.2, 2.2, 0], [0.2, 0.2, 5]))
    value = np.array(si.bsdf().eval_diffuse_reflectance(si))
    assert np.allclose(value, [[0.1, 1.1, 0.5], [0.2, 0.2, 0.5], [0.3, 0.3, 0.5]])


def test_part_of_an_instance_has_the_attributes_of_its_mesh():
    mesh = triangle(tinted())
    mesh.add_attribute("vertex_color", 3, COLOURS)
    scene = mi.load_dict({
        "type": "scene", "group": {"type": "shapegroup", "mesh": mesh},
        "there": {"type": "instance", "group": {"type": "ref", "id": "group"},
                  "to_world": mi.ScalarTransform4f().translate([5, 0, 0]).scale(2)},
        "sky": {"type": "constant"}, "integrator": {"type": "aov", "aovs": "a:albedo"},
        "sensor": {"type": "perspective", "fov": 1, "film": {"type": "hdrfilm", "width": 1, "height": 1, "rfilter": {"type": "box"}},
                   "to_world": mi.ScalarTransform4f().look_at([5.5, 1, 5], [5.5, 1, 0], [0, 1, 0])}})
    assert np.allclose(np.array(mi.render(scene, spp=64)).ravel()[-3:], [0.25, 0.25, 0.5], atol=1e-2)


def test_derivative_of_an_image_by_an_attribute_is_that_of_finite_differences():
    mesh = triangle(tinted())
    mesh.add_attribute("vertex_color", 3, [0.5] * 9)
    scene = mi.load_dict({
        "type": "scene", "mesh": mesh, "sky": {"type": "constant"}, "integrator": {"type": "prb", "max_depth": 2},
        "sensor": {"type": "perspective", "fov": 20, "film": {"type": "hdrfilm", "width": 4, "height": 4},
                   "to_world": mi.ScalarTransform4f().look_at([0.3, 0.3, 3], [0.3, 0.3, 0], [0, 1, 0])}})
    params = mi.traverse(scene)
    key = "mesh.vertex_color"

    def loss(values):
        params[key] = values
        params.update()
        return dr.sum(mi.render(scene, params, spp=256, seed=1, seed_grad=1), axis=None)
    values = mi.Float([0.5] * 9)
    dr.enable_grad(values)
    dr.backward(loss(values))
    gradient = np.array(dr.grad(values))
    h, step = 0.1, np.zeros(9)
    step[4] = h
    difference = (float(loss(mi.Float(0.5 + step)).array[0]) - float(loss(mi.Float(0.5 - step)).array[0])) / (2 * h)
    assert gradient[4] > 0 and gradient[4] == pytest.approx(difference, rel=1e-2)
    assert np.allclose(gradient.reshape(3, 3), gradient.reshape(3, 3)[:, :1], rtol=1e-3)


def test_name_that_no_mesh_has_is_an_error():
    mesh = triangle(tinted("vertex_colour"))
    mesh.add_attribute("vertex_color", 3, COLOURS)
    scene = mi.load_dict({"type": "scene", "mesh": mesh})
    si = scene.ray_intersect(rays(0.2, 0.2))
    with pytest.raises(mi.UserError, match='no shape has an attribute "vertex_colour"'):
        si.bsdf().eval_diffuse_reflectance(si)
    with pytest.raises(mi.UserError, match="must start with"):
        mi.load_dict({"type": "mesh_attribute", "name": "color"})


PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property float r
property float g
property float b
property float foo
property float heat_0
element face 1
property list uchar int vertex_indices
property float tint_r
property float tint_g
property float tint_b
end_header
0 0 0 1 0 0 5 1
1 0 0 0 1 0 6 2
0 1 0 0 0 1 7 3
3 0 1 2 0.1 0.2 0.3
"""


def test_file_has_attributes_by_the_names_of_its_properties(tmp_path):
    (tmp_path / "a.ply").write_text(PLY)
    mesh = mi.load_dict({"type": "ply", "filename": str(tmp_path / "a.ply")})
    params = mi.traverse(mesh)
    assert np.array_equal(params["vertex_color"], COLOURS)
    assert np.array_equal(params["vertex_heat"], [1, 2, 3])
    assert np.allclose(params["face_tint_color"], [0.1, 0.2, 0.3])
    assert np.array_equal(params["vertex_foo"], [5, 6, 7])


def test_written_file_keeps_attributes(tmp_path):
    mesh = triangle()
    mesh.add_attribute("vertex_color", 3, COLOURS)
    mesh.add_attribute("face_heat", 1, [7])
    mesh.write_ply(tmp_path / "a.ply")
    again = mi.traverse(mi.load_dict({"type": "ply", "filename": str(tmp_path / "a.ply")}))
    assert np.array_equal(again["vertex_color"], COLOURS) and np.array_equal(again["face_heat"], [7])


def test_texture_is_an_attribute_of_any_shape():
    texture = mi.load_dict({"type": "checkerboard"})
    shape = mi.load_dict({"type": "sphere", "pattern": texture})
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.uv = [0.3, 0.2]
    assert dr.all(shape.has_attribute("pattern")) and not dr.any(shape.has_attribute("other"))
    assert dr.allclose(shape.eval_attribute("pattern", si), texture.eval(si))
    assert "pattern.color0.value" in mi.traverse(shape)
    other = mi.load_dict({"type": "checkerboard"})
    shape.add_texture_attribute("pattern", other)
    assert shape.texture_attribute("pattern") is other
    shape.remove_attribute("pattern")
    with pytest.raises(RuntimeError, match="doesn't exist"):
        shape.texture_attribute("pattern")


def test_colours_in_scenes_are_attributes_like_textures():
    shape = mi.load_dict({"type": "sphere", "vertex_color": {"type": "rgb", "value": [.1, .2, .3]}})
    si = dr.zeros(mi.SurfaceInteraction3f)
    assert dr.allclose(shape.eval_attribute("vertex_color", si), [.1, .2, .3])
    scene = mi.load_string("""<scene version="3.0.0"><shape type="rectangle"><rgb name="face_tint" value="0.4, 0.5, 0.6"/>
        <bsdf type="diffuse"><texture type="mesh_attribute" name="reflectance"><string name="name" value="face_tint"/></texture></bsdf>
        </shape></scene>""")
    assert dr.allclose(scene.shapes()[0].eval_attribute("face_tint", si), [.4, .5, .6])
    with pytest.raises(mi.UserError, match="unknown parameter"):  # names of other kinds are more likely mistakes
        mi.load_dict({"type": "sphere", "reflectance": {"type": "rgb", "value": [.1, .2, .3]}})
