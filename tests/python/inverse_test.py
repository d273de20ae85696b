# tests/python/inverse_test.py: what helps with inverse problems: L-BFGS, constraints, schedules, states in files, losses, regularizers.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

ad = mi.ad


@pytest.fixture(autouse=True)
def variant():
    mi.set_variant("llvm_ad_rgb")


def valley(opt):
    """Rosenbrock's function, with its lowest point at (1, 1)."""
    return dr.square(1 - opt["x"]) + 20 * dr.square(opt["y"] - opt["x"] * opt["x"])


def start(opt):
    opt["x"], opt["y"] = mi.Float(-0.5), mi.Float(1)
    return opt


def descend(opt, steps, search=False):
    for _ in range(steps):
        dr.backward(valley(opt))
        opt.step(loss=lambda: valley(opt)) if search else opt.step()
    return np.array(valley(opt)).item()


# ---- reports

def test_iterations_that_compile_are_told():
    x = dr.arange(mi.Float, 10)
    with ad.report.Watch() as watch:
        for i in range(5):
            dr.eval(dr.sin(x) + dr.opaque(mi.Float, i))
            watch.iteration()
        watch.check()
        assert watch.late == 0 and len(watch.seconds) == len(watch.megabytes) == 5 and min(watch.megabytes) > 10
        dr.eval(dr.sin(x) * 0.123 + dr.cos(x) * 0.456)
        watch.iteration()
        with pytest.raises(AssertionError, match="iterations after the second compiled 1 kernels"):
            watch.check()


def test_memory_that_grows_and_time_that_grows_are_told(capsys):
    watch = ad.report.Watch()
    with watch:
        watch.seconds, watch.megabytes = [0.5] * 2 + [0.010] * 398, [100.] * 400
        watch.check()
        assert "10 ms of processors' time at first, 10 at last; memory: 100 MB, 100 MB" in capsys.readouterr().out
        watch.megabytes[-100:] = [111.] * 100
        with pytest.raises(AssertionError, match="memory grows"):
            watch.check()
        watch.megabytes, watch.seconds[-100:] = [100.] * 400, [0.016] * 100
        with pytest.raises(AssertionError, match="iterations slow down"):
            watch.check()


def test_long_forms_are_asked_for_by_the_command_line(monkeypatch):
    for words, wanted in (([], 0), (["--long"], 2000), (["--long", "200"], 200)):
        monkeypatch.setattr("sys.argv", ["script.py", *words])
        assert ad.report.long_form() == wanted


# ---- optimizers

def test_lbfgs_finds_the_end_of_a_valley_where_adam_does_not():
    found = start(ad.LBFGS())
    assert descend(found, 30, search=True) < 1e-8
    assert found["x"][0] == pytest.approx(1, abs=1e-3)
    assert descend(start(ad.Adam(lr=0.05)), 30) > 1e-2


def test_lbfgs_solves_a_quadratic_in_as_many_steps_as_it_has_unknowns():
    scale = mi.Float(1, 4, 9, 16)
    opt = ad.LBFGS(params={"x": mi.Float(1, -2, 3, -4)})
    for _ in range(12):
        loss = lambda: dr.sum(scale * dr.square(opt["x"] - 0.5))
        dr.backward(loss())
        opt.step(loss=loss)
    assert np.allclose(opt["x"], 0.5, atol=1e-4)


def test_lbfgs_stays_where_no_step_is_lower_and_takes_vectors_and_tensors():
    opt = ad.LBFGS(params={"a": mi.Color3f(0.5), "b": mi.TensorXf([[1., 2.]])})
    for _ in range(15):
        loss = lambda: dr.squared_norm(opt["a"] - mi.Color3f(.1, .2, .3)) + dr.sum(dr.square(opt["b"].array - 3))
        dr.backward(loss())
        opt.step(loss=loss)
    assert np.allclose(np.array(opt["a"]).ravel(), [.1, .2, .3], atol=1e-3) and opt["b"].shape == (1, 2)
    before = np.array(opt["a"])
    dr.backward(dr.squared_norm(opt["a"]) + dr.sum(opt["b"].array))
    opt.step(loss=lambda: 1.0)  # does not fall, whatever is done
    assert (np.array(opt["a"]) == before).all()


METHODS = {"sgd": lambda: ad.SGD(1e-3, momentum=.9), "adam": lambda: ad.Adam(.05),
           "uniform": lambda: ad.Adam(.05, uniform=True, amsgrad=True), "rmsprop": lambda: ad.RMSProp(.01),
           "lbfgs": lambda: ad.LBFGS(lr=.5)}


@pytest.mark.parametrize("method", METHODS)
def test_state_is_restored_to_the_bit(method, tmp_path):
    make = METHODS[method]
    a = start(make())
    a.set_learning_rate(y=a.lr / 2)
    a.set_schedule(ad.schedules.exponential(10, .1))
    descend(a, 6)
    a.save(tmp_path / "state.npz")
    descend(a, 6)
    b = start(make())
    b.set_schedule(ad.schedules.exponential(10, .1))
    b.load(tmp_path / "state.npz")
    assert b.steps == 6 and b.learning_rate("y") == a.learning_rate("y")
    descend(b, 6)
    assert a["x"][0] == b["x"][0] and a["y"][0] == b["y"][0]


def test_states_of_others_are_refused(tmp_path):
    start(ad.Adam(.05)).save(tmp_path / "state.npz")
    with pytest.raises(RuntimeError, match="has the state of Adam"):
        start(ad.SGD(.05)).load(tmp_path / "state.npz")
    other = ad.Adam(.05, {"x": mi.Float(1, 2), "y": mi.Float(1)})
    with pytest.raises(RuntimeError, match='"x" has the shape'):
        other.load(tmp_path / "state.npz")
    assert other["x"][1] == 2


def test_constraints_project_or_refuse():
    for cls in (ad.SGD, ad.Adam, ad.LBFGS):
        opt = cls(10., {"x": mi.Float(.5, .6), "c": mi.Color3f(.5)})
        opt.set_constraint("x", (0, 1))
        opt.set_constraint("c", lambda c: dr.normalize(c))
        dr.backward(dr.sum(opt["x"]) - dr.sum(opt["c"]))
        opt.step()
        assert np.allclose(opt["x"], 0) and np.linalg.norm(np.array(opt["c"])) == pytest.approx(1, abs=1e-5)
    opt = ad.SGD(10., {"x": mi.Float(.5)})
    opt.set_constraint("x", (None, 1), outside="refuse")
    dr.backward(-opt["x"])
    with pytest.raises(RuntimeError, match='"x" would leave'):
        opt.step()
    assert opt["x"][0] == .5
    with pytest.raises(RuntimeError, match="is empty: from 2 to 1"):
        opt.set_constraint("x", (2, 1))
    with pytest.raises(KeyError, match='no parameter "y"'):
        opt.set_constraint("y", (0, 1))


def test_masks_hold_entries():
    for cls in (ad.SGD, ad.Adam, ad.LBFGS):
        opt = cls(.1, {"x": mi.Float(1, 2, 3)})
        opt.set_mask("x", mi.Bool(True, False, True))
        dr.backward(dr.sum(dr.square(opt["x"])))
        opt.step()
        assert opt["x"][1] == 2 and opt["x"][0] < 1 and opt["x"][2] < 3


def test_schedules_scale_rates():
    s = ad.schedules
    assert s.exponential(10, .01)(5) == pytest.approx(.1) and s.linear(10, .5)(20) == .5 and s.piecewise(10, .5)(25) == .25
    assert s.cosine(10)(5) == pytest.approx(.5) and s.cosine(10, .1)(99) == pytest.approx(.1)
    assert [s.warmup(4, s.linear(2))(i) for i in (0, 3, 4, 5)] == [.25, 1, 1, .5]
    with pytest.raises(ValueError, match="must be positive"):
        s.linear(0)
    opt = ad.SGD(1., {"x": mi.Float(0), "y": mi.Float(0)})
    opt.set_schedule(lambda i: .5 ** i)
    opt.set_schedule(lambda i: 1., "y")
    for _ in range(3):
        dr.backward(opt["x"] + opt["y"])
        opt.step()
    assert opt["x"][0] == -1.75 and opt["y"][0] == -3


def test_steps_with_all_of_that_compile_once():
    opt = start(ad.Adam(.01))
    opt.set_schedule(ad.schedules.cosine(20))
    opt.set_constraint("x", (-2, 2))
    descend(opt, 2)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        descend(opt, 4)
        history = dr.kernel_history()
    assert history and all(k["cache_hit"] for k in history if k["type"] == dr.KernelType.JIT)


# ---- losses and regularizers

def images(shape=(14, 13, 3)):
    rng = np.random.default_rng(1)
    return rng.uniform(.1, .9, shape).astype(np.float32), rng.uniform(.1, .9, shape).astype(np.float32)


def test_losses_are_what_their_formulas_say():
    a, b = images()
    x, y = mi.TensorXf(a), mi.TensorXf(b)
    value = lambda f, *more: np.array(f(x, y, *more)).item()
    assert value(ad.losses.l1) == pytest.approx(np.abs(a - b).mean(), rel=1e-5)
    assert value(ad.losses.l2) == pytest.approx(np.square(a - b).mean(), rel=1e-5)
    assert value(ad.losses.relative_l1, .1) == pytest.approx((np.abs(a - b) / (b + .1)).mean(), rel=1e-5)
    assert value(ad.losses.relative_l2, .1) == pytest.approx((np.square(a - b) / (b * b + .1)).mean(), rel=1e-5)
    d = a - b
    edges = (np.abs(np.diff(d, axis=0)).mean() + np.abs(np.diff(d, axis=1)).mean()) / 2
    assert value(ad.losses.gradient_l1) == pytest.approx(edges, rel=1e-5)
    assert value(ad.losses.gradient_domain, .5) == pytest.approx(np.abs(d).mean() + .5 * edges, rel=1e-5)


def test_ssim_is_that_of_its_definition():
    a, b = images()
    n, c1, c2 = 11, .01 ** 2, .03 ** 2
    w = np.exp(-(np.arange(n) - 5) ** 2 / (2 * 1.5 ** 2))
    w = np.outer(w, w) / w.sum() ** 2
    similar = []
    for i in range(a.shape[0] - n + 1):
        for j in range(a.shape[1] - n + 1):
            p, q = a[i:i + n, j:j + n].astype(float), b[i:i + n, j:j + n].astype(float)
            mean = lambda v: (w[..., None] * v).sum((0, 1))
            mp, mq = mean(p), mean(q)
            similar.append((2 * mp * mq + c1) * (2 * (mean(p * q) - mp * mq) + c2) /
                           ((mp ** 2 + mq ** 2 + c1) * (mean(p * p) - mp ** 2 + mean(q * q) - mq ** 2 + c2)))
    got = np.array(ad.losses.ssim(mi.TensorXf(a), mi.TensorXf(b))).item()
    assert got == pytest.approx(1 - np.mean(similar), rel=1e-4)
    assert np.array(ad.losses.ssim(mi.TensorXf(a), mi.TensorXf(a))).item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("name", ["l1", "l2", "relative_l1", "relative_l2", "gradient_domain", "ssim"])
def test_gradients_of_losses_agree_with_differences(name):
    f, (a, b) = getattr(ad.losses, name), images((12, 12, 1))
    rng = np.random.default_rng(2)
    d = rng.uniform(-1, 1, a.shape).astype(np.float32)
    x = mi.TensorXf(a)
    dr.enable_grad(x)
    dr.backward(f(x, mi.TensorXf(b)))
    got = (np.array(dr.grad(x)) * d).sum()
    at = lambda t: np.array(f(mi.TensorXf(a + t * d), mi.TensorXf(b))).item()
    assert got == pytest.approx((at(2e-3) - at(-2e-3)) / 4e-3, rel=3e-2, abs=1e-4)


def test_losses_and_regularizers_explain_what_they_cannot_do():
    small = mi.TensorXf(np.zeros((4, 4, 3), np.float32))
    with pytest.raises(dr.UserError, match="smaller than the window"):
        ad.losses.ssim(small, small)
    with pytest.raises(dr.UserError, match=r"\(4, 4, 3\) numbers, what it is compared with of \(2, 2, 3\)"):
        ad.losses.l2(small, mi.TensorXf(np.zeros((2, 2, 3), np.float32)))
    with pytest.raises(dr.UserError, match="total variation is of tensors"):
        ad.regularizers.total_variation(mi.Float(1, 2, 3))


def test_regularizers_are_what_their_formulas_say():
    v = np.random.default_rng(3).uniform(size=(3, 4, 5, 2)).astype(np.float32)
    x = mi.TensorXf(v)
    steps = [np.diff(v, axis=k) for k in range(3)]
    assert np.array(ad.regularizers.total_variation(x)).item() == pytest.approx(sum(np.abs(s).mean() for s in steps), rel=1e-5)
    assert np.array(ad.regularizers.smoothness(x)).item() == pytest.approx(sum((s * s).mean() for s in steps), rel=1e-5)
    # Corners of a tetrahedron with edges of squared length 8: the middle of the three others is 4/3 of its height away
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], np.float32)
    rough = ad.regularizers.Laplacian([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], 4)
    p = mi.Float(corners.ravel())
    dr.enable_grad(p)
    value = rough(p)
    assert np.array(value).item() == pytest.approx(3 * (4 / 3) ** 2, rel=1e-5)
    dr.backward(value)
    assert np.allclose(np.array(dr.grad(p)).reshape(4, 3), corners * 2 * (4 / 3) ** 2 / 4, rtol=1e-4)
    with pytest.raises(dr.UserError, match="vertex 3; there are 2"):
        ad.regularizers.Laplacian([[0, 1, 3]], 2)


# ---- large steps

def grid(n):
    y, x = np.mgrid[0:n, 0:n]
    at = lambda i, j: i * n + j
    faces = [f for i in range(n - 1) for j in range(n - 1)
             for f in ((at(i, j), at(i, j + 1), at(i + 1, j)), (at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)))]
    return np.stack([x, y, x * 0], -1).reshape(-1, 3).astype(np.float32), np.array(faces, np.uint32)


@pytest.mark.parametrize("package", ["cholespy", "scipy.sparse.linalg", None])
def test_large_steps_solve_alike_by_any_library(package, monkeypatch):
    import sys
    for other in ("cholespy", "scipy.sparse", "scipy.sparse.linalg"):
        if package is None or not package.startswith(other):
            monkeypatch.setitem(sys.modules, other, None)  # cannot be imported
    if package:
        pytest.importorskip(package)
    v, f = grid(6)
    if package is None:
        with pytest.raises(ImportError, match="pip install cholespy"):
            ad.LargeSteps(mi.Float(v.ravel()), mi.UInt32(f.ravel()), solver="cholesky")
    ls = ad.LargeSteps(mi.Float(v.ravel()), mi.UInt32(f.ravel()), solver="cholesky" if package else "auto")
    u = ls.to_differential(mi.Float(v.ravel()))
    assert np.allclose(ls.from_differential(u), v.ravel(), atol=1e-4)
    with pytest.raises(ValueError, match="solver is"):
        ad.LargeSteps(mi.Float(v.ravel()), mi.UInt32(f.ravel()), solver="lu")


def test_guides_sample_where_mass_is():
    from umbel.ad.guiding import GridDistr, UniformDistr
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(0, 100_000)
    points, weight = UniformDistr().sample(sampler)
    assert dr.allclose(dr.mean(points.z), 0.5, atol=1e-2) and weight[0] == 1
    grid = GridDistr([2, 3, 4], clamp_mass_thres=0.02)
    assert np.array_equal(np.array(grid.get_cell_array(dr.arange(mi.UInt32, 24))).T, list(np.ndindex(2, 3, 4)))
    mass = np.arange(24, dtype=np.float32)
    grid.set_mass(mass)
    mass[:6] = 0  # less than a fiftieth of all
    points, weight = grid.sample(sampler)
    counts = np.bincount(grid.sample_to_cell_idx(points).numpy(), minlength=24)
    assert np.all(counts[mass == 0] == 0)
    assert np.allclose(counts / 100_000, mass / mass.sum(), atol=5e-3)  # five standard deviations
    assert dr.allclose(dr.mean(weight), np.count_nonzero(mass) / 24, rtol=2e-2)  # the volume of cells that have any
    sampler.seed(0, 24)
    assert np.array_equal(grid.sample_to_cell_idx(grid.random_cell_sample(sampler)).numpy(), np.arange(24))


def test_octrees_are_fine_where_mass_is_and_keep_integrals():
    from umbel.ad import OcSpaceDistr
    at, width = mi.Point3f(0.31, 0.72, 0.53), 0.03

    def integrand(p, sampler): return dr.exp(-dr.squared_norm(p - at) / (2 * width ** 2)), None, None
    tree = OcSpaceDistr(8, 50, 16, integrand, 0.1, 1e-5, 4)
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(0, 100_000)
    with pytest.raises(mi.UserError, match="set_points"):
        tree.sample(sampler)
    points = mi.Point3f(sampler.next_1d(), *sampler.next_2d())
    uniform = integrand(points, sampler)[0]
    tree.set_points(points, uniform, seed=1)
    volumes = dr.prod(tree.aabb_max - tree.aabb_min)
    assert dr.allclose(dr.sum(volumes), 1, rtol=1e-4) and dr.min(volumes)[0] < 1e-4 and dr.max(volumes)[0] > 1e-2
    sampler.seed(2, 100_000)
    points, weight = tree.sample(sampler)
    guided = integrand(points, sampler)[0] * weight
    exact = (2 * np.pi * width ** 2) ** 1.5
    deviation = [float(dr.std(x)[0]) for x in (guided, uniform)]
    assert abs(float(dr.mean(guided)[0]) - exact) < 4 * deviation[0] / 100_000 ** 0.5 + 1e-3 * exact
    assert deviation[0] < 0.1 * deviation[1]
