# tests/python/command_test.py: what the script ./umbel makes of its parts: a tree with programs in the place of CMake, Ninja and CTest.
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python/tools"))
import check_package  # noqa: E402


@pytest.fixture(autouse=True, params=["any"])
def variant():  # nothing is rendered here
    pass


@pytest.fixture
def tree(tmp_path):
    """The script, in a tree where all is built."""
    for folder in ("cmake", "src", "tests/ptx", "build/release", "build/ptxas/nvidia/cuda_nvcc/bin", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "umbel", tmp_path)
    (tmp_path / "CMakePresets.json").touch()
    for group in ("build", "python"):
        (tmp_path / f"build/.packages-{group}").write_text("one\n")
    (tmp_path / "cmake/packages.txt").write_text("build one\npython one\n")
    (tmp_path / "build/python-venv.stamp").write_text("failed\n")
    (tmp_path / "build/release/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\n")
    (tmp_path / "build/release/build.ninja").touch()
    program(tmp_path / "bin/ninja", "exit 0")
    program(tmp_path / "build/ptxas/nvidia/cuda_nvcc/bin/ptxas", "exit 0")
    return tmp_path


def program(path, text):
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)


# Tests fail without Embree, or at all; the log is what `ctest --rerun-failed` reads
CTEST = """
case "$*" in
*--rerun-failed*) echo "again ${UMBEL_ACCELERATOR-embree}" >>"$LOG"; exit $AGAIN ;;
*) echo "first ${UMBEL_ACCELERATOR-embree}" >>"$LOG"
   mkdir -p "$RESULTS"; [ $FIRST = 0 ] || echo "1:some.test" >"$RESULTS/LastTestsFailed.log"; exit $FIRST ;;
esac
"""


def run_ptxas(tree, first, again, assembler):
    program(tree / "bin/ctest", CTEST)
    (tree / "tests/ptx/assemble.py").write_text(f"raise SystemExit({assembler})\n")
    log = tree / "log"
    environment = dict(os.environ, PATH=f"{tree / 'bin'}:{os.environ['PATH']}", FIRST=str(first), AGAIN=str(again), LOG=str(log), CI="",
                       RESULTS=str(tree / "build/release/Testing/Temporary"))
    run = subprocess.run(["bash", tree / "umbel", "test", "--ptxas", "Some"], env=environment, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stderr, log.read_text().split("\n")[:-1]


def test_assembling_kernels_fails_where_tests_or_the_assembler_do(tree):
    assert run_ptxas(tree, 0, 0, 0)[::2] == (0, ["first bvh"])
    (tree / "log").unlink()
    assert run_ptxas(tree, 8, 0, 0)[::2] == (0, ["first bvh", "again embree"])  # a test that looks at Embree
    code, said, _ = run_ptxas(tree, 8, 8, 0)
    assert code == 1 and "testing (release) failed" in said
    code, said, _ = run_ptxas(tree, 0, 0, 1)
    assert code == 1 and "assembling kernels failed" in said


@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
def test_packages_say_what_they_need_and_how_large_they_are(tmp_path):
    import umbel
    folder = tmp_path / "packed"
    folder.mkdir()
    library = folder / "library.so"
    shutil.copy(umbel._core.__file__, library)
    (folder / "notes.txt").write_text("no program")
    archive = tmp_path / "packed.tar.xz"
    archive.write_bytes(b"x" * 200_000)
    any_version = {"glibc": "99.1", "libstdcxx": "99.1"}
    needed = check_package.versions_needed(library)
    assert check_package.numbers(needed["glibc"]) >= (2, 2, 5)
    assert check_package.problems(archive, folder, 1, any_version)[0] == []
    found, facts = check_package.problems(archive, folder, 0.1, any_version)
    assert len(found) == 1 and "has 0.2 MB, and 0.1 are the most" in found[0] and f"glibc {needed['glibc']}" in facts
    found, _ = check_package.problems(archive, folder, 1, {**any_version, "glibc": "2.2"})
    assert len(found) == 1 and f"library.so needs glibc {needed['glibc']}, and 2.2 is the latest" in found[0]
    library.unlink()
    assert "has no programs" in check_package.problems(archive, folder, 1, any_version)[0][0]
