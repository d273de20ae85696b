# tests/python/old_parameters_test.py: parameters of Mitsuba 0.5's manual that few scenes have.
import logging

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


@pytest.fixture(autouse=True)
def variant():
    with mi.set_variant("llvm_rgb"):
        yield


OBJ = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
usemtl red
g one
f 1 2 3
g two
f 1 2 4
f 2 3 4
usemtl blue
f 1 3 4
"""


def test_one_mesh_of_an_obj_file(tmp_path):
    path = tmp_path / "several.obj"
    path.write_text(OBJ)
    load = lambda **more: mi.load_dict({"type": "obj", "filename": str(path), **more})
    assert load().face_count() == 4
    assert [load(shape_index=i).face_count() for i in range(3)] == [1, 2, 1]
    assert dr.allclose(load(shape_index=2).bbox().max, [0, 1, 1])
    assert [load(shape_index=i, collapse=True).face_count() for i in range(2)] == [3, 1]
    with pytest.raises(mi.UserError, match="has 3 meshes; shape_index is 3"):
        load(shape_index=3)
    # Of old scenes, whose files bring their materials
    parts = mi.load_string(f"""<scene version="0.5.0"><shape type="obj"><string name="filename" value="{path}"/>
        <integer name="shapeIndex" value="1"/></shape></scene>""").shapes()
    assert [s.face_count() for s in parts] == [2]


PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 1
property list uchar int vertex_indices
end_header
0 0 0 255 128 0
1 0 0 255 128 0
0 1 0 255 128 0
3 0 1 2
"""


def test_colours_of_ply_files_may_be_encoded(tmp_path):
    path = tmp_path / "colours.ply"
    path.write_text(PLY)
    colour = lambda mesh: np.array(mi.traverse(mesh)["vertex_color"])[:3]
    load = lambda **more: mi.load_dict({"type": "ply", "filename": str(path), **more})
    linear = ((128 / 255 + .055) / 1.055) ** 2.4
    assert np.allclose(colour(load()), [1, linear, 0], atol=1e-6)  # as in Mitsuba 3
    assert np.allclose(colour(load(srgb=True)), [1, linear, 0], atol=1e-6)
    old = '<shape version="0.5.0" type="ply"><string name="filename" value="%s"/>%s</shape>'
    assert np.allclose(colour(mi.load_string(old % (path, ""))), [1, linear, 0], atol=1e-6)
    assert np.allclose(colour(mi.load_string(old % (path, '<boolean name="srgb" value="false"/>'))), [1, 128 / 255, 0])
    path.write_text(PLY.replace("uchar", "ushort", 3).replace("255 128 0", "65535 32896 0"))
    assert np.allclose(colour(load()), [1, linear, 0], atol=1e-6)
    path.write_text(PLY.replace("uchar red", "float red").replace("uchar green", "float green").replace("uchar blue", "float blue")
                    .replace("255 128 0", "1 .5 0"))
    assert np.allclose(colour(load(srgb=True)), [1, ((.5 + .055) / 1.055) ** 2.4, 0], atol=1e-6)


def test_environments_have_a_gamma():
    grey = mi.Bitmap(np.full((4, 8, 3), .5, dtype=np.float32))
    seen = lambda **more: mi.load_dict({"type": "envmap", "bitmap": grey, **more}).eval(dr.zeros(mi.SurfaceInteraction3f))
    assert dr.allclose(seen(), .5)
    assert dr.allclose(seen(gamma=2.2), .5 ** 2.2, rtol=1e-5)
    assert dr.allclose(seen(gamma=-1.), ((.5 + .055) / 1.055) ** 2.4, rtol=1e-5)


def test_light_on_which_normals_disagree():
    """A floor whose normals lean far over is lit from below its surface by a lamp that they face."""
    floor = mi.Mesh("floor", vertex_count=3, face_count=1, has_vertex_normals=True, props=mi.Properties())
    params = mi.traverse(floor)
    params["vertex_positions"] = [-9., -9, 0, 9, -9, 0, 0, 9, 0]
    params["faces"] = [0, 1, 2]
    params["vertex_normals"] = [.9, 0, .436] * 3
    params.update()

    def brightness(lamp, strict, **integrator):
        scene = mi.load_dict({"type": "scene", "integrator": {**integrator, "strict_normals": strict}, "floor": floor,
                              "lamp": {"type": "point", "position": lamp, "intensity": 9.},
                              "camera": {"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]),
                                         "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
        return float(np.mean(mi.render(scene, spp=16)))
    for integrator in ({"type": "direct"}, {"type": "path", "max_depth": 2}):
        above, below = [4, 0, 3], [4, 0, -.5]
        assert brightness(above, True, **integrator) == pytest.approx(brightness(above, False, **integrator)) != 0
        assert brightness(below, True, **integrator) == 0


def test_films_have_no_banner_and_no_log(caplog):
    with caplog.at_level(logging.WARNING):
        mi.load_string('<film version="0.5.0" type="hdrfilm"><boolean name="banner" value="false"/><boolean name="attachLog" value="true"/></film>')
        assert not caplog.text
        mi.load_string('<film version="0.5.0" type="hdrfilm"><boolean name="banner" value="true"/></film>')
    assert "no banner" in caplog.text


def test_stratified_numbers_up_to_a_dimension():
    def points(**more):
        sampler = mi.load_dict({"type": "stratified", "sample_count": 256, **more})
        sampler.set_samples_per_wavefront(256)
        sampler.seed(3, 256)
        return [np.array(sampler.next_1d()) for _ in range(3)] + [np.array(sampler.next_2d()) for _ in range(3)]

    def cells(numbers):  # how many are occupied
        return len({tuple(c) for c in np.floor(np.atleast_2d(numbers).T * (16 if numbers.ndim == 2 else 256)).astype(int)})
    assert [cells(p) for p in points()] == [256] * 6
    assert [cells(p) == 256 for p in points(dimension=2)] == [True, True, False] * 2
    assert [cells(p) == 256 for p in points(dimension=1)] == [True, False, False] * 2
