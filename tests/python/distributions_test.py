# tests/python/distributions_test.py: tables with parameters or conditions, microflakes.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.chi2 import ChiSquareTest, PlanarDomain, SphericalDomain

KINDS = [k + str(n) for k in ("MarginalContinuous2D", "MarginalDiscrete2D", "Hierarchical2D") for n in range(4)]


def make(name, seed=0, **more):
    rng, n = np.random.default_rng(seed), int(name[-1])
    shape = rng.integers(2, 6, n + 2)
    values = [np.sort(rng.random(s)) for s in shape[:n]]
    inside = [float(v[0] + 0.3 * (v[-1] - v[0])) for v in values]
    return getattr(mi, name)(rng.random(shape), values, **more), inside


@pytest.mark.parametrize("name", KINDS)
def test_samples_of_a_table_follow_its_density(name):
    d, param = make(name)
    test = ChiSquareTest(PlanarDomain(mi.BoundingBox2f(0, 1)), lambda u: d.sample(u, param)[0], lambda p: d.eval(p, param),
                         sample_count=50000, res=21)
    assert test.run(test_count=2 * len(KINDS)), test.messages


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_inverting_a_table_undoes_sampling(name, normalize):
    d, param = make(name, 3, normalize=normalize)
    u = mi.Point2f(np.random.default_rng(1).random((2, 50)))
    p, pdf = d.sample(u, param)
    back, again = d.invert(p, param)
    assert np.allclose(back, u, atol=2e-4) and np.allclose(pdf, again, rtol=1e-3) and np.allclose(pdf, d.eval(p, param), rtol=1e-3)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 3, 1)])
def test_tables_without_cells_are_refused(shape):
    with pytest.raises(dr.UserError, match=f"{shape[0]} rows and {shape[1]} columns"):
        mi.DiscreteDistribution2D(mi.TensorXf(np.zeros(shape, np.float32)))


@pytest.mark.parametrize("name, option", [("MarginalContinuous2D1", "enable_sampling"), ("MarginalDiscrete2D0", "enable_sampling"),
                                          ("Hierarchical2D2", "build_hierarchy")])
def test_tables_that_are_not_to_be_sampled_say_so(name, option):
    d, param = make(name, **{option: False})
    assert np.allclose(d.eval(mi.Point2f(.3, .4), param), make(name)[0].eval(mi.Point2f(.3, .4), param))
    for f in (d.sample, d.invert):
        with pytest.raises(mi.UserError, match="evaluated alone"):
            f(mi.Point2f(.3, .4), param)
    d = mi.ConditionalRegular1D(mi.Float(1, 2, 3, 4), [0, 1], [[0, 1]], [2], enable_sampling=False)
    d.eval_pdf(mi.Float(.5), [mi.Float(.5)])
    with pytest.raises(mi.UserError, match="evaluated alone"):
        d.sample_pdf(mi.Float(.5), [mi.Float(.5)])


def test_a_table_that_is_none_is_refused():
    for data, text in ((np.ones(3), "dimensions"), (-np.ones((2, 2)), "non-negative"), (np.zeros((2, 2)), "no probability")):
        with pytest.raises(RuntimeError, match=text):
            mi.MarginalContinuous2D0(data)


def conditional(regular):
    y = np.random.default_rng(5).random((3, 4, 10)) + 0.1
    if regular:
        return mi.ConditionalRegular1D(mi.TensorXf(y), [0, 9], [[0, 2], [0, 3]]), y
    return mi.ConditionalIrregular1D(np.arange(10.0), mi.TensorXf(y), [mi.Float([0, 1, 2]), mi.Float([0, 1, 2, 3])]), y


@pytest.mark.parametrize("regular", [True, False])
def test_conditions_mix_the_rows_of_a_table(regular):
    d, y = conditional(regular)
    row = 0.6 * (0.75 * y[1, 2] + 0.25 * y[1, 3]) + 0.4 * (0.75 * y[2, 2] + 0.25 * y[2, 3])
    plain, cond = mi.ContinuousDistribution([0, 9], row), [mi.Float(1.4), mi.Float(2.25)]
    x, u = mi.Float([0, 0.3, 4.5, 9]), mi.Float([0.01, 0.4, 0.99])
    assert np.allclose(d.eval_pdf(x, cond), plain.eval_pdf(x), rtol=1e-4)
    assert np.allclose(d.eval_pdf_normalized(x, cond), plain.eval_pdf_normalized(x), rtol=1e-4)
    assert np.allclose(d.integral(cond), plain.integral(), rtol=1e-4) and np.isclose(d.max(), y.max())
    for mine, theirs in zip(d.sample_pdf(u, cond), plain.sample_pdf(u)):
        assert np.allclose(mine, theirs, rtol=1e-3)


def test_spectra_are_handled_channel_by_channel():
    d, _ = conditional(True)
    x = mi.Color3f(1.0, 2.5, 7.0)
    together = d.eval_pdf(x, [mi.Color3f(0.5), mi.Color3f(1.5)])
    apart = [float(d.eval_pdf(mi.Float(v), [mi.Float(0.5), mi.Float(1.5)])[0]) for v in (1.0, 2.5, 7.0)]
    assert np.allclose(np.ravel(together), apart)


@pytest.mark.parametrize("s", [[1, 1, 1, 0, 0, 0], [1, 0.3, 0.5, 0.1, 0.05, -0.1]])
def test_visible_microflakes_follow_their_density(s):
    wi = dr.normalize(mi.Vector3f(0.2, 0.5, 0.8))

    def density(m): return dr.maximum(dr.dot(m, wi), 0) * mi.sggx_pdf(m, s) / mi.sggx_projected_area(wi, s)
    test = ChiSquareTest(SphericalDomain(), lambda u: mi.sggx_sample(wi, u, s), density, sample_count=50000, res=41, ires=8)
    assert test.run(test_count=4), test.messages
