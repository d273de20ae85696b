# tests/python/interrupt_test.py: Ctrl-C stops a render, and the process goes on.
import signal
import subprocess
import sys

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
