# tests/python/install_test.py: the installed package has with it what it needs.
import os
import re
import subprocess
import sys

import pytest

import umbel

BUILD = os.path.dirname(os.path.dirname(os.path.dirname(umbel._core.__file__)))
# The runtimes of C and C++, which a Python that loads compiled modules has in any case.
EVERYWHERE = re.compile(r"linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so")
SCRIPT = """
import umbel as mi
mi.set_variant("llvm_ad_rgb")
scene = mi.load_dict(mi.cornell_box())
image = mi.render(scene, spp=1)
mi.util.write_bitmap("image.exr", image, write_async=False)
print(mi.__file__, image.shape[2], mi.Bitmap("image.exr").channel_count())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installed")
    command = ["cmake", "--install", BUILD, "--component", "python", "--prefix", str(prefix)]
    r = subprocess.run(command, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return prefix / "python"


def test_the_libraries_of_the_installed_module_are_beside_it(installed):
    module, = (installed / "umbel").glob("_core.*.so")
    lines = subprocess.run(["ldd", module], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 8
    assert [] == [line for line in lines if not EVERYWHERE.search(line) and str(installed) not in line]


def test_the_installed_package_renders(installed, tmp_path):
    environment = {"PYTHONPATH": str(installed), "PATH": os.environ["PATH"], "UMBEL_CACHE": ""}
    r = subprocess.run([sys.executable, "-B", "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    file, channels, stored = r.stdout.split()
    assert file.startswith(str(installed)) and channels == stored == "3"
