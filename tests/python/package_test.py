# tests/python/package_test.py: what the package offers: stubs, documentation, names, a clean end.
import inspect
import os
import pydoc
import re
import subprocess
import sys

import pytest

import umbel
import umbel.jit as dr

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def public(module):
    return {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}


def test_type_checkers_know_what_scripts_use(variant):
    """A script with its types written down, and the stubs themselves."""
    pytest.importorskip("mypy")
    if variant != "llvm_rgb":
        pytest.skip("stubs are the same for all variants")
    script = os.path.join(ROOT, "tests", "python", "typed_script.py")
    package = os.path.dirname(umbel._core.__file__)
    stubs = [os.path.join(package, name) for name in ("__init__.pyi", "_core.pyi", "jit/__init__.pyi", "jit/auto.pyi")]
    r = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", os.devnull, script, *stubs],
                       capture_output=True, text=True, cwd=os.path.dirname(package))
    assert r.returncode == 0, r.stdout + r.stderr


def test_types_of_all_functions_are_written_down():
    sys.path.insert(0, os.path.join(ROOT, "python", "tools"))
    import types_table
    functions = {n for n, f in public(dr).items() if callable(f) and not isinstance(f, type)}
    assert functions - set(types_table.read()) - {"ArrayT"} == set()


def test_everything_public_says_what_it_is():
    modules = [umbel, dr, *(m for m in public(umbel).values() if inspect.ismodule(m) and m.__name__.startswith("umbel."))]
    silent = [f"{m.__name__}.{n}" for m in modules for n, f in public(m).items()
              if (inspect.isroutine(f) or isinstance(f, type)) and f.__module__.startswith("umbel") and not f.__doc__]
    assert silent == []


def test_help_shows_functions_as_what_they_are():
    text = pydoc.render_doc(dr.sin, renderer=pydoc.plaintext)
    assert text.startswith("Python Library Documentation: built-in function sin in module umbel.jit\n")
    assert "sin(x, /)" in text and "radians" in text
    assert list(inspect.signature(dr.atan2).parameters) == ["y", "x"]


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
    wanted = [] if dr.has_backend(dr.JitBackend.CUDA) else ["cuda_ad_rgb"]  # the first that is there is taken
    with umbel.set_variant(*wanted, "scalar_rgb"):
        assert umbel.variant() == "scalar_rgb" and umbel.Float is float and umbel.UInt32 is int
        bsdf = umbel.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.2, 0.4, 0.6]}})
        si = dr.zeros(umbel.SurfaceInteraction3f)
        si.wi = [0, 0, 1]
        assert dr.allclose(bsdf.eval(umbel.BSDFContext(), si, [0, 0, 1]), [0.2 / dr.pi, 0.4 / dr.pi, 0.6 / dr.pi])
    assert umbel.variant() == before and umbel.Float is not float


def test_all_names_that_are_listed_can_be_had():
    assert "Vector3f" in dir(umbel) and [] == [name for name in dir(umbel) if not hasattr(umbel, name)]


def test_the_readme_links_every_page_of_the_manual():
    with open(os.path.join(ROOT, "README.md")) as f:
        readme = f.read()
    for page in os.listdir(os.path.join(ROOT, "docs")):
        assert not page.endswith(".md") or f"(docs/{page})" in readme, page


def test_the_manual_lists_all_lessons():
    with open(os.path.join(ROOT, "docs", "python.md")) as f:
        listed = re.findall(r"^\| \[(\w+)\]\(../examples/python/\1\.py\) \|", f.read(), re.M)
    assert sorted(listed) == sorted(name[:-3] for name in os.listdir(os.path.join(ROOT, "examples", "python")) if name.endswith(".py"))
