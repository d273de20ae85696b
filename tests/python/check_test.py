# tests/python/check_test.py: UMBEL_BACKEND=check names lines of scripts.
import os
import subprocess
import sys

import pytest

SCRIPT = """\
import sys
import umbel as mi, umbel.jit as dr
mi.set_variant(sys.argv[1])
table, index = dr.arange(mi.Float, 4) + 1, dr.arange(mi.UInt, 6)
dr.eval(table)
def show(what):
    try:
        what()
        print("nothing")
    except Exception as e:
        print(type(e).__name__, e, flush=True)
def far(i):
    return dr.gather(mi.Float, table, i)  # 1
def gathers():
    near = dr.gather(mi.Float, table, index & 3)
    dr.eval(near + far(index))
def scatters():
    dr.scatter(table, mi.Float(1), index)  # 2
    dr.eval(table)
    dr.sync_thread()
def sums():
    dr.scatter_add(table, mi.Float(1), index)  # 3
    dr.eval(table)
    dr.sync_thread()
def loops():
    def body(i, x):
        return i + 1, x + dr.gather(mi.Float, table, i)  # 4
    dr.while_loop((dr.opaque(mi.UInt, 0), dr.opaque(mi.Float, 0)), lambda i, x: i < 5, body)[1].numpy()
for what in (gathers, scatters, sums, loops):
    show(lambda: (what(), dr.sync_thread()))
show(lambda: dr.eval(table + 1))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "lines.py"
    path.write_text(SCRIPT)
    return path


def test_accesses_out_of_range_are_named_by_their_lines(variant, script):
    if variant != "llvm_rgb":
        pytest.skip("one variant will do: all of them are checked by the same backend")
    r = subprocess.run([sys.executable, "-B", str(script), variant], capture_output=True, text=True, timeout=300,
                       env={**os.environ, "UMBEL_BACKEND": "check"})
    lines = r.stdout.splitlines()
    assert len(lines) == 5, r.stdout + r.stderr
    for mark, line, op in zip((1, 2, 3, 4), lines, ("Gather", "Scatter", "Scatter", "Gather")):
        number = SCRIPT[:SCRIPT.index(f"  # {mark}")].count("\n") + 1
        assert f"{script}:{number}: " in line and "index 4 is out of range" in line and op in line, line
    assert lines[4] == "nothing"
