# tests/python/core_test.py: warps, distributions, splines, polarization, colours, hashes, logging.
import logging

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.chi2 import BSDFAdapter, ChiSquareTest, LineDomain, PlanarDomain, SphericalDomain

rng = np.random.default_rng(0)
warp = mi.warp


def square(n=50): return mi.Point2f(rng.random((2, n)) * 0.98 + 0.01)


def simpson(f, a, b, n=2001):
    x = np.linspace(a, b, n)
    w = np.ones(n)
    w[1:-1:2], w[2:-1:2] = 4, 2
    return float(np.sum(w * np.asarray(f(mi.Float(x)))) * (b - a) / (n - 1) / 3)


# ---- warps

SPHERE, PLANE = SphericalDomain, PlanarDomain
def WIDE(): return PlanarDomain(mi.BoundingBox2f(-5, 5))
def UNIT(): return PlanarDomain(mi.BoundingBox2f(0, 1))


WARPS = {
    "uniform_disk": (PLANE,), "uniform_disk_concentric": (PLANE,), "uniform_triangle": (UNIT,), "tent": (PLANE,),
    "std_normal": (WIDE,), "uniform_sphere": (SPHERE,), "uniform_hemisphere": (SPHERE,), "cosine_hemisphere": (SPHERE,),
    "uniform_cone": (SPHERE, 0.3), "beckmann": (SPHERE, 0.4), "ggx": (SPHERE, 0.4), "von_mises_fisher": (SPHERE, 3.0),
    "hg": (SPHERE, 0.5), "uniform_spherical_lune": (SPHERE, [0, 0, 1], [0, 0.6, 0.8])}


@pytest.mark.parametrize("name", WARPS)
def test_samples_of_a_warp_follow_its_density(name):
    domain, *args = WARPS[name]
    f, pdf = getattr(warp, f"square_to_{name}"), getattr(warp, f"square_to_{name}_pdf")
    test = ChiSquareTest(domain(), lambda u: f(u, *args), lambda p: pdf(p, *args), sample_count=50000, res=31, ires=16)
    assert test.run(test_count=2 * len(WARPS), quiet=True), test.messages


def test_a_wrong_density_is_rejected():
    wrong = ChiSquareTest(SPHERE(), warp.square_to_cosine_hemisphere, warp.square_to_uniform_hemisphere_pdf,
                          sample_count=50000, res=31)
    assert not wrong.run(quiet=True) and wrong.p_value < 1e-6 and "Rejected" in wrong.messages
    outside = ChiSquareTest(PLANE(), lambda u: u * 3, lambda p: mi.Float(0.25), sample_count=1000, res=5)
    assert not outside.run(quiet=True) and "outside" in outside.messages


def test_a_density_on_a_line_is_tested_too():
    test = ChiSquareTest(LineDomain(), lambda u: warp.interval_to_tent(u[0]), warp.interval_to_tent_pdf, sample_dim=1,
                         sample_count=50000)
    assert test.run(significance_level=1e-4, quiet=True), test.messages


@pytest.mark.parametrize("name", [n for n in WARPS if n != "std_normal"] + ["std_normal"])
def test_inverses_of_warps_undo_them(name):
    domain, *args = WARPS[name]
    u = square()
    back = "uniform_disk_to_square_concentric" if name == "uniform_disk_concentric" else f"{name}_to_square"
    result = getattr(warp, back)(getattr(warp, f"square_to_{name}")(u, *args), *args)
    assert np.allclose(result, u, atol=2e-3)
    assert type(result) is mi.Point2f


def test_warps_take_lists_numbers_and_names_of_arguments():
    assert np.allclose(warp.square_to_uniform_cone(v=[0.5, 0.5], cos_cutoff=0.5).z, 1)
    p, density = warp.square_to_bilinear(1, 1, 1, 1, sample=[0.25, 0.75])
    assert np.allclose(p, [[0.25], [0.75]]) and np.allclose(density, 1)
    with mi.set_variant("llvm_rgb_double"):
        assert type(warp.interval_to_tent(0.25)) is mi.Float is dr.auto.Float64


# ---- distributions

def test_a_discrete_distribution_has_the_probabilities_of_its_weights():
    weights = [0, 1, 0, 3, 4, 0]
    d = mi.DiscreteDistribution(weights)
    index, u, pmf = d.sample_reuse_pmf(mi.Float((np.arange(800) + 0.5) / 800))
    assert np.array_equal(np.bincount(index.numpy(), minlength=6) / 100, weights)
    assert np.allclose(pmf, np.array(weights)[index.numpy()] / 8)
    assert np.all((u.numpy() >= 0) & (u.numpy() < 1)) and np.allclose(d.sum(), 8)
    assert int(d.sample(0)[0]) == 1 and int(d.sample(1 - 2 ** -24)[0]) == 4
    assert np.allclose(d.eval_cdf_normalized(mi.UInt(3)), 0.5)


@pytest.mark.parametrize("make", [
    lambda: mi.ContinuousDistribution([1, 3], [1, 4, 0, 2]), lambda: mi.ContinuousDistribution([0, 1], [1, 1]),
    lambda: mi.IrregularContinuousDistribution([1, 1.5, 3], [0.1, 2, 2])])
def test_a_continuous_distribution_inverts_its_cdf(make):
    d = make()
    u = mi.Float(rng.random(100))
    x, pdf = d.sample_pdf(u)
    assert np.allclose(d.eval_cdf_normalized(x), u, atol=1e-5) and np.allclose(d.eval_pdf_normalized(x), pdf, rtol=1e-4)
    assert np.isclose(simpson(d.eval_pdf, *d.range), d.integral(), rtol=2e-3)
    assert np.allclose(d.eval_pdf(mi.Float(d.range[0] - 1, d.range[1] + 1)), 0)


@pytest.mark.parametrize("cls", [mi.MarginalContinuous2D0, mi.Hierarchical2D0])
def test_a_planar_distribution_inverts_its_samples(cls):
    d = cls(rng.random((5, 7)))
    u = square()
    p, pdf = d.sample(u)
    back, again = d.invert(p)
    assert np.allclose(back, u, atol=1e-5) and np.allclose(pdf, again) and np.allclose(d.eval(p), pdf, rtol=1e-4)
    test = ChiSquareTest(UNIT(), lambda u: d.sample(u)[0], d.eval, sample_count=50000, res=21, ires=4)
    assert test.run(significance_level=1e-4, quiet=True), test.messages


def test_a_table_is_sampled_by_its_entries():
    data = np.array([[0, 1, 2], [3, 0, 0]])
    d = mi.DiscreteDistribution2D(data)
    n = 120
    grid = (np.arange(n) + 0.5) / n
    cell, pmf, rest = d.sample(mi.Point2f(*(g.ravel() for g in np.meshgrid(grid, grid))))
    counts = np.bincount(cell.y.numpy() * 3 + cell.x.numpy(), minlength=6).reshape(2, 3)
    assert np.allclose(counts / n ** 2, data / 6) and np.allclose(pmf, d.pdf(cell))
    assert np.all((rest.numpy() >= 0) & (rest.numpy() <= 1))


def test_gradients_pass_through_a_distribution():
    values = mi.Float(1, 2)
    dr.enable_grad(values)
    dr.backward(mi.ContinuousDistribution([0, 1], values).eval_pdf(mi.Float(0.25)))
    assert np.allclose(dr.grad(values), [0.75, 0.25])


def test_tables_of_distributions_are_changed_in_place():
    d = mi.IrregularContinuousDistribution([0, 1, 3], [1, 2, 0])
    dr.enable_grad(d.nodes, d.pdf)
    d.update()
    dr.backward(d.integral())
    assert np.allclose(dr.grad(d.nodes), [-1.5, 0.5, 1]) and np.allclose(dr.grad(d.pdf), [0.5, 1.5, 1])
    c = mi.ContinuousDistribution([0, 1], [1, 3])
    c.pdf, c.range = [1, 1, 1], [2, 4]
    with pytest.raises(mi.UserError, match="update()"):
        c.sample(0.5)
    c.update()
    assert np.allclose(c.sample(0.5), 3) and c.interval_resolution() == 1 and c.max() == 1
    with pytest.raises(mi.UserError, match="update()"):
        mi.DiscreteDistribution().sample(0.5)


def test_distributions_are_structures_of_arrays():
    d = mi.ContinuousDistribution([0, 2], [1, 2, 3])
    again = dr.copy(d)
    dr.enable_grad(again)
    assert dr.grad_enabled(again.pdf) and not dr.grad_enabled(d.pdf) and again.range == d.range
    total, _ = dr.while_loop((mi.Float(0, 0), d), lambda t, d: t < 1, lambda t, d: (t + d.eval_pdf_normalized(1), d))
    assert np.allclose(total, 1)


@pytest.mark.parametrize("bad", [
    lambda: mi.DiscreteDistribution([0, 0]), lambda: mi.DiscreteDistribution([1, -1]),
    lambda: mi.ContinuousDistribution([0, 1], [1]), lambda: mi.ContinuousDistribution([1, 1], [1, 2]),
    lambda: mi.IrregularContinuousDistribution([0, 0, 1], [1, 1, 1]), lambda: mi.DiscreteDistribution([float("nan")]),
    lambda: mi.IrregularContinuousDistribution([0, 1], [1, 1, 1]), lambda: mi.MarginalContinuous2D0(np.zeros((2, 2)))])
def test_what_makes_no_distribution_is_an_error(bad):
    with pytest.raises(mi.UserError):
        bad()


# ---- splines and quadrature

def test_splines_reproduce_lines_and_their_integrals():
    nodes = np.sort(rng.random(8))
    x = mi.Float(nodes[0] + (nodes[-1] - nodes[0]) * rng.random(20))
    for args in ((nodes, 2 * nodes + 1), (0, 1, np.linspace(1, 3, 9))):
        assert np.allclose(mi.spline.eval_1d(*args, x), 2 * x.numpy() + 1, atol=1e-5)
    assert np.allclose(mi.spline.integrate_1d(nodes, 2 * nodes + 1), nodes ** 2 + nodes - nodes[0] ** 2 - nodes[0],
                       atol=1e-5)
    assert np.allclose(mi.spline.invert_1d(0, 1, np.linspace(1, 3, 9), mi.Float(1.5, 2.5)), [0.25, 0.75], atol=1e-5)


@pytest.mark.parametrize("where", [(0, 1), (np.sort(rng.random(9)),)])
def test_spline_weights_sum_up_to_the_spline(where):
    values = rng.random(9)
    x = mi.Float(rng.random(50))
    inside, offset, weights = mi.spline.eval_spline_weights(*where, *((9,) if len(where) == 2 else ()), x)
    index = offset.numpy()[None] + np.arange(4)[:, None]
    total = np.sum(np.array([w.numpy() for w in weights]) * values[np.clip(index, 0, 8)], axis=0)
    assert np.allclose(total, mi.spline.eval_1d(*where, values, x), atol=1e-5)


def test_splines_are_sampled_by_their_values():
    values = rng.random(7) + 0.1
    cdf = mi.spline.integrate_1d(0, 1, values)
    x, value, pdf = mi.spline.sample_1d(0, 1, values, cdf, mi.Float(0.3))
    assert np.isclose(simpson(lambda t: mi.spline.eval_1d(0, 1, values, t), 0, float(x[0])), 0.3 * cdf[6], rtol=1e-3)
    assert np.allclose(mi.spline.eval_1d(0, 1, values, x), value, rtol=1e-5)


def test_a_spline_of_the_plane_is_a_product():
    f, g = rng.random(6), rng.random(5)
    n1, n2 = np.linspace(0, 1, 6), np.linspace(0, 1, 5)
    x, y = mi.Float(rng.random(20)), mi.Float(rng.random(20))
    expected = mi.spline.eval_1d(n1, f, x) * mi.spline.eval_1d(n2, g, y)
    assert np.allclose(mi.spline.eval_2d(n1, n2, np.outer(g, f).ravel(), x, y), expected, atol=1e-5)


def test_quadrature_is_exact_for_polynomials():
    for rule, n in (("gauss_legendre", 4), ("gauss_lobatto", 4), ("composite_simpson", 5), ("composite_simpson_38", 7)):
        x, w = getattr(mi.quad, rule)(n)
        assert np.isclose(dr.sum(w * (3 * x * x + x))[0], 2, rtol=1e-5), rule


# ---- numbers

def test_roots_of_quadratic_equations_are_found_in_order():
    ok, low, high = mi.math.solve_quadratic(mi.Float(1, 0, 1, 1), mi.Float(-3, 2, -1e4, 0), mi.Float(2, -4, 1, 1))
    assert np.array_equal(ok, [True, True, True, False])
    assert np.allclose(low.numpy()[:3], [1, 2, 1e-4], rtol=1e-5) and np.allclose(high.numpy()[:3], [2, 2, 1e4])


def test_find_interval_encloses_what_is_looked_for():
    nodes = mi.Float(0, 1, 4, 9)
    i = mi.math.find_interval(4, lambda j: dr.gather(mi.Float, nodes, j) <= mi.Float(-1, 0.5, 5, 9, 20))
    assert np.array_equal(i, [0, 0, 2, 2, 2])


def test_the_incomplete_gamma_function_has_known_values():
    for a, x, value in ((1, 2, 0.8646647167633873), (0.5, 0.5, 0.6826894921370859), (50, 40, 0.07033506665939337),
                        (50, 60, 0.9155933189063095), (2, 0, 0)):
        assert np.isclose(mi.math.rlgamma(a, x), value, rtol=1e-9)


def test_hashes_agree_between_numbers_and_arrays():
    for f in (mi.sample_tea_32, mi.sample_tea_64, mi.sample_tea_float32, mi.sample_tea_float64):
        assert np.allclose(f(12, 34), [v[0] for v in np.atleast_2d(f(mi.UInt32(12), mi.UInt32(34)))] if f is
                           mi.sample_tea_32 else f(mi.UInt32(12), mi.UInt32(34)))


@pytest.mark.parametrize("n", [1, 7, 64])
def test_permutations_reach_every_number_once(n):
    i = dr.arange(mi.UInt32, n)
    assert sorted(mi.permute_kensler(i, n, 5).numpy()) == list(range(n))
    if n != 7:
        assert sorted(mi.permute(i, n, 5).numpy()) == list(range(n))


def test_morton_codes_come_back():
    v = mi.Array3u(*rng.integers(0, 1024, (3, 20)))
    assert np.array_equal(mi.math.morton_decode3(mi.math.morton_encode3(v)), v)
    v = mi.Array2u(*rng.integers(0, 65536, (2, 20)))
    assert np.array_equal(mi.math.morton_decode2(mi.math.morton_encode2(v)), v)


def test_legendre_polynomials_are_those_of_numpy():
    x = np.linspace(-1, 1, 9)
    p = np.polynomial.legendre.Legendre.basis(6)
    value, slope = mi.math.legendre_pd(6, mi.Float(x))
    assert np.allclose(value, p(x), atol=1e-5) and np.allclose(slope, p.deriv()(x), rtol=1e-4, atol=1e-4)


# ---- light

def test_fresnel_reflectances_agree_with_and_without_polarization():
    cos = mi.Float(np.linspace(-1, 1, 21))
    a_s, a_p, cos_t, eta_it, eta_ti = mi.fresnel_polarized(cos, 1.5)
    r, cos_t_2, *_ = mi.fresnel(cos, 1.5)
    half = 0.5 * (dr.squared_norm(a_s) + dr.squared_norm(a_p))
    assert np.allclose(half, r, atol=1e-5) and np.allclose(cos_t, cos_t_2, atol=1e-4)
    m = mi.mueller.specular_reflection(cos, 1.5)
    t = mi.mueller.specular_transmission(cos, 1.5)
    assert np.allclose(m[0, 0] + t[0, 0], 1, atol=1e-4)


def test_mueller_matrices_take_spectra():
    m = mi.mueller.linear_polarizer(mi.Color3f(0.2, 0.4, 0.6))
    assert np.allclose(m[0, 1], [[0.1], [0.2], [0.3]])
    turned = mi.mueller.rotated_element(np.pi / 2, m)
    assert np.allclose(turned[0, 1], [[-0.1], [-0.2], [-0.3]], atol=1e-6)


def test_turning_a_frame_there_and_back_changes_nothing():
    m = mi.mueller.rotate_stokes_basis([0, 0, 1], [1, 0, 0], [0.6, 0.8, 0]) @ mi.mueller.rotate_stokes_basis(
        [0, 0, 1], [0.6, 0.8, 0], [1, 0, 0])
    assert np.allclose(np.array(m)[..., 0], np.eye(4), atol=1e-6)


def test_colours_convert_there_and_back():
    c = mi.Color3f(rng.random((3, 10)))
    assert np.allclose(mi.xyz_to_srgb(mi.srgb_to_xyz(c)), c, atol=1e-5)
    assert np.allclose(mi.luminance(c), mi.srgb_to_xyz(c).y, atol=1e-6)
    assert np.allclose(mi.math.srgb_to_linear(mi.math.linear_to_srgb(c)), c, atol=1e-5)


def test_upsampled_colours_have_their_colour():
    with mi.set_variant("llvm_spectral"):
        w = np.linspace(360, 830, 471)
        values = mi.srgb_model_eval(mi.srgb_model_fetch([0.2, 0.5, 0.1]), mi.Float(w))
        assert np.allclose(mi.spectrum_list_to_srgb(w, values.numpy(), d65=True), [0.2, 0.5, 0.1], atol=2e-3)
        assert np.isclose(mi.srgb_model_mean(mi.srgb_model_fetch([0.2, 0.5, 0.1]))[0], values.numpy().mean(), atol=2e-3)
        assert np.allclose(mi.luminance(mi.Spectrum(1), mi.Spectrum(555)), 1, atol=1e-3)
    assert mi.is_rgb and not mi.is_spectral and not mi.is_polarized


def test_spectra_are_written_and_read(tmp_path):
    mi.spectrum_to_file(tmp_path / "s.spd", [400, 500], [0.25, 0.5])
    assert mi.spectrum_from_file(tmp_path / "s.spd") == ([400, 500], [0.25, 0.5])
    (tmp_path / "bad.spd").write_text("400 1\nabc\n")
    with pytest.raises(mi.UserError, match="bad.spd:2"):
        mi.spectrum_from_file(tmp_path / "bad.spd")


def test_reflections_turn_circular_light_as_retarders_do():
    # Metal at 45 degrees delays s against p; so does a retarder, and their product undoes it.
    m = np.array(mi.mueller.specular_reflection(np.sqrt(0.5), mi.Complex2f(0.01, 3)))[..., 0]
    phase = np.arctan2(m[2, 3], m[2, 2])
    back = m @ np.array(mi.mueller.linear_retarder(-float(phase)))[..., 0]
    assert abs(phase) > 0.1 and abs(back[2, 3]) < 1e-5 and back[2, 2] > 0.9
    with mi.set_variant("llvm_mono_polarized"):
        si = dr.zeros(mi.SurfaceInteraction3f, 1)
        si.wi, si.n = dr.normalize(mi.Vector3f(0, 1, 1)), mi.Normal3f(0, 0, 1)
        si.sh_frame = mi.Frame3f(mi.Vector3f(0, 0, 1))
        _, w = mi.load_dict({"type": "conductor", "eta": 0.01, "k": 3.0}).sample(mi.BSDFContext(), si, 0.5, [0.5, 0.5])
        wo = mi.Vector3f(0, -1, 1) * 0.5 ** 0.5
        s = mi.Vector3f(1, 0, 0)
        there = mi.mueller.rotate_mueller_basis(mi.mueller.specular_reflection(0.5 ** 0.5, mi.Complex2f(0.01, 3)), -wo, s,
                                                mi.mueller.stokes_basis(-wo), si.wi, s, mi.mueller.stokes_basis(si.wi))
        assert np.allclose(np.array(w).ravel(), np.array(there).ravel(), atol=1e-4)


@pytest.mark.parametrize("visible", [False, True])
@pytest.mark.parametrize("kind", ["Beckmann", "GGX"])
def test_microfacet_normals_follow_their_density(kind, visible):
    d = mi.MicrofacetDistribution(mi.MicrofacetType[kind], 0.4, 0.6, visible)
    wi = mi.Vector3f(0.6, 0, 0.8)
    test = ChiSquareTest(SPHERE(), lambda u: d.sample(wi, u)[0], lambda m: d.pdf(wi, m), sample_count=50000, res=31, ires=16)
    assert test.run(significance_level=1e-3, quiet=True), test.messages


@pytest.mark.parametrize("bsdf", [{"type": "diffuse"}, {"type": "roughconductor", "alpha": 0.4}])
def test_bsdfs_of_scenes_are_tested_through_an_adapter(bsdf):
    sample, pdf = BSDFAdapter(bsdf["type"], bsdf, wi=[0.6, 0, 0.8])
    test = ChiSquareTest(SPHERE(), sample, pdf, sample_dim=3, sample_count=50000, res=31, ires=16)
    assert test.run(significance_level=1e-3, quiet=True), test.messages


def test_radical_inverses_mirror_digits():
    r = mi.RadicalInverse(scramble=0)
    assert r.base(2) == 5 and r.bases() == 1024
    assert np.allclose(r.eval(0, mi.UInt64(1, 2, 3)), [0.5, 0.25, 0.75])
    assert np.allclose(r.eval(1, mi.UInt64(1, 2, 3)), [1 / 3, 2 / 3, 1 / 9])
    faure = mi.RadicalInverse(11)
    assert faure.bases() == 5 and faure.permutation(3) == [0, 2, 5, 3, 1, 4, 6]
    assert np.allclose(faure.eval_scrambled(3, mi.UInt64(1, 2)), [2 / 7, 5 / 7])


def test_the_cornell_box_renders():
    box = mi.cornell_box()
    box["sensor"]["film"].update(width=8, height=8)
    image = mi.render(mi.load_dict(box), spp=16).numpy()
    assert image.shape == (8, 8, 3) and np.isfinite(image).all() and 0.1 < image.mean() < 1


def test_structures_are_made_of_zeros():
    assert np.array_equal(dr.zeros(mi.Frame3f, 3).n, np.zeros((3, 3)))
    assert np.array_equal(dr.zeros(mi.BoundingBox3f, 2).max, np.zeros((3, 2)))
    assert np.array_equal(dr.zeros(mi.SurfaceInteraction3f, 2).p, np.zeros((3, 2)))


# ---- logging

def test_messages_go_to_pythons_logger(caplog):
    with caplog.at_level(logging.INFO, "umbel"):
        mi.Log(mi.LogLevel.Info, "hello")
        mi.Log(mi.LogLevel.Debug, "not seen")
    assert caplog.messages == ["hello"]
    with pytest.raises(RuntimeError, match="broken"):
        mi.Log(mi.LogLevel.Error, "broken")


def test_appenders_get_what_the_level_lets_through():
    class Keep(mi.Appender):
        def __init__(self): self.lines = []
        def append(self, level, text): self.lines.append((level, text))
    keep, logger, level = Keep(), mi.Thread.thread().logger(), mi.log_level()
    logger.add_appender(keep)
    mi.set_log_level(mi.LogLevel.Warn)
    mi.Log(mi.LogLevel.Info, "no")
    mi.Log(mi.LogLevel.Warn, "yes")
    logger.remove_appender(keep)
    mi.set_log_level(level)
    assert len(keep.lines) == 1 and keep.lines[0][0] is mi.LogLevel.Warn and "yes" in keep.lines[0][1]


def test_the_file_resolver_finds_files_in_its_folders(tmp_path):
    mi.Bitmap(np.zeros((1, 1, 3), np.float32)).write(tmp_path / "found.exr")
    files = mi.Thread.thread().file_resolver()
    files.prepend(tmp_path)
    try:
        assert files.resolve("found.exr") == tmp_path / "found.exr" and mi.Bitmap("found.exr").width() == 1
    finally:
        del files[0]


def test_rough_interfaces_reflect_what_microfacets_do():
    wi = dr.normalize(mi.Vector3f([0, 0.3, 0.9], 0.2, [0.9, 0.8, 0.3]))
    for kind in (mi.MicrofacetType.GGX, mi.MicrofacetType.Beckmann):
        smooth = mi.eval_reflectance(kind, 1e-3, 1e-3, wi, 1.5)
        assert dr.allclose(smooth, mi.fresnel(wi.z, 1.5)[0], rtol=1e-3)
        # Against an average over normals that are drawn at random
        rough = mi.eval_reflectance(kind, 0.3, 0.2, wi, 1 / 1.5)
        distribution, u = mi.MicrofacetDistribution(kind, 0.3, 0.2, True), np.random.default_rng(1).random((2, 100_000))
        for lane in range(3):
            one = mi.Vector3f(*(float(c[lane % dr.width(c)]) for c in wi))
            m, _ = distribution.sample(one, mi.Point2f(u))
            wo = mi.reflect(one, m)
            part = dr.select(wo.z > 0, mi.fresnel(dr.dot(one, m), 1 / 1.5)[0] * distribution.smith_g1(wo, m), 0)
            assert abs(float(rough[lane]) - float(dr.mean(part)[0])) < 5e-3
