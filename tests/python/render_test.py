# tests/python/render_test.py: scenes from Python: loading, changing, tracing, rendering, differentiating them.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def box(size=16, spp=16, **more):
    """A room with a red and a white wall and a light."""
    T = mi.ScalarTransform4f
    wall = lambda t, bsdf: {"type": "rectangle", "to_world": t, "bsdf": {"type": "ref", "id": bsdf}}
    light = wall(T().translate([0, .98, 0]).rotate([1, 0, 0], 90).scale(.4), "white")
    light["emitter"] = {"type": "area", "radiance": {"type": "rgb", "value": [8, 7, 5]}}
    return {
        "type": "scene", "integrator": {"type": "prb", "max_depth": 4},
        "sensor": {"type": "perspective", "fov": 50, "to_world": T().look_at([0, 0, 3.5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}},
                   "sampler": {"type": "independent", "sample_count": spp}},
        "red": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.6, .2, .1]}},
        "white": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.7, .7, .6]}},
        "back": wall(T().translate([0, 0, -1]), "white"),
        "floor": wall(T().translate([0, -1, 0]).rotate([1, 0, 0], -90), "white"),
        "left": wall(T().translate([-1, 0, 0]).rotate([0, 1, 0], 90), "red"),
        "light": light, **more,
    }


KEY = "red.reflectance.value"


def test_parameters_are_named_by_their_objects():
    params = mi.traverse(mi.load_dict(box()))
    assert KEY in params and "light.emitter.radiance.value" in params and "sensor.film.size" in params
    assert np.allclose(params[KEY].numpy().ravel(), [.6, .2, .1])
    with pytest.raises(mi.UserError, match="red.reflectance.value"):
        params["red.reflectance.valu"]
    params.keep("*.reflectance.value")
    assert sorted(params.keys()) == [KEY, "white.reflectance.value"]


def test_a_changed_colour_shows_and_compiles_nothing():
    scene = mi.load_dict(box())
    params = mi.traverse(scene)
    first = mi.render(scene).numpy()
    params[KEY] = mi.Color3f(.1, .2, .9)
    params.update()
    second = mi.render(scene).numpy()
    assert second[..., 2].mean() > first[..., 2].mean()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        params[KEY] = mi.Color3f(.3, .3, .3)
        params.update()
        dr.eval(mi.render(scene, seed=5))
        if mi.variant().startswith("llvm"):
            kernels = [k for k in dr.kernel_history() if k["type"] == dr.KernelType.JIT]
            assert kernels and all(k["cache_hit"] for k in kernels)


def test_gradients_agree_with_differences():
    scene = mi.load_dict(box(size=8))
    params = mi.traverse(scene)
    colour = mi.Color3f(.6, .2, .1)
    dr.enable_grad(colour)
    params[KEY] = colour
    params.update()
    image = mi.render(scene, params, seed=3, seed_grad=3)
    dr.backward(dr.mean(image, axis=None))
    got = dr.grad(colour).numpy().ravel()
    for channel in range(3):
        means = []
        for sign in (-1, 1):
            value = np.array([.6, .2, .1])
            value[channel] += sign * .02
            params[KEY] = mi.Color3f(*value)
            params.update()
            means.append(mi.render(scene, seed=3).numpy().mean())
        assert got[channel] == pytest.approx((means[1] - means[0]) / .04, rel=2e-3)


def test_forward_mode_gives_an_image_of_derivatives():
    scene = mi.load_dict(box(size=8))
    params = mi.traverse(scene)
    strength = mi.Float(1)
    dr.enable_grad(strength)
    params["light.emitter.radiance.value"] = mi.Color3f(8, 7, 5) * strength
    params.update()
    image = mi.render(scene, params, seed=3, seed_grad=3)
    dr.forward(strength)
    tangent = dr.grad(image).numpy()  # radiance is proportional to the light's
    assert np.allclose(tangent, image.numpy(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("depth", [32, 48])
def test_derivatives_of_long_paths_have_all_direct_light(depth):
    scene = mi.load_dict(box(size=4, spp=4, integrator={"type": "prb", "max_depth": depth, "rr_depth": 100}, room={
        "type": "cube", "to_world": mi.ScalarTransform4f().scale(4), "bsdf": {"type": "twosided", "bsdf": {
            "type": "diffuse", "reflectance": {"type": "rgb", "value": [.95, .95, .95]}}}}))
    params = mi.traverse(scene)
    strength = mi.Float(1)
    dr.enable_grad(strength)
    params["light.emitter.radiance.value"] = mi.Color3f(8, 7, 5) * strength
    params.update()
    image = mi.render(scene, params, seed=3, seed_grad=3)
    dr.forward(strength)
    assert np.allclose(dr.grad(image).numpy(), image.numpy(), rtol=1e-3)


def test_gradients_have_the_same_bits_each_time():
    scene = mi.load_dict(box(size=64, spp=4))
    params = mi.traverse(scene)

    def gradient():
        colour = mi.Color3f(.6, .2, .1)
        dr.enable_grad(colour)
        params[KEY] = colour
        params.update()
        dr.backward(dr.mean(mi.render(scene, params, seed=3), axis=None))
        return dr.grad(colour).numpy().tobytes()
    assert len({gradient() for _ in range(4)}) == 1


def test_adam_recovers_a_colour():
    scene = mi.load_dict(box(size=16))
    reference = mi.render(scene, spp=256)
    params = mi.traverse(scene)
    optimizer = mi.ad.Adam(lr=.05)
    optimizer[KEY] = mi.Color3f(.2, .5, .5)
    params.update(optimizer)
    for step in range(60):
        image = mi.render(scene, params, spp=4, seed=step)
        dr.backward(dr.mean(dr.square(image - reference), axis=None))
        optimizer.step()
        optimizer[KEY] = dr.clip(optimizer[KEY], 0, 1)
        params.update(optimizer)
    assert np.allclose(optimizer[KEY].numpy().ravel(), [.6, .2, .1], atol=.06)


def test_rays_meet_shapes():
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere", "radius": 2.}})
    si = scene.ray_intersect(mi.Ray3f(mi.Point3f([0, 5], 0, -10), mi.Vector3f(0, 0, 1)))
    assert list(si.is_valid()) == [True, False]
    assert si.t[0] == pytest.approx(8) and np.allclose(si.p.numpy()[:, 0], [0, 0, -2], atol=1e-5)
    ctx = mi.BSDFContext()
    bsdf = si.bsdf()
    value = bsdf.eval(ctx, si, mi.Vector3f(0, 0, 1))
    assert np.allclose(value.numpy()[:, 0], .5 / np.pi, atol=1e-6)
    assert mi.has_flag(bsdf.flags(), mi.BSDFFlags.Smooth)[0]


class Tinted(mi.BSDF):
    """A diffuse surface, written in Python."""

    def __init__(self, props):
        mi.BSDF.__init__(self, props)
        self.tint = mi.Color3f(props["tint"])
        self.m_components = [mi.BSDFFlags.DiffuseReflection | mi.BSDFFlags.FrontSide]

    def sample(self, ctx, si, sample1, sample2, active):
        bs = mi.BSDFSample3f()
        bs.wo = mi.warp.square_to_cosine_hemisphere(sample2)
        bs.pdf = mi.warp.square_to_cosine_hemisphere_pdf(bs.wo)
        bs.sampled_type = mi.UInt32(+mi.BSDFFlags.DiffuseReflection)
        return bs, dr.select(active & (si.wi.z > 0), self.tint, 0)

    def eval(self, ctx, si, wo, active):
        return dr.select((si.wi.z > 0) & (wo.z > 0), self.tint * wo.z * dr.inv_pi, 0)

    def pdf(self, ctx, si, wo, active):
        return dr.select((si.wi.z > 0) & (wo.z > 0), wo.z * dr.inv_pi, 0)

    def traverse(self, callback):
        callback.put_parameter("tint", self.tint, mi.ParamFlags.Differentiable)


def test_a_bsdf_in_python_renders_as_one_in_cpp():
    mi.register_bsdf("tinted", Tinted)
    material = {"type": "tinted", "tint": {"type": "rgb", "value": [.6, .2, .1]}}
    ours = mi.load_dict(box(red=material))
    assert np.allclose(mi.render(ours).numpy(), mi.render(mi.load_dict(box())).numpy(), rtol=1e-4, atol=1e-5)
    params = mi.traverse(ours)
    params["red.tint"] = mi.Color3f(0, 0, 0)
    params.update()
    assert mi.render(ours).numpy().mean() < mi.render(mi.load_dict(box())).numpy().mean()


class OpaqueTint(Tinted):
    """Whose colour is data, as that of plugins in C++ is."""

    def __init__(self, props):
        Tinted.__init__(self, props)
        dr.make_opaque(self.tint)


def test_many_bsdfs_in_python_are_one_subroutine():
    mi.register_bsdf("opaque_tint", OpaqueTint)

    def functions(count):
        scene = {"type": "scene", "integrator": {"type": "path", "max_depth": 3}, "sky": {"type": "constant"},
                 "sensor": {"type": "perspective", "to_world": mi.ScalarTransform4f().translate([0, 0, -9]),
                            "film": {"type": "hdrfilm", "width": 16, "height": 16}, "sampler": {"type": "independent"}}}
        for i in range(count):
            tint = {"type": "rgb", "value": [i / count, .5, 1 - i / count]}
            scene[f"s{i}"] = {"type": "sphere", "center": [.4 * i - 2, 0, 0], "radius": .3,
                              "bsdf": {"type": "opaque_tint", "tint": tint}}
        scene = mi.load_dict(scene)
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            dr.kernel_history_clear()
            dr.eval(mi.render(scene))
            return max(k["functions"] for k in dr.kernel_history() if k["type"] is dr.KernelType.JIT)
    assert functions(2) == functions(12)


def test_errors_say_what_is_wrong():
    with pytest.raises(mi.UserError, match="diffus"):
        mi.load_dict({"type": "diffus"})
    with pytest.raises(mi.UserError, match="reflectance"):
        mi.load_dict({"type": "diffuse", "reflectence": .5})
    with pytest.raises(mi.UserError, match="type"):
        mi.load_dict({"type": "scene", "a": {"id": "b"}})
    with pytest.raises(mi.UserError, match="sensor"):
        mi.render(mi.load_dict({"type": "scene"}))


def textured(size):
    rng = np.random.default_rng(1)
    return rng.random((size, size, 3)).astype(np.float32) * .8 + .1


def test_gradients_reach_the_texels_of_a_bitmap():
    data = textured(4)
    scene = mi.load_dict(box(size=12, red={"type": "diffuse", "reflectance": {
        "type": "bitmap", "data": mi.TensorXf(data), "raw": True}}))
    params = mi.traverse(scene)
    key = "red.reflectance.data"
    assert np.allclose(params[key].numpy(), data)
    texels = mi.TensorXf(data)
    dr.enable_grad(texels)
    params[key] = texels
    params.update()
    image = mi.render(scene, params, seed=3, seed_grad=3)
    dr.backward(dr.mean(image, axis=None))
    got = dr.grad(texels).numpy()
    assert got.shape == (4, 4, 3)
    for at in ((1, 2, 0), (2, 0, 1)):
        means = []
        for sign in (-1, 1):
            moved = data.copy()
            moved[at] += sign * .05
            params[key] = mi.TensorXf(moved)
            params.update()
            means.append(mi.render(scene, seed=3).numpy().astype(np.float64).mean())
        assert got[at] == pytest.approx((means[1] - means[0]) / .1, rel=1e-2, abs=1e-6)


def test_a_sensor_moves_and_a_film_changes_its_size():
    scene = mi.load_dict(box(size=8))
    params = mi.traverse(scene)
    before = mi.render(scene).numpy()
    params["sensor.to_world"] = mi.ScalarTransform4f().look_at([.5, 0, 3], [0, 0, 0], [0, 1, 0])
    params.update()
    assert not np.allclose(before, mi.render(scene).numpy())
    params["sensor.film.size"] = [12, 6]
    params.update()
    assert mi.render(scene).shape == (6, 12, 3)


def test_variants_live_side_by_side():
    images = {}
    for name in ("llvm_rgb", "interp_rgb_double", "llvm_spectral", "llvm_mono"):
        with mi.set_variant(name):
            images[name] = mi.render(mi.load_dict(box(size=8, spp=64))).numpy()
    assert images["llvm_mono"].shape == (8, 8, 1)
    assert images["llvm_rgb"].mean() == pytest.approx(images["interp_rgb_double"].mean(), rel=.02)
    assert images["llvm_rgb"].mean() == pytest.approx(images["llvm_spectral"].mean(), rel=.1)


def test_a_render_keeps_the_integrator_and_sensor_that_its_derivative_needs():
    scene = mi.load_dict(box(size=8))
    params = mi.traverse(scene)
    colour = mi.Color3f(.6, .2, .1)
    dr.enable_grad(colour)
    params[KEY] = colour
    params.update()
    gradients = []
    for given in ({}, {"integrator": mi.load_dict({"type": "prb", "max_depth": 4}),
                       "sensor": mi.load_dict(box(size=8)["sensor"])}):
        image = mi.render(scene, params, seed=3, seed_grad=3, **given)
        given.clear()  # the last references of the script
        mi.load_dict({"type": "path", "max_depth": 1})
        dr.clear_grad(colour)
        dr.backward(dr.mean(image, axis=None))
        gradients.append(dr.grad(colour).numpy().ravel())
        assert np.all(gradients[-1] > 0)
    assert np.allclose(*gradients, rtol=1e-4)


def test_render_takes_a_scene():
    with pytest.raises(TypeError, match="scene"):
        mi.render(mi.load_dict({"type": "diffuse"}))


def test_several_launches_with_loops_and_calls_evaluated_give_the_same_image():
    scene = mi.load_dict(box(size=1))
    expected = mi.render(scene, spp=44, seed=2).numpy()
    for flag in (dr.JitFlag.LoopRecord, dr.JitFlag.VCallRecord):
        with dr.scoped_set_flag(flag, False):
            assert np.allclose(mi.render(scene, spp=44, seed=2).numpy(), expected, rtol=1e-5)
            params = mi.traverse(scene)
            dr.enable_grad(params[KEY])
            image = mi.load_dict({"type": "path", "max_depth": 3}).render(scene, seed=2, spp=44)
            dr.backward(dr.sum(image, axis=None))
            assert np.all(np.isfinite(dr.grad(params[KEY]).numpy()))


def test_invalid_samples_are_counted_and_left_out_where_asked():
    lamp = {"type": "point", "position": [.2, .1, -.98], "intensity": {"type": "rgb", "value": [1e37] * 3}}
    scene = mi.load_dict(box(size=8, spp=4, integrator={"type": "direct"}, light=lamp))
    film = scene.sensors()[0].film()
    assert not np.isfinite(mi.render(scene).numpy()).all()
    count, (sample, x, y) = film.invalid_samples()
    assert count > 0 and 0 <= sample < 4 and 0 <= x < 8 and 0 <= y < 8
    assert np.isfinite(mi.render(scene, skip_invalid=True).numpy()).all()
    assert film.invalid_samples() == (count, (sample, x, y))
    assert np.isfinite(scene.integrator().render(scene, skip_invalid=True).numpy()).all()
    fine = mi.load_dict(box(size=8, spp=4))
    mi.render(fine)
    assert fine.sensors()[0].film().invalid_samples() == (0, None)


def test_integrators_in_python_are_not_asked_to_leave_samples_out():
    from umbel.ad.integrators.common import ADIntegrator

    class Grey(ADIntegrator):
        def render(self, scene, sensor=0, seed=0, spp=0, develop=True, evaluate=True):
            return dr.zeros(mi.TensorXf, (8, 8, 3))
    mi.register_integrator("grey_image", Grey)
    scene = mi.load_dict(box(size=8, integrator={"type": "grey_image"}))
    assert mi.render(scene).shape == (8, 8, 3)
    with pytest.raises(dr.UserError, match="skip_invalid"):
        mi.render(scene, skip_invalid=True)
