# tests/python/assemble_test.py: tests/ptx/assemble.py, with a script in the place of NVIDIA's assembler.
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "tests/ptx/assemble.py"
PTXAS = """#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$1 $3" >>"$CALLS"
if grep -q bad "$3"; then echo "what is bad?" >&2; exit 255; fi
"""


@pytest.fixture(autouse=True, params=["any"])
def variant():  # nothing is rendered here
    pass


@pytest.fixture
def folder(tmp_path):
    """The script alone, an assembler that lost its right to run on the way, and kernels."""
    shutil.copy(SCRIPT, tmp_path)
    (tmp_path / "ptxas").write_text(PTXAS)
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for name, text in (("kernel_1", "add"), ("kernel_2", "add"), ("kernel_3", "mul")):
        (kernels / f"{name}.ptx").write_text(f".entry {name} {text}")
    return tmp_path


def run(folder, *arguments):
    calls = folder / "calls"
    calls.write_text("")
    r = subprocess.run([sys.executable, "-I", "assemble.py", "kernels", "--ptxas", "ptxas", "--jobs", "3", *arguments], cwd=folder,
                       env=dict(os.environ, CALLS=str(calls)), capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout + r.stderr, sorted(calls.read_text().splitlines())


def test_equal_kernels_are_assembled_once_for_each_architecture(folder):
    code, said, calls = run(folder, "--arch", "sm_70,sm_90")
    assert code == 0 and "2 kernels for sm_70, sm_90: 4 assembled, 0 refused" in said, said
    assert calls == [f"-arch={a} kernels/kernel_{k}.ptx" for a in ("sm_70", "sm_90") for k in (1, 3)]
    code, said, calls = run(folder)  # of which sm_80 is new
    assert code == 0 and "6 assembled" in said and len(calls) == 2


def test_what_is_refused_is_told_and_fails(folder):
    (folder / "kernels/kernel_4.ptx").write_text("bad")
    code, said, _ = run(folder, "--arch", "sm_80")
    assert code == 1 and "kernel_4.ptx for sm_80: what is bad?" in said and "2 assembled, 1 refused" in said
    code, said, calls = run(folder, "--arch", "sm_80")  # the others are known
    assert code == 1 and len(calls) == 1


def test_an_assembler_that_is_not_there_or_does_not_start_is_named(folder):
    (folder / "ptxas").write_text("#!/bin/sh\nexit 3\n")
    code, said, _ = run(folder)
    assert code == 1 and "does not start here" in said
    (folder / "ptxas").unlink()
    code, said, _ = run(folder)
    assert code == 1 and "ptxas: there is no such file" in said
