# tests/python/mitsuba_parameters_test.py: parameters and forms of objects that scenes of Mitsuba 3 have.
import logging

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


@pytest.mark.parametrize("variant", ["llvm_ad_rgb", "llvm_ad_spectral"])
def test_d65_lights_a_texture_inside(variant):
    with mi.set_variant(variant):
        board = {"type": "checkerboard", "color0": .25, "color1": .75}
        plain, lit = (mi.load_dict({"type": "d65", **d}) for d in ({}, {"scale": 2., "board": board}))
        si = dr.zeros(mi.SurfaceInteraction3f, 2)
        si.uv = mi.Point2f([.2, .7], .2)
        if "spectral" in variant:
            si.wavelengths = mi.Spectrum(420, 500, 580, 660)
        assert np.allclose(lit.eval(si), plain.eval(si).numpy() * [.5, 1.5], rtol=1e-5)
        assert lit.is_spatially_varying() and not plain.is_spatially_varying()
        assert dr.allclose(lit.mean(), plain.mean()) and dr.allclose(lit.max(), 1.5 * plain.max())
        assert "nested_texture.color0.value" in mi.traverse(lit)
        with pytest.raises(mi.UserError, match="give one of them"):
            mi.load_dict({"type": "d65", "color": {"type": "rgb", "value": [1, .5, .2]}, "board": board})


def test_a_polarizer_may_be_grey_glass():
    with mi.set_variant("llvm_ad_spectral_polarized"):
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wi, si.wavelengths = mi.Vector3f(.28, 0, .96), mi.UnpolarizedSpectrum(420, 500, 580, 660)

        def passes(**given):
            bs, weight = mi.load_dict({"type": "polarizer", **given}).sample(mi.BSDFContext(), si, .5, mi.Point2f(.5))
            return np.array(weight).reshape(4, 4, -1)[..., 0]
        assert np.allclose(passes(polarizing=False), .5 * np.eye(4), atol=1e-6)
        assert not np.allclose(passes(), .5 * np.eye(4), atol=.1)


def test_an_uneven_sphere_stays_one(caplog):
    T = mi.ScalarTransform4f
    uneven = T().translate([1, 2, 3]).rotate([0, 0, 1], 30).scale([2, 1, 3]).rotate([1, 0, 0], 20)
    with caplog.at_level(logging.WARNING):
        ball = mi.load_dict({"type": "sphere", "to_world": uneven})
    assert "a sphere stays one, of radius 2" in caplog.text
    assert dr.allclose(ball.surface_area(), 16 * np.pi) and dr.allclose(ball.bbox().max, [3, 4, 5])
    si = ball.ray_intersect(mi.Ray3f(mi.Point3f(1.5, 2.5, 9), mi.Vector3f(0, 0, -1)))
    assert dr.allclose(dr.norm(si.p - mi.Point3f(1, 2, 3)), 2) and dr.allclose(dr.dot(si.dp_du, si.dp_dv), 0, atol=1e-4)


def test_a_cylinder_may_be_an_elliptic_tube():
    T = mi.ScalarTransform4f
    tube = mi.load_dict({"type": "cylinder", "to_world": T().scale([2, 1, 3])})
    assert dr.allclose(tube.surface_area(), 3 * 9.68844822)  # the circumference of an ellipse of half axes 2 and 1
    si = tube.ray_intersect(mi.Ray3f(mi.Point3f([9, 1.6], [0, 9], 1), mi.Vector3f([-1, 0], [0, -1], 0)))
    assert dr.allclose(si.t, [7, 8.4])
    assert dr.allclose(si.n, mi.Vector3f([1, .5547002], [0, .83205029], 0), atol=1e-5)
    with pytest.raises(mi.UserError, match="must be round"):
        mi.load_dict({"type": "cylinder", "to_world": T().scale([2, 1, 3]), "emitter": {"type": "area"}})


def test_scenes_may_say_what_makes_no_difference(caplog):
    with caplog.at_level(logging.WARNING):
        mi.load_dict({"type": "constant", "to_world": mi.ScalarTransform4f().rotate([1, 0, 0], 30)})
        mi.load_dict({"type": "rectangle", "face_normals": True})
        mi.load_dict({"type": "hdrfilm", "banner": False})
        assert not caplog.text
        mi.load_dict({"type": "path", "block_size": 32})
    assert "block_size makes no difference" in caplog.text


@pytest.mark.parametrize("bsdf", ["roughconductor", "roughdielectric", "roughplastic", "pplastic", "ward", "roughdiffuse", "roughcoating"])
def test_roughness_is_not_negative(bsdf):
    inside = {"inner": {"type": "diffuse"}} if bsdf == "roughcoating" else {}
    with pytest.raises(mi.UserError, match='"alpha" is -1; it must be at least 0'):
        mi.load_dict({"type": bsdf, "alpha": -1., **inside})


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
def test_sharp_cameras_tell_the_focus_distance_that_they_were_given(camera):
    assert mi.load_dict({"type": camera, "focus_distance": 3.}).focus_distance() == 3
    assert mi.load_dict({"type": camera, "far_clip": 50.}).focus_distance() == 50


def test_specfilm_compensates_for_rounding():
    with mi.set_variant("llvm_ad_spectral"):
        band = {"type": "spectrum", "value": [(400, 1.), (500, 1.)]}
        scene = mi.load_dict({"type": "scene", "sky": {"type": "constant", "radiance": {"type": "uniform", "value": 1.}},
                              "camera": {"type": "perspective", "film": {"type": "specfilm", "compensate": True, "width": 2,
                                                                         "height": 2, "band": band}}})
        assert np.allclose(mi.render(scene, spp=64).numpy()[..., 0], 100, rtol=.02)


def _banded(**film):
    bands = {"blue": {"type": "spectrum", "value": [(400, 0.), (450, 1.), (500, 0.)]},
             "far": {"type": "spectrum", "value": [(900, .5), (1000, .5)]}}
    return mi.load_dict({"type": "scene", "integrator": {"type": "path"},
                         "sky": {"type": "constant", "radiance": {"type": "spectrum", "value": [(300, 2.), (1100, 2.)]}},
                         "camera": {"type": "perspective", "film": {"type": "specfilm", "width": 4, "height": 4,
                                                                    "rfilter": {"type": "box"}, **bands, **film}}})


def test_specfilm_has_a_response_function():
    with mi.set_variant("llvm_ad_spectral"):
        film = _banded().sensors()[0].film()
        response = film.sensor_response_function()
        assert isinstance(response, mi.Texture)
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wavelengths = mi.UnpolarizedSpectrum(425, 450, 700, 950)
        assert dr.allclose(response.eval(si), [.5, 1, 0, .5], atol=1e-5)
        assert dr.allclose(response.wavelength_range(), [400, 1000])
        assert film.flags() == mi.FilmFlags.Spectral | mi.FilmFlags.Special
        assert mi.load_dict({"type": "hdrfilm"}).sensor_response_function() is None


def test_blocks_of_specfilm_hold_its_bands():
    from umbel.ad.integrators.common import render_blocks
    with mi.set_variant("llvm_ad_spectral"):
        scene = _banded()
        film = scene.sensors()[0].film()
        assert film.prepare(["depth"]) == 4  # two bands, weights, and what the integrator adds
        depth = mi.load_dict({"type": "aov", "aovs": "d:depth", "inner": {"type": "path"}})
        image = render_blocks(depth, scene, spp=256).numpy()
        assert image.shape == (4, 4, 3) and np.allclose(image.mean((0, 1)), [100, 100, 0], rtol=.05)


def test_films_in_python_say_what_they_are_sensitive_to():
    with mi.set_variant("llvm_ad_spectral"):
        class Band(mi.Film):
            def __init__(self, props):
                super().__init__(props)
                self.m_flags = mi.FilmFlags.Spectral | mi.FilmFlags.Special
                self.band = mi.load_dict({"type": "spectrum", "value": [(900, .5), (1000, .5)]})

            def sensor_response_function(self): return self.band
        mi.register_film("band_for_test", lambda props: Band(props))
        camera = mi.load_dict({"type": "perspective", "film": {"type": "band_for_test"}})
        ray, _ = camera.sample_ray(0, mi.Float([.1, .6]), mi.Point2f(.5), mi.Point2f(.5))
        assert dr.all(ray.wavelengths > 900, axis=None) and dr.all(ray.wavelengths < 1000, axis=None)


def test_sensors_have_a_response_function():
    with mi.set_variant("llvm_ad_spectral"):
        camera = mi.load_dict({"type": "perspective", "srf": {"type": "spectrum", "value": [(500, 2.), (510, 2.)]}})
        ray, weight = camera.sample_ray(0, mi.Float([.1, .6]), mi.Point2f(.5), mi.Point2f(.5))
        assert dr.all(ray.wavelengths > 500, axis=None) and dr.all(ray.wavelengths < 510, axis=None)
        assert dr.allclose(weight, 20)
        assert any(key.startswith("srf.") for key in mi.traverse(camera).keys())


def test_shutters_are_open_for_a_time():
    camera = mi.load_dict({"type": "perspective", "shutter_open": 1., "shutter_close": 3.})
    params = mi.traverse(camera)
    assert params["shutter_open_time"] == pytest.approx(2)
    params["shutter_open_time"] = 5.
    params.update()
    assert camera.shutter_open_time() == pytest.approx(5) and params["shutter_close"] == pytest.approx(6)
    params["shutter_close"] = 2.
    params.update()
    assert params["shutter_open_time"] == pytest.approx(1)


def test_changed_responses_count_in_the_next_image():
    with mi.set_variant("llvm_ad_spectral"):
        scene = mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "sky": {"type": "constant"},
                              "camera": {"type": "perspective", "srf": {"type": "spectrum", "value": [(500, 2.), (510, 2.)]},
                                         "film": {"type": "hdrfilm", "width": 2, "height": 2, "rfilter": {"type": "box"}}}})
        before = mi.render(scene, spp=64).numpy()
        params = mi.traverse(scene)
        params["camera.srf.values"] = mi.Float([4., 4.])
        params.update()
        assert np.allclose(mi.render(scene, spp=64).numpy(), 2 * before, rtol=1e-4)


@pytest.mark.parametrize("description, told", [
    ({"type": "path", "timeout": 3.}, "timeout makes no difference: images are rendered to the last sample"),
    ({"type": "path", "timeout": -1.}, ""),
    ({"type": "prb_basic", "rr_depth": 3}, "no path ends by roulette"),
    ({"type": "volprim_rf_basic", "rr_depth": 3}, "no ray ends by roulette"),
    ({"type": "batch", "to_world": mi.ScalarTransform4f().scale(2), "camera": {"type": "perspective"}}, "a place of its own"),
    ({"type": "shapegroup", "to_world": mi.ScalarTransform4f().scale(2), "ball": {"type": "sphere"}}, "where its instances put it"),
    ({"type": "shapegroup", "silhouette_sampling_weight": 2., "ball": {"type": "sphere"}}, "its shapes have theirs"),
    ({"type": "instance", "silhouette_sampling_weight": 1., "group": {"type": "shapegroup", "ball": {"type": "sphere"}}}, ""),
])
def test_what_mitsuba_takes_without_effect_is_told(caplog, description, told):
    with caplog.at_level(logging.WARNING):
        mi.load_dict(description)
    assert told in caplog.text if told else not caplog.text


def test_groups_stand_where_their_instances_are():
    T = mi.ScalarTransform4f
    group = {"type": "shapegroup", "to_world": T().translate([5, 0, 0]), "ball": {"type": "sphere"}}
    scene = mi.load_dict({"type": "scene", "group": group, "copy": {"type": "instance", "of": {"type": "ref", "id": "group"}}})
    assert dr.allclose(scene.bbox().max, 1)


@pytest.mark.parametrize("bsdf", ["roughplastic", "roughcoating"])
def test_coatings_may_be_as_rough_along_both_axes(bsdf):
    inside = {"inner": {"type": "diffuse"}} if bsdf == "roughcoating" else {}
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.wi = mi.Vector3f(.48, .36, .8)
    load = lambda **more: mi.load_dict({"type": bsdf, **inside, **more})
    value = lambda b: b.eval(mi.BSDFContext(), si, mi.Vector3f(-.48, -.36, .8)).numpy()
    assert np.allclose(value(load(alpha_u=.3, alpha_v=.3)), value(load(alpha=.3)))
    assert not np.allclose(value(load(alpha_u=.3, alpha_v=.3)), value(load()))
    for given, message in (({"alpha_u": .3, "alpha_v": .2}, "as rough along one axis"), ({"alpha_u": .3}, "one of them is missing"),
                           ({"alpha": .1, "alpha_u": .3, "alpha_v": .3}, "either alpha")):
        with pytest.raises(mi.UserError, match=message):
            load(**given)


def test_srgb_is_a_reflectance_unless_it_is_unbounded():
    with mi.set_variant("llvm_ad_spectral"):
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wavelengths = mi.Spectrum(450, 550, 600, 650)
        load = lambda **more: mi.load_dict({"type": "srgb", **more})
        inside = mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [.2, .5, .7]}})
        si.wi = mi.Vector3f(0, 0, 1)
        assert dr.allclose(load(color=[.2, .5, .7]).eval(si), inside.eval_diffuse_reflectance(si))
        assert dr.allclose(load(color=[3, 3, 3], unbounded=True).eval(si), 3, rtol=1e-3)
        with pytest.raises(mi.UserError, match="between 0 and 1"):
            load(color=[3, 3, 3])


def test_regular_spectra_may_be_pairs():
    with mi.set_variant("llvm_ad_spectral"):
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wavelengths = mi.Spectrum(450, 500, 550, 650)
        table = mi.load_string('<spectrum version="3.0.0" type="regular"><spectrum name="value" value="400:1, 500:3, 600:1"/></spectrum>')
        assert dr.allclose(table.eval(si), [2, 3, 2, 0])


# ---- derivatives by what sensors respond to
def _responding(**camera):
    band = {"type": "irregular", "wavelengths": "560,580,600,620,640", "values": "0,1,.5,0,0"}
    light = {"type": "irregular", "wavelengths": "400,700", "values": "1,3"}
    return mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "sky": {"type": "constant", "radiance": light},
                         "camera": {"type": "perspective", **({} if "film" in camera else {"srf": band}),
                                    "film": {"type": "hdrfilm", "width": 2, "height": 2, "pixel_format": "luminance", "rfilter": {"type": "box"}},
                                    **camera}})


def _expected(scene, key):
    """Images are linear in the response: those of its parts, one at a time."""
    params = mi.traverse(scene)
    values = params[key].numpy()
    out = []
    for i in range(len(values)):
        params[key] = mi.Float(np.eye(len(values), dtype=np.float32)[i])
        params.update()
        out.append(mi.render(scene, spp=2048, seed=3).numpy().sum())
    params[key] = mi.Float(values)
    params.update()
    return np.array(out)


SPECFILM = {"type": "specfilm", "width": 2, "height": 2, "rfilter": {"type": "box"},
            "band": {"type": "irregular", "wavelengths": "560,580,600,620,640", "values": "0,1,.5,0,0"}}


@pytest.mark.parametrize("key, camera", [("camera.srf.values", {}), ("camera.film.band.values", {"film": SPECFILM})])
def test_images_have_derivatives_by_responses(key, camera):
    with mi.set_variant("llvm_ad_spectral"):
        scene = _responding(**camera)
        expected = _expected(scene, key)
        assert expected.min() > 0
        params = mi.traverse(scene)
        dr.enable_grad(params[key])
        params.update()
        dr.backward(dr.sum(mi.render(scene, params, spp=2048).array))
        assert np.allclose(dr.grad(params[key]).numpy(), expected, rtol=.03, atol=.01 * expected.max())

        # In forward mode, by all of them at once
        dr.disable_grad(params[key])
        dr.enable_grad(params[key])
        dr.set_grad(params[key], mi.Float([1, 2, 3, 4, 5]))
        params.update()
        image = mi.render(scene, params, spp=2048)
        dr.forward_to(image)
        assert dr.grad(image).numpy().sum() == pytest.approx(expected @ [1, 2, 3, 4, 5], rel=.03)


# ---- angles of spots
@pytest.mark.parametrize("variant", ["llvm_ad_rgb", "llvm_ad_spectral"])
def test_spots_are_differentiable_in_their_angles(variant):
    with mi.set_variant(variant):
        down = mi.ScalarTransform4f().look_at([0, 0, 3], [0, 0, 0], [0, 1, 0])
        scene = mi.load_dict({"type": "scene", "integrator": {"type": "prb", "max_depth": 2}, "floor": {"type": "rectangle"},
                              "lamp": {"type": "spot", "to_world": down, "cutoff_angle": 20.}, "camera": {
                                  "type": "perspective", "to_world": down, "fov": 45,
                                  "film": {"type": "hdrfilm", "width": 16, "height": 16, "rfilter": {"type": "box"}}}})
        params = mi.traverse(scene)
        keys = "lamp.cutoff_angle", "lamp.beam_width"
        assert [type(params[k]) for k in keys] == [mi.Float] * 2 and [params.flags(k) for k in keys] == [0, 0]
        assert dr.allclose(params["lamp.cutoff_angle"], 20) and dr.allclose(params["lamp.beam_width"], 15)
        for key in keys:
            before = params[key][0]

            def brightness(angle):
                params[key] = mi.Float(angle)
                params.update()
                return np.sum(mi.render(scene, spp=64, seed=1).numpy(), dtype=np.float64)
            expected = (brightness(before + .25) - brightness(before - .25)) / .5
            params[key] = mi.Float(before)
            dr.enable_grad(params[key])
            params.update()
            dr.backward(dr.sum(mi.render(scene, params, spp=64, seed=1).array))
            assert expected > 0 and np.isclose(params[key].grad[0], expected, rtol=.02)
            params[key] = mi.Float(before)
            params.update()
        assert dr.allclose(params["lamp.cutoff_angle"], 20), "the other one stays"


def test_kernels_are_those_of_other_angles():
    scene = mi.load_dict({"type": "scene", "floor": {"type": "rectangle"}, "lamp": {"type": "spot"}, "camera": {
        "type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
    params = mi.traverse(scene)
    mi.render(scene, spp=1).numpy()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        params["lamp.cutoff_angle"], params["lamp.beam_width"] = mi.Float(30), mi.Float(28)
        params.update()
        mi.render(scene, spp=1).numpy()
        history = dr.kernel_history([dr.KernelType.JIT])
    assert history and all(k["cache_hit"] for k in history)
    params["lamp.beam_width"] = mi.Float(31)
    with pytest.raises(mi.UserError, match="cutoff_angle is 30 and beam_width 31"):
        params.update()


# ---- settings of integrators
def test_settings_of_integrators_are_attributes():
    prb = mi.load_dict({"type": "prb", "max_depth": 3, "rr_depth": 2})
    assert (prb.max_depth, prb.rr_depth, prb.hide_emitters) == (3, 2, False) and type(prb.max_depth) is int
    projective = mi.load_dict({"type": "prb_projective", "sppc": 4, "guiding": "grid"})
    assert (projective.sppc, projective.sppp, projective.guiding, projective.guiding_proj) == (4, -1, "grid", True)
    projective.guiding, projective.guiding_proj, projective.sppi = "none", False, np.int64(7)
    assert (projective.guiding, projective.guiding_proj, projective.sppi, projective.sppc) == ("none", False, 7, 4)
    direct = mi.load_dict({"type": "direct_projective"})
    direct.max_depth = 5
    assert direct.max_depth == 2  # as when it is loaded
    reparam = mi.load_dict({"type": "prb_reparam"})
    reparam.reparam_kappa = 100
    assert reparam.reparam_kappa == 100 and type(reparam.reparam_kappa) is float
    assert not hasattr(prb, "sppc")
    with pytest.raises(AttributeError, match="no attribute 'depth'"):
        prb.depth
    with pytest.raises(AttributeError, match="depth"):
        prb.depth = 3
    for name, value in {"max_depth": -2, "rr_depth": 0, "block_size": 3}.items():
        before = getattr(prb, name)
        with pytest.raises(mi.UserError, match=name):
            setattr(prb, name, value)
        assert getattr(prb, name) == before
    with pytest.raises(mi.UserError, match="it must be one of none, grid, octree"):
        projective.guiding = "tree"
    assert projective.guiding == "none"


@pytest.mark.parametrize("kind", ["path", "prb", "prb_basic", "volpath", "prbvolpath", "prb_projective"])
def test_settings_count_from_the_next_image_on(kind):
    def scene(**settings):
        return mi.load_dict({"type": "scene", "integrator": {"type": kind, **settings}, "sky": {"type": "constant"}, "bowl": {
            "type": "sphere", "flip_normals": True, "radius": 2, "bsdf": {"type": "diffuse"}}, "lamp": {
                "type": "sphere", "radius": .5, "emitter": {"type": "area"}}, "camera": {
                "type": "perspective", "to_world": mi.ScalarTransform4f().translate([1.2, 0, -1]),
                "film": {"type": "hdrfilm", "width": 8, "height": 8}}})
    changed, other = scene(max_depth=2), scene(max_depth=2)
    short = mi.render(changed, spp=8).numpy()
    changed.integrator().max_depth = 4
    long = mi.render(changed, spp=8).numpy()
    assert np.array_equal(long, mi.render(scene(max_depth=4), spp=8).numpy()) and not np.array_equal(long, short)
    assert np.array_equal(mi.render(other, spp=8).numpy(), short)
    changed.integrator().max_depth = 2
    assert np.array_equal(mi.render(changed, spp=8).numpy(), short)


def test_frozen_functions_hear_of_settings():
    scene = mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "lamp": {"type": "sphere", "emitter": {"type": "area"}},
                          "camera": {"type": "perspective", "to_world": mi.ScalarTransform4f().translate([0, 0, -4]),
                                     "film": {"type": "hdrfilm", "width": 4, "height": 4}}})

    @dr.freeze
    def image(scene): return mi.render(scene, spp=4)
    for depth in (2, 2, 0, 2):
        scene.integrator().max_depth = depth
        assert (np.sum(image(scene).numpy()) > 0) == (depth > 0)


# ---- names of spectra
def test_daylight_has_a_value():
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "emitter": {
        "type": "area", "id": "lamp", "radiance": {"type": "d65", "scale": 2.}}}, "camera": {
            "type": "perspective", "to_world": mi.ScalarTransform4f().translate([0, 0, -4]),
            "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
    params = mi.traverse(scene)
    assert "lamp.radiance.scale" in params.keys() and "lamp.radiance.value" not in params.keys()
    for key in ("lamp.radiance.value", "ball.emitter.radiance.value"):
        assert key in params and params.flags(key) == 0 and dr.allclose(params[key], params["lamp.radiance.scale"])
    before = np.sum(mi.render(scene, spp=4).numpy())
    params["lamp.radiance.value"] = 6
    params.update()
    assert np.isclose(np.sum(mi.render(scene, spp=4).numpy()), 3 * before)
    kept = params.copy()
    kept.keep(["lamp.radiance.value"])
    assert kept.keys() == ["lamp.radiance.scale"]
    alone = mi.traverse(mi.load_dict({"type": "d65"}))
    assert dr.allclose(alone["value"], 1)
    coloured = mi.traverse(mi.load_dict({"type": "d65", "color": {"type": "rgb", "value": [1, 2, 3]}}))
    assert type(coloured["value"]) is mi.Color3f
    checks = mi.traverse(mi.load_dict({"type": "scale", "value": {"type": "checkerboard"}}))
    assert "value" not in checks and "scale" in checks


def test_tables_of_spectra_take_other_wavelengths():
    with mi.set_variant("llvm_ad_spectral"):
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wavelengths = mi.Spectrum(450, 500, 550, 650)
        table = mi.load_dict({"type": "irregular", "wavelengths": "400, 500, 700", "values": "1, 3, 2"})
        params = mi.traverse(table)
        assert params.keys() == ["wavelengths", "values"] and [params.flags(k) for k in params.keys()] == [1, 0]
        assert type(params["wavelengths"]) is mi.Float and dr.allclose(params["wavelengths"], [400, 500, 700])
        assert dr.allclose(table.eval(si), [2, 3, 2.75, 2.25])
        params["wavelengths"] = [450, 550, 650]
        params.update()
        assert dr.allclose(table.eval(si), [1, 2, 3, 2])
        params["values"] = [2, 6, 4]
        params.update()
        assert dr.allclose(table.eval(si), [2, 4, 6, 4])
        for wrong, message in (([450, 650, 550], "550 follows 650"), ([450, 650], "2 wavelengths and 3 values")):
            params["wavelengths"] = wrong
            with pytest.raises(mi.UserError, match=message):
                params.update()
            assert dr.allclose(table.eval(si), [2, 4, 6, 4])
        params["wavelengths"] = [450, 550, 650]
        params.update()

        even = mi.load_dict({"type": "regular", "wavelength_min": 400.1, "wavelength_max": 700., "values": "1, 3, 2"})
        params = mi.traverse(even)
        assert params.keys() == ["range", "values"] and [params.flags(k) for k in params.keys()] == [1, 0]
        assert type(params["range"]) is mi.Vector2f and dr.allclose(params["range"], [400.1, 700])
        assert not params.update()
        params["range"] = [450, 650]
        params.update()
        assert dr.allclose(even.eval(si), [1, 2, 3, 2])
        params["range"] = [650, 450]
        with pytest.raises(mi.UserError, match="must increase"):
            params.update()
        assert dr.allclose(even.eval(si), [1, 2, 3, 2])


def test_kernels_are_those_of_other_wavelengths():
    with mi.set_variant("llvm_ad_spectral"):
        scene = mi.load_dict({"type": "scene", "sky": {"type": "constant", "radiance": {
            "type": "irregular", "wavelengths": "300, 500, 900", "values": "1, 3, 2"}}, "camera": {
                "type": "perspective", "film": {"type": "hdrfilm", "width": 4, "height": 4}}})
        params = mi.traverse(scene)
        before = mi.render(scene, spp=4).numpy()
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            params["sky.radiance.wavelengths"] = [300, 610.3, 900]
            params.update()
            after = mi.render(scene, spp=4).numpy()
            history = [k for k in dr.kernel_history([dr.KernelType.JIT]) if k["size"] in (64, 16)]  # samples, and pixels
        assert np.all(before != after) and history and all(k["cache_hit"] for k in history)
