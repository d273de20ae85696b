# tests/python/media_plugin_test.py: media, phase functions and volumes in Python look like those in C++.
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


class Fog(mi.Medium):
    """Denser and denser along x, or the same everywhere."""

    def __init__(self, props):
        super().__init__(props)
        self.density = mi.UnpolarizedSpectrum(props["density"])
        self.albedo, self.m_is_homogeneous = props["albedo"], props.get("is_homogeneous", False)
        self.m_has_spectral_extinction = False

    def traverse(self, cb): cb.put("density", self.density, mi.ParamFlags.Differentiable)
    def get_majorant(self, mei, active=True): return self.density & active

    def get_scattering_coefficients(self, mei, active=True):
        sigma_t = self.density
        if not self.m_is_homogeneous:
            sigma_t = sigma_t * dr.clip((mei.p.x + 1) / 2, 0, 1)
        return (sigma_t * self.albedo) & active, (self.density - sigma_t) & active, sigma_t & active

    def intersect_aabb(self, ray): return mi.ScalarBoundingBox3f([-1] * 3, [1] * 3).ray_intersect(ray)


def box_of(medium, integrator="volpath"):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": integrator, "max_depth": 6}, "sky": {"type": "constant"},
        "lamp": {"type": "point", "position": [2, 2, 3], "intensity": 20.0},
        "box": {"type": "cube", "bsdf": {"type": "null"}, "interior": medium},
        "sensor": {"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 1, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}}}})


def cloud(phase, density, integrator="volpath"):
    return box_of({"type": "heterogeneous", "sigma_t": density, "albedo": 0.8, "phase": phase}, integrator)


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


@pytest.mark.parametrize("variant", VARIANTS[:2])
@pytest.mark.parametrize("homogeneous", [False, True])
def test_a_medium_in_python_looks_like_one_in_cpp(variant, homogeneous):
    mi.set_variant(variant)
    mi.register_medium("fog", Fog)
    phase = {"type": "hg", "g": 0.4}
    ours = {"type": "fog", "density": 2.0, "albedo": 0.8, "is_homogeneous": homogeneous, "phase": phase}
    theirs = {"type": "homogeneous", "sigma_t": 2.0, "albedo": 0.8, "phase": phase} if homogeneous else \
        {"type": "heterogeneous", "sigma_t": ramp_in_cpp(2), "albedo": 0.8, "phase": phase}
    medium = mi.load_dict(ours)
    assert medium.is_homogeneous() == homogeneous and not medium.has_spectral_extinction()
    assert type(medium) is Fog and medium.phase_function().class_name() == mi.load_dict(phase).class_name()
    assert same_within_noise(box_of(ours), box_of(theirs), 16)


def test_a_medium_says_whether_paths_connect_to_lights():
    class Deaf(Fog):
        def __init__(self, props):
            super().__init__(props)
            self.m_sample_emitters = False
    mi.register_medium("deaf", Deaf)
    medium = {"type": "deaf", "density": 2.0, "albedo": 0.8}
    assert not mi.load_dict(medium).use_emitter_sampling()
    assert mi.load_dict({**medium, "sample_emitters": True}).use_emitter_sampling()
    with pytest.raises(RuntimeError, match="follows from its parameters"):
        mi.load_dict({"type": "homogeneous"}).m_is_homogeneous = False


def test_parameters_of_a_medium_have_derivatives():
    mi.register_medium("fog", Fog)
    scene = box_of({"type": "fog", "density": 2.0, "albedo": 0.8}, "prbvolpath")
    params = mi.traverse(scene)
    key = next(k for k in params.keys() if k.endswith(".density"))

    def mean_at(density):
        params[key] = density
        params.update()
        return np.mean([float(np.mean(mi.render(scene, spp=256, seed=i).numpy())) for i in range(4)])
    difference = (mean_at(2.2) - mean_at(1.8)) / 0.4
    params[key] = 2.0
    dr.enable_grad(params[key])
    params.update()
    found = []
    for seed in range(8):
        dr.set_grad(params[key], 0)
        dr.backward(dr.mean(mi.render(scene, params, spp=64, seed=seed), axis=None))
        found.append(float(dr.sum(params[key].grad)[0]))
    assert abs(np.mean(found) - difference) < 4 * np.std(found) / np.sqrt(8) + 0.05 * abs(difference)


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
