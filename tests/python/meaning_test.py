# tests/python/meaning_test.py: scripts mean here what they mean in Mitsuba 3: differences that were found by comparing both.
import math

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

T = mi.ScalarTransform4f


def triangle(z=0., texcoords=False):
    mesh = mi.Mesh("triangle", 3, 1, has_vertex_texcoords=texcoords)
    params = mi.traverse(mesh)
    params["vertex_positions"] = [0, 0, z, 1, 0, z, 0, 1, z]
    params["faces"] = [0, 1, 2]
    if texcoords:
        params["vertex_texcoords"] = [0, 0, 1, 0, 0, 1]
    params.update()
    return mesh


def box(integrator, size=8):
    scene = mi.cornell_box()
    scene["integrator"] = {"type": integrator, "max_depth": 4} if integrator != "direct" else {"type": "direct"}
    scene["sensor"]["film"] |= {"width": size, "height": size, "rfilter": {"type": "box"}}
    return scene


# ---- images

@pytest.mark.parametrize("name", ["box", "tent", "gaussian", "mitchell", "catmullrom", "lanczos"])
def test_constant_light_is_constant_up_to_the_border(name):
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "light": {"type": "constant"},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 8, "height": 8,
                                                                     "rfilter": {"type": name}}}})
    image = np.array(mi.render(scene, spp=64))
    if name in ("mitchell", "catmullrom", "lanczos"):  # weights have both signs; their mean is 1
        border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert abs(image.mean() - 1) < 0.06 and abs(border.mean() - 1) < 0.1
    else:
        assert np.abs(image - 1).max() < 1e-5


@pytest.mark.parametrize("integrator", ["path", "direct", "prb"])
def test_evaluated_control_flow_gives_the_same_image(integrator):
    flags = dr.JitFlag.SymbolicLoops, dr.JitFlag.SymbolicCalls, dr.JitFlag.SymbolicConditionals, dr.JitFlag.FastMath
    before = [dr.flag(f) for f in flags]
    try:
        dr.set_flag(dr.JitFlag.FastMath, False)  # GPUs fuse what is in one kernel, and a path may turn another way by a rounding
        image = np.array(mi.render(mi.load_dict(box(integrator)), spp=2))
        for f in flags:
            dr.set_flag(f, False)
        evaluated = np.array(mi.render(mi.load_dict(box(integrator)), spp=2))
    finally:
        for f, value in zip(flags, before):
            dr.set_flag(f, value)
    assert np.allclose(evaluated, image, rtol=1e-4, atol=1e-5)


# ---- copies

def test_copies_of_records_are_their_own():
    ray = mi.Ray3f([0, 0, 0], [0, 0, 1])
    for cls in (mi.Ray3f, mi.RayDifferential3f):
        copy = cls(ray)
        copy.o += 1
        copy.d.x += 1
        assert dr.all(ray.o == 0) and dr.all(ray.d == [0, 0, 1]) and dr.all(copy.o == 1)
    si = mi.load_dict({"type": "sphere"}).ray_intersect(mi.Ray3f([0, 0, -3], [0, 0, 1]))
    copy = mi.SurfaceInteraction3f(si)
    copy.p += 1
    copy.uv += 1
    copy.sh_frame.n += 1
    assert np.allclose(np.array(si.p).ravel(), [0, 0, -1]) and np.allclose(np.array(si.sh_frame.n).ravel(), [0, 0, -1])
    assert not dr.any(copy.uv == si.uv) and dr.all(copy.shape == si.shape)
    assert dr.all(copy.spawn_ray(mi.Vector3f(0, 0, -1)).d == [0, 0, -1])


@pytest.mark.parametrize("name", ["Interaction3f", "MediumInteraction3f", "PositionSample3f", "DirectionSample3f", "BSDFSample3f",
                                  "PreliminaryIntersection3f", "Frame3f"])
def test_every_record_can_be_copied(name):
    cls = getattr(mi, name)
    record = dr.zeros(cls, 2)
    copy = cls(record)
    assert type(copy) is cls
    for field in (f for f in cls.DRJIT_STRUCT if not f.startswith("_")):
        a, b = getattr(record, field), getattr(copy, field)
        if isinstance(b, mi.Float | mi.Vector3f | mi.Point3f):
            b += 1
            assert dr.all(a != b, axis=None) or np.isinf(np.array(a)).all(), field


def test_rays_without_wavelengths_have_an_empty_colour():
    ray = mi.Ray3f([0, 0, 0], [0, 0, 1], 0., mi.Color0f())
    assert type(ray.wavelengths) is mi.Color0f and len(ray.wavelengths) == 0
    assert type(mi.Ray3f(ray).wavelengths) is mi.Color0f and dr.width(ray) == 1
    si = mi.load_dict({"type": "sphere"}).ray_intersect(mi.Ray3f([0, 0, -3], mi.Vector3f([0, 0, 1], 0, 1)))
    assert len(si.wavelengths) == 0 and dr.width(si) == 3


# ---- derivatives

def test_gradients_of_vertices_come_each_time():
    scene = mi.load_dict({"type": "scene", "triangle": triangle(1)})
    params, key = mi.traverse(scene), "triangle.vertex_positions"
    dr.enable_grad(params[key])
    for _ in range(4):
        dr.set_grad(params[key], 0)
        params.set_dirty(key)
        params.update()
        si = scene.ray_intersect(mi.Ray3f([0.25, 0.25, 0], [0, 0, 1]))
        dr.backward(si.t)
        assert np.allclose(dr.grad(params[key]), [0, 0, 0.5, 0, 0, 0.25, 0, 0, 0.25], atol=1e-5)


def lamp_over_triangle(integrator):
    mesh = mi.Mesh("plate", faces=[[0, 1, 2]], positions=[[-5, -5, 0], [5, -5, 0], [0, 9, 0]])
    camera = T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0])
    return mi.load_dict({"type": "scene", "integrator": {"type": integrator}, "plate": mesh,
                         "light": {"type": "point", "position": [0, 0, 3.]},
                         "sensor": {"type": "perspective", "fov": 20, "to_world": camera,
                                    "film": {"type": "hdrfilm", "width": 4, "height": 4, "rfilter": {"type": "box"}}}})


# The plate rises towards the lamp: at its foot the irradiance 1 / r^2 grows by 2 / r^3, and that of others nearly so.
@pytest.mark.parametrize("integrator", ["path", "direct", "prb"])
def test_render_forward_follows_vertices(integrator):
    scene = lamp_over_triangle(integrator)
    params, key = mi.traverse(scene), "plate.vertex_positions"
    before = np.array(mi.render(scene, spp=16, seed=3))
    dr.enable_grad(params[key])
    dr.set_grad(params[key], mi.Float([0, 0, 1] * 3))
    params.update()
    tangent = np.array(scene.integrator().render_forward(scene, params, spp=64, seed=3))
    dr.disable_grad(params[key])
    params[key] = mi.Float(np.array(params[key]) + np.tile([0, 0, 1e-2], 3))
    params.update()
    difference = (np.array(mi.render(scene, spp=16, seed=3)) - before) / 1e-2
    assert tangent.mean() == pytest.approx(difference.mean(), rel=0.05)


def test_errors_name_what_images_have_no_derivative_by():
    scene = lamp_over_triangle("prbvolpath")  # which follows no cameras
    params, height = mi.traverse(scene), mi.Float(4)
    dr.enable_grad(height)
    params["sensor.to_world"] = mi.Transform4f().translate([0, 0, height]).rotate([0, 1, 0], 180)
    image = mi.render(scene, params, spp=1)
    with pytest.raises(mi.UserError, match="no derivatives by where the camera is"):
        dr.backward(dr.mean(image, axis=None))
    params["sensor.to_world"] = mi.Transform4f().translate([0, 0, 4]).rotate([0, 1, 0], 180)
    params.update()
    with pytest.raises(mi.UserError) as error:
        dr.backward(dr.mean(mi.render(scene, params, spp=1), axis=None))
    assert "sensor" not in str(error.value)


def test_where_a_camera_is_counts_as_differentiable(capfd):
    params = mi.traverse(lamp_over_triangle("prb"))
    assert params.flags("sensor.to_world") == 0
    height = mi.Float(4)
    dr.enable_grad(height)
    params["sensor.to_world"] = mi.Transform4f().translate([0, 0, height]).rotate([0, 1, 0], 180)
    params.update()
    assert "non-differentiable" not in capfd.readouterr().err
    assert "sensor.to_world" not in mi.ad.Adam(lr=.1, params=params)  # made of what an optimizer holds
    meter = mi.load_dict({"type": "distant", "target": [0, 0, 0],
                          "film": {"type": "hdrfilm", "width": 1, "height": 1, "rfilter": {"type": "box"}}})
    assert mi.traverse(meter).flags("to_world") == 1  # the target stays where it is


def follow_height(params, key, height=4.):
    """The camera of lamp_over_triangle, as high as a number says."""
    x = mi.Float(height)
    dr.enable_grad(x)
    params[key] = mi.Transform4f().translate([0, 0, x]).rotate([0, 1, 0], 180)
    params.update()
    return x


def test_cameras_outside_of_the_scene_are_followed():
    scene = lamp_over_triangle("prb")
    film = {"type": "hdrfilm", "width": 4, "height": 4, "rfilter": {"type": "box"}}
    camera = mi.load_dict({"type": "perspective", "fov": 20, "to_world": T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]), "film": film})

    def derivative(params, key, sensor):
        x = follow_height(params, key)
        dr.backward(dr.sum(mi.render(scene, params, sensor=sensor, spp=16, seed=3, seed_grad=3), axis=None))
        params[key] = mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0])
        params.update()
        return dr.grad(x)[0]
    inside, outside = derivative(mi.traverse(scene), "sensor.to_world", 0), derivative(mi.traverse(camera), "to_world", camera)
    assert abs(inside) > 1e-3 and outside == pytest.approx(inside, rel=1e-4)  # rounding


def test_what_a_camera_says_of_itself_follows_it():
    camera, height = lamp_over_triangle("prb").sensors()[0], 4.
    params = mi.traverse(camera)

    def answers():
        ray, _ = camera.sample_ray_differential(0, .5, [.3, .6], [.5, .5])
        at = dr.zeros(mi.Interaction3f)
        at.p = mi.Point3f(.2, .1, 0)
        ds, importance = camera.sample_direction(at, [.5, .5])
        assert ds.pdf[0] > 0
        return ray.o, ray.d, ds.uv, ds.dist, importance.x

    x = follow_height(params, "to_world", height)
    told = answers()
    dr.forward(x, dr.ADFlag.ClearNone)  # distances are on the way to other answers
    o, d, uv, dist, importance = (np.array(dr.grad(v)).ravel() for v in told)
    assert np.allclose(o, [0, 0, 1], atol=1e-5) and np.allclose(d, 0, atol=1e-5)
    # Two pixels are tan(10 degrees) of the height
    scale = 2 / np.tan(np.radians(10)) / height ** 2
    assert np.allclose(np.abs(uv), [.2 * scale, .1 * scale], rtol=1e-3)
    far = np.hypot(height, np.hypot(.2, .1))
    assert dist == pytest.approx(height / far, rel=1e-4)
    # Importance falls as 1 / (dist^2 cos^3), which is dist / height^3
    assert importance / np.array(told[4]).ravel() == pytest.approx(height / far ** 2 - 3 / height, rel=1e-3)


def test_integrators_around_others_follow_the_camera():
    def derivative(integrator):
        scene = lamp_over_triangle("prb")
        params = mi.traverse(scene)
        x = follow_height(params, "sensor.to_world")
        image = mi.render(scene, params, integrator=mi.load_dict(integrator), spp=16, seed=3, seed_grad=3)
        dr.backward(dr.sum(image[:, :, image.shape[2] - 1], axis=None))
        return dr.grad(x)[0]
    assert derivative({"type": "multichannel", "a": {"type": "prb"}}) == pytest.approx(derivative({"type": "prb"}), rel=1e-4)
    with pytest.raises(mi.UserError, match="ao.*no derivatives by where the camera is"):
        derivative({"type": "aov", "aovs": "d:depth", "a": {"type": "ao"}})
    # Rays to the plate are longer by 1 / cos, which differs from 1 by less than 2 % in a view of 20 degrees
    assert derivative({"type": "aov", "aovs": "d:depth", "a": {"type": "prb"}}) == pytest.approx(16, rel=.03)


def test_the_way_to_silhouettes_follows_the_camera():
    def total(height, follow=False):
        scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "radius": 1.5}, "light": {"type": "constant"},
                              "integrator": {"type": "aov", "aovs": "b:boundary_test", "a": {"type": "prb"}},
                              "sensor": {"type": "perspective", "fov": 20, "to_world": T().look_at([0, 0, height], [0, 0, 0], [0, 1, 0]),
                                         "film": {"type": "hdrfilm", "width": 4, "height": 4, "rfilter": {"type": "box"}}}})
        params = mi.traverse(scene)
        x = follow_height(params, "sensor.to_world", height) if follow else None
        value = dr.sum(mi.render(scene, params, spp=16, seed=3, seed_grad=3)[:, :, 3], axis=None)
        if not follow:
            return float(value.array[0])
        dr.backward(value)
        return dr.grad(x)[0]
    assert total(4., True) == pytest.approx((total(4.02) - total(3.98)) / .04, rel=1e-2)


def test_cameras_of_a_batch_count_as_not_differentiable():
    film = {"type": "hdrfilm", "width": 4, "height": 2, "rfilter": {"type": "box"}}
    both = {"type": "batch", "film": film, "a": {"type": "perspective"}, "b": {"type": "perspective"}}
    params = mi.traverse(mi.load_dict(both))
    places = [k for k in params.keys() if k.endswith("to_world")]
    assert len(places) == 2 and all(params.flags(k) == 1 for k in places)


def test_dielectrics_have_derivatives_of_what_they_choose():
    for name, sample in (("dielectric", [0.5, 0.5]), ("roughdielectric", [0.3, 0.4])):
        bsdf = mi.load_dict({"type": name})
        for u in (1e-3, 0.9):  # reflected, refracted
            def weight(cosine):
                si = dr.zeros(mi.SurfaceInteraction3f)
                si.t, si.wi = 1, mi.Vector3f(dr.sqrt(1 - cosine * cosine), 0, cosine)
                return bsdf.sample(mi.BSDFContext(), si, u, sample)[1][0]
            cosine = mi.Float(0.5)
            dr.enable_grad(cosine)
            w = weight(cosine)
            assert dr.grad_enabled(w), name
            dr.backward(w)
            assert dr.all(dr.isfinite(dr.grad(cosine))) and dr.all(dr.grad(cosine) != 0), name


def test_share_of_the_reflected_part_is_its_derivative():
    bsdf = mi.load_dict({"type": "dielectric", "int_ior": 1.5, "ext_ior": 1.0})
    params = mi.traverse(bsdf)
    dr.enable_grad(params["eta"])
    params.update()
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.t, si.wi = 1, mi.Vector3f(0, 0, 1)
    w = bsdf.sample(mi.BSDFContext(), si, 0.001, [0.5, 0.5])[1][0]
    assert w[0] == 1
    dr.backward(w)
    # R = ((n - 1) / (n + 1))^2, so R' / R = 4 / (n^2 - 1)
    assert dr.grad(params["eta"])[0] == pytest.approx(4 / (1.5 ** 2 - 1), rel=1e-4)


# ---- polarization

def test_nothing_is_transmitted_at_grazing_incidence():
    for eta in (1 / 1.5, 1.5):
        for cosine in (0., -0., 1e-9):
            m = np.array(mi.mueller.specular_transmission(mi.Float(cosine), mi.Float(eta))).ravel()
            assert np.allclose(m, 0, atol=1e-6)
    inside = mi.Float(0.7)
    r, t = mi.mueller.specular_reflection(inside, mi.Complex2f(1.5, 0)), mi.mueller.specular_transmission(inside, mi.Float(1.5))
    assert r[0, 0][0] + t[0, 0][0] == pytest.approx(1, abs=1e-5)


# Light travels along wi in one mode and along -wi in the other: what counts is the way that it takes, also at an angle.
@pytest.mark.parametrize("name", ["retarder", "polarizer"])
def test_plates_turn_light_alike_in_both_modes(variant, name):
    with mi.set_variant(variant.replace("rgb", "mono_polarized")):
        plate = mi.load_dict({"type": name, "theta": 30.})
        for way in ([0, 0, 1], [0, 0, -1], [0.48, 0.36, 0.8]):
            si = dr.zeros(mi.SurfaceInteraction3f)
            si.t, si.wi = 1, mi.Vector3f(way)
            passed = np.array(plate.eval_null_transmission(si)).squeeze()
            for mode, sign in ((mi.TransportMode.Radiance, 1), (mi.TransportMode.Importance, -1)):
                si.wi = sign * mi.Vector3f(way)
                weight = np.array(plate.sample(mi.BSDFContext(mode), si, 0.5, [0.5, 0.5])[1]).squeeze()
                assert np.allclose(weight, passed, atol=1e-5), (way, mode)


# ---- parameters

def test_what_was_recorded_before_an_update_is_of_before():
    mesh = triangle(1, texcoords=True)
    scene = mi.load_dict({"type": "scene", "triangle": mesh, "ball": {"type": "sphere", "to_world": T().translate([5, 0, 3])}})
    at, toward = mesh.eval_parameterization([0.2, 0.2]), mi.Vector3f(0, 0, 1)
    flat, round = scene.ray_intersect(mi.Ray3f([0.2, 0.2, 0], toward)), scene.ray_intersect(mi.Ray3f([5, 0, 0], toward))
    params = mi.traverse(scene)
    params["triangle.vertex_positions"] = mi.Float([0, 0, 2, 1, 0, 2, 0, 1, 2])
    params["ball.to_world"] = mi.Transform4f().translate([5, 0, 7])
    params.update()
    assert np.allclose(np.array(at.p).ravel(), [0.2, 0.2, 1])
    assert flat.t[0] == pytest.approx(1) and flat.p.z[0] == pytest.approx(1)
    assert round.t[0] == pytest.approx(2)
    assert scene.ray_intersect(mi.Ray3f([5, 0, 0], toward)).t[0] == pytest.approx(6)
    assert scene.ray_intersect(mi.Ray3f([0.2, 0.2, 0], toward)).t[0] == pytest.approx(2)


class Parallel(mi.Sensor):
    """Looks along +z from wherever it is put."""

    def __init__(self, props):
        super().__init__(props)
        self.seen = self.m_to_world.translation()

    def sample_ray(self, time, sample1, sample2, sample3, active=True):
        ray = mi.Ray3f(mi.Point3f(sample2.x - 0.5, sample2.y - 0.5, 0), mi.Vector3f(0, 0, 1))
        return self.m_to_world @ ray, mi.Color3f(1)

    def traverse(self, cb):
        cb.put("to_world", self.m_to_world, mi.ParamFlags.Differentiable)


def test_sensors_report_where_they_are():
    mi.register_sensor("parallel_in_python", Parallel)
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "depth"}, "wall": {"type": "rectangle", "to_world": T().scale(9)},
                          "sensor": {"type": "parallel_in_python", "to_world": T().translate([0, 0, -4]),
                                     "film": {"type": "hdrfilm", "width": 2, "height": 2, "rfilter": {"type": "box"}}}})
    sensor = scene.sensors()[0]
    assert sensor.seen.z[0] == -4 and sensor.world_transform().translation().z[0] == -4
    assert np.allclose(mi.render(scene, spp=1), 4)
    params = mi.traverse(scene)
    assert [k for k in params.keys() if k.endswith("to_world")].count("sensor.to_world") == 1
    params["sensor.to_world"] = mi.Transform4f().translate([0, 0, -7])
    params.update()
    assert np.allclose(mi.render(scene, spp=1), 7) and sensor.m_to_world.translation().z[0] == -7


def test_textures_have_transforms_of_the_plane():
    for scene in ({"type": "bitmap", "data": mi.TensorXf(np.ones((2, 2, 3)))}, {"type": "checkerboard"}):
        params = mi.traverse(mi.load_dict(scene | {"to_uv": T().translate([0.5, 0.25, 0])}))
        assert isinstance(params["to_uv"], mi.ScalarTransform3f)
        assert np.allclose(params["to_uv"].numpy(), [[1, 0, 0.5], [0, 1, 0.25], [0, 0, 1]])
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.uv = mi.Point2f(0.25, 0.25)
    texture = mi.load_dict({"type": "checkerboard", "color0": 0., "color1": 1.})
    params = mi.traverse(texture)
    dark = texture.eval_1(si)[0]
    params["to_uv"] = mi.ScalarTransform3f().translate([0.5, 0])
    params.update()
    assert texture.eval_1(si)[0] == 1 - dark


def test_twosided_has_the_attributes_of_its_sides():
    metal, wall = {"type": "roughconductor", "alpha": 0.25}, {"type": "diffuse", "reflectance": 0.75}
    si = dr.zeros(mi.SurfaceInteraction3f, 2)
    si.wi = mi.Vector3f(0, 0, [1, -1])
    one = mi.load_dict({"type": "twosided", "bsdf": metal})
    assert dr.all(one.has_attribute("alpha")) and not dr.any(one.has_attribute("reflectance"))
    assert np.allclose(one.eval_attribute_1("alpha", si), 0.25)
    two = mi.load_dict({"type": "twosided", "a": metal, "b": wall})
    assert dr.all(two.has_attribute("alpha")) and dr.all(two.has_attribute("reflectance"))
    assert np.allclose(two.eval_attribute_1("alpha", si), [0.25, 0])
    assert np.allclose(np.array(two.eval_attribute_3("reflectance", si)).reshape(3, 2), [[0, 0.75]] * 3)


# ---- transforms

def test_affine_transforms_ignore_their_last_row():
    matrix = np.eye(4)
    matrix[3], matrix[0, 3] = [0, 0, 1, 2], 1
    p = mi.Point3f(1, 2, 3)
    for cls in (mi.Transform4f, mi.AffineTransform4f):
        t = cls(matrix)
        assert np.allclose(np.array(t @ p).ravel(), [2, 2, 3])
        assert np.allclose(np.array(t.inverse() @ (t @ p)).ravel(), [1, 2, 3])
        assert np.allclose((t @ t).numpy()[3], [0, 0, 0, 1])
    assert np.allclose(np.array(mi.ProjectiveTransform4f(matrix) @ p).ravel(), [0.4, 0.4, 0.6])
    perspective = mi.Transform4f().perspective(90, 1, 10)
    assert isinstance(perspective, mi.ProjectiveTransform4f)
    both = mi.Transform4f().translate([1, 0, 0]) @ perspective
    assert isinstance(both, mi.ProjectiveTransform4f)
    assert np.allclose(np.array(both @ mi.Point3f(2, 0, 2)).ravel()[:2], [2, 0])


def test_transforms_come_in_batches_and_of_one_number():
    many = np.stack([np.eye(4)] * 3, axis=-1)
    many[0, 3] = [1, 2, 3]
    assert np.allclose(np.array(mi.Transform4f(many) @ mi.Point3f(0)), [[1, 2, 3], [0, 0, 0], [0, 0, 0]])
    assert np.allclose(np.array(mi.Transform4f(mi.TensorXf(many)) @ mi.Point3f(1))[0], [2, 3, 4])
    assert np.allclose(np.array(mi.Transform3f(3) @ mi.Point2f(1, 2)).ravel(), [3, 6])
    assert np.allclose(np.array(mi.Transform4f(mi.Float(2, 3)) @ mi.Point3f(1))[1], [2, 3])


# ---- arrays

def test_one_lane_stands_for_any_number():
    assert mi.Float(1)[2] == 1 and mi.UInt32(7)[100] == 7
    with pytest.raises(IndexError):
        mi.Float(1, 2)[2]
    assert list(mi.Float(1)) == [1] and [x for x in mi.Float(3)] == [3]


def test_arrays_of_numbers_belong_to_no_variant(variant):
    from umbel.jit.scalar import Array3f
    other = "interp_rgb" if variant == "llvm_rgb" else "llvm_rgb"
    a = Array3f(1, 2, 3)
    with mi.set_variant(other):
        b = Array3f(4, 5, 6)
        assert list(a + b) == [5, 7, 9] and dr.norm(a) == pytest.approx(math.sqrt(14))
        assert dr.dot(a, b) == 32 and np.allclose(np.array(mi.Vector3f(a) + 1).ravel(), [2, 3, 4])
        c = mi.ScalarVector3f(1, 2, 3)
    assert list(c + b) == [5, 7, 9] and np.allclose(np.array(mi.Vector3f(b) * c).ravel(), [4, 10, 18])
    assert list(dr.maximum(a, b)) == [4, 5, 6] and float(c.x) == 1


def test_functions_take_lists():
    assert dr.abs([-1, 2]) == [1, 2] and dr.sqrt((4., 9.)) == (2, 3)
    a = dr.abs([mi.Float(-1, 2), -3])
    assert dr.all(a[0] == [1, 2]) and a[1] == 3


def test_pointers_are_scattered_and_reinterpreted():
    scene = mi.load_dict(mi.cornell_box())
    for cls, objects in ((mi.ShapePtr, scene.shapes()), (mi.BSDFPtr, [s.bsdf() for s in scene.shapes()]),
                         (mi.EmitterPtr, scene.emitters())):
        some = objects[:2] if len(objects) > 1 else objects * 2
        target = dr.zeros(cls, 4)
        dr.scatter(target, cls(some), mi.UInt32(3, 1))
        assert [target[i] for i in range(4)] == [None, some[1], None, some[0]]
        bits = dr.reinterpret_array(mi.UInt32, target)
        assert np.array(bits)[0] == 0 and np.array(bits)[1] != 0
        assert dr.all(dr.reinterpret_array(cls, bits) == target)


# ---- names

def test_streams_read_the_rest(tmp_path):
    stream = mi.MemoryStream()
    stream.write(b"umbel")
    stream.seek(2)
    assert stream.read() == b"bel" and stream.read() == b""
    with open(tmp_path / "f", "wb") as f:
        f.write(b"flower")
    file = mi.FileStream(tmp_path / "f")
    assert file.read(2) == b"fl" and file.read() == b"ower"


def test_resampling_fills_arrays():
    resampler = mi.Resampler(mi.load_dict({"type": "tent"}), 4, 8)
    numbers, source = np.zeros(8, np.float32), np.arange(4, dtype=np.float32)
    resampler.resample(source, 1, numbers, 1, 1)
    target = dr.zeros(mi.Float, 8)
    resampler.resample(mi.Float(source), 1, target, 1, 1)
    assert np.allclose(target, numbers) and numbers.max() > 2


def test_shifted_samples_and_colours_of_spectra(variant):
    u = mi.sample_shifted(mi.Float(0.1, 0.9))
    assert np.allclose(np.array(u), [[0.1, 0.9], [0.35, 0.15], [0.6, 0.4], [0.85, 0.65]])
    with mi.set_variant(variant.replace("rgb", "spectral")):
        w, weight = mi.sample_rgb_spectrum(mi.sample_shifted(dr.linspace(mi.Float, 0, 1, 4096, endpoint=False)))
        rgb = mi.spectrum_to_srgb(mi.UnpolarizedSpectrum(weight), mi.UnpolarizedSpectrum(w))
        assert float(dr.mean(mi.luminance(rgb))[0]) == pytest.approx(1, rel=1e-3)  # light of equal energy
        xyz = mi.spectrum_to_xyz(mi.UnpolarizedSpectrum(weight), mi.UnpolarizedSpectrum(w))
        assert float(dr.mean(xyz.y)[0]) == pytest.approx(1, rel=1e-3)
        assert np.allclose(np.array(mi.xyz_to_srgb(xyz)), np.array(rgb), atol=1e-5)  # sums in another order
        one = mi.spectrum_to_srgb(mi.UnpolarizedSpectrum(280.548, 259.521, 400.432, 613.158),
                                  mi.UnpolarizedSpectrum(493.686, 558.738, 635.381, 397.798))
        assert np.allclose(np.array(one).ravel(), [1.19614, 0.976935, 0.202039], rtol=2e-3)


def test_meshes_are_made_of_tables():
    positions, faces = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1.]]), np.array([[0, 1, 2], [1, 3, 2]])
    mesh = mi.Mesh("square", faces=mi.TensorXu(faces), positions=mi.TensorXf(positions), texcoords=positions[:, :2])
    assert mesh.vertex_count() == 4 and mesh.face_count() == 2 and mesh.has_vertex_texcoords()
    other = mi.Mesh("square", faces=mi.Vector3u(faces.T), positions=mi.Point3f(positions.T))
    assert np.allclose(other.vertex_positions_buffer(), positions.ravel())
    with pytest.raises(mi.UserError, match="positions have 3 numbers"):
        mi.Mesh("flat", faces=faces, positions=positions[:, :2])

    scene = mi.load_dict({"type": "scene", "square": mesh})
    params = mi.traverse(scene)
    assert "square.positions" in params and "square.positions" not in params.keys()
    assert params["square.positions"].shape == (4, 3) and params["square.texcoords"].shape == (4, 2)
    params["square.positions"] = params["square.positions"] + [0, 0, 1]
    params.update()
    assert np.allclose(np.array(params["square.vertex_positions"])[2::3], 2)
    dr.enable_grad(params["square.positions"])
    params.update()
    si = scene.ray_intersect(mi.Ray3f([0.25, 0.25, 0], [0, 0, 1]))
    assert si.t[0] == pytest.approx(2)
    dr.backward(si.t)
    assert np.allclose(np.array(dr.grad(params["square.positions"]))[:, 2], [0.5, 0.25, 0.25, 0], atol=1e-5)
    params["square.vertex_positions"] = mi.Float(positions.ravel())
    assert np.allclose(params["square.positions"], positions)


def test_large_steps_are_smooth():
    mesh = mi.load_dict({"type": "cube"})  # 24 vertices at 8 places
    params = mi.traverse(mesh)
    v, faces = params["vertex_positions"], params["faces"]
    steps = mi.ad.LargeSteps(v, faces, 10.)
    u = steps.to_differential(v)
    assert len(u) == 24 and np.allclose(steps.from_differential(u), v, atol=1e-5)
    # By definition: (1 + 10 degree) v - 10 (the sum of neighbours), of each corner of the cube
    corners, place = np.unique(np.array(v).reshape(-1, 3), axis=0, return_inverse=True)
    ends = np.concatenate([place.reshape(-1)[np.array(faces).reshape(-1, 3)][:, e] for e in ([0, 1], [1, 2], [2, 0])])
    near = np.zeros((8, 8))
    near[ends[:, 0], ends[:, 1]] = near[ends[:, 1], ends[:, 0]] = 1
    system = np.eye(8) + 10 * (np.diag(near.sum(axis=1)) - near)
    assert np.allclose(np.array(u).reshape(8, 3), system @ corners, atol=1e-4)
    # The derivative of a sum over vertices is that of the inverse, which is symmetric
    dr.enable_grad(u)
    weights = np.arange(72) / 72
    dr.backward(dr.sum(steps.from_differential(u) * mi.Float(weights)))
    at_corners = np.zeros((8, 3))
    np.add.at(at_corners, place.reshape(-1), weights.reshape(-1, 3))
    assert np.allclose(np.array(dr.grad(u)).reshape(8, 3), np.linalg.solve(system, at_corners), atol=1e-5)


def test_batches_of_pixels_show_what_they_are_compared_with():
    def camera(x):
        return mi.load_dict({"type": "perspective", "fov": 40, "to_world": T().look_at([x, 0, 4], [0, 0, 0], [0, 1, 0]),
                             "film": {"type": "hdrfilm", "width": 6, "height": 5, "rfilter": {"type": "box"}}})
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "depth"}, "ball": {"type": "sphere", "to_world": T().scale(9)}})
    cameras = [camera(0), camera(2)]
    # Depth is smooth inside of a ball, so the mean over a pixel is nearly what any sample of it gives
    pictures = [mi.TensorXf(np.repeat(np.array(mi.render(scene, sensor=c, spp=64)), 3, axis=2)[..., :3]) for c in cameras]
    loader = mi.ad.loaders.RayDataLoader(cameras, pictures, pixels_per_batch=16, seed=1, tile_size=2)
    assert loader.total_pixels == 60 and loader.iter_shuffle == 4 and loader.pixel_batch_multiplier == 60 / 16
    seen = []
    for _ in range(4):
        target, sensor = loader.next()
        assert target.shape == (1, 16, 3)
        image = np.array(mi.render(scene, sensor=sensor, spp=64))
        assert np.abs(image[0, :, 0] - np.array(target)[0, :, 0]).mean() < 0.1
        seen += np.array(sensor.pixel_idx).tolist()
    assert sorted(set(seen)) == list(range(60)) and seen != sorted(seen)
    with pytest.raises(ValueError, match="pixels_per_batch"):
        mi.ad.loaders.RayDataLoader(cameras, pictures, pixels_per_batch=61)


def test_an_unused_texture_whose_file_is_missing_is_an_error():
    with pytest.raises(RuntimeError, match='cannot find the file "no_such.png"'):
        mi.load_string("<scene version='3.0.0'><shape type='sphere'/><texture type='bitmap' id='unused'>"
                       "<string name='filename' value='no_such.png'/></texture></scene>")


def test_films_of_several_integrators_split_into_their_layers():
    d = mi.cornell_box()
    d["integrator"] = {"type": "aov", "aovs": "nn:sh_normal,dd:depth", "a": {"type": "path", "max_depth": 2}, "b": {"type": "direct"}}
    d["sensor"]["film"].update(width=8, height=8)
    scene = mi.load_dict(d)
    image = mi.render(scene, spp=2)
    assert image.shape == (8, 8, 10) and scene.integrator().aov_names() == ["b.R", "b.G", "b.B", "nn.X", "nn.Y", "nn.Z", "dd.T"]
    layers = dict(scene.sensors()[0].film().bitmap().split())
    assert list(layers) == ["<root>", "b", "nn", "dd"]
    assert np.array_equal(np.array(layers["b"]), image.numpy()[..., 3:6])


# ---- shapes

@pytest.mark.parametrize("name", ["rectangle", "disk", "sphere", "cylinder", "cube"])
def test_scenes_hear_of_shapes_that_are_traversed_alone(name):
    scene = mi.load_dict({"type": "scene", "shape": {"type": name, "to_world": T().rotate([0, 1, 0], 60)}})
    params, shift = mi.traverse(scene.shapes()[0]), mi.Float(.5)
    ray = mi.Ray3f(mi.Point3f(.1, .2, -5), mi.Vector3f(0, 0, 1))
    t, box = scene.ray_intersect(ray).t[0], scene.bbox()
    dr.enable_grad(shift)
    away = mi.Transform4f().translate(mi.Vector3f(0, 0, shift))
    if name == "cube":
        params["vertex_positions"] = dr.ravel(away @ dr.unravel(mi.Point3f, params["vertex_positions"]))
    else:
        params["to_world"] = away @ mi.Transform4f(params["to_world"])
    params.update()
    si = scene.ray_intersect(ray)
    dr.forward(shift)
    assert dr.grad(si.t)[0] == pytest.approx(1, rel=1e-4) and si.t[0] == pytest.approx(t + .5, rel=1e-5)
    assert scene.bbox().min[2] == pytest.approx(box.min[2] + .5, rel=1e-5)


def test_rays_that_meet_nothing_meet_triangle_0():
    scene = mi.load_dict({"type": "scene", "cube": {"type": "cube"}})
    si = scene.ray_intersect(mi.Ray3f(mi.Point3f([0, 9], 0, -5), mi.Vector3f(0, 0, 1)))
    faces = dr.unravel(mi.Vector3u, mi.traverse(scene)["cube.faces"])
    assert si.is_valid().numpy().tolist() == [True, False] and si.prim_index[1] == 0
    assert np.array(dr.gather(mi.Vector3u, faces, si.prim_index)).shape == (3, 2)
    pi = scene.ray_intersect_preliminary(mi.Ray3f(mi.Point3f([0, 9], 0, -5), mi.Vector3f(0, 0, 1)))
    assert pi.is_valid().numpy().tolist() == [True, False] and pi.prim_index[1] == 0


def test_instances_say_where_they_are():
    where = T().translate([-.5, 1, 0]).scale(.5)
    scene = mi.load_dict({"type": "scene", "group": {"type": "shapegroup", "ball": {"type": "sphere"}},
                          "one": {"type": "instance", "to_world": where, "group": {"type": "ref", "id": "group"}}})
    assert [s.id() for s in scene.shapes()] == ["one"] and len(scene.shapes_dr()) == 1
    text = str(scene.ray_intersect(mi.Ray3f(mi.Point3f(-.5, 1, -5), mi.Vector3f(0, 0, 1))).instance[0])
    assert "[0.5, 0, 0, -0.5]" in text and "[0, 0.5, 0, 1]" in text


def test_arrays_without_entries_reduce():
    for variant in ("llvm_ad_rgb", "scalar_rgb"):
        with mi.set_variant(variant):
            none = mi.Ray3f([0, 0, 0], [0, 0, 1]).wavelengths
            assert len(none) == 0 and dr.width(none) == 0
            assert dr.all(none == none, axis=None) and not dr.any(none != none, axis=None)
            assert dr.all(none == none) and dr.sum(none, axis=None) == 0 and dr.sum(none) == 0


# ---- lights and sensors

@pytest.mark.parametrize("name", ["directional", "distant", "radiancemeter"])
def test_directions_are_part_of_to_world(name):
    film = {} if name == "directional" else {"film": {"type": "hdrfilm", "width": 1, "height": 1}}
    start = {"origin": [1, 2, 3]} if name == "radiancemeter" else {}
    it = dr.zeros(mi.Interaction3f)

    def way(thing):
        if name == "directional":
            return (-thing.sample_direction(it, [.5, .5])[0].d).numpy().ravel()
        return thing.sample_ray(0, 0, [.5, .5], [.5, .5])[0].d.numpy().ravel()

    def along(transform): return (transform @ mi.Vector3f(0, 0, 1)).numpy().ravel()
    thing = mi.load_dict({"type": name, "direction": [0, -2, 0], **start, **film})
    params = mi.traverse(thing)
    assert np.allclose(way(thing), [0, -1, 0], atol=1e-6)
    assert np.allclose(along(mi.Transform4f(params["to_world"])), [0, -1, 0], atol=1e-6)
    assert np.allclose(along(thing.world_transform()), [0, -1, 0], atol=1e-6)
    matrix = np.array(thing.world_transform().matrix, dtype=float).reshape(4, 4)
    axes = [[1, 0, 0], [0, 0, -1], [0, 1, 0]] if name == "distant" else [[0, 1, 0], [0, 0, -1], [-1, 0, 0]]
    assert np.allclose(matrix[:3, :3], axes, atol=1e-6)  # as Mitsuba has them
    if start:
        assert np.allclose(thing.world_transform().translation().numpy().ravel(), [1, 2, 3])
        assert np.allclose(thing.sample_ray(0, 0, [.5, .5], [.5, .5])[0].o.numpy().ravel(), [1, 2, 3])
    params["to_world"] = mi.Transform4f().look_at([0, 0, 0], [1, 0, 1], [0, 1, 0])  # replaces the direction
    params.update()
    assert np.allclose(way(thing), [.5**.5, 0, .5**.5], atol=1e-6)


def test_objects_of_a_list_have_their_names_in_the_dictionary():
    group = {"type": "shapegroup", "ball": {"type": "sphere"}, "box": {"type": "cube"}, "named": {"type": "disk", "id": "plate"}}
    film = {"type": "hdrfilm", "width": 32, "height": 16}
    scene = mi.load_dict({"type": "scene", "group": group, "one": {"type": "instance", "g": {"type": "ref", "id": "group"}},
                          "both": {"type": "batch", "left": {"type": "perspective"}, "film": film,
                                   "right": mi.load_dict({"type": "perspective", "fov": 40.})}})
    params = mi.traverse(scene)
    assert params["group.box.vertex_positions"] is params["group.shape_1.vertex_positions"]
    assert "group.named.to_world" in params and "group.plate.to_world" in params and "group.box.to_world" not in params
    assert "group.ball.bsdf.reflectance.value" in params
    assert params["both.right.x_fov"] == pytest.approx(40) and params["both.left.x_fov"] != 40
    params["group.ball.to_world"] = mi.Transform4f().translate([0, 0, 5])
    params.update()
    assert scene.bbox().max[2] == 6
    params.keep(["group.ball.to_world"])
    assert params.keys() == ["group.shape_0.to_world"]
    alone = mi.traverse(mi.load_dict(group))
    assert alone["ball.to_world"] is alone["shape_0.to_world"] and "none.to_world" not in alone


def test_what_has_been_read_is_no_change():
    scene = mi.load_dict({"type": "scene", "light": {"type": "constant"}, "mesh": triangle_with_normals(),
                          "cam": {"type": "perspective", "film": {"type": "hdrfilm", "width": 6, "height": 7}}})
    params, other = mi.traverse(scene), mi.traverse(scene)
    assert str(params) and str(other)  # shows the types of all values
    normals = params["mesh.vertex_normals"]
    for k, (corner, n) in enumerate((([1, 0, 0], [0, -1, 0]), ([0, 1, 0], [1, 0, 0]), ([1, 0, 0], [0, -1, 0]))):
        params["mesh.vertex_positions"] = [0, 0, 0, *corner, 0, 0, 1]
        params.update()
        assert np.allclose(scene.shapes()[0].vertex_normal(0).numpy().ravel(), n), k
        assert np.allclose(params["mesh.vertex_normals"].numpy()[:3], n) and params["mesh.vertex_normals"] is normals, k
    params["cam.film.size"] = [4, 5]
    params.update()
    params["light.radiance.value"] = .5
    params.update()
    assert np.allclose(params["cam.film.crop_size"].numpy().ravel(), [4, 5])
    assert list(np.ravel(scene.sensors()[0].film().crop_size())) == [4, 5]
    other["light.radiance.value"] = .25  # the others are as they were when they were read, and are left alone
    other.update()
    assert np.allclose(scene.shapes()[0].vertex_normal(0).numpy().ravel(), [0, -1, 0])
    assert np.allclose(mi.traverse(scene)["mesh.vertex_positions"].numpy(), [0, 0, 0, 1, 0, 0, 0, 0, 1])
    dr.enable_grad(params["mesh.vertex_positions"])
    params.update()
    assert scene.shapes_grad_enabled() and dr.grad_enabled(params["mesh.vertex_normals"])
    params["mesh.vertex_positions"][4] = 2.
    params.update()
    assert np.allclose(mi.traverse(scene)["mesh.vertex_positions"].numpy()[3:6], [1, 2, 0])


def triangle_with_normals():
    return mi.Mesh("mesh", faces=[[0, 1, 2]], positions=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], normals=[[0, 0, 1]] * 3)


def test_objects_that_were_loaded_before_are_called_what_the_scene_calls_them():
    ball, lamp = mi.load_dict({"type": "sphere"}), mi.load_dict({"type": "point", "id": "old"})
    scene = mi.load_dict({"type": "scene", "ball": ball, "sheet": triangle_with_normals(), "lamp": lamp})
    assert [s.id() for s in scene.shapes()] == ["ball", "sheet"] and lamp.id() == "lamp"
    params = mi.traverse(scene)
    assert {"ball.to_world", "sheet.vertex_positions", "lamp.intensity.value"} <= set(params.keys())
