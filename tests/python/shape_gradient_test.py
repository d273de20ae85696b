# tests/python/shape_gradient_test.py: derivatives of images by transforms and vertices, from scripts.
import pytest

import umbel as mi
import umbel.jit as dr


@pytest.fixture(autouse=True)
def _variant():
    mi.set_variant("llvm_ad_rgb_double")


def _scene(shape):
    T = mi.ScalarTransform4f
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prb", "max_depth": 2},
        "sensor": {"type": "perspective", "fov": 40, "to_world": T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": 64}},
        "lamp": {"type": "point", "position": [0.3, 0.4, 1.5], "intensity": {"type": "rgb", "value": [3, 2, 1]}},
        "floor": {"type": shape, "to_world": T().translate([0, 0, -1]).rotate([1, 0.5, 0], 12).scale([8, 8, 1])}})


def test_gradients_of_a_transform_built_from_a_followed_number():
    scene = _scene("rectangle")
    params = mi.traverse(scene)
    before = mi.Transform4f(params["floor.to_world"])

    def image(height, **kwargs):
        params["floor.to_world"] = mi.Transform4f().translate([0, 0, height]) @ before
        params.update()
        return dr.mean(mi.render(scene, params, seed=1, seed_grad=1, **kwargs), axis=None)

    step = 1e-4
    difference = (image(mi.Float(step)) - image(mi.Float(-step))) / (2 * step)
    height = mi.Float(0)
    dr.enable_grad(height)
    dr.backward(image(height))
    assert difference.array[0] != 0
    assert dr.grad(height)[0] == pytest.approx(difference.array[0], rel=1e-4)
    height = mi.Float(0)
    dr.enable_grad(height)
    loss = image(height)
    dr.forward(height)
    assert dr.grad(loss).array[0] == pytest.approx(difference.array[0], rel=1e-4)


def test_gradients_of_vertices_lower_a_loss():
    scene = _scene("cube")
    params = mi.traverse(scene)
    key = "floor.vertex_positions"
    start = mi.Float(params[key])
    target = mi.render(scene, params, seed=5)
    height = mi.Float(0.4)
    losses = []
    for i in range(12):
        dr.enable_grad(height)
        lane = dr.arange(mi.UInt32, dr.width(start))
        params[key] = start + dr.select(lane % 3 == 2, height, 0)
        params.update()
        loss = dr.mean(dr.square(mi.render(scene, params, seed=i) - target), axis=None)
        dr.backward(loss)
        losses.append(loss.array[0])
        height = mi.Float(dr.detach(height) - 4 * dr.grad(height))
    assert losses[-1] < 0.1 * losses[0]


def test_a_moving_shape_has_no_transform_to_change():
    scene = mi.load_string("""<scene version='3.0.0'><shape type='sphere' id='ball'><animation name='to_world'>
        <transform time='0'/><transform time='1'><translate x='2'/></transform></animation></shape></scene>""")
    assert "ball.to_world" not in mi.traverse(scene)
    assert scene.bbox().max[0] == pytest.approx(3, abs=1e-3)
    si = scene.ray_intersect(mi.Ray3f(o=[2, 0, 5], d=[0, 0, -1], time=1))
    assert si.t[0] == pytest.approx(4) and scene.shapes()[0].surface_area()[0] == pytest.approx(4 * dr.pi)


def test_integrators_pass_derivatives_of_shapes_on_by_themselves():
    scene = _scene("rectangle")
    params = mi.traverse(scene)
    before = mi.Transform4f(params["floor.to_world"])

    def follow():
        height = mi.Float(0)
        dr.enable_grad(height)
        params["floor.to_world"] = mi.Transform4f().translate([0, 0, height]) @ before
        params.update()
        return height

    height = follow()
    image = mi.render(scene, params, seed=1, seed_grad=1)
    dr.backward(dr.sum(image, axis=None))
    expected = dr.grad(height)[0]
    assert expected != 0
    height = follow()
    scene.integrator().render_backward(scene, params, dr.full(mi.TensorXf, 1, image.shape), seed=1)
    assert dr.grad(height)[0] == pytest.approx(expected, rel=1e-9)
    height = follow()
    dr.set_grad(height, 1)
    tangent = scene.integrator().render_forward(scene, params, seed=1)
    assert dr.sum(tangent, axis=None).array[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["linearcurve", "bsplinecurve"])
def test_hits_follow_the_control_points_of_curves(kind, tmp_path):
    file = tmp_path / "curve.txt"
    file.write_text("-1.6 -.5 0 .2\n-.8 .3 .1 .35\n-.2 -.2 .3 .2\n.4 .4 0 .3\n.9 -.1 .2 .2\n1.5 .5 0 .15\n")
    scene = mi.load_dict({"type": "scene", "thing": {"type": kind, "filename": str(file)}})
    params, key = mi.traverse(scene), "thing.control_points"
    before = mi.Float(params[key])
    way = dr.sin(dr.arange(mi.Float, dr.width(before)) * 1.7 + .3)  # places and radii
    u = dr.arange(mi.Float, 40)
    ray = mi.Ray3f(mi.Point3f(u * .04 - .8, .2 * dr.sin(u), 4), mi.Vector3f(.01, .02, -1))

    def number(x):
        params[key] = before + way * x
        params.update()
        si = scene.ray_intersect(ray)
        value = si.t + .7 * si.n.x + .3 * si.n.y + .2 * si.p.z + .4 * si.uv.y + .3 * si.uv.x
        return dr.sum(dr.select(si.is_valid(), value, 0)), dr.count(si.is_valid())[0]

    step = 1e-5
    a, b, c, d = (number(mi.Float(k * step))[0][0] for k in (1, -1, 2, -2))
    x = mi.Float(0)
    dr.enable_grad(x)
    sum_, hits = number(x)
    dr.backward(sum_)
    assert hits > 20
    assert dr.grad(x)[0] == pytest.approx((8 * (a - b) - (c - d)) / (12 * step), rel=1e-6)
