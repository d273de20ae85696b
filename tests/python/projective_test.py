# tests/python/projective_test.py: derivatives of images by what moves agree with finite differences, silhouettes included.
#
# What is compared is a sum of all pixels with weights that differ from pixel to pixel. Both sides are estimated with several
# seeds; they must agree within three standard errors, and a little for the width of the step.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

SIZE = 16


@pytest.fixture(autouse=True)
def variant():
    """In place of all variants: one takes long enough."""
    with mi.set_variant("llvm_ad_rgb"):
        yield "llvm_ad_rgb"


def _rgb(*value):
    return {"type": "rgb", "value": list(value)}


def _camera(**kwargs):
    T = mi.ScalarTransform4f
    return {"type": "perspective", "fov": 45, "to_world": T().look_at([0, 1, 5], [0, 0, 0], [0, 1, 0]),
            "film": {"type": "hdrfilm", "width": SIZE, "height": SIZE, "rfilter": {"type": kwargs.pop("rfilter", "gaussian")},
                     "pixel_format": "rgb"},
            "sampler": {"type": "independent", "sample_count": 16}, **kwargs}


def _scene(things, integrator="prb_projective", camera=None, **kwargs):
    return mi.load_dict({"type": "scene", "integrator": {"type": integrator, **kwargs}, "camera": camera or _camera(),
                         **things})


def _weights(shape):
    y, x = np.mgrid[0:shape[0], 0:shape[1]] / (SIZE - 1)
    return np.repeat((x + 0.3 * np.sin(5 * x + 1) * np.cos(4 * y))[:, :, None], shape[2], 2).astype(np.float32)


class Problem:
    """A scene in which `key` depends on a number. Forward mode compiles as long as reverse mode: it is asked where a kind is new."""

    def __init__(self, scene, key, place, spp, spp_fd):
        self.scene, self.key, self.place, self.spp, self.spp_fd = scene, key, place, spp, spp_fd
        self.params = mi.traverse(scene)
        self.before = self.params[key]
        if not hasattr(self.before, "matrix"):
            self.before = type(self.before)(self.before)

    def image(self, x, seed, spp):
        self.params[self.key] = self.place(self.before, x)
        self.params.update()
        return mi.render(self.scene, self.params, seed=seed, seed_grad=seed + 1000, spp=spp)

    def loss(self, x, seed, spp):
        image = self.image(x, seed, spp)
        return dr.sum(image * mi.TensorXf(_weights(image.shape)), axis=None)

    def difference(self, seed, step):
        a, b = (float(self.loss(mi.Float(x), seed, self.spp_fd).array[0]) for x in (step, -step))
        return (a - b) / (2 * step)

    def backward(self, seed):
        x = mi.Float(0)
        dr.enable_grad(x)
        dr.backward(self.loss(x, seed, self.spp))
        return float(dr.grad(x)[0])

    def forward(self, seed):
        x = mi.Float(0)
        dr.enable_grad(x)
        loss = self.loss(x, seed, self.spp)
        dr.forward(x)
        return float(dr.grad(loss).array[0])

    def check(self, step=0.02, seeds=5, slack=0.01, forward=False):
        expected = np.array([self.difference(i, step) for i in range(3)])
        back = np.array([self.backward(i) for i in range(seeds)])
        assert abs(expected.mean()) > 0.02
        if forward:  # of the same samples: others would tell nothing else
            np.testing.assert_allclose(self.forward(0), back[0], rtol=2e-3, atol=2e-3 * np.abs(back).max())
        error = np.sqrt(expected.var(ddof=1) / len(expected) + back.var(ddof=1) / seeds)
        message = f"{self.key}: differences {expected.mean():.4f}, derivative {back.mean():.4f} +- {error:.4f}"
        print(message)
        assert abs(expected.mean() - back.mean()) < 3 * error + slack * abs(expected.mean()), message
        assert error < 0.15 * abs(expected.mean()), "says nothing: " + message


def _move(axis):
    def place(before, x):
        v = [0, 0, 0]
        v[axis] = x
        if hasattr(before, "matrix"):
            return mi.Transform4f().translate(v) @ mi.Transform4f(before)
        lane = dr.arange(mi.UInt32, dr.width(before))
        return before + dr.select(lane % 3 == axis, x, 0)
    return place


def _grow(centre):
    def place(before, x):
        lane = dr.arange(mi.UInt32, dr.width(before)) % 3
        middle = dr.select(lane == 0, centre[0], dr.select(lane == 1, centre[1], centre[2]))
        return middle + (before - middle) * (1 + x)
    return place


def _glow(value=1.0):
    return {"type": "area", "radiance": _rgb(value, 0.5 * value, 0.2)}


def _turned():
    return mi.ScalarTransform4f().rotate([1, 0.4, 0.2], 35).scale(0.7)


def _things(name):
    T = mi.ScalarTransform4f
    wall = {"type": "rectangle", "to_world": T().translate([0.3, 0, -2]).scale(1.2), "emitter": _glow(0.6)}
    return {
        "cube": {"thing": {"type": "cube", "to_world": _turned(), "emitter": _glow()}},
        "occluded cube": {"wall": wall, "thing": {"type": "cube", "to_world": _turned(), "emitter": _glow()},
                          "front": {"type": "rectangle", "to_world": T().translate([0.5, 0.5, 1.5]).scale(0.4),
                                    "emitter": _glow(0.2)}},
        "sphere": {"wall": wall, "thing": {"type": "sphere", "radius": 0.8, "emitter": _glow()}},
        "cylinder": {"wall": wall, "thing": {"type": "cylinder", "p0": [-.7, -.4, 0], "p1": [.5, .6, .3], "radius": .4,
                                             "emitter": _glow()}},
        "disk": {"wall": wall, "thing": {"type": "disk", "to_world": T().rotate([1, 1, 0], 30), "emitter": _glow()}},
        "rectangle": {"wall": wall, "thing": {"type": "rectangle", "to_world": T().rotate([1, 1, 0], 30).scale(0.8),
                                              "emitter": _glow()}},
    }[name]


@pytest.mark.parametrize("name", ["cube", "occluded cube", "sphere", "cylinder", "disk", "rectangle"])
def test_what_the_camera_sees_of_a_moving_shape(name):
    key = "thing.vertex_positions" if "cube" in name else "thing.to_world"
    Problem(_scene(_things(name), max_depth=1), key, _move(0), 512, 4096).check(forward=name in ("cube", "sphere", "disk"))


def _ball(folder, rows, columns):
    """A sphere of triangles, with normals of vertices."""
    t, p = np.meshgrid(np.linspace(0, np.pi, rows + 1), np.arange(columns) * 2 * np.pi / columns, indexing="ij")
    places = np.stack([np.sin(t) * np.cos(p), np.cos(t), np.sin(t) * np.sin(p)], -1).reshape(-1, 3)
    a = np.arange(rows * columns)
    b = a - a % columns + (a + 1) % columns
    faces = np.concatenate([np.stack([a, b, a + columns], 1)[columns:], np.stack([b, b + columns, a + columns], 1)[:-columns]])
    mi.Mesh("ball", faces=faces, positions=places).write_ply(str(folder / "ball.ply"))
    return {"type": "ply", "filename": str(folder / "ball.ply")}


@pytest.mark.parametrize("faceted", [True, False])
def test_a_fine_mesh_ends_where_it_is_bright(faceted, tmp_path):
    """Facets near the horizon look narrower than what rays beside an edge keep away from it; on a smooth mesh interpolated
    normals there are turned away."""
    ball = _ball(tmp_path, 96, 192)
    camera = _camera(to_world=mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]), rfilter="box")
    scene = _scene({"ball": {**ball, "face_normals": faceted, "emitter": _glow()}}, camera=camera, max_depth=1)
    params = mi.traverse(scene)
    before, x = mi.Float(params["ball.vertex_positions"]), mi.Float(1)
    dr.enable_grad(x)
    params["ball.vertex_positions"] = before * x
    params.update()
    image = mi.render(scene, params, spp=512)
    brightness = float(dr.sum(image, axis=None).array[0])
    dr.forward(x)
    grown = float(dr.sum(dr.grad(image), axis=None).array[0])
    # A sphere of radius r at the distance 5 fills an area proportional to r^2 / (25 - r^2)
    assert abs(grown / brightness - (2 + 2 / 24)) < 0.1


def test_channels_beside_the_colour_know_what_comes_into_sight():
    thing = {"thing": {"type": "sphere", "radius": 0.8, "emitter": _glow()}}  # no deeper than 0 beside it
    scene = _scene(thing, "aov", aovs="d:depth", inner={"type": "prb_projective", "max_depth": 1})
    Problem(scene, "thing.to_world", _move(0), 512, 4096).check(forward=True)


def _lit(thing, light=None):
    T = mi.ScalarTransform4f
    return {
        "floor": {"type": "rectangle", "to_world": T().translate([0, -0.8, 0]).rotate([1, 0, 0], -90).scale(4),
                  "bsdf": {"type": "diffuse", "reflectance": _rgb(0.7, 0.6, 0.5)}},
        "light": light or {"type": "rectangle", "to_world": T().translate([1, 3, 0]).rotate([1, 0, 0], 90).scale(0.5),
                           "emitter": {"type": "area", "radiance": _rgb(9, 8, 7)}},
        "thing": {"bsdf": {"type": "diffuse", "reflectance": _rgb(0.4, 0.5, 0.6)}, **thing},
    }


SHAPES = {"cube": lambda: {"type": "cube", "to_world": _turned().scale(0.6)},
          "sphere": lambda: {"type": "sphere", "radius": 0.45},
          "cylinder": lambda: {"type": "cylinder", "p0": [-.4, -.1, 0], "p1": [.3, .2, .2], "radius": .25}}


def _key(name):
    return "thing.vertex_positions" if name == "cube" else "thing.to_world"


@pytest.mark.parametrize("name", ["cube", "sphere", "cylinder"])
def test_a_moving_shape_and_its_shadow(name):
    Problem(_scene(_lit(SHAPES[name]()), "direct_projective"), _key(name), _move(0), 128, 2048).check(forward=name == "cube")


def test_light_between_a_moving_shape_and_the_floor():
    Problem(_scene(_lit(SHAPES["sphere"]()), max_depth=3), _key("sphere"), _move(0), 256, 2048).check(forward=True)


@pytest.mark.parametrize("name, light", [("cube", "point"), ("sphere", "point"), ("sphere", "directional"),
                                         ("cube", "constant")])
def test_shadows_of_other_lights(name, light):
    lights = {"point": {"type": "point", "position": [1, 3, 0.5], "intensity": _rgb(9, 8, 7)},
              "directional": {"type": "directional", "direction": [-0.4, -1, 0.1], "irradiance": _rgb(2, 2, 2)},
              "constant": {"type": "constant", "radiance": _rgb(0.5, 0.6, 0.7)}}
    scene = _scene(_lit(SHAPES[name](), lights[light]), "direct_projective")
    Problem(scene, _key(name), _move(0), 128, 2048).check()


def test_a_receiver_that_moves_below_a_shape_that_does_not():
    Problem(_scene(_lit(SHAPES["cube"]()), "direct_projective"), "floor.to_world", _move(1), 128, 2048).check()


def test_a_light_that_moves():
    Problem(_scene(_lit(SHAPES["sphere"]()), "direct_projective"), "light.to_world", _move(0), 128, 2048).check(forward=True)


def test_silhouettes_behind_a_light_that_the_camera_does_not_see():
    sun = {"type": "directional", "direction": [-0.4, -1, 0.1], "irradiance": _rgb(2, 2, 2)}
    pane = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, .6, 3]).scale(.6), "emitter": _glow(.05)}
    scene = _scene({"pane": pane, **_lit(SHAPES["sphere"](), sun)}, "direct_projective", hide_emitters=True)
    Problem(scene, _key("sphere"), _move(0), 128, 2048).check()


def test_silhouettes_behind_what_is_nearer_than_the_camera_sees():
    pane = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, .8, 4.2]).scale(.3), "emitter": _glow(.05)}
    scene = _scene({"pane": pane, **_things("cube")}, camera=_camera(near_clip=1.5), max_depth=1)
    Problem(scene, "thing.vertex_positions", _move(0), 512, 4096).check()


@pytest.mark.parametrize("glows", [True, False])
def test_silhouettes_behind_a_pane_that_lets_light_pass(glows):
    half = {"type": "mask", "opacity": 0.5, "inner": {"type": "diffuse", "reflectance": _rgb(0.1, 0.2, 0.3)}}
    pane = {"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([0, .6, 3]).scale(.8), "bsdf": half}
    things = _things("cube") if glows else _lit(SHAPES["cube"]())
    scene = _scene({"pane": pane, **things}, max_depth=2 if glows else 3)
    Problem(scene, "thing.vertex_positions", _move(0), 512, 4096).check(step=.03)


def test_a_camera_that_moves():
    Problem(_scene(_lit(SHAPES["cube"]()), "direct_projective"), "camera.to_world", _move(0), 128, 2048).check(forward=True)


def _side_by_side(*places):
    """A batch of pinholes."""
    T = mi.ScalarTransform4f
    film = {"type": "hdrfilm", "width": SIZE * len(places), "height": SIZE, "rfilter": {"type": "box"}, "pixel_format": "rgb"}
    inner = {f"camera{i}": {"type": "perspective", "fov": 45, "to_world": T().look_at(p, [0, 0, 0], [0, 1, 0])}
             for i, p in enumerate(places)}
    return {"type": "batch", "film": film, "sampler": {"type": "independent", "sample_count": 16}, **inner}


@pytest.mark.parametrize("name", ["sphere", "cube"])
def test_each_camera_of_a_batch_sees_its_own_silhouettes(name):
    scene = _scene(_lit(SHAPES[name]()), "direct_projective", _side_by_side([0, 1, 5], [4, 2, -1]))
    Problem(scene, _key(name), _move(0), 128, 2048).check()


def test_guiding_changes_noise_alone():
    scene = _scene(_lit(SHAPES["sphere"]()), "direct_projective", guiding="grid", guiding_rounds=2)
    Problem(scene, _key("sphere"), _move(0), 256, 2048).check()


@pytest.mark.parametrize("seed", ["bsdf", "emitter"])
def test_seeds_change_noise_alone(seed):
    problem = lambda **more: Problem(_scene(_lit(SHAPES["sphere"]()), sppi=1024, max_depth=3, **more), _key("sphere"), _move(0), 128, 2048)
    problem(project_seed=seed).check()
    assert problem(project_seed=seed).backward(1) != problem().backward(1)


def test_parts_can_be_left_out():
    def gradient(**kwargs):
        problem = Problem(_scene(_lit(SHAPES["sphere"]()), "direct_projective", **kwargs), _key("sphere"), _move(0), 16, 16)
        return problem.backward(1)
    parts = [gradient(sppc=16, sppp=0, sppi=0), gradient(sppc=0, sppp=16, sppi=0), gradient(sppc=0, sppp=0, sppi=16)]
    assert all(abs(p) > 1e-3 for p in parts)
    assert sum(parts) == pytest.approx(gradient(), rel=1e-4)


@pytest.mark.parametrize("name, weight", [("sphere", 0.3), ("cube", 4.0)])
def test_weights_of_silhouettes_change_noise_alone(name, weight):
    thing = SHAPES[name]() | {"silhouette_sampling_weight": weight}
    Problem(_scene(_lit(thing), "direct_projective"), _key(name), _move(0), 128, 2048).check()


@pytest.mark.parametrize("name", ["sphere", "cube"])
def test_silhouettes_of_no_weight_are_left_out(name):
    def gradient(weight):
        thing = SHAPES[name]() | {"silhouette_sampling_weight": weight}
        scene = _scene(_lit(thing), "direct_projective", sppc=0, sppp=16, sppi=0)
        return Problem(scene, _key(name), _move(0), 16, 16).backward(1)
    assert abs(gradient(1)) > 1e-3 and gradient(0) == 0


def _instanced(shape):
    T = mi.ScalarTransform4f
    group = {"type": "shapegroup", "inner": {**SHAPES[shape](), "bsdf": {"type": "diffuse", "reflectance": _rgb(0.4, 0.5, 0.6)}}}
    return {"group": group, **_lit({"type": "instance", "g": {"type": "ref", "id": "group"},
                                    "to_world": T().translate([.1, 0, 0]).rotate([0, 1, 1], 30).scale([1, .8, 1.2])})}


@pytest.mark.parametrize("shape, what", [("cube", "thing.to_world"), ("sphere", "thing.to_world"), ("cube", "light.to_world")])
def test_instances_and_their_shadows(shape, what):
    scene = _instanced(shape)
    del scene["thing"]["bsdf"]
    Problem(_scene(scene, "direct_projective"), what, _move(0), 128, 2048).check(forward=shape == "cube")


def test_vertices_of_a_shape_in_a_group():
    scene = _instanced("cube")
    del scene["thing"]["bsdf"]
    scene = _scene(scene, "direct_projective")
    key = next(k for k in mi.traverse(scene).keys() if k.startswith("group") and k.endswith("vertex_positions"))
    Problem(scene, key, _move(1), 128, 4096).check(step=.04)


def _followed(scene, key):
    params = mi.traverse(scene)
    x = mi.Float(0)
    dr.enable_grad(x)
    params[key] = mi.Transform4f().translate([x, 0, 0]) @ mi.Transform4f(params[key])
    params.update()
    dr.backward(dr.sum(mi.render(scene, params, spp=1), axis=None))


def test_shapes_without_known_silhouettes_are_refused(capfd):
    cloud = {"type": "ellipsoids", "centers": mi.TensorXf(np.float32([[0, 0, 0]])), "scales": mi.TensorXf(np.float32([[.3, .2, .3]])),
             "quaternions": mi.TensorXf(np.float32([[0, 0, 0, 1]]))}
    def scene(): return _scene(_lit(cloud), "direct_projective")
    with pytest.raises(Exception, match="no known silhouettes"):
        _followed(scene(), "camera.to_world")
    _followed(scene(), "light.to_world")
    assert "derivatives lack what it hides" in capfd.readouterr().err


# ---- curves: joints that bend, radii that change, ends that are closed (linear) and open (splines)

CURVES = {
    "linearcurve": "-.9 -.1 .1 .3\n-.2 .45 0 .15\n.3 -.1 .3 .25\n.9 .3 0 .2\n",
    "bsplinecurve": "-1.6 -.5 0 .2\n-.8 .3 .1 .35\n-.2 -.2 .3 .2\n.4 .4 0 .3\n.9 -.1 .2 .2\n1.5 .5 0 .15\n"}


def _curve(kind, tmp_path):
    file = tmp_path / "curve.txt"
    file.write_text(CURVES[kind])
    return {"type": kind, "filename": str(file)}


def _move_points(axis):
    """Points of a curve along x, y, z; or their radii."""
    def place(before, x):
        lane = dr.arange(mi.UInt32, dr.width(before))
        return before + dr.select((lane % 4 == axis) & (lane > 3), x, 0)
    return place


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("axis", [0, 3])
def test_what_the_camera_sees_of_a_moving_curve(kind, axis, tmp_path):
    scene = _scene({"sky": {"type": "constant", "radiance": _rgb(.5, .6, .7)},
                    "thing": {**_curve(kind, tmp_path), "bsdf": {"type": "diffuse", "reflectance": _rgb(0, 0, 0)}}}, max_depth=1)
    Problem(scene, "thing.control_points", _move_points(axis), 512, 4096).check(forward=axis == 0)


def _spline_in_the_sky(tmp_path, **kwargs):
    return _scene({"sky": {"type": "constant", "radiance": _rgb(.5, .6, .7)},
                   "thing": {**_curve("bsplinecurve", tmp_path), "bsdf": {"type": "diffuse", "reflectance": _rgb(0, 0, 0)}}},
                  max_depth=1, **kwargs)


def test_rays_beside_the_outline_of_a_spline_find_it(tmp_path):
    """Where it bends most: searches of rays that graze a spline end too early."""
    def place(before, x):
        return before + dr.select(dr.arange(mi.UInt32, dr.width(before)) == 7, x, 0)
    Problem(_spline_in_the_sky(tmp_path), "thing.control_points", place, 1024, 16384).check(step=.06, seeds=6, slack=.005)


def test_outlines_of_splines_in_double_precision(tmp_path):
    def gradient(variant):
        with mi.set_variant(variant):
            problem = Problem(_spline_in_the_sky(tmp_path, sppc=0, sppi=0), "thing.control_points", _move_points(3), 64, 64)
            return np.mean([problem.backward(i) for i in range(3)])
    assert gradient("llvm_ad_rgb_double") == pytest.approx(gradient("llvm_ad_rgb"), rel=.03)


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("key", ["thing.control_points", "light.to_world", "camera.to_world"])
def test_curves_and_their_shadows(kind, key, tmp_path):
    scene = _scene(_lit(_curve(kind, tmp_path)), "direct_projective")
    move = _move_points(0) if "thing" in key else _move(1 if "light" in key else 0)
    Problem(scene, key, move, 128, 2048).check()


def test_light_between_a_moving_curve_and_the_floor(tmp_path):
    scene = _scene(_lit(_curve("linearcurve", tmp_path)), max_depth=3)
    Problem(scene, "thing.control_points", _move_points(1), 256, 2048).check()


# ---- grids of distances: dented, so that silhouettes turn away, bend between voxels, and hide behind others

def _grid(open_border=False):
    z, y, x = np.mgrid[0:8, 0:7, 0:9] / np.array([7, 6, 8]).reshape(3, 1, 1, 1) - .5
    r = np.sqrt(x * x + 1.2 * y * y + z * z) + .05 * np.sin(9 * x + 2) * np.sin(8 * y) + .04 * np.cos(11 * z)
    return (r - (.52 if open_border else .36))[..., None].astype(np.float32)


def _sdf(**kwargs):
    T, size = mi.ScalarTransform4f, kwargs.pop("size", 1)
    return {"type": "sdfgrid", "grid": mi.TensorXf(_grid(kwargs.pop("open_border", False))),
            "to_world": T().rotate([1, 2, 0], 20).scale([1.9 * size, 1.6 * size, 1.7 * size]).translate(-.5), **kwargs}


def _shift_numbers(before, x):
    """As if the surface moved along x and grew: not by the same number everywhere."""
    z, y, along = np.mgrid[0:8, 0:7, 0:9]
    change = (.8 * (along / 8 - .5) + .3 + .2 * np.cos(2 * y + z)).astype(np.float32).ravel()
    return mi.TensorXf(before.array - x * mi.Float(change), before.shape)


@pytest.mark.parametrize("normals, border", [("smooth", False), ("analytic", False), ("smooth", True)])
def test_what_the_camera_sees_of_a_changing_grid(normals, border):
    lit = {"type": "diffuse", "reflectance": _rgb(.6, .5, .4)}
    scene = _scene({"sky": {"type": "constant", "radiance": _rgb(.5, .6, .7)},
                    "sun": {"type": "directional", "direction": [-1, -.6, -.8], "irradiance": _rgb(2, 1.5, 1)},
                    "thing": _sdf(normals=normals, open_border=border, bsdf={"type": "twosided", "inner": lit})},
                   max_depth=2 if normals == "analytic" else 1)
    Problem(scene, "thing.grid", _shift_numbers, 512, 4096).check(step=.005)


@pytest.mark.parametrize("key", ["thing.grid", "thing.to_world", "light.to_world", "camera.to_world"])
def test_a_grid_and_its_shadow(key):
    # Few of its many pieces are seen from a light
    scene = _scene(_lit(_sdf(normals="analytic", size=.6)), "direct_projective", sppi=1024, guiding="none")
    grid = key == "thing.grid"
    move = _shift_numbers if grid else _move(1 if "light" in key else 0)
    Problem(scene, key, move, 256, 4096).check(step=.01 if grid else .02, forward=grid)


def test_a_grid_that_casts_a_shadow_on_itself_as_it_changes():
    """Both ends of the segments that touch its silhouettes move: the receiver along the ray of the camera."""
    camera = _camera(rfilter="box")
    camera["film"].update(width=64, height=64, crop_offset_x=35, crop_offset_y=31, crop_width=4, crop_height=3)
    scene = _scene(_lit(_sdf(normals="analytic", size=.6)), camera=camera, max_depth=2, sppi=8192, sppp=2048, guiding="none")
    Problem(scene, "thing.grid", _shift_numbers, 1024, 16384).check(step=.004, slack=.02)


def test_a_grid_that_shines_on_itself_where_nothing_comes_into_sight():
    """From inside a closed surface all of it is seen: `prb` is complete there."""
    T = mi.ScalarTransform4f
    camera = _camera(to_world=T().look_at([0, .1, .2], [0.3, 0, -.4], [0, 1, 0]), fov=90)
    z, y, x = np.mgrid[0:6, 0:6, 0:6] / 5 - .5
    grid = (np.sqrt(x * x + 1.1 * y * y + .9 * z * z) - .42)[..., None].astype(np.float32)
    change = mi.Float((x + .4 + .3 * np.sin(3 * y)).astype(np.float32).ravel())
    scene = _scene({"thing": {"type": "sdfgrid", "grid": mi.TensorXf(grid), "to_world": T().scale(4).translate(-.5),
                              "bsdf": {"type": "twosided", "inner": {"type": "diffuse", "reflectance": _rgb(.6, .5, .4)}}},
                    "lamp": {"type": "point", "position": [.3, .4, .1], "intensity": _rgb(3, 2, 1)}}, "prb", camera, max_depth=4)
    Problem(scene, "thing.grid", lambda before, v: mi.TensorXf(before.array - v * change, before.shape), 128, 2048).check(step=.01)


# Interpolated normals of few triangles turn away from the camera before the mesh does: it is black from there on.


@pytest.mark.parametrize("light, key", [("own", "thing.vertex_positions"), ("own", "camera.to_world"), ("far", "thing.vertex_positions"),
                                        ("sky", "thing.vertex_positions"), ("group", "thing.to_world")])
def test_smooth_meshes_of_few_triangles_end_in_a_rim(light, key, tmp_path):
    T = mi.ScalarTransform4f
    place, ball = T().rotate([1, 0, .3], 50).scale(.8), _ball(tmp_path, 6, 9)
    things = {"wall": _things("sphere")["wall"], "thing": {**ball, "to_world": place, "emitter": _glow()}}
    camera = None
    if light == "sky":
        things = {"sky": {"type": "constant", "radiance": _rgb(1, .7, .5)}, "thing": {**ball, "to_world": place}}
    elif light == "far":
        camera = {**_camera(), "type": "orthographic", "to_world": T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]).scale(1.4)}
        camera.pop("fov")
    elif light == "group":
        things = {"group": {"type": "shapegroup", "part": {**ball, "to_world": place}}, "sky": {"type": "constant"},
                  "thing": {"type": "instance", "g": {"type": "ref", "id": "group"}, "to_world": T().scale([1, .7, .9])}}
    depth = 1 if light in ("own", "far") else 2
    change = _grow((0, 0, 0)) if light == "own" and "vertex" in key else _move(0)
    Problem(_scene(things, camera=camera, max_depth=depth, sppi=0 if depth == 2 else -1), key, change, 1024, 16384).check(
        step=.01, seeds=8, forward=True)


def test_the_rim_of_a_smooth_mesh_lights_nothing(tmp_path):
    """Light that reaches a floor by way of a mesh only, out of sight, which turns as it grows."""
    T = mi.ScalarTransform4f
    things = {"floor": _lit({"type": "sphere"})["floor"],
              "sun": {"type": "directional", "direction": [0, 0, -1], "irradiance": _rgb(30, 20, 10)},
              "thing": {**_ball(tmp_path, 4, 5), "to_world": T().translate([.3, .3, -.6]).rotate([1, 0, .3], 50).scale(.8)}}
    camera = {**_camera(to_world=T().look_at([0, 1, 4], [0, -.8, 1.2], [0, 1, 0])), "fov": 25}
    Problem(_scene(things, camera=camera, max_depth=3, guiding="none"), "thing.vertex_positions", _grow((.3, .3, -.6)), 2048,
            16384).check(step=.01, seeds=12, slack=0)


# Normals are blended over eight voxels unless told otherwise: they turn away before the surface does, or after it.


@pytest.mark.parametrize("key", ["thing.grid", "thing.to_world"])
@pytest.mark.parametrize("first, count", [(9, 7), (0, 9)])
def test_blended_normals_turn_away_from_the_camera_and_from_a_light(first, count, key):
    """From the camera on the right, which is lit: a black rim. On the left from the light, where the surface hides it from itself."""
    camera = _camera(rfilter="box")
    camera["film"].update(crop_offset_x=first, crop_offset_y=0, crop_width=count, crop_height=SIZE)
    scene = _scene({"lamp": {"type": "point", "position": [5, 2, 3], "intensity": _rgb(40, 40, 40)},
                    "thing": _sdf(bsdf={"type": "diffuse", "reflectance": _rgb(.4, .5, .6)})}, camera=camera, max_depth=2, sppi=2048)
    grid = key == "thing.grid"
    Problem(scene, key, _shift_numbers if grid else _move(0), 512, 32768).check(step=.002 if grid else .01, forward=True)


@pytest.mark.parametrize("key", ["thing.grid", "thing.to_world"])
@pytest.mark.parametrize("depth", [2, 3])
def test_a_grid_of_blended_normals_above_a_floor(depth, key):
    scene = _scene(_lit(_sdf(size=.6)), max_depth=depth, sppi=2048, guiding="none")
    grid = key == "thing.grid"
    Problem(scene, key, _shift_numbers if grid else _move(0), 1024, 16384).check(step=.004 if grid else .01, seeds=6)


def test_a_floor_that_moves_below_what_blended_normals_reflect():
    """The sun is below the horizon of the floor, which sees what it lights of the grid, up to where normals turn away."""
    T, grey = mi.ScalarTransform4f, {"type": "diffuse", "reflectance": _rgb(.8, .8, .8)}
    camera = _camera(to_world=T().look_at([0, 1.2, 3.5], [0, -.8, .9], [0, 1, 0]), fov=14, rfilter="box")
    camera["film"].update(width=8, height=8)
    floor = {"type": "rectangle", "to_world": T().translate([0, -.8, 0]).rotate([1, 0, 0], -90).scale(2), "bsdf": grey}
    scene = _scene({"floor": floor, "thing": _sdf(size=.8, bsdf=grey),
                    "sun": {"type": "directional", "direction": [0, .05, -1], "irradiance": _rgb(20, 20, 20)}},
                   camera=camera, max_depth=3, sppi=8192, guiding="none")
    Problem(scene, "floor.to_world", _move(1), 4096, 65536).check(seeds=12, slack=0)


def test_integrators_that_cannot_follow_the_camera_say_so():
    scene = _scene(_lit(SHAPES["sphere"]()), "prbvolpath")
    with pytest.raises(Exception, match="where the camera is"):
        Problem(scene, "camera.to_world", _move(0), 1, 1).backward(0)
