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
