# tests/python/reparam_test.py: `prb_reparam` knows what comes into sight, with the bias that it says it has.
#
# As projective_test.py, with room for the bias: a tenth of the derivative. `prb`, which lacks silhouettes, must be out of it.
import numpy as np
import pytest

import umbel as mi
from projective_test import SHAPES, Problem, _ball, _camera, _glow, _grow, _key, _lit, _move, _rgb, _scene, _things


@pytest.fixture(autouse=True)
def variant():
    """In place of all variants: one takes long enough."""
    with mi.set_variant("llvm_ad_rgb"):
        yield "llvm_ad_rgb"


def _compare(things, key, place, depth, step=.02, camera=None, bias=.1, kappa=4000., spp=256):
    def problem(kind, **kwargs):
        return Problem(_scene(things, kind, camera, max_depth=depth, **kwargs), key, place, spp, 8 * spp)
    ours = problem("prb_reparam", reparam_kappa=kappa)
    expected = np.array([ours.difference(i, step) for i in range(3)])
    back, ahead = np.array([ours.backward(i) for i in range(6)]), ours.forward(0)
    assert ahead == pytest.approx(back[0], rel=2e-3, abs=2e-3 * np.abs(back).max())
    error = np.sqrt(expected.var(ddof=1) / len(expected) + back.var(ddof=1) / len(back))
    without = np.mean([problem("prb").backward(i) for i in range(2)])
    message = (f"{key}: differences {expected.mean():.4f}, derivative {back.mean():.4f} +- {error:.4f} "
               f"({back.mean() / expected.mean() - 1:+.1%}), prb {without:.4f}")
    print(message)
    assert abs(expected.mean() - back.mean()) < 3 * error + bias * abs(expected.mean()), message
    assert error < .15 * abs(expected.mean()), "says nothing: " + message
    assert abs(expected.mean() - without) > .3 * abs(expected.mean()), message


@pytest.mark.parametrize("name", ["cube", "sphere", "cylinder", "disk"])
def test_what_the_camera_sees_of_a_moving_shape(name):
    _compare(_things(name), "thing.vertex_positions" if "cube" in name else "thing.to_world", _move(0), 1)


@pytest.mark.parametrize("name", ["sphere", "cube"])
def test_shapes_before_a_floor_that_is_seen_at_a_low_angle(name):
    T = mi.ScalarTransform4f
    floor = {"type": "rectangle", "to_world": T().translate([0, -.8, 0]).rotate([1, 0, 0], -90).scale(4), "emitter": _glow()}
    thing = {"type": "cube", "to_world": T().rotate([0, 1, 0], 20).scale(.42)} if name == "cube" else SHAPES[name]()
    _compare({"floor": floor, "thing": {**thing, "emitter": _glow(.1)}}, _key(name), _move(0), 1)


def test_a_moving_shape_and_its_shadow():
    _compare(_lit(SHAPES["sphere"]()), _key("sphere"), _move(0), 2, kappa=1e5, spp=2048)


def _share(of, without, n):
    """What some segments add to a derivative, by the same random numbers."""
    v = np.array([of.backward(i) - without.backward(i) for i in range(n)])
    return v.mean(), v.std(ddof=1) / np.sqrt(n)


def _silhouettes(things, depth, **kwargs):
    """The same without bias: samples of nothing but silhouettes."""
    problem = Problem(_scene(things, "prb_projective", max_depth=depth, sppc=0, **kwargs), _key("sphere"), _move(0), 1024, 1)
    v = np.array([problem.backward(i) for i in range(6)])
    return v.mean(), v.std(ddof=1) / np.sqrt(len(v))


def test_the_outline_of_a_ball_is_as_bright_as_at_its_very_edge():
    """Wide auxiliary rays find points of it that face the camera more, and others that are as if behind an edge: half was lost."""
    def problem(kind, **kwargs):
        return Problem(_scene(_lit(SHAPES["sphere"]()), kind, max_depth=3, **kwargs), _key("sphere"), _move(0), 1024, 1)
    expected, noise = _silhouettes(_lit(SHAPES["sphere"]()), 3, sppp=1024, sppi=0)
    found, error = _share(problem("prb_reparam", reparam_kappa=4000., reparam_max_depth=1), problem("prb"), 10)
    assert abs(found - expected) < 3 * np.hypot(noise, error) + .05 * expected, f"{found} +- {error}, silhouettes {expected} +- {noise}"


def test_a_ball_throws_its_shadow_from_its_silhouette(monkeypatch):
    """Wide auxiliary rays find points of it that are nearer, and seem to move faster: by 45 %. On one side of the shadow: the sides
    all but cancel each other."""
    monkeypatch.setattr("projective_test._weights", lambda shape: np.broadcast_to(np.arange(shape[1])[None, :, None] < 8, shape)
                        .astype(np.float32))
    things = _lit(SHAPES["sphere"]())
    things["thing"]["bsdf"] = {"type": "diffuse", "reflectance": _rgb(0, 0, 0)}
    def problem(segments):
        scene = _scene(things, "prb_reparam", max_depth=2, reparam_kappa=100., reparam_max_depth=segments)
        return Problem(scene, _key("sphere"), _move(0), 1024, 1)
    expected, _ = _silhouettes(things, 2, sppp=0, sppi=1024)
    found, error = _share(problem(2), problem(1), 12)
    # As wide as a tenth of a radian, a fifth of the ball, they still find a longer silhouette than there is
    assert found == pytest.approx(expected, abs=3 * error + .25 * expected), f"{found} +- {error}, silhouettes {expected}"


def test_what_is_reflected():
    """By what a third segment adds, of the same random numbers: the rest is noise of the first two. `prb` has it of the wrong sign."""
    def added(kind, method, n, *args, **kwargs):
        two, three = (Problem(_scene(_lit(SHAPES["sphere"]()), kind, max_depth=depth, **kwargs), _key("sphere"), _move(0), 2048, 16384)
                      for depth in (2, 3))
        v = np.array([getattr(three, method)(i, *args) - getattr(two, method)(i, *args) for i in range(n)])
        return v.mean(), v.std(ddof=1) / np.sqrt(n)
    expected, noise = added("prb_reparam", "difference", 3, .02)
    found, error = added("prb_reparam", "backward", 12, reparam_kappa=1e5)
    without, _ = added("prb", "backward", 4)
    room = 3 * np.hypot(noise, error) + .15 * abs(expected)
    assert abs(found - expected) < room < abs(without - expected), f"{found} +- {error}, differences {expected} +- {noise}, prb {without}"


@pytest.mark.parametrize("light, key", [("own", "thing.vertex_positions"), ("own", "camera.to_world"), ("sky", "thing.vertex_positions")])
def test_smooth_meshes_end_in_a_rim(light, key, tmp_path):
    """Interpolated normals turn away from the camera before a mesh of few triangles does, and it is black from there on. What its
    growth changes had the wrong sign where it shines, and was 60 % too large under a sky."""
    ball = {**_ball(tmp_path, 6, 9), "to_world": mi.ScalarTransform4f().rotate([1, 0, .3], 50).scale(.8)}
    things = {"wall": _things("sphere")["wall"], "thing": {**ball, "emitter": _glow()}}
    if light == "sky":
        things = {"sky": {"type": "constant", "radiance": _rgb(1, .7, .5)}, "thing": ball}
    _compare(things, key, _move(0) if "camera" in key else _grow((0, 0, 0)), 1 if light == "own" else 2, step=.01, spp=1024)


def test_the_rim_of_a_smooth_mesh_lights_nothing(tmp_path):
    """Light that reaches a floor by way of a mesh only, out of sight, which turns as it grows."""
    T = mi.ScalarTransform4f
    things = {"floor": _lit(SHAPES["sphere"]())["floor"],
              "sun": {"type": "directional", "direction": [0, 0, -1], "irradiance": _rgb(30, 20, 10)},
              "thing": {**_ball(tmp_path, 4, 5), "to_world": T().translate([.3, .3, -.6]).rotate([1, 0, .3], 50).scale(.8)}}
    camera = {**_camera(to_world=T().look_at([0, 1, 4], [0, -.8, 1.2], [0, 1, 0])), "fov": 25}
    def problem(kind, **kwargs):
        return Problem(_scene(things, kind, camera, max_depth=3, **kwargs), "thing.vertex_positions", _grow((.3, .3, -.6)), 1024, 8192)
    without = problem("prb")
    expected = np.array([without.difference(i, .01) for i in range(16)])
    without = np.array([without.backward(i) for i in range(24)])
    missing = expected.mean() - without.mean()
    noise = np.sqrt(expected.var(ddof=1) / len(expected) + without.var(ddof=1) / len(without))
    found, error = _share(problem("prb_reparam", reparam_kappa=1e4), problem("prb"), 8)
    message = f"{found} +- {error}, differences less prb {missing} +- {noise}"
    print(message)
    assert noise < .15 * abs(missing), "says nothing: " + message
    assert abs(found - missing) < 3 * np.hypot(noise, error) + .15 * abs(missing), message


def test_segments_without_auxiliary_rays_are_those_of_prb():
    def gradient(kind, **kwargs):
        return Problem(_scene(_lit(SHAPES["sphere"]()), kind, max_depth=2, **kwargs), _key("sphere"), _move(0), 16, 16).backward(1)
    assert gradient("prb_reparam", reparam_max_depth=0) == pytest.approx(gradient("prb"), rel=1e-4)
    assert gradient("prb_reparam", reparam_max_depth=1) != pytest.approx(gradient("prb"), rel=1e-3)


def test_cameras_of_parallel_rays_are_refused():
    camera = {**_camera(), "type": "orthographic"}
    del camera["fov"]
    with pytest.raises(Exception, match="all have the same"):
        Problem(_scene(_lit(SHAPES["sphere"]()), "prb_reparam", camera), _key("sphere"), _move(0), 1, 1).backward(0)
