# tests/python/index_names_test.py: indices of refraction by the names of materials, wherever there is one.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


@pytest.fixture(autouse=True)
def variant():
    with mi.set_variant("llvm_rgb"):
        yield


WATER, BK7 = 1.333, 1.5046  # of the 0.5 manual's table
DIELECTRICS = ["dielectric", "thindielectric", "roughdielectric", "plastic", "roughplastic", "pplastic", "coating", "roughcoating",
               "hair"]


def _eval(plugin, **indices):
    inner = {"inner": {"type": "diffuse"}} if "coating" in plugin else {}
    bsdf = mi.load_dict({"type": plugin, **indices, **inner})
    n = 64
    si = dr.zeros(mi.SurfaceInteraction3f, n)
    si.wi = dr.normalize(mi.Vector3f(dr.linspace(mi.Float, .1, .9, n), .2, .6))
    si.sh_frame, si.p = mi.Frame3f(mi.Normal3f(0, 0, 1)), mi.Point3f(0)
    si.uv = mi.Point2f(.5, .4)
    wo = dr.normalize(mi.Vector3f(.3, dr.linspace(mi.Float, -.5, .5, n), .7))
    sample, weight = bsdf.sample(mi.BSDFContext(), si, dr.linspace(mi.Float, 0, .999, n), mi.Point2f(.3, .6))
    return np.concatenate([np.array(v).ravel() for v in (bsdf.eval(mi.BSDFContext(), si, wo), sample.wo, sample.pdf, weight)])


@pytest.mark.parametrize("plugin", DIELECTRICS)
def test_names_stand_for_their_numbers(plugin):
    both = _eval(plugin, int_ior="bk7", ext_ior="water")
    np.testing.assert_array_equal(both, _eval(plugin, int_ior=BK7, ext_ior=WATER))
    assert not np.array_equal(both, _eval(plugin, int_ior="bk7"))  # each of them counts
    assert not np.array_equal(both, _eval(plugin, int_ior="diamond", ext_ior="water"))


@pytest.mark.parametrize("plugin", DIELECTRICS)
def test_old_scenes_name_them_alike(plugin):
    def scene(value):
        inner = '<bsdf type="diffuse"/>' if "coating" in plugin else ""
        return mi.load_string(f"""<scene version="0.5.0"><integrator type="direct"/>
            <shape type="sphere"><bsdf type="{plugin}">{value}{inner}</bsdf></shape>
            <emitter type="constant"/><sensor type="perspective"><transform name="toWorld">
            <lookAt origin="0,0,5" target="0,0,0" up="0,1,0"/></transform>
            <film type="hdrfilm"><integer name="width" value="8"/><integer name="height" value="8"/></film></sensor></scene>""")
    named = mi.render(scene('<string name="intIOR" value="bk7"/><string name="extIOR" value="water"/>'), spp=4)
    number = mi.render(scene(f'<float name="intIOR" value="{BK7}"/><float name="extIOR" value="{WATER}"/>'), spp=4)
    np.testing.assert_array_equal(named.numpy(), number.numpy())


@pytest.mark.parametrize("plugin", ["conductor", "roughconductor"])
def test_what_lies_above_a_metal(plugin):
    np.testing.assert_array_equal(_eval(plugin, material="Au", ext_eta="water"), _eval(plugin, material="Au", ext_eta=WATER))


@pytest.mark.parametrize("plugin", DIELECTRICS)
def test_unknown_names_are_errors_that_suggest_one(plugin):
    with pytest.raises(mi.UserError, match='"watr".*"water"'):
        _eval(plugin, int_ior="watr")
