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
