# tests/python/opt_test.py: optimizers follow their formulas, keep state, and accept all kinds of parameters.
import math
import pickle

import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, Float, Float16, TensorXf, TensorXf16
from umbel.jit.opt import SGD, Adam, AdamW, GradScaler, Muon, RMSProp


def run(opt, steps=5, target=2.0):
    out = []
    for _ in range(steps):
        dr.backward((opt["x"] - target)**2)
        opt.step()
        out.append(opt["x"][0])
    return out


def test_sgd_follows_its_formula():
    for momentum, nesterov in ((0, False), (.9, False), (.9, True)):
        x, v, expected = 1.0, 0.0, []
        for _ in range(5):
            g = 2 * (x - 2)
            v = momentum * v + g
            x -= .1 * (momentum * v + g if nesterov else v)
            expected.append(x)
        assert dr.allclose(run(SGD(.1, {"x": Float(1)}, momentum=momentum, nesterov=nesterov)), expected)


def test_rmsprop_and_adam_follow_their_formulas():
    x, m, expected = 1.0, 0.0, []
    for _ in range(5):
        g = 2 * (x - 2)
        m = .99 * m + .01 * g * g
        x -= .02 * g / (math.sqrt(m) + 1e-8)
        expected.append(x)
    assert dr.allclose(run(RMSProp(.02, {"x": Float(1)})), expected)
    for decay in (0, .01):
        x, m, v, expected = 1.0, 0.0, 0.0, []
        for t in range(1, 6):
            g = 2 * (x - 2)
            m, v = .9 * m + .1 * g, .999 * v + .001 * g * g
            step = m / (1 - .9**t) / (math.sqrt(v / (1 - .999**t)) + 1e-8)
            x -= .5 * (step + decay * x)
            expected.append(x)
        assert dr.allclose(run(AdamW(.5, {"x": Float(1)}, weight_decay=decay)), expected, rtol=1e-4)


def test_parameters_have_rates_of_their_own():
    opt = SGD(.5, {"a": Float(1), "b": TensorXf([[1, 2]])})
    opt.set_learning_rate(b=.25)
    assert opt.learning_rate() == .5 and opt.learning_rate("a") is None and opt.learning_rate("b") == .25
    opt["a"].grad, opt["b"].grad = Float(1), TensorXf([[1, 1]])
    opt.step()
    assert opt["a"][0] == .5 and opt["b"].array[1] == 1.75 and opt["b"].shape == (1, 2)


def test_masked_updates_leave_entries_without_gradient_alone():
    for cls in (SGD, RMSProp, Adam):
        opt = cls(.5, {"x": Float(1, 2)}, mask_updates=True)
        opt["x"].grad = Float(0, 1)
        opt.step()
        assert opt["x"][0] == 1 and opt["x"][1] < 2
    opt = SGD(.5, {"x": Array3f(1, 2, 3)})
    opt["x"].grad = Array3f(0, 0, 1)
    opt.step(active=dr.mask_t(Float)(False))
    assert dr.all(opt["x"] == Array3f(1, 2, 3))


def test_state_survives_replacement_unless_the_shape_changes():
    opt = Adam(1, {"x": Float(1, 2)})
    opt["x"].grad = Float(-1, -1)
    opt.step()
    opt["x"] = Float(3, 4)
    assert dr.allclose(opt.state["x"][3][1], -.1)
    opt["x"] = Float(1, 2, 3)
    assert dr.all(opt.state["x"][3][1] == 0)
    opt.reset()
    assert int(opt.state["x"][3][0][0]) == 0


def test_half_precision_is_kept_in_single_precision():
    opt = SGD(1e-4, {"x": Float16(100)})
    for _ in range(10):
        opt["x"].grad = Float16(-100)
        opt.state["x"][0].grad = Float(-100)
        opt.step()
    assert type(opt["x"]) is Float16 and opt.state["x"][0][0] == pytest.approx(100.1)


def test_scaler_leaves_overflowing_steps_out():
    opt, scaler = SGD(.25, {"x": Float(1, 1)}), GradScaler(init_scale=8, growth_interval=1)
    dr.backward(scaler.scale((opt["x"] - 2)**2))
    scaler.step(opt)
    assert dr.allclose(opt["x"], 1.5)
    opt["x"].grad = Float(math.inf, 1)
    scaler.step(opt)
    assert dr.allclose(opt["x"], 1.5) and scaler.scale_factor[0] == 4


def test_muon_makes_steps_orthogonal():
    opt = Muon(1, {"x": TensorXf([[3, 1], [1, 2]])}, momentum=0, nesterov=False, ns_steps=12)
    assert list(Muon(1, {"b": TensorXf([1, 2])})) == []  # no matrix
    opt["x"].grad = TensorXf([[2, 0], [0, .5]])
    opt.step()
    step = (TensorXf([[3, 1], [1, 2]]) - opt["x"]).numpy()
    assert abs(step[0, 1]) < .01 and .6 < step[0, 0] < 1.3 and .6 < step[1, 1] < 1.3


def test_mistakes_are_explained_and_state_is_pickled():
    with pytest.raises(TypeError, match='cannot register parameter "x" of type "int"'):
        Adam(1, {"x": 1})
    with pytest.raises(RuntimeError, match="empty"):
        Adam(1, {"x": Float()})
    for make in (lambda: SGD(-1.0), lambda: SGD(1, momentum=-1), lambda: Adam(1, beta_1=1), lambda: RMSProp(1, alpha=1),
                 lambda: AdamW(1, weight_decay=-1), lambda: SGD(1, nesterov=True)):
        with pytest.raises(RuntimeError):
            make()
    opt = pickle.loads(pickle.dumps(Adam(.5, {"x": Float(1, 2)})))
    assert opt["x"][1] == 2 and opt.lr == .5 and "total_count = 2" in str(opt)


def test_steps_compile_once():
    opt = Adam(1e-2, {"x": TensorXf16([[1, 2], [3, 4]])})

    def step():
        dr.backward(dr.sum((opt["x"].array - 1)**2))
        opt.step()
    for _ in range(3):
        step()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        for _ in range(5):
            step()
        history = dr.kernel_history()
    assert history and all(k["cache_hit"] for k in history if k["type"] == dr.KernelType.JIT)
