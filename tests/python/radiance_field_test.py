# tests/python/radiance_field_test.py: volprim_rf_basic: Gaussians along a ray, by their formula, and derivatives by all that they are.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


@pytest.fixture(autouse=True, params=["llvm_ad_rgb_double", "interp_ad_rgb_double"])
def variant(request):
    mi.set_variant(request.param)


def scene(centers, scales, opacities, sh, quaternions=None, size=1, fov=1e-3, **integrator):
    """Seen from (0, 0, 5) along -z; as narrow as a ray unless told otherwise."""
    n = len(centers)
    quaternions = np.tile([0, 0, 0, 1.], (n, 1)) if quaternions is None else quaternions
    table = lambda v, k: mi.TensorXf(np.reshape(v, (n, k)))
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "volprim_rf_basic", **integrator},
        "sensor": {"type": "perspective", "fov": fov, "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
        "cloud": {"type": "ellipsoids", "centers": table(centers, 3), "scales": table(scales, 3), "quaternions": table(quaternions, 4),
                  "opacities": table(opacities, 1), "sh_coeffs": table(sh, np.size(sh) // n)}})


def seen(s): return np.array(mi.render(s, spp=4)).reshape(-1, 3).mean(0)


C0 = 0.28209479177387814


def colour(rgb): return (np.array(rgb) - .5) / C0


def test_one_gaussian_is_its_formula():
    # Beside the middle by 0.3, with a width of 0.2 there; 0.4 along the ray does not count
    s = scene([[.3, 0, 0]], [[.2, .1, .4]], [.8], [colour([.9, .5, .1])], srgb_primitives=False)
    covered = .8 * np.exp(-.5 * (.3 / .2) ** 2)
    assert np.allclose(seen(s), covered * np.array([.9, .5, .1]), rtol=1e-4)
    # The same, turned by 90 degrees around z: the width there is 0.1
    s = scene([[.15, 0, 0]], [[.2, .1, .4]], [.8], [colour([.9, .5, .1])], [[0, 0, np.sqrt(.5), np.sqrt(.5)]], srgb_primitives=False)
    assert np.allclose(seen(s), .8 * np.exp(-.5 * 1.5 ** 2) * np.array([.9, .5, .1]), rtol=1e-4)


def test_what_is_in_front_dims_what_is_behind():
    places, size = [[0, 0, -1], [0, 0, 1]], [[.1] * 3] * 2
    colours = [colour([1, 0, 0]), colour([0, 0, 1])]
    s = scene(places, size, [.6, .5], colours, srgb_primitives=False)
    assert np.allclose(seen(s), [.5 * .6, 0, .5], rtol=1e-4, atol=1e-6)
    assert np.allclose(seen(scene(places, size, [.6, .5], colours, srgb_primitives=False, max_depth=1)), [0, 0, .5], atol=1e-6)
    decoded = ((.5 + .055) / 1.055) ** 2.4
    assert seen(scene(places, size, [.6, .5], colours))[2] == pytest.approx(decoded, rel=1e-4)


def test_colours_follow_directions():
    sh = np.zeros((1, 48))
    sh[0, 3 * 2] = .5   # of degree 1 along z; the ray's direction is -z
    sh[0, 3 * 6 + 1] = .5
    s = scene([[0, 0, 0]], [[.1] * 3], [.5], sh, srgb_primitives=False)
    assert np.allclose(seen(s), .5 * np.array([.5 - .5 * .4886025119, .5 + .5 * .3153915653 * 2, .5]), rtol=1e-3)


@pytest.mark.parametrize("key", ["cloud.data", "cloud.opacities", "cloud.sh_coeffs"])
@pytest.mark.parametrize("srgb", [False, True])
def test_derivatives_agree_with_differences(key, srgb):
    rng = np.random.default_rng(5)
    n = 4
    q = rng.normal(size=(n, 4))
    s = scene(rng.uniform(-.4, .4, (n, 3)), rng.uniform(.2, .4, (n, 3)), rng.uniform(.3, .8, n), rng.normal(0, .2, (n, 12)),
              q / np.linalg.norm(q, axis=1, keepdims=True), size=6, fov=20, srgb_primitives=srgb)
    params = mi.traverse(s)
    at = np.array(params[key])
    direction = rng.normal(size=at.shape) * np.abs(at).mean() * .1
    target = rng.uniform(0, .5, (6, 6, 3))

    def value(t):
        params[key] = type(params[key])((at + t * direction).reshape(at.shape))
        params.update()
        return np.square(np.array(mi.render(s, spp=4, seed=3)) - target).mean()
    h = 1e-4
    wanted = (value(h) - value(-h)) / (2 * h)

    def follow():
        v = type(params[key])(at)
        dr.enable_grad(v)
        params[key] = v
        params.update()
        return v
    v = follow()
    image = mi.render(s, params, spp=4, seed=9, seed_grad=3)
    image = dr.replace_grad(mi.TensorXf(np.array(mi.render(s, spp=4, seed=3))), image)  # the image of those samples
    dr.backward(dr.mean(dr.square(image - mi.TensorXf(target)), axis=None))
    backward = (np.array(dr.grad(v)).reshape(at.shape) * direction).sum()
    v = follow()
    image = mi.render(s, params, spp=4, seed=9, seed_grad=3)
    dr.set_grad(v, type(v)(direction.reshape(at.shape)))
    dr.enqueue(dr.ADMode.Forward, v)
    dr.traverse(dr.ADMode.Forward)
    residual = np.array(mi.render(s, spp=4, seed=3)) - target
    forward = (2 * residual * np.array(dr.grad(image))).mean()
    # Three radii away a Gaussian is 1 % of its peak: that much of it appears at once, which is not differentiated
    assert backward == pytest.approx(wanted, rel=.03, abs=1e-6)
    assert forward == pytest.approx(backward, rel=1e-6)


def test_what_is_missing_is_told():
    s = scene([[0, 0, 0]], [[.1] * 3], [.5], np.zeros((1, 6)))
    with pytest.raises(dr.UserError, match="has 6 numbers an ellipsoid; 3, 12, 27 or 48"):
        seen(s)
    bare = mi.load_dict({"type": "scene", "integrator": {"type": "volprim_rf_basic"}, "sensor": {"type": "perspective"}, "cloud": {
        "type": "ellipsoids", "data": mi.TensorXf(np.array([[0, 0, 0, 1, 1, 1, 0, 0, 0, 1.]]))}})
    with pytest.raises(dr.UserError, match='no attribute "opacities"'):
        mi.render(bare, spp=1)
    mi.set_variant("llvm_ad_spectral")
    with pytest.raises(dr.UserError, match="RGB and monochromatic variants"):
        seen(scene([[0, 0, 0]], [[.1] * 3], [.5], np.zeros((1, 3))))
