# tests/python/ptx_test.py: programs become PTX that NVIDIA's assembler accepts; no GPU is needed for that.
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/ptx"))
from assemble import ARCHITECTURES, assemble, distinct  # noqa: E402

SCENES = ROOT / "scenes"
PTXAS = ROOT / "build/ptxas/nvidia/cuda_nvcc/bin/ptxas"  # `./umbel test` sees to that

ARRAYS = """
import umbel.jit as dr
from umbel.jit import interp as m

kinds = [m.Int8, m.UInt8, m.Int32, m.UInt32, m.Int64, m.UInt64, m.Float16, m.Float, m.Float64]
for T in kinds:
    a, b = dr.arange(T, 40), dr.opaque(T, 3)
    results = [a + b, a * b, a - b, dr.minimum(a, b), dr.maximum(a, b), a < b, -a, abs(a), dr.fma(a, b, a), m.Bool(a)]
    if dr.is_float_v(T):
        results += [f(a) for f in (dr.sqrt, dr.rsqrt, dr.rcp, dr.floor, dr.ceil, dr.round, dr.trunc, dr.sin, dr.cos, dr.tan,
                                   dr.exp, dr.exp2, dr.log, dr.log2, dr.asin, dr.acos, dr.atan, dr.sinh, dr.tanh, dr.cbrt,
                                   dr.erf, dr.erfinv, dr.lgamma)]
        results += [dr.power(a, b), dr.atan2(a, b), a / b]
    else:
        results += [a // b, a % b, a & b, a | b, a ^ b, a << b, a >> b, ~a, dr.popcnt(a), dr.lzcnt(a), dr.tzcnt(a)]
    results += [S(a) for S in kinds]
    for r in results:
        dr.eval(r)
    dr.eval(*results)
    target = dr.zeros(T, 8)
    for op in (dr.ReduceOp.Add, dr.ReduceOp.Mul, dr.ReduceOp.Min, dr.ReduceOp.Max):
        i = dr.arange(m.UInt32, 40)
        def body(k):
            dr.scatter_reduce(op, target, dr.gather(T, a, i), i % 8)
            return (k + 1,)
        dr.while_loop((m.UInt32(i % 3),), lambda k: k < 4, body)
        dr.eval(target)
"""

def run(folder, *arguments):
    environment = dict(os.environ, UMBEL_PTX_FOLDER=str(folder), UMBEL_CACHE="")
    subprocess.run([sys.executable, *arguments], env=environment, check=True, timeout=300)


def assembled(folder, count):
    """Each for one of the architectures, in turn; `./umbel test --ptxas` has all kernels of all tests assembled for all of them."""
    files = distinct(folder)
    assert len(files) >= count
    for number, (name, file) in enumerate(files.items()):
        _, refused = assemble(PTXAS, {name: file}, [ARCHITECTURES[number % len(ARCHITECTURES)]])
        assert not refused, f"{refused[0]}\n{file.read_text()[:2000]}"


@pytest.fixture(autouse=True, params=["any"])
def variant():  # the processes that tests start have their own
    if not PTXAS.exists():
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")


def test_operations_of_all_types_are_assembled(tmp_path):
    run(tmp_path, "-c", ARRAYS)
    assembled(tmp_path, 100)


@pytest.mark.parametrize("colour", ["rgb", "spectral"])
def test_kernels_of_renders_are_assembled(tmp_path, colour, monkeypatch):
    monkeypatch.setenv("UMBEL_ACCELERATOR", "bvh")  # functions of the host are not there on GPUs
    for name in ("cbox", "glass", "metals", "principled"):
        for precision in ("", "_double"):
            run(tmp_path, "-m", "umbel", "render", SCENES / f"{name}.xml", "--size", "4x4", "--spp", "1", "--variant",
                f"interp_{colour}{precision}", "-o", tmp_path / "image.exr", "-q")
    assembled(tmp_path, 8)


def test_kernels_of_random_programs_are_assembled(tmp_path):
    run(tmp_path, "-m", "umbel", "selftest", "--variant", "interp_mono", "--programs", "12")
    assembled(tmp_path, 30)


def test_what_the_assembler_refuses_is_told(tmp_path):
    run(tmp_path, "-c", "import umbel.jit as dr; dr.eval(dr.arange(dr.interp.Float, 3) + 1)")
    (name, file), *_ = distinct(tmp_path).items()
    again = file.with_name("other.ptx")
    again.write_text(file.read_text().replace(file.stem, "other"))
    assert list(distinct(tmp_path)) == [name]  # which differs in its name alone
    again.write_text(again.read_text().replace("add.", "bad."))
    accepted, refused = assemble(PTXAS, distinct(tmp_path), ["sm_80"], jobs=2)
    assert accepted == [(name, "sm_80")] and len(refused) == 1 and "other.ptx" in refused[0] and "bad" in refused[0]
