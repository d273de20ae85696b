# tests/python/faults_test.py: rays that nobody can follow, and lack of memory, in scripts.
import math
import subprocess
import sys
import textwrap

import pytest

import umbel as mi
import umbel.jit as dr

SCENE = """
import umbel as mi, umbel.jit as dr
mi.set_variant({variant!r})
scene = mi.load_dict({{"type": "scene", "integrator": {{"type": "path"}}, "light": {{"type": "constant"}}, "ball": {{"type": "sphere"}},
                      "sensor": {{"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 0, 5], [0, 0, 0], [0, 1, 0]),
                                 "film": {{"type": "hdrfilm", "width": 16, "height": 16}}}}}})
"""


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e25])
def test_rays_that_nobody_can_follow_hit_nothing(variant, bad):
    scene = mi.load_dict({"type": "scene", "ball": {"type": "sphere"}})
    ray = mi.Ray3f(mi.Point3f([0, bad, .1], 0, 5), mi.Vector3f(0, 0, -1))
    t = scene.ray_intersect(ray).t
    assert t[0] == pytest.approx(4, abs=1e-5) and t[1] == math.inf and 4 < t[2] < 4.1
    assert list(scene.ray_test(ray)) == [True, False, True]


LACKS_MEMORY = SCENE + """
import resource
before = mi.render(scene, spp=4, seed=1).numpy()
kept = dr.arange(mi.Float, 1000) + 1
dr.eval(kept)
target = dr.zeros(mi.Float, 4)
dr.eval(target)
large = mi.load_dict({{"type": "scene", "integrator": {{"type": "path"}}, "light": {{"type": "constant"}},
                      "sensor": {{"type": "perspective", "film": {{"type": "hdrfilm", "width": 20000, "height": 20000}}}}}})
taken = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
limits = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (taken + (400 << 20), limits[1]))
dr.scatter_add(target, mi.Float(1), dr.arange(mi.UInt, 4))  # must not be lost with what fails
for attempt in (lambda: dr.arange(mi.Float, 1 << 29) * 2, lambda: mi.render(large, spp=1), lambda: dr.arange(mi.UInt, 1 << 31) + 1):
    try:
        v = attempt()
        dr.eval(v)
        dr.sync_thread()
        print("there was enough")
    except (MemoryError, dr.DeviceError) as e:
        print("error:", e)
    v = None
resource.setrlimit(resource.RLIMIT_DATA, limits)
print((mi.render(scene, spp=4, seed=1).numpy() == before).all(), dr.sum(kept), target)
"""


def test_lack_of_memory_leaves_arrays_and_scenes_intact(variant):
    r = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent(LACKS_MEMORY.format(variant=variant))],
                       capture_output=True, text=True, timeout=600)
    lines = r.stdout.splitlines()
    assert r.returncode == 0, r.stdout + r.stderr
    assert lines[-1] == "True [500500] [1, 1, 1, 1]", r.stdout
    assert len(lines) == 4 and all(s.startswith("error: ") and "memory" in s for s in lines[:3]), r.stdout
