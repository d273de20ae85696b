# tests/python/install_test.py: the installed package has with it what it needs, also for plugins and programs in C++.
import os
import re
import shutil
import subprocess
import sys

import pytest

import umbel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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


@pytest.fixture(autouse=True)
def variant():
    """Scripts here choose their own."""


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
    assert any("libumbel.so" in line for line in lines)


def test_the_installed_package_renders(installed, tmp_path):
    file, channels, stored = python(installed, "-c", SCRIPT, folder=tmp_path).split()
    assert file.startswith(str(installed)) and channels == stored == "3"


# ---- C++

# Dust under uniform light, seen from above: 0.8 / 2 * (1 - ln 2)
MOON = """
import umbel as mi
mi.set_variant("llvm_ad_rgb")
up = mi.ScalarTransform4f().look_at([0, 0, 4], [0, 0, 0], [0, 1, 0])
scene = mi.load_dict({"type": "scene", "light": {"type": "constant"},
                      "moon": {"type": "rectangle", "bsdf": {"type": "lommel_seeliger", "albedo": 0.8}},
                      "sensor": {"type": "perspective", "fov": 1, "to_world": up,
                                 "film": {"type": "hdrfilm", "width": 16, "height": 16}}})
print(mi.render(scene, spp=256).numpy().mean())
"""
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(others LANGUAGES CXX)
find_package(umbel {umbel.__version__} REQUIRED)
add_executable(scene_from_code {ROOT}/examples/scene_from_code.cpp)
target_link_libraries(scene_from_code umbel::umbel)
add_executable(of_the_manual of_the_manual.cpp)
target_link_libraries(of_the_manual umbel::umbel)
umbel_plugin(lommel_seeliger {ROOT}/examples/plugins/lommel_seeliger.cpp)
"""


def build_project(folder, *options):
    """The example of a program, what the manual shows of one, and the example of a plugin, by find_package(umbel)."""
    with open(os.path.join(ROOT, "docs", "extending.md")) as file:
        text = re.search("## Scenes in C\\+\\+.*?```cpp\n(.*?)```", file.read(), re.S)[1]
    folder.mkdir(exist_ok=True)
    (folder / "of_the_manual.cpp").write_text(
        f'#include "render/driver.h"\n#include <cstdio>\nusing namespace umbel;\nint main() {{\n{text}'
        'std::printf("%zu x %zu\\n", image.width(), image.height());\n}\n')
    (folder / "CMakeLists.txt").write_text(PROJECT)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options)
    run("cmake", "--build", folder / "build")
    return folder / "build"


def run(*command, **options):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert r.returncode == 0, r.stdout + r.stderr
    return r.stdout


def python(package, *arguments, folder=None, **environment):
    environment = {"PYTHONPATH": str(package), "PATH": os.environ["PATH"], "UMBEL_CACHE": "", **environment}
    return run(sys.executable, "-B", *arguments, cwd=folder, env=environment)


def test_the_example_of_a_plugin_loads_in_python():
    mean = python(os.path.join(BUILD, "python"), "-c", MOON, UMBEL_PLUGINS=os.path.join(BUILD, "example-plugins"))
    assert float(mean) == pytest.approx(0.1227, abs=0.002)


def test_flags_build_a_plugin_that_the_installed_package_loads(installed, tmp_path):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no compiler")
    flags = [python(installed, "-m", "umbel.config", option).split() for option in ("--cflags", "--ldflags")]
    source = os.path.join(ROOT, "examples", "plugins", "lommel_seeliger.cpp")
    run(compiler, "-fPIC", "-shared", "-Wl,-z,defs", *flags[0], source, *flags[1], "-o", tmp_path / "moon.so")
    assert float(python(installed, "-c", MOON, UMBEL_PLUGINS=str(tmp_path))) == pytest.approx(0.1227, abs=0.002)


def test_cmake_finds_the_installed_package(installed, tmp_path):
    where = python(installed, "-m", "umbel.config", "--cmakedir").strip()
    built = build_project(tmp_path, f"-Dumbel_DIR={where}")
    assert "2 shapes, 1 materials" in run(built / "scene_from_code")
    assert run(built / "of_the_manual") == "768 x 576\n"
    assert float(python(installed, "-c", MOON, UMBEL_PLUGINS=str(built))) == pytest.approx(0.1227, abs=0.002)


def test_the_installed_library_has_headers_and_a_program(tmp_path):
    run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", tmp_path)
    assert (tmp_path / "include/umbel/render/bsdf.h").exists() and (tmp_path / "lib/cmake/umbel/umbelConfig.cmake").exists()
    assert "lommel" not in run(tmp_path / "bin/umbel", "help", "bsdf")
    built = build_project(tmp_path / "project", f"-DCMAKE_PREFIX_PATH={tmp_path}")
    assert "2 shapes, 1 materials" in run(built / "scene_from_code")
    assert run(built / "of_the_manual") == "768 x 576\n"
    assert "lommel" in run(tmp_path / "bin/umbel", "help", "bsdf", env={**os.environ, "UMBEL_PLUGINS": str(built)})


# ---- the program

def test_versions_agree(installed):
    with open(os.path.join(ROOT, "pyproject.toml")) as file:
        wheel = re.search(r'^version = "(.*)"', file.read(), re.M)[1]
    assert wheel == umbel.__version__
    assert python(installed, "-m", "umbel", "--version") == f"umbel {wheel}\n"
    assert python(installed, "-m", "umbel.config", "--version") == f"{wheel}\n"


def test_the_commands_of_the_readme_make_a_picture(installed, tmp_path):
    with open(os.path.join(ROOT, "README.md")) as file:
        commands = re.search("## Five commands.*?```sh\n(.*?)```", file.read(), re.S)[1]
    commands = commands[commands.index("cat >"):].replace("--spp 64", "--spp 1")  # what precedes has installed the package
    path = ":".join([str(installed / "umbel" / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
    out = run("bash", "-ec", commands, cwd=tmp_path, env={"PYTHONPATH": str(installed), "PATH": path, "UMBEL_CACHE": ""})
    assert "size = [400, 300]" in out


def test_a_linked_environment_is_left_to_the_tree_that_it_belongs_to(tmp_path):
    for path in ("umbel", "cmake/packages.txt", "python/requirements.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), tmp_path / path)
    other, build, tools = tmp_path / "other", tmp_path / "build", tmp_path / "tools"
    for folder in (other, build, tools):
        folder.mkdir()
    (other / "kept").write_text("")
    (build / "python-venv").symlink_to(other)
    (tools / "python3").write_text("#!/bin/sh\nrm -rf \"$4\"/* && mkdir -p \"$4\" && exit 1\n")  # `venv --clear`, and then no network
    (tools / "apt-get").write_text("#!/bin/sh\nexit 1\n")
    (tools / "dpkg-query").write_text("#!/bin/sh\nprintf installed\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    r = subprocess.run([tmp_path / "umbel", "python", "-c", "pass"], capture_output=True, text=True,
                       env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    assert r.returncode != 0 and (other / "kept").exists(), r.stderr
    assert "was a link to" in r.stderr and not (build / "python-venv").is_symlink()
