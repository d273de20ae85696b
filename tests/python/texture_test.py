# tests/python/texture_test.py: textures and BSDFs as objects: their queries, sampling and attributes.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.chi2 import BSDFAdapter, ChiSquareTest, LineDomain, PlanarDomain, SpectrumAdapter, SphericalDomain

PIXELS = np.random.default_rng(1).random((5, 7, 3)).astype(np.float32)
WEIGHTS = np.array([0.212671, 0.71516, 0.072169])  # of luminance


def bitmap(pixels=PIXELS, **more): return mi.load_dict({"type": "bitmap", "bitmap": mi.Bitmap(pixels), "raw": True, **more})


def at(u, v):
    si = mi.SurfaceInteraction3f()
    si.uv = [u, v]
    return si


@pytest.mark.parametrize("filter_type", ["nearest", "bilinear"])
@pytest.mark.parametrize("wrap_mode", ["repeat", "clamp", "mirror"])
def test_positions_on_a_bitmap_follow_their_density(filter_type, wrap_mode):
    t = bitmap(filter_type=filter_type, wrap_mode=wrap_mode)
    test = ChiSquareTest(PlanarDomain(mi.BoundingBox2f(0, 1)), lambda u: t.sample_position(u)[0], t.pdf_position,
                         sample_count=100000, res=35, ires=4)
    assert test.run(test_count=12), test.messages


def test_the_density_of_a_position_comes_with_it():
    t = bitmap()
    p, pdf = t.sample_position(mi.Point2f([0.1, 0.7], [0.3, 0.9]))
    assert np.allclose(pdf, t.pdf_position(p), rtol=1e-4)


def test_mean_and_maximum_are_those_of_the_luminance():
    y = PIXELS @ WEIGHTS
    assert abs(float(bitmap().mean()[0]) - y.mean()) < 1e-4 and abs(bitmap().max() - y.max()) < 1e-4
    assert list(np.ravel(bitmap().resolution())) == [7, 5]


def test_the_gradient_of_a_bitmap_matches_differences():
    t, h = bitmap(to_uv=mi.ScalarTransform4f().rotate([0, 0, 1], 20)), 1e-3
    g = t.eval_1_grad(at(0.5, 0.6))
    for axis, (du, dv) in enumerate(((h, 0), (0, h))):
        difference = (t.eval_1(at(0.5 + du, 0.6 + dv)) - t.eval_1(at(0.5 - du, 0.6 - dv))) / (2 * h)
        assert abs(float(g[axis][0]) - float(difference[0])) < 2e-2


class Ramp(mi.Texture):
    def eval(self, si, active=True): return mi.UnpolarizedSpectrum(si.uv.x * 2)
    def eval_1(self, si, active=True): return si.uv.x * 2
    def eval_1_grad(self, si, active=True): return mi.Vector2f(2, 0)


def test_a_texture_written_in_python_has_the_gradient_that_it_says():
    mi.register_texture("test_ramp", Ramp)
    outer = mi.load_dict({"type": "checkerboard", "color0": {"type": "test_ramp"}, "color1": 0.3})
    assert np.ravel(outer.eval_1_grad(at(0.2, 0.2))).tolist() == [2, 0]
    assert np.ravel(outer.eval_1_grad(at(0.7, 0.2))).tolist() == [0, 0]


def test_a_grey_bitmap_has_no_colour():
    with pytest.raises(RuntimeError, match="one channel"):
        bitmap(PIXELS[:, :, :1]).eval_3(at(0.5, 0.5))


def test_new_texels_change_where_positions_are():
    t = bitmap()
    before = float(t.pdf_position(mi.Point2f(0.1, 0.1))[0])
    params = mi.traverse(t)
    params["data"] = mi.TensorXf(np.ones_like(PIXELS))
    params.update()
    assert before != 1 and abs(float(t.pdf_position(mi.Point2f(0.1, 0.1))[0]) - 1) < 1e-5


SPECTRA = ["<spectrum type='d65' version='3.0.0'/>", "<spectrum type='blackbody' version='3.0.0'/>",
           "<spectrum type='uniform' version='3.0.0'/>"]


@pytest.mark.parametrize("xml", SPECTRA)
def test_wavelengths_of_a_spectrum_follow_their_density(xml):
    with mi.set_variant("llvm_spectral"):
        test = ChiSquareTest(LineDomain([360, 830]), *SpectrumAdapter(xml), sample_dim=1, sample_count=100000)
        assert test.run(test_count=6), test.messages


def test_a_table_of_wavelengths_knows_its_range_mean_and_samples():
    with mi.set_variant("llvm_spectral"):
        t = mi.load_dict({"type": "irregular", "wavelengths": "500, 600, 650", "values": "1, 2, .5"})
        assert np.ravel(t.wavelength_range()).tolist() == [500, 650] and t.spectral_resolution() == 50
        assert abs(float(t.mean()[0]) - 212.5 / 150) < 1e-5 and t.max() == 2
        si = mi.SurfaceInteraction3f()
        si.wavelengths = [500, 550, 600, 700]
        assert np.allclose(np.ravel(t.pdf_spectrum(si)), np.array([1, 1.5, 2, 0]) / 212.5, atol=1e-6)
        w, weight = t.sample_spectrum(si, mi.UnpolarizedSpectrum(0, 0.5, 0.9, 1))
        assert np.allclose(np.ravel(weight), 212.5) and np.allclose(np.ravel(w)[[0, 3]], [500, 650])
        with pytest.raises(RuntimeError, match="not implemented"):
            t.eval_1(si)


def test_spectra_are_sampled_as_colours_outside_of_spectral_variants():
    textures = [{"type": "rgb", "value": [0.1, 0.2, 0.3]}, {"type": "uniform", "value": 2.}, {"type": "d65"},
                {"type": "blackbody"}, {"type": "irregular", "wavelengths": "500, 600", "values": "1, 2"},
                {"type": "checkerboard"}]
    for variant in ("llvm_rgb", "llvm_mono", "scalar_rgb"):
        with mi.set_variant(variant):
            si = mi.SurfaceInteraction3f()
            for t in map(mi.load_dict, textures):
                wavelengths, weight = t.sample_spectrum(si, si.wavelengths)
                assert len(wavelengths) == 0 and dr.all(weight == t.eval(si))
    pointer = mi.TexturePtr(mi.load_dict(textures[0]))
    si = mi.SurfaceInteraction3f()
    assert np.allclose(np.ravel(pointer.sample_spectrum(si, si.wavelengths)[1]), [0.1, 0.2, 0.3])


def test_a_number_as_a_spectrum_is_sampled_at_all_wavelengths():
    with mi.set_variant("llvm_spectral"):
        t, si = mi.load_dict({"type": "rawconstant", "value": 0.25}), mi.SurfaceInteraction3f()
        wavelengths, weight = t.sample_spectrum(si, mi.UnpolarizedSpectrum(0, 0.25, 0.5, 1))
        assert np.allclose(np.ravel(wavelengths), [360, 477.5, 595, 830]) and np.allclose(np.ravel(weight), 0.25 * 470)
        si.wavelengths = [350, 360, 500, 840]
        assert np.allclose(np.ravel(t.pdf_spectrum(si)), [0, 1 / 470, 1 / 470, 0])


def test_a_texture_in_python_may_sample_its_spectrum():
    class Line(mi.Texture):
        def eval(self, si, active=True): return mi.UnpolarizedSpectrum(3)

        def is_spatially_varying(self): return False

        def sample_spectrum(self, si, sample, active=True): return mi.UnpolarizedSpectrum(550), mi.UnpolarizedSpectrum(7)

    class Plain(mi.Texture):
        def eval(self, si, active=True): return mi.UnpolarizedSpectrum(3)

        def sample_spectrum(self, si, sample, active=True): return super().sample_spectrum(si, sample, active)

    mi.register_texture("line_of_test", Line)
    mi.register_texture("plain_of_test", Plain)
    with mi.set_variant("llvm_spectral"):
        lamp = mi.load_dict({"type": "constant", "radiance": {"type": "line_of_test"}})
        wavelengths, weight = lamp.sample_wavelengths(mi.SurfaceInteraction3f(), 0.5)
        assert dr.all(wavelengths == 550) and dr.all(weight == 7)
    si = mi.SurfaceInteraction3f()
    assert np.allclose(np.ravel(mi.load_dict({"type": "plain_of_test"}).sample_spectrum(si, si.wavelengths)[1]), 3)


def test_colours_stand_for_spectra_under_either_name():
    for name in ("srgb", "rgb", "d65"):
        with mi.set_variant("llvm_spectral"):
            t = mi.load_dict({"type": name, "color": [0.2, 0.5, 0.8]})
            assert np.allclose(np.ravel(mi.traverse(t)["value"]), [0.2, 0.5, 0.8])


def test_a_bsdf_offers_its_textures_as_attributes():
    b = mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.1, 0.2, 0.3]}})
    si = mi.SurfaceInteraction3f()
    assert b.has_attribute("reflectance")[0] and not b.has_attribute("colour")[0]
    assert np.allclose(np.ravel(b.eval_attribute("reflectance", si)), [0.1, 0.2, 0.3])
    assert np.allclose(np.ravel(b.eval_attribute_3("reflectance", si)), [0.1, 0.2, 0.3])
    assert abs(float(b.eval_attribute_1("reflectance", si)[0]) - 0.2) < 1e-6
    assert not np.any(np.ravel(b.eval_attribute("colour", si)))


def test_evaluating_and_sampling_together_is_the_same_as_apart():
    b, ctx, si = mi.load_dict({"type": "roughconductor"}), mi.BSDFContext(), mi.SurfaceInteraction3f()
    si.wi = [0, 0.6, 0.8]
    wo = mi.Vector3f(0.6, 0, 0.8)
    value, pdf, bs, weight = b.eval_pdf_sample(ctx, si, wo, 0.3, [0.4, 0.5])
    assert dr.all(value == b.eval(ctx, si, wo)) and pdf == b.pdf(ctx, si, wo)
    assert dr.all(bs.wo == b.sample(ctx, si, 0.3, [0.4, 0.5])[0].wo)


def test_components_of_a_two_sided_bsdf_belong_to_one_side():
    F, b = mi.BSDFFlags, mi.load_dict({"type": "twosided", "a": {"type": "diffuse"}})
    assert b.flags(0) == F.DiffuseReflection | F.FrontSide and b.flags(1) == F.DiffuseReflection | F.BackSide
    with pytest.raises(RuntimeError, match="2 components"):
        b.flags(2)


def test_what_is_no_texture_is_refused_where_one_is_needed():
    with pytest.raises(RuntimeError, match="expected Texture, got BSDF"):
        mi.load_dict({"type": "diffuse", "reflectance": mi.load_dict({"type": "diffuse"})})


def mueller(plugin, wi, mode=mi.TransportMode.Radiance, **more):
    """The Mueller matrix of light that passes through a plate."""
    si = mi.SurfaceInteraction3f()
    si.wi = wi
    _, m = mi.load_dict({"type": plugin, **more}).sample(mi.BSDFContext(mode), si, 0.5, [0.5, 0.5])
    return np.array(m).reshape(4, 4)


@pytest.mark.parametrize("wi", [[0, 0, 1], [0.6, 0, 0.8], [0, -0.6, 0.8], [0.48, 0.36, 0.8]])
def test_a_tilted_polarizer_passes_what_is_perpendicular_to_its_absorbing_axis(wi):
    with mi.set_variant("llvm_mono_polarized"):
        theta, k = np.radians(25), np.array(wi, dtype=float)
        axis = np.cross(k, [np.sin(theta), np.cos(theta), 0])
        axis /= np.linalg.norm(axis)
        x = np.ravel(mi.mueller.stokes_basis(mi.Vector3f(wi)))
        angle = 2 * np.arctan2(axis @ np.cross(k, x), axis @ x)
        s = np.array([1, np.cos(angle), np.sin(angle), 0])
        assert np.allclose(mueller("polarizer", wi, theta=25.0), 0.5 * np.outer(s, s), atol=1e-5)


def test_a_retarder_keeps_light_along_its_axis():
    with mi.set_variant("llvm_mono_polarized"):
        for mode, sign in ((mi.TransportMode.Radiance, 1), (mi.TransportMode.Importance, -1)):
            s = np.array([1, np.cos(0.8), sign * np.sin(0.8), 0])  # at 0.4 rad from the tangent
            assert np.allclose(mueller("retarder", [0, 0, 1], mode, theta=float(np.degrees(0.4))) @ s, s, atol=1e-5)


@pytest.mark.parametrize("component", [0, 1])
def test_rough_glass_may_be_anisotropic(component):
    ctx = mi.BSDFContext()
    ctx.component = component
    xml = '<float name="alpha_u" value="0.5"/><float name="alpha_v" value="0.2"/>'
    wi = dr.normalize(mi.ScalarVector3f(-0.5, -0.5, 0.4))
    test = ChiSquareTest(SphericalDomain(), *BSDFAdapter("roughdielectric", xml, wi=wi, ctx=ctx), sample_dim=3,
                         sample_count=100000, res=61, ires=8)
    assert test.run(test_count=4), test.messages


# A gradient of all texels takes what the texels take, and no more.
def test_texels_and_their_gradient_are_held_once():
    size = 512
    pixels = np.random.default_rng(1).random((size, size, 3), dtype=np.float32)
    texture = mi.load_dict({"type": "bitmap", "bitmap": mi.Bitmap(pixels), "raw": True})
    params = mi.traverse(texture)
    before = dr.memory_stats()["in_use"]
    data = mi.TensorXf(pixels)
    dr.enable_grad(data)
    params["data"] = data
    params.update()
    si = dr.zeros(mi.SurfaceInteraction3f, 100)
    si.uv = mi.Point2f(dr.linspace(mi.Float, 0, 1, 100), 0.3)
    dr.backward(dr.sum(texture.eval(si)))
    gradient = dr.grad(params["data"])
    dr.eval(gradient)
    assert dr.memory_stats()["in_use"] - before < 2.5 * pixels.nbytes
    assert np.isclose(gradient.numpy().sum(), 300, rtol=1e-5)


def test_angles_of_plates_are_textures():
    with mi.set_variant("llvm_ad_rgb_polarized"):
        turned = mi.load_dict({"type": "polarizer", "theta": {"type": "checkerboard", "color0": 0.0, "color1": 90.0}})
        si = dr.zeros(mi.SurfaceInteraction3f, 2)
        si.wi, si.uv = mi.Vector3f(0, 0, 1), mi.Point2f([0.25, 0.75], 0.25)
        found = np.array(turned.eval_null_transmission(si))
        for lane, theta in enumerate((0.0, 90.0)):
            si.uv = mi.Point2f(0.25)
            one = np.array(mi.load_dict({"type": "polarizer", "theta": theta}).eval_null_transmission(si))
            assert np.allclose(found[..., lane], one[..., 0], atol=1e-5)
        params = mi.traverse(mi.load_dict({"type": "retarder", "theta": 10.0, "delta": 45.0}))
        assert params["theta.value"][0] == 10 and params["delta.value"][0] == 45
