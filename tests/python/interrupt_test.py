# tests/python/interrupt_test.py: Ctrl-C stops a render, and the process goes on.
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

SCRIPT = """
import sys
import umbel as mi
mi.set_variant(sys.argv[1])
scene = mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "light": {"type": "constant"},
                      "ball": {"type": "sphere"}, "sensor": {"type": "perspective", "fov": 30,
                      "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                      "film": {"type": "hdrfilm", "width": 64, "height": 64}}})
before = mi.render(scene, spp=4, seed=1).numpy()
try:
    print("ready", flush=True)
    while True:
        mi.render(scene, spp=1 << 16)
except KeyboardInterrupt:
    after = mi.render(scene, spp=4, seed=1).numpy()
    print("stopped", (before == after).all(), flush=True)
"""


def test_an_interrupt_stops_a_render_and_later_ones_are_right(variant):
    child = subprocess.Popen([sys.executable, "-B", "-c", SCRIPT, variant], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert out == "stopped True\n" and child.returncode == 0, err


CANCELLED = """
import sys, threading, time
import umbel as mi
mi.set_variant(sys.argv[1])
scene = mi.load_dict({"type": "scene", "integrator": {"type": "path"}, "light": {"type": "constant"},
                      "ball": {"type": "sphere"}, "sensor": {"type": "perspective", "fov": 30,
                      "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                      "film": {"type": "hdrfilm", "width": 64, "height": 64}}})
integrator = scene.integrator()
threading.Timer(.2, integrator.cancel).start()
image = mi.render(scene, spp=1 << 20).numpy()  # would take minutes
print(integrator.should_stop(), 0 < image.mean() < 1.1, flush=True)
mi.render(scene, spp=4).numpy()
print(integrator.should_stop())
"""


def test_another_thread_cancels_a_render(variant):
    r = subprocess.run([sys.executable, "-B", "-c", CANCELLED, variant], capture_output=True, text=True, timeout=300)
    assert r.stdout == "True True\nFalse\n", r.stderr


@contextlib.contextmanager
def cancelling(integrator):
    """Again and again, as a render that only begins would not hear it."""
    done = threading.Event()

    def work():
        while not done.wait(.05):
            integrator.cancel()
    t = threading.Thread(target=work)
    t.start()
    try:
        yield
    finally:
        done.set()
        t.join()


def small_scene(integrator):
    return mi.load_dict({"type": "scene", "integrator": {"type": integrator}, "light": {"type": "point", "position": [3, 3, 5]},
                         "ball": {"type": "sphere", "bsdf": {"type": "diffuse"}},
                         "sensor": {"type": "perspective", "fov": 30,
                                    "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                                    "film": {"type": "hdrfilm", "width": 64, "height": 64}}})


def test_another_thread_cancels_light_tracing(variant):
    scene = small_scene("ptracer")
    mi.render(scene, spp=1).numpy()
    with cancelling(scene.integrator()):
        image = mi.render(scene, spp=1 << 20).numpy()  # would take many minutes
    assert scene.integrator().should_stop() and np.isfinite(image).all()


def test_another_thread_cancels_a_derivative_which_is_an_error(variant):
    scene = small_scene("prb")
    params = mi.traverse(scene)
    key = "ball.bsdf.reflectance.value"
    dr.enable_grad(params[key])
    params.update()
    gradient = dr.ones(mi.TensorXf, (64, 64, 3))
    with cancelling(scene.integrator()), pytest.raises(dr.UserError, match="was told to stop"):
        scene.integrator().render_backward(scene, params, gradient, spp=1 << 20)


def test_threads_that_use_arrays_meanwhile_wait_for_the_derivative(variant):
    # Its gradients are on a tape that all threads share
    def derivative():
        scene = small_scene("prb")
        params = mi.traverse(scene)
        key = "ball.bsdf.reflectance.value"
        gradient = dr.ones(mi.TensorXf, (64, 64, 3))
        dr.enable_grad(params[key])
        params.update()
        scene.integrator().render_backward(scene, params, gradient, spp=1024)
        return np.array(dr.grad(params[key]))
    want, sums = derivative(), []

    def adds():
        x = dr.arange(mi.Float, 100)
        dr.enable_grad(x)
        dr.backward(dr.sum(x * x))
        sums.append(dr.sum(dr.grad(x))[0])
    other = threading.Thread(target=lambda: [adds() for _ in range(20)])
    other.start()
    found = derivative()
    other.join()
    assert np.array_equal(want, found) and sums == [9900] * 20


WAITING = """
import os, sys, time
import umbel as mi, umbel.jit as dr
mi.set_variant(sys.argv[1])

def count(steps, lanes):
    return dr.while_loop((dr.zeros(mi.UInt, lanes) + dr.arange(mi.UInt, lanes) * 0, dr.arange(mi.Float, lanes)),
                         lambda i, x: i < steps, lambda i, x: (i + 1, dr.cos(x) + 1))[1]

brief = count(2000, 4096)
dr.eval(brief)
endless = count(6000, 1 << 22)  # many seconds
try:
    print("ready", time.monotonic(), flush=True)
    endless.numpy()
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
print(len(brief), flush=True)
"""


def test_an_interrupt_is_heard_while_an_array_is_waited_for(variant):
    if variant != "llvm_rgb":
        pytest.skip("one variant will do")
    child = subprocess.Popen([sys.executable, "-B", "-c", WAITING, variant], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().startswith("ready")
        time.sleep(1)  # compiling, then waiting
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        stopped, length = child.stdout.readline().split(), child.stdout.readline()
        child.send_signal(signal.SIGINT)  # the kernel goes on, and the end of the process waits for it unless told otherwise
        child.wait(timeout=30)
    finally:
        child.kill()
    assert stopped[0] == "stopped" and float(stopped[1]) - begin < 0.3
    assert length == "4096\n"


LONG = """
import sys, time
import umbel as mi
mi.set_variant(sys.argv[1])
scene = mi.load_dict({"type": "scene", "integrator": {"type": "path", "max_depth": 20000, "rr_depth": 20000},
                      "sensor": {"type": "perspective", "film": {"type": "hdrfilm", "width": 256, "height": 256}},
                      "room": {"type": "sphere", "bsdf": {"type": "twosided", "b": {"type": "diffuse", "reflectance":
                      {"type": "rgb", "value": [1, 1, 1]}}}}})
try:
    print("ready", flush=True)
    mi.render(scene, spp=16)
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
"""


LONG_BOUNCES = LONG.replace('"room"', '"lamp": {"type": "point"}, "room"').replace('"path"', '"ptracer"')
LONG_DERIVATIVE = LONG.replace('"path"', '"prb"').replace("    mi.render(scene, spp=16)", """
    import umbel.jit as dr
    params = mi.traverse(scene)
    key = next(k for k in params.keys() if k.endswith("reflectance.value"))
    dr.enable_grad(params[key])
    params.update()
    scene.integrator().render_backward(scene, params, dr.ones(mi.TensorXf, (256, 256, 3)), spp=64)
""")


@pytest.mark.parametrize("script", [LONG, LONG_BOUNCES, LONG_DERIVATIVE], ids=["path", "ptracer", "derivative"])
def test_an_interrupt_does_not_wait_for_a_long_launch(variant, script):
    if variant != "interp_rgb":
        pytest.skip("the one in which launches are long, and nothing is compiled")
    child = subprocess.Popen([sys.executable, "-B", "-c", script, variant], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(2)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        stopped = child.stdout.readline().split()
    finally:
        child.kill()
    assert stopped[0] == "stopped" and float(stopped[1]) - begin < 0.3


COMPILING = """
import sys, time
import umbel as mi, umbel.jit as dr
mi.set_variant(sys.argv[1])
x, total = dr.arange(mi.Float, 1000) + dr.opaque(mi.Float, 0), dr.zeros(mi.Float, 1)
for i in range(12000):  # many seconds to compile
    x = dr.cos(x) + (i % 7) / 7
dr.scatter_reduce(dr.ReduceOp.Add, total, x, dr.zeros(mi.UInt, 1000))
print("ready", flush=True)
"""
CAUGHT = """
try:
    dr.eval(x)
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
import numpy as np
expected = np.arange(1000, dtype=np.float64)
for i in range(12000):
    expected = np.cos(expected) + (i % 7) / 7
print(np.abs(x.numpy() - expected).max() < 1e-3, abs(total[0] / expected.sum() - 1) < 1e-4, flush=True)
"""


def interrupted(script, variant):
    """A process that got Ctrl-C while it compiled, and when that was."""
    child = subprocess.Popen([sys.executable, "-B", "-c", script, variant], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "UMBEL_CACHE": ""})
    assert child.stdout.readline() == "ready\n"
    time.sleep(.5)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    return child, begin


def test_an_interrupt_does_not_wait_for_the_compiler_and_nothing_is_lost(variant):
    if variant != "llvm_rgb":
        pytest.skip("the one that compiles for long")
    child, begin = interrupted(COMPILING + CAUGHT, variant)
    try:
        word, when = child.stdout.readline().split()
        rest, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert word == "stopped" and float(when) - begin < 0.3
    assert rest == "True True\n" and child.returncode == 0, err


def test_the_end_of_a_process_does_not_wait_for_the_compiler(variant):
    if variant != "llvm_rgb":
        pytest.skip("the one that compiles for long")
    child, begin = interrupted(COMPILING + "dr.eval(x)", variant)
    try:
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert time.monotonic() - begin < 2 and "KeyboardInterrupt" in err, err
    assert child.returncode == -signal.SIGINT


HANDLED = """
import signal
signal.signal(signal.SIGINT, lambda *args: print("heard", flush=True))
dr.eval(x)
print(len(x.numpy()), flush=True)
"""


def test_a_handler_of_the_script_runs_when_the_kernel_is_compiled(variant):
    if variant != "llvm_rgb":
        pytest.skip("the one that compiles for long")
    child, _ = interrupted(COMPILING + HANDLED, variant)
    try:
        out, err = child.communicate(timeout=300)
    finally:
        child.kill()
    assert out == "heard\n1000\n" and child.returncode == 0, err
