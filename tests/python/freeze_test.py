# tests/python/freeze_test.py: functions that are recorded once; later calls launch their kernels with new inputs.
import gc
from dataclasses import dataclass

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from umbel.jit.auto import Array3f, Float, Int, PCG32, TensorXf, Texture1f, UInt


class Traces:
    """Counts; no structure, so no input of a function that refers to it."""
    count = 0

    def __len__(self): return self.count


def counted(f, **options):
    """The frozen function, and how often it is traced."""
    traces = Traces()

    def traced(*args, **kwargs):
        traces.count += 1
        return f(*args, **kwargs)
    return dr.freeze(traced, **options), traces


def numbers(*v): return Float(list(v))


# ---- what is replayed

def test_later_calls_do_not_run_the_function():
    f, traces = counted(lambda x, y: dr.sin(x) * y)
    for i in range(5):
        x, y = numbers(1, 2, i), numbers(3, i, 5)
        assert dr.allclose(f(x, y), dr.sin(x) * y)
    assert len(traces) == f.n_recordings == f.n_cached_recordings == 1


def test_kernel_histories_of_recording_and_replay_are_alike():
    f, _ = counted(lambda x: dr.sum(dr.square(x)) + dr.prefix_sum(x))
    names = []
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        for i in range(3):
            x = numbers(1, 2, i)
            dr.sync_thread()
            dr.kernel_history_clear()
            f(x)
            names.append([(k["name"], k["size"]) for k in dr.kernel_history()])
    assert names[0] == names[1] == names[2] and len(names[0]) > 2


@pytest.mark.parametrize("f", [
    dr.sum, dr.prod, dr.max, dr.mean, dr.cumsum, lambda x: dr.block_sum(x, 2), lambda x: dr.dot(x, x + 1),
    lambda x: dr.sum(x) + x, lambda x: dr.gather(Float, x, dr.arange(UInt, dr.width(x) // 2) * 2),
    lambda x: dr.zeros(Float, dr.width(x)), lambda x: dr.linspace(Float, 0, 1, 5) + dr.sum(x), dr.sort,
    lambda x: dr.compress(x > 1), lambda x: dr.compress(x > 1, 4)[0], lambda x: dr.compress(x > 1, 4)[1]])
def test_every_operation_follows_contents_and_sizes(f):
    frozen, traces = counted(f)
    for i, n in enumerate([6, 6, 8, 10, 12, 6]):
        x = dr.opaque(Float, i) + dr.arange(Float, n) * ((-1) ** i) + n / 2
        a, b = frozen(x), f(x)
        assert type(a) is type(b) and dr.width(a) == dr.width(b) and dr.allclose(a, b)
    assert frozen.n_recordings == 1 and len(traces) <= 3  # further ones learn how sizes depend on each other, and on data


def test_a_width_that_became_part_of_a_kernel_is_noticed():
    f, _ = counted(lambda x: x * dr.width(x) + len(x))
    for n in (3, 4, 5, 4, 3):
        x = dr.arange(Float, n) + dr.opaque(Float, 1)
        assert dr.allclose(f(x), x * n + n)
    assert f.n_recordings == 3


def test_structures_go_in_and_come_out():
    @dataclass
    class Pair:
        a: Float
        b: int = 3

    class Box:
        DRJIT_STRUCT = {"pair": Pair}

    def f(box, items):
        out = Box()
        out.pair = Pair(box.pair.a + items[0]["x"], 5)
        return out, (items[0]["x"] * 2, None), {"n": "text", "v": Array3f(items[0]["x"], 1, 2)}

    frozen, traces = counted(f)
    for i in range(3):
        box, x = Box(), numbers(i, 1, 2)
        box.pair = Pair(numbers(5, 6, 7))
        out, (twice, none), rest = frozen(box, [{"x": x}])
        assert type(out) is Box and type(out.pair) is Pair and out.pair.b == 5 and none is None
        assert dr.allclose(out.pair.a, box.pair.a + x) and dr.allclose(twice, 2 * x)
        assert rest["n"] == "text" and dr.allclose(rest["v"], Array3f(x, 1, 2))
    assert len(traces) == 1


# ---- when calls are alike

def test_types_python_values_and_sets_of_sizes_are_told_apart():
    f, _ = counted(lambda x, y, k: x + y * k)
    x = numbers(1, 2, 3)
    calls = [(x, Float(x + 1), 1), (x, Float(x + 1), 2), (x, Float(x + 1), 2.0), (x, x, 1), (x, dr.opaque(Float, 5), 1)]
    for n, c in enumerate(calls):
        assert dr.allclose(f(*c), c[0] + c[1] * c[2])
        assert f.n_recordings == n + 1
    for c in calls:
        assert dr.allclose(f(*c), c[0] + c[1] * c[2])
    assert f.n_recordings == len(calls)


@pytest.mark.parametrize("auto_opaque", [True, False])
def test_constants_become_data_when_they_change(auto_opaque):
    f, _ = counted(lambda x, c: x * c, auto_opaque=auto_opaque)
    for i, c in enumerate([2, 2, 3, 4, 5]):
        assert dr.allclose(f(numbers(1, 2), Float(c)), numbers(1, 2) * c)
        assert f.n_recordings == (2 if auto_opaque and i > 1 else 1)


def test_variables_of_enclosing_scopes_and_state_are_inputs():
    shift = numbers(1, 1)

    class Model:
        def __init__(self): self.scale = numbers(2, 3)

        @dr.freeze(state_fn=lambda self, x: self.scale)
        def run(self, x): return x * self.scale + shift

    m = Model()
    for i in range(4):
        m.scale, shift = numbers(i, 2), numbers(i, i)
        assert dr.allclose(m.run(numbers(1, 2)), numbers(1, 2) * m.scale + shift)
    assert m.run.n_recordings == 1


def test_at_most_limit_recordings_are_kept_the_least_used_one_goes():
    f, traces = counted(lambda x, k: x + k, limit=2)
    x = numbers(1, 2)
    for k in (0, 1, 2, 1, 0):
        assert dr.allclose(f(x, k), x + k)
    assert f.n_recordings == len(traces) == 4 and f.n_cached_recordings == 2
    f.clear()
    assert f.n_recordings == f.n_cached_recordings == 0
    disabled, traces = counted(lambda x: x, enabled=False)
    disabled(x), disabled(x)
    assert disabled.n_recordings == 0 and len(traces) == 2


def test_many_recordings_give_a_warning(caplog):
    f, _ = counted(lambda x, k: x + k, warn_after=2)
    for k in range(3):
        f(numbers(1, 2), k)
    assert "recorded 3 times" in caplog.text


# ---- what becomes of inputs

def test_inputs_that_the_function_changes_are_changed_by_replays():
    def f(d, values, x, t, r):
        d["sum"] = d["a"] + x
        d["a"] = d["a"] * 2
        values.append(x)
        dr.scatter(x, 9, UInt(0))
        t += 1
        return r.next_float32()

    frozen, traces = counted(f)
    for i in range(3):
        out = []
        for g in (f, frozen):
            d, x, t, r = {"a": numbers(i, 2)}, numbers(5, i), TensorXf(numbers(1, 2, i)), PCG32(2, initstate=i)
            values, before = [], Float(x)
            u = g(d, values, x, t, r)
            out.append([d["sum"], d["a"], x, t.array, u, values[0], before, r.state])
        for a, b in zip(*out):
            assert dr.all(a == b)
    assert len(traces) == 1


def test_names_that_the_function_binds_anew_are_bound_by_replays():
    total = numbers(0, 0)

    @dr.freeze
    def add(x):
        nonlocal total
        total = total + x

    for i in range(4):
        add(numbers(i, 1))
    assert dr.allclose(total, numbers(6, 4)) and add.n_recordings == 1


def test_gradients_flow_into_inputs_and_beyond():
    def f(y): dr.backward(y * y)
    frozen, traces = counted(f)
    for i in range(3):
        x = numbers(1, 2, i)
        dr.enable_grad(x)
        y = x * 3
        frozen(y)
        assert dr.allclose(dr.grad(x), 18 * x)
    assert len(traces) == 1


def test_gradients_of_results_are_those_at_the_end_of_the_function():
    def f(x):
        dr.enable_grad(x)
        y = x * x
        dr.forward(x)
        return y
    frozen, _ = counted(f)
    for i in range(3):
        x = numbers(1, i)
        y = frozen(x)
        assert dr.grad_enabled(y) and dr.grad_enabled(x) and dr.allclose(dr.grad(y), 2 * x)


def test_scopes_of_derivatives_are_told_apart():
    def f(x):
        y = Float(x)
        dr.enable_grad(y)
        return y * y
    frozen, _ = counted(f)
    for _ in range(2):
        with dr.suspend_grad():
            assert not dr.grad_enabled(frozen(numbers(1, 2)))
        assert dr.grad_enabled(frozen(numbers(1, 2)))


@pytest.mark.parametrize("make", [lambda: mi.ad.SGD(lr=.1, momentum=.9), lambda: mi.ad.Adam(lr=.1)])
def test_optimizers_step_inside(make):
    def step(opt, target):
        loss = dr.mean(dr.square(opt["x"] - target))
        dr.backward(loss)
        opt.step()
        return loss
    frozen, traces = counted(step)
    a, b = make(), make()
    a["x"] = b["x"] = numbers(1, 2, 3)
    for i in range(8):
        target = numbers(0, i, 1)
        assert dr.allclose(frozen(a, target), step(b, target))
        assert dr.allclose(a["x"], b["x"])
    assert len(traces) <= 2


# ---- what cannot be

@pytest.mark.parametrize("f", [lambda x: x[0], lambda x: float(dr.sum(x)), lambda x: 1 if dr.all(x > 1) else 2, print,
                               lambda x: x.numpy(), lambda x: {}["missing"]])
def test_reading_and_failing_while_recorded_is_a_runtime_error(f):
    frozen, _ = counted(f)
    with pytest.raises(RuntimeError, match="recorded"):
        frozen(numbers(1, 2))
    assert dr.allclose(numbers(1, 2) + 1, numbers(2, 3))  # nothing is left of it


def test_arrays_that_are_no_inputs_are_refused():
    class Hidden: pass
    hidden = Hidden()
    hidden.x = numbers(1, 2)
    read, _ = counted(lambda y: y + hidden.x)
    write, _ = counted(lambda y: dr.scatter(hidden.x, y, dr.arange(UInt, 2)))
    for f in (read, write):
        with pytest.raises(RuntimeError, match="not among its inputs"):
            f(numbers(1, 2))
    with pytest.raises(RuntimeError, match="backend"):
        dr.freeze(lambda: dr.arange(Float, 3))()


def test_frozen_functions_call_frozen_functions():
    inner, inner_traces = counted(lambda x: x * 2)
    outer, outer_traces = counted(lambda x: inner(x) + 1)
    for i in range(3):
        assert dr.allclose(outer(numbers(i, 2)), numbers(i, 2) * 2 + 1)
    assert inner.n_recordings == 0 and len(inner_traces) == len(outer_traces) == 1


# ---- memory

def test_memory_stays_flat():
    def f(x, state):
        y = x + 1
        dr.make_opaque(y)
        state["n"] = state["n"] + dr.sum(y)
        return y * y
    frozen, _ = counted(f)
    state = {"n": Float(0)}
    for i in range(1000):
        frozen(dr.opaque(Float, i, 1000), state)
        if i == 100:
            dr.sync_thread()
            before = dr.memory_stats()["in_use"]
    dr.sync_thread()
    assert dr.memory_stats()["in_use"] <= before + 10_000
    assert frozen.n_recordings <= 3


def test_a_function_that_is_dropped_takes_its_recordings_along():
    def make():
        big = dr.opaque(Float, 1, 1_000_000)

        @dr.freeze
        def f(x): return x + big + f.n_recordings
        f(dr.opaque(Float, 1, 1_000_000))
    make()
    gc.collect()
    dr.sync_thread()
    before = dr.memory_stats()["in_use"]
    make()
    gc.collect()
    dr.sync_thread()
    assert dr.memory_stats()["in_use"] <= before + 100_000


# ---- scenes

def small_box(integrator="path", max_depth=3):
    d = mi.cornell_box()
    d["sensor"]["film"] = {"type": "hdrfilm", "width": 8, "height": 8}
    d["integrator"] = {"type": integrator, "max_depth": max_depth}
    return mi.load_dict(d)


def test_renders_follow_colours_and_seeds():
    scene = small_box()
    f, traces = counted(lambda scene, seed: mi.render(scene, spp=1, seed=seed))
    for i in range(5):
        params = mi.traverse(scene)
        params["red.reflectance.value"] = mi.Color3f(.1 * i, .5, .2)
        params["light.emitter.radiance.value"] = mi.Color3f(1 + i, 2, 3)
        params.update()
        image = f(scene, dr.opaque(UInt, i))
        assert dr.all((image == mi.render(scene, spp=1, seed=i)).array)
    assert len(traces) == 2  # the first one changes the film


def test_renders_follow_what_is_no_value_of_the_program():
    scene = small_box()
    f, _ = counted(lambda scene: mi.render(scene, spp=1))
    f(scene), f(scene)
    params = mi.traverse(scene)
    to_world = params["sensor.to_world"]
    for shift in (0.1, 0.2):
        params["sensor.to_world"] = to_world @ mi.ScalarTransform4f().translate([shift, 0, 0])
        params.update()
        for _ in range(2):
            assert dr.all((f(scene) == mi.render(scene, spp=1)).array)


def test_renders_follow_setters():
    scene = mi.load_dict({"type": "scene", "sky": {"type": "constant"}, "integrator": {"type": "path", "max_depth": 3},
                          "box": {"type": "cube", "to_world": mi.ScalarTransform4f().translate([0, 0, 8])},
                          "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 8, "height": 8}}})
    f, traces = counted(lambda scene: mi.render(scene, spp=1))
    box = scene.shapes()[0]
    colour = {"type": "mesh_attribute", "name": "face_color"}
    steps = [lambda: None,
             lambda: setattr(scene.integrator(), "hide_emitters", True),
             lambda: setattr(scene.integrator(), "hide_emitters", False),
             lambda: box.set_bsdf(mi.load_dict({"type": "conductor"})),
             lambda: box.add_attribute("face_color", 3, [.5] * (3 * box.face_count())),
             lambda: box.set_bsdf(mi.load_dict({"type": "diffuse", "reflectance": colour})),
             lambda: box.remove_attribute("face_color") or box.add_attribute("face_color", 3, [.1] * (3 * box.face_count()))]
    for step in steps:
        step()
        for _ in range(2):
            image = f(scene)
            assert dr.all((image == mi.render(scene, spp=1)).array), len(traces)
    count = len(traces)
    f(scene), f(scene)
    assert len(traces) == count


def test_films_show_what_was_replayed():
    scene = small_box()
    f, _ = counted(lambda scene, seed: mi.render(scene, spp=1, seed=seed))
    for i in range(4):
        image = f(scene, dr.opaque(UInt, i))
        assert np.allclose(np.array(scene.sensors()[0].film().bitmap()), image.numpy())


def test_gradients_of_images_reach_optimizers():
    key = "red.reflectance.value"

    def loss_of(scene, target):
        params = mi.traverse(scene)
        params.keep([key])
        image = mi.render(scene, params, spp=1)
        loss = dr.mean(dr.square(image - target), axis=None)
        dr.backward(loss)
        return loss

    def run(f):
        scene = small_box("prb")
        target = mi.render(scene, spp=4)
        params = mi.traverse(scene)
        opt = mi.ad.Adam(lr=.05)
        opt[key] = mi.Color3f(.01, .2, .9)
        for _ in range(5):
            params.update(opt)
            f(scene, target)
            opt.step()
        return opt[key]

    frozen, traces = counted(loss_of)
    assert dr.allclose(run(loss_of), run(frozen))
    assert len(traces) <= 2


def test_parameters_are_updated_inside():
    key = "red.reflectance.value"

    def step(scene, opt, target):
        params = mi.traverse(scene)
        params.update(opt)
        image = mi.render(scene, params, spp=1)
        dr.backward(dr.mean(dr.square(image - target), axis=None))
        opt.step()
        return image

    def run(f):
        scene = small_box("prb")
        target = mi.render(scene, spp=4)
        opt = mi.ad.SGD(lr=.5)
        opt[key] = mi.Color3f(.01, .2, .9)
        for _ in range(5):
            image = f(scene, opt, target)
        return opt[key], mi.traverse(scene)[key], image.array

    frozen, traces = counted(step)
    for a, b in zip(run(step), run(frozen)):
        assert dr.allclose(a, b)
    assert len(traces) <= 3


def test_objects_of_scenes_are_inputs():
    bsdf = mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [.1, .2, .3]}})

    def f(bsdf, wo):
        si = dr.zeros(mi.SurfaceInteraction3f)
        si.wi = mi.Vector3f(0, 0, 1)
        return bsdf.eval(mi.BSDFContext(), si, wo, True)
    frozen, traces = counted(f)
    for i in range(4):
        params = mi.traverse(bsdf)
        params["reflectance.value"] = mi.Color3f(.1, .2 * i, .3)
        params.update()
        wo = mi.Vector3f(0, dr.opaque(mi.Float, .1 * i, 4), 1)
        assert dr.allclose(frozen(bsdf, wo), f(bsdf, wo))
    assert frozen.n_recordings == 1


def test_interactions_bring_their_scene_along():
    scenes = [small_box(), mi.load_dict({"type": "scene", "ball": {"type": "sphere", "bsdf": {
        "type": "diffuse", "reflectance": {"type": "rgb", "value": [.1, .2, .3]}}}})]

    def f(si):
        wo = mi.Vector3f(0, 0, 1)
        return si.bsdf().eval(mi.BSDFContext(), si, wo), si.p * 2
    frozen, traces = counted(f)
    for i in range(4):
        ray = mi.Ray3f(mi.Point3f(0, 0, 3), mi.Vector3f(dr.opaque(mi.Float, .01 * i, 5), 0, -1))
        si = scenes[i % 2].ray_intersect(ray)
        for a, b in zip(frozen(si), f(si)):
            assert dr.allclose(a, b)
    assert len(traces) == 2


def test_samplers_go_on_in_replays():
    f, traces = counted(lambda sampler: sampler.next_2d())
    a, b = (mi.load_dict({"type": "independent"}) for _ in range(2))
    a.seed(3, 5), b.seed(3, 5)
    for _ in range(6):
        assert dr.allclose(f(a), b.next_2d())
    assert len(traces) <= 2


def test_textures_are_inputs():
    f, traces = counted(lambda tex, x: tex.eval(x))
    for i in range(3):
        tex = Texture1f(TensorXf(numbers(0, i), (2, 1)))
        x = dr.arange(Float, 5) / 4 + dr.opaque(Float, 0)
        assert dr.allclose(f(tex, x)[0], tex.eval(x)[0])
    assert len(traces) == 1


def test_paths_of_light_are_frozen_up_to_a_depth():
    scene = small_box("ptracer", 4)
    f, traces = counted(lambda s, seed: mi.render(s, spp=2, seed=seed))
    for seed in (1, 2, 3):
        assert dr.allclose(f(scene, dr.opaque(UInt, seed)), mi.render(scene, spp=2, seed=seed))
    assert len(traces) <= 2
    with pytest.raises(RuntimeError, match="give max_depth"):
        dr.freeze(lambda s: mi.render(s, spp=1))(small_box("ptracer", -1))
