# tests/python/render_op_test.py: render() as a differentiable operation: samples of image and gradient, several cameras, tangents, channels.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

T = mi.ScalarTransform4f
KEY = "card.bsdf.reflectance.value"


@pytest.fixture(autouse=True)
def variant():
    mi.set_variant("llvm_ad_rgb_double")


def camera(x=0.):
    return {"type": "perspective", "fov": 40, "to_world": T().look_at([x, 0, 3], [0, 0, 0], [0, 1, 0]),
            "film": {"type": "hdrfilm", "width": 6, "height": 4, "rfilter": {"type": "box"}}}


def scene(integrator=None, sensor=None):
    return mi.load_dict({
        "type": "scene", "integrator": integrator or {"type": "prb", "max_depth": 3}, "sensor": sensor or camera(),
        "lamp": {"type": "rectangle", "to_world": T().look_at([1, 2, 2], [0, 0, 0], [0, 1, 0]), "emitter": {"type": "area"}},
        "card": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.7, .4, .1]}}}})


def follow(s):
    params = mi.traverse(s)
    value = mi.Color3f(dr.detach(params[KEY]))
    dr.enable_grad(value)
    params[KEY] = value
    params.update()
    return params, value


def gradient(s, weights=None, **options):
    params, value = follow(s)
    image = mi.render(s, params, **options)
    weights = np.ones(image.shape) if weights is None else weights
    dr.backward(dr.sum(image * mi.TensorXf(weights), axis=None))
    return np.array(image), np.array(dr.grad(value)).ravel()


def test_image_and_gradient_have_samples_of_their_own():
    s = scene()
    image, g = gradient(s, spp=4, seed=3, seed_grad=5, spp_grad=8)
    assert (image == np.array(mi.render(s, spp=4, seed=3))).all()  # the image knows nothing of the gradient's samples
    params, value = follow(s)
    s.integrator().render_backward(s, params, dr.full(mi.TensorXf, 1., image.shape), seed=5, spp=8)
    assert np.allclose(np.array(dr.grad(value)).ravel(), g, rtol=1e-12)  # nor the gradient of the image's
    assert not np.allclose(gradient(s, spp=8, seed=3)[1], gradient(s, spp=8, seed=3, seed_grad=3)[1])  # other numbers unless told
    assert np.allclose(gradient(s, spp=8, seed=3)[1], gradient(s, spp=8, seed=3)[1], rtol=0)


@pytest.mark.parametrize("integrator", ["prb", "rb", "ad", "direct"])
def test_a_batch_of_cameras_is_differentiated_as_its_parts_are(integrator):
    kind = {"type": integrator} if integrator == "direct" else {"type": integrator, "max_depth": 2}
    inner = {k: v for k, v in camera().items() if k != "film"}
    other = {k: v for k, v in camera(1.).items() if k != "film"}
    film = {"type": "hdrfilm", "width": 12, "height": 4, "rfilter": {"type": "box"}}
    both = scene(kind, {"type": "batch", "a": inner | {"film": camera()["film"]}, "b": other | {"film": camera()["film"]}, "film": film})
    image, g = gradient(both, spp=256)
    assert image.shape == (4, 12, 3)
    parts = [gradient(scene(kind, camera(x)), spp=256)[1] for x in (0., 1.)]
    assert np.allclose(g, np.sum(parts, axis=0), rtol=.05)
    left = np.concatenate([np.ones((4, 6, 3)), np.zeros((4, 6, 3))], axis=1)
    assert np.allclose(gradient(both, left, spp=256)[1], parts[0], rtol=.05)


def test_tangents_are_images():
    s = scene()
    params, value = follow(s)
    image = mi.render(s, params, spp=16, seed=1, seed_grad=7)
    dr.set_grad(value, mi.Color3f(1, 0, 0))
    dr.enqueue(dr.ADMode.Forward, value)
    dr.traverse(dr.ADMode.Forward)
    tangent = np.array(dr.grad(image))
    assert tangent.shape == (4, 6, 3) and (tangent[..., 1:] == 0).all() and tangent[..., 0].max() > 0

    def at(red):
        params[KEY] = mi.Color3f(red, .4, .1)
        params.update()
        return np.array(mi.render(s, spp=16, seed=7))
    assert np.allclose(tangent, (at(.701) - at(.699)) / .002, atol=1e-6)


def test_channels_beside_the_colour_have_gradients():
    s = scene({"type": "aov", "aovs": "a:albedo,d:depth", "inner": {"type": "prb", "max_depth": 3}})
    shape = np.array(mi.render(s, spp=4)).shape
    weights = np.zeros(shape)
    weights[..., 3:6] = 1  # of the albedo: red, green, blue
    image, g = gradient(s, weights, spp=4, seed=3, seed_grad=3)
    seen = image[..., 3].sum() / .7  # pixels that show the card
    assert np.allclose(g, seen, rtol=1e-6) and seen > 1
    weights[...] = 0
    weights[..., 6] = 1  # a depth does not depend on colours
    assert np.allclose(gradient(s, weights, spp=4)[1], 0)
