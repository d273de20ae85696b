# tests/python/package_test.py: what the package offers: stubs, documentation, names, a clean end.
import inspect
import os
import subprocess
import sys

import umbel
import umbel.jit as dr

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_stubs_list_the_classes():
    script = os.path.join(ROOT, "python", "tools", "make_stubs.py")
    r = subprocess.run([sys.executable, script, "--check"])
    assert r.returncode == 0, "run ./umbel python python/tools/make_stubs.py"


def test_functions_say_what_they_do():
    silent = [n for n, f in vars(dr).items() if inspect.isfunction(f) and not n.startswith("_")
              and not f.__doc__ and len(inspect.getsource(f).splitlines()) > 4]
    assert not silent


def test_importing_needs_nothing_but_the_standard_library():
    code = "import sys, umbel; umbel.set_variant('llvm_rgb'); print('numpy' in sys.modules)"
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.strip() == "False", r.stderr


def test_a_process_ends_without_leaks_or_messages():
    code = ("import umbel.jit as dr\nfrom umbel.jit.auto import *\nx = dr.arange(Float, 100)\ndr.enable_grad(x)\n"
            "y = dr.sum(dr.sin(x))\ndr.backward(y)\nz = x.grad.numpy()\nkept = [x, y, z]\n")
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert r.returncode == 0 and r.stderr == "" and r.stdout == ""


def test_objects_do_not_accumulate():
    import gc
    import resource
    from umbel.jit.auto import Array3f, Float, UInt

    def work():
        for _ in range(300):
            a = dr.arange(Float, 10) + 1
            v = Array3f(a, 2, 3)
            dr.enable_grad(v)
            y = dr.norm(v * v) + dr.gather(Float, a, UInt(1))
            dr.backward(y)
            dr.select(a > 2, {"p": a}, {"p": a * 2})
    work()
    gc.collect()
    nodes, objects = umbel._core.live_nodes(), len(gc.get_objects())
    work()
    gc.collect()
    assert abs(umbel._core.live_nodes() - nodes) < 20 and len(gc.get_objects()) - objects < 50
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 << 20


def test_errors_of_kernels_are_exceptions():
    import pytest
    from umbel.jit.auto import UInt
    i = dr.arange(UInt, 4)
    umbel._core.assert_lanes(i < 3, "the index is too large", None)
    with pytest.raises(dr.UserError, match="the index is too large"):
        dr.eval(i + 1)
        dr.sync_thread()
    assert list(dr.arange(UInt, 3) + 1) == [1, 2, 3]


def test_variants_of_mitsuba_that_are_scalar_have_numbers_of_python():
    before = umbel.variant()
    with umbel.set_variant("cuda_ad_rgb", "scalar_rgb"):
        assert umbel.variant() == "scalar_rgb" and umbel.Float is float and umbel.UInt32 is int
        bsdf = umbel.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.2, 0.4, 0.6]}})
        si = dr.zeros(umbel.SurfaceInteraction3f)
        si.wi = [0, 0, 1]
        assert dr.allclose(bsdf.eval(umbel.BSDFContext(), si, [0, 0, 1]), [0.2 / dr.pi, 0.4 / dr.pi, 0.6 / dr.pi])
    assert umbel.variant() == before and umbel.Float is not float


def test_all_names_that_are_listed_can_be_had():
    assert "Vector3f" in dir(umbel) and [] == [name for name in dir(umbel) if not hasattr(umbel, name)]
