# tests/python/media_plugin_test.py: phase functions and volumes in Python look like those in C++.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

VARIANTS = ("llvm_ad_rgb", "llvm_ad_spectral", "interp_rgb")


class Forward(mi.PhaseFunction):
    """Henyey and Greenstein's."""

    def __init__(self, props):
        super().__init__(props)
        self.g = mi.Float(props["g"])
        self.m_flags = mi.PhaseFunctionFlags.Anisotropic

    def traverse(self, cb): cb.put("g", self.g, mi.ParamFlags.Differentiable)

    def density(self, cos):
        t = 1 + dr.square(self.g) + 2 * self.g * cos
        return (1 - dr.square(self.g)) / (4 * dr.pi * t * dr.sqrt(t))

    def eval_pdf(self, ctx, mei, wo, active=True):
        pdf = self.density(dr.dot(wo, mei.wi))
        return mi.Spectrum(pdf), pdf

    def sample(self, ctx, mei, sample1, sample2, active=True):
        s = (1 - dr.square(self.g)) / (1 - self.g + 2 * self.g * sample2.x)
        cos = (1 + dr.square(self.g) - dr.square(s)) / (2 * self.g)
        sin, (y, x) = dr.safe_sqrt(1 - cos * cos), dr.sincos(2 * dr.pi * sample2.y)
        return mei.to_world(mi.Vector3f(sin * x, sin * y, -cos)), mi.Spectrum(1), self.density(-cos)


class Ramp(mi.Volume):
    """Denser and denser along x, in a box."""

    def __init__(self, props):
        super().__init__(props)
        self.slope = props["slope"]

    def eval_1(self, it, active=True): return self.slope * dr.clip((it.p.x + 1) / 2, 0, 1)
    def eval(self, it, active=True): return mi.UnpolarizedSpectrum(self.eval_1(it, active))
    def max(self): return self.slope
    def bbox(self): return mi.ScalarBoundingBox3f([-1, -1, -1], [1, 1, 1])


def cloud(phase, density, integrator="volpath"):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": integrator, "max_depth": 6}, "sky": {"type": "constant"},
        "lamp": {"type": "point", "position": [2, 2, 3], "intensity": 20.0},
        "box": {"type": "cube", "bsdf": {"type": "null"},
                "interior": {"type": "heterogeneous", "sigma_t": density, "albedo": 0.8, "phase": phase}},
        "sensor": {"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 1, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}}}})


def ramp_in_cpp(slope):
    n = 64
    return {"type": "gridvolume", "grid": mi.VolumeGrid((slope * (np.arange(n, dtype=np.float32) + 0.5) / n)[None, None, :, None]),
            "to_world": mi.ScalarTransform4f().translate([-1, -1, -1]).scale(2)}


def same_within_noise(a, b, spp):
    """By the means of the images, and what they vary from seed to seed."""
    x, y = ([float(np.mean(mi.render(s, spp=spp, seed=i).numpy())) for i in range(8)] for s in (a, b))
    return abs(np.mean(x) - np.mean(y)) < 4 * np.hypot(np.std(x), np.std(y)) / np.sqrt(8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_phase_function_in_python_scatters_as_one_in_cpp(variant):
    mi.set_variant(variant)
    mi.register_phasefunction("forward", Forward)
    ours, theirs = mi.load_dict({"type": "forward", "g": 0.6}), mi.load_dict({"type": "hg", "g": 0.6})
    mei, ctx = dr.zeros(mi.MediumInteraction3f, 3), mi.PhaseFunctionContext(None)
    mei.wi = mi.Vector3f(0, 0.6, 0.8)
    mei.sh_frame = mi.Frame3f(-mei.wi)
    wo = dr.normalize(mi.Vector3f([0.1, -0.4, 0.9], 0.3, [0.5, -0.5, 0.1]))
    assert np.allclose(ours.eval_pdf(ctx, mei, wo)[1].numpy(), theirs.eval_pdf(ctx, mei, wo)[1].numpy(), rtol=1e-5)
    if variant.startswith("llvm"):
        density = {"type": "constvolume", "value": 1.5, "to_world": mi.ScalarTransform4f().translate([-1] * 3).scale(2)}
        assert same_within_noise(cloud({"type": "forward", "g": 0.6}, density), cloud({"type": "hg", "g": 0.6}, density), 16)


def test_a_volume_in_python_is_as_dense_as_one_in_cpp():
    mi.register_volume("ramp", Ramp)
    volume, it = mi.load_dict({"type": "ramp", "slope": 3.0}), dr.zeros(mi.Interaction3f, 2)
    it.p = mi.Point3f([-0.5, 0.5], 0, 0)
    assert np.allclose(volume.eval_1(it).numpy(), [0.75, 2.25]) and volume.max() == 3
    assert np.allclose(volume.bbox().max, 1)
    phase = {"type": "isotropic"}
    assert same_within_noise(cloud(phase, {"type": "ramp", "slope": 3.0}), cloud(phase, ramp_in_cpp(3)), 16)


def test_parameters_of_a_phase_function_have_derivatives():
    mi.register_phasefunction("forward", Forward)
    density = {"type": "constvolume", "value": 1.5, "to_world": mi.ScalarTransform4f().translate([-1] * 3).scale(2)}
    scene = cloud({"type": "forward", "g": 0.4}, density, "prbvolpath")
    params = mi.traverse(scene)
    key = next(k for k in params.keys() if k.endswith(".g"))

    def mean_at(g):
        params[key] = mi.Float(g)
        params.update()
        return np.mean([float(np.mean(mi.render(scene, spp=256, seed=i).numpy())) for i in range(4)])
    difference = (mean_at(0.45) - mean_at(0.35)) / 0.1
    params[key] = mi.Float(0.4)
    dr.enable_grad(params[key])
    params.update()
    found = []
    for seed in range(8):
        dr.set_grad(params[key], 0)
        dr.backward(dr.mean(mi.render(scene, params, spp=64, seed=seed), axis=None))
        found.append(float(params[key].grad[0]))
    assert abs(np.mean(found) - difference) < 4 * np.std(found) / np.sqrt(8) + 0.05 * abs(difference)


def test_what_a_volume_lacks_is_named():
    class Nothing(mi.Volume):
        pass
    mi.register_volume("nothing", Nothing)
    with pytest.raises(RuntimeError, match="nothing.*does not define max"):
        cloud({"type": "isotropic"}, {"type": "nothing"})


def test_collisions_know_their_medium():
    medium = mi.load_dict({"type": "homogeneous", "sigma_t": 1.0, "albedo": 0.5, "phase": {"type": "hg", "g": 0.3}})
    ray = mi.Ray3f(mi.Point3f(0, 0, [0, 1]), mi.Vector3f(0, 0, 1))
    mei = medium.sample_interaction(ray, 0.5, 0)
    assert mei.medium[0] is medium
    media = mi.MediumPtr([medium, None])
    mei = media.sample_interaction(ray, 0.5, 0)
    picked = dr.gather(mi.MediumInteraction3f, mei, mi.UInt32(1, 0))
    assert [m is medium for m in picked.medium] == [False, True]
    wo, weight, pdf = picked.medium.phase_function().sample(mi.PhaseFunctionContext(None), picked, 0.1, [0.3, 0.4])
    assert list(pdf != 0) == [False, True]
