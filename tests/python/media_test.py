# tests/python/media_test.py: media, phase functions and volumes, and where rays meet them.
import logging

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def cloud(**more):
    return {"type": "homogeneous", "albedo": .5, "sigma_t": 2., **more}


def scene(**more):
    return mi.load_dict({"type": "scene", "integrator": {"type": "volpath"},
                         "ball": {"type": "sphere", "bsdf": {"type": "null"}, "interior": cloud()},
                         "camera": {"type": "perspective", "film": {"type": "hdrfilm", "width": 8, "height": 8}},
                         "sky": {"type": "constant"}, **more})


def test_shapes_and_cameras_know_their_media():
    s = scene(inside={"type": "perspective", "medium": cloud(sigma_t=7.)})
    ball = s.shapes()[0]
    medium = ball.interior_medium()
    assert isinstance(medium, mi.Medium) and ball.exterior_medium() is None and ball.is_medium_transition()
    assert medium.is_homogeneous() and medium.has_spectral_extinction() and medium.use_emitter_sampling()
    phase = medium.phase_function()
    assert isinstance(phase, mi.PhaseFunction) and phase.component_count() == 1
    assert phase.flags() == phase.flags(0) == mi.PhaseFunctionFlags.Isotropic
    with pytest.raises(IndexError):
        phase.flags(1)
    media = [c.get_medium() for c in s.sensors()]
    assert sum(m is not None for m in media) == 1 and s.emitters()[0].get_medium() is None


def test_media_in_open_shapes_are_remarked_on(caplog):
    """In the log; the image is defined all the same."""
    with caplog.at_level(logging.WARNING, "umbel"):
        scene()
        assert caplog.messages == []
        s = scene(sheet={"type": "rectangle", "id": "sheet", "bsdf": {"type": "null"}, "interior": cloud()})
    assert len(caplog.messages) == 1 and "sheet" in caplog.text and "not closed" in caplog.text
    assert np.all(np.isfinite(np.array(mi.render(s, spp=1))))


def test_rays_enter_and_leave_media():
    s = scene(wall={"type": "rectangle", "to_world": mi.ScalarTransform4f().translate([5, 0, 0])})
    si = s.ray_intersect(mi.Ray3f(mi.Point3f([0, 5, 9], 0, 3), mi.Vector3f(0, 0, -1)))
    assert list(si.is_medium_transition()) == [True, False, False]
    medium = s.shapes()[0].interior_medium() if s.shapes()[0].is_medium_transition() else s.shapes()[1].interior_medium()
    assert si.target_medium(mi.Vector3f(0, 0, -1))[0] is medium
    assert si.target_medium(mi.Float(-1))[0] is medium
    assert list(si.target_medium(mi.Vector3f(0, 0, 1))) == [None] * 3


def test_distances_are_exponential():
    medium = mi.load_dict(cloud(scale=2.))
    n = 100000
    u = (dr.arange(mi.Float, n) + .5) / n
    ray = mi.Ray3f(mi.Point3f(0, 0, 0), mi.Vector3f(0, 0, 1))
    mei = medium.sample_interaction(ray, u, mi.UInt(0), True)
    assert np.allclose(np.mean(mei.t.numpy()), 1 / 4, rtol=1e-3)
    assert dr.allclose(mei.sigma_t, 4) and dr.allclose(mei.sigma_s, 2) and dr.allclose(mei.sigma_n, 0)
    assert dr.allclose(mei.combined_extinction, 4) and dr.allclose(mei.p.z, mei.t) and dr.allclose(mei.wi.z, -1)
    assert dr.allclose(medium.get_majorant(mei), 4)
    assert dr.allclose(medium.get_scattering_coefficients(mei)[0], 2)
    si = dr.zeros(mi.SurfaceInteraction3f)
    si.t = mi.Float(.5)
    tr, pdf = medium.transmittance_eval_pdf(mei, si, True)
    t = mei.t.numpy()
    assert np.allclose(tr.numpy()[0], np.exp(-4 * np.minimum(t, .5)), atol=1e-5)
    assert np.allclose(pdf.numpy()[0], np.where(t < .5, 4 * np.exp(-4 * t), np.exp(-2)), atol=1e-4)


@pytest.mark.parametrize("name, parameters", [
    ("isotropic", ""), ("hg", "<float name='g' value='.6'/>"), ("hg", "<float name='g' value='-.6'/>"),
    ("tabphase", "<string name='values' value='.5, 1, 1.5'/>"),
    ("blendphase", "<phase type='isotropic'/><phase type='hg'/><float name='weight' value='.3'/>")])
def test_phase_samples_match_their_density(name, parameters):
    sample, pdf = mi.chi2.PhaseFunctionAdapter(name, parameters, wi=[0.6, 0, 0.8])
    assert mi.chi2.ChiSquareTest(mi.chi2.SphericalDomain(), sample, pdf, 3).run()


def test_volumes_answer():
    v = mi.load_dict({"type": "constvolume", "value": 3., "to_world": mi.ScalarTransform4f().scale(2)})
    it = dr.zeros(mi.Interaction3f)
    assert isinstance(v, mi.Volume) and dr.allclose(v.eval(it), 3) and dr.allclose(v.eval_1(it), 3) and v.max() == 3
    assert dr.allclose(v.eval_gradient(it)[1], 0) and list(v.resolution()) == [1, 1, 1]
    assert dr.allclose(v.bbox().max, 2)


def test_volumes_answer_with_all_their_numbers():
    numbers = np.random.default_rng(1).uniform(size=(2, 3, 4, 6)).astype(np.float32)
    it = dr.zeros(mi.Interaction3f)
    it.p = mi.Point3f(0.6, 0.2, 0.9)
    three, six = (mi.load_dict({"type": "gridvolume", "grid": mi.VolumeGrid(numbers[..., :n].copy()), "raw": True})
                  for n in (3, 6))
    assert np.allclose(np.ravel(six.eval_6(it)), np.ravel(six.eval_n(it)))
    assert np.allclose(np.ravel(three.eval_3(it)), np.ravel(six.eval_6(it))[:3])
    assert (six.resolution().x, six.resolution().y, six.resolution().z) == (4, 3, 2)
    with pytest.raises(RuntimeError, match="has 6 channels"):
        six.eval_3(it)


def test_parameters_of_media_have_names_and_change():
    s = scene()
    params = mi.traverse(s)
    key = "ball.interior_medium.sigma_t.value.value"
    assert key in params and "ball.interior_medium.scale" in params
    params[key] = 0.
    params.update()
    image = mi.render(s, spp=16).numpy()
    assert np.allclose(image, 1, atol=1e-5)  # there is nothing between the camera and the sky


def smoke(**more):
    """A grid of densities in a cube."""
    T = mi.ScalarTransform4f()
    place = T.translate([-1, -1, -1]).scale(2)
    values = np.random.default_rng(1).uniform(.2, 1, size=(3, 2, 4, 1)).astype(np.float32)
    return scene(ball={"type": "cube", "bsdf": {"type": "null"}, "interior": {
        "type": "heterogeneous", "albedo": .8, "sigma_t": {
            "type": "gridvolume", "grid": mi.VolumeGrid(values), "to_world": place}}},
                 camera={"type": "perspective", "to_world": T.look_at([1, 2, 5], [0, 0, 0], [0, 1, 0]),
                         "film": {"type": "hdrfilm", "width": 8, "height": 8}}, **more)


def test_media_orient_the_fibres_of_their_phase_functions():
    """In dictionaries, too; the parameter is that of the phase function."""
    def medium(axis=None, own=None):
        volume = lambda v: {"type": "constvolume", "value": mi.ScalarVector3f(v)}
        return mi.load_dict({"type": "heterogeneous", "phase": {"type": "microflake", "stddev": .1,
                                                                **({"orientation": volume(own)} if own else {})},
                             **({"orientation": volume(axis)} if axis else {})})

    def area(m):
        mei = dr.zeros(mi.MediumInteraction3f)
        mei.wi = mi.Vector3f(1, 0, 0)
        return m.phase_function().projected_area(mei)[0]
    along, across = medium([1, 0, 0]), medium([0, 1, 0])
    assert area(along) < .3 < area(across) == area(medium())
    assert area(along) == area(medium(own=[1, 0, 0])) == area(medium([0, 1, 0], own=[1, 0, 0]))
    params = mi.traverse(along)
    keys = [k for k in params.keys() if "orientation" in k]
    assert "phase_function.orientation.value" in keys and all(k.startswith("phase_function.") for k in keys)


def test_images_of_media_have_derivatives():
    s = smoke()
    params = mi.traverse(s)
    key = "ball.interior_medium.sigma_t.data"
    dr.enable_grad(params[key])
    params.update()
    with pytest.raises(mi.UserError, match="prbvolpath"):
        dr.backward(mi.render(s, params, spp=4))  # `volpath` has none
    image = mi.render(s, params, spp=64, integrator="prbvolpath")
    dr.backward(dr.mean(image, axis=None))
    grad = np.array(dr.grad(params[key]))
    assert grad.shape == (3, 2, 4, 1) and np.all(grad < 0)  # smoke of this kind absorbs light of the sky


def test_media_of_all_kinds_are_followed_at_once():
    s = smoke(fog={"type": "sphere", "center": [0, 2, 0], "bsdf": {"type": "null"}, "interior": cloud()})
    params = mi.traverse(s)
    keys = ["ball.interior_medium.sigma_t.data", "fog.interior_medium.sigma_t.value.value"]

    def gradients(followed):
        for key in keys:
            params[key] = dr.detach(params[key])
            if key in followed:
                dr.enable_grad(params[key])
        params.update()
        dr.backward(dr.mean(mi.render(s, params, spp=16, integrator="prbvolpath"), axis=None))
        return [np.array(dr.grad(params[key])) for key in followed]
    for one, other in zip(gradients(keys), gradients(keys[:1]) + gradients(keys[1:])):
        assert np.allclose(one, other, rtol=1e-4) and np.any(one != 0)


def test_integrators_have_names():
    s = scene()
    image = mi.render(s, spp=4, seed=3, integrator="prbvolpath").numpy()
    assert np.array_equal(image, mi.render(s, spp=4, seed=3, integrator=mi.load_dict({"type": "prbvolpath"})).numpy())
    assert mi.load_dict({"type": "prbvolpath"}).class_name() == "PRBVolpathIntegrator"
    with pytest.raises(mi.UserError, match="prbvolpat"):
        mi.render(s, integrator="prbvolpat")


@pytest.mark.parametrize("density", [3., 1e3, 1e6, 1e8])
@pytest.mark.parametrize("varies", [False, True])
def test_opaque_media_glow_as_their_surface_would(density, varies):
    """What leaves an opaque medium that glows, and scatters nothing, is its emission over its extinction."""
    grid = np.ones((2, 2, 2, 1), np.float32)
    grid[0, 0, 0, 0] = .9999 if varies else 1.
    T = mi.ScalarTransform4f
    sigma_t = {"type": "gridvolume", "grid": mi.VolumeGrid(grid), "to_world": T().scale(2).translate([-.5, -.5, -.5])} if varies else 1.
    medium = {"type": "heterogeneous", "sigma_t": sigma_t, "albedo": 0., "scale": density, "emission": {"type": "constvolume", "value": 2.}}
    scene = mi.load_dict({
        "type": "scene", "integrator": {"type": "volpath", "max_depth": 4},
        "box": {"type": "cube", "bsdf": {"type": "null"}, "interior": medium},
        "sensor": {"type": "orthographic", "to_world": T().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0]).scale(.5),
                   "film": {"type": "hdrfilm", "width": 4, "height": 4, "rfilter": {"type": "box"}}}})
    seen = np.mean(np.array(mi.render(scene, spp=512))) * density / 2
    through = 1 - np.exp(-2 * density)
    assert seen == pytest.approx(through, rel=2e-2)
