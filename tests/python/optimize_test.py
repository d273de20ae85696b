# tests/python/optimize_test.py: `umbel optimize`: jobs of both forms, what they write, going on after a kill, mistakes.
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import umbel as mi

JOB = """
scene = "scene.xml"
title = "A card <and> its colour"
iterations = 40
spp = 2
every = 2
loss = "l2"
[[view]]
target = "target.exr"
[optimizer]
type = "adam"
lr = 0.05
schedule = { type = "exponential", steps = 40, factor = 0.5 }
[parameters."card.bsdf.reflectance.value"]
start = 0.2
min = 0.01
max = 0.99
"""


@pytest.fixture(autouse=True)
def variant():
    mi.set_variant("llvm_ad_rgb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A card under a sky, and a picture of it as it should be."""
    out = tmp_path_factory.mktemp("job")
    mi.set_variant("llvm_ad_rgb")
    scene = {"type": "scene", "integrator": {"type": "prb", "max_depth": 3}, "sky": {"type": "constant"},
             "sensor": {"type": "perspective", "fov": 40, "to_world": mi.ScalarTransform4f().look_at([0, 0, 3], [0, 0, 0], [0, 1, 0]),
                        "film": {"type": "hdrfilm", "width": 8, "height": 8, "rfilter": {"type": "box"}}},
             "card": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": [.7, .4, .1]}}}}
    mi.xml.dict_to_xml(scene, str(out / "scene.xml"))
    mi.Bitmap(mi.render(mi.load_dict(scene), spp=64)).write(str(out / "target.exr"))
    (out / "job.toml").write_text(JOB)
    return out


def start(*arguments, **more):
    return subprocess.Popen([sys.executable, "-m", "umbel", "optimize", *map(str, arguments)], stderr=subprocess.PIPE, text=True, **more)


def run(*arguments):
    process = start(*arguments)
    error = process.communicate(timeout=300)[1]
    return process.returncode, error


def test_devices_are_for_jobs_in_variants_that_have_some(folder):
    code, said = run(folder / "job.toml", "--device", "1")
    assert code == 1 and "--device: llvm_ad_rgb computes on the host" in said
    code, said = run(folder / "job.toml", "--device", "-2")
    assert code == 1 and "-2 is not the number of a device" in said


def test_jobs_that_are_nested_too_deep_are_refused_by_name(tmp_path):
    from umbel.ad import jobs
    (tmp_path / "deep.toml").write_text("x = " + "[" * 50_000)
    with pytest.raises(mi.UserError, match="deep.toml: .*nested"):
        jobs.from_toml(str(tmp_path / "deep.toml"))


def test_a_job_finds_its_parameters_and_shows_them(folder):
    code, said = run(folder / "job.toml")
    assert code == 0 and re.search(r"40/40, loss", said) and "index.html" in said, said
    out = folder / "job.out"
    with np.load(out / "parameters.npz") as found:
        assert np.allclose(found["card.bsdf.reflectance.value"].ravel(), [.7, .4, .1], atol=.1)
    page = (out / "index.html").read_text()
    assert "A card &lt;and&gt; its colour" in page and "views.png" in page and "http-equiv" not in page
    for name in ("loss.png", "views.png"):
        picture = mi.Bitmap(str(out / name))
        assert picture.channel_count() == 3 and picture.width() > 200
    curve = np.array(mi.Bitmap(str(out / "loss.png")))
    assert ((curve[..., 0] > 150) & (curve[..., 2] < 60)).sum() > 200  # the curve is there
    code, said = run(folder / "job.toml", "-q")  # nothing is left to do
    assert code == 0 and said == ""


def test_a_killed_job_goes_on_to_the_same_bits(folder):
    whole, killed = folder / "whole", folder / "killed"
    assert run(folder / "job.toml", "-o", whole, "-q")[0] == 0
    process = start(folder / "job.toml", "-o", killed)
    end = time.time() + 120
    while not (killed / "state.npz").exists() and time.time() < end and process.poll() is None:
        time.sleep(.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with np.load(killed / "state.npz") as state:
        assert 0 < len(state["losses"]) < 40, "killed too late to tell"
    assert not (killed / "parameters.npz").exists()
    assert run(folder / "job.toml", "-o", killed, "-q")[0] == 0
    with np.load(whole / "state.npz") as a, np.load(killed / "state.npz") as b:
        assert (a["losses"] == b["losses"]).all() and len(a["losses"]) == 40
        assert (a["optimizer"] == b["optimizer"]).all()
    with np.load(whole / "parameters.npz") as a, np.load(killed / "parameters.npz") as b:
        for key in a.files:
            assert (a[key] == b[key]).all()
    # Another job's state is refused, and told how to begin anew
    (folder / "other.toml").write_text(JOB.replace("spp = 2", "spp = 4"))
    code, said = run(folder / "other.toml", "-o", killed)
    assert code == 1 and "spp was 2 and is 4" in said and "--restart" in said
    (killed / "state.npz").write_bytes(b"nothing")
    code, said = run(folder / "job.toml", "-o", killed)
    assert code == 1 and "is not the state of a job" in said
    assert run(folder / "job.toml", "-o", killed, "--restart", "-n", 1, "-q")[0] == 0


def test_scripts_are_jobs(folder):
    (folder / "script.py").write_text(f"""
import umbel as mi
mi.set_variant("llvm_ad_rgb")
scene = mi.load_file({str(folder / "scene.xml")!r})
job = lambda: mi.ad.jobs.Job(scene, ["card.bsdf.reflectance.value"], [(0, {str(folder / "target.exr")!r})],
                             optimizer=mi.ad.SGD(lr=1.), iterations=2, spp=1, extra=lambda p: 0.1)
""")
    assert run(folder / "script.py", "-q")[0] == 0
    assert (folder / "script.out" / "index.html").exists()
    (folder / "empty.py").write_text("x = 1")
    code, said = run(folder / "empty.py")
    assert code == 1 and "leaves its job in a variable `job`" in said


@pytest.mark.parametrize("change, message", [
    (("iterations", "iteratons"), 'unknown entry "iteratons"; did you mean "iterations"?'),
    (('"l2"', '"l3"'), 'loss: unknown entry "l3"'),
    (("card.bsdf.reflectance", "card.bsdf.reflectence"), 'did you mean "card.bsdf.reflectance.value"?'),
    (("card.bsdf.reflectance.value", "sensor.to_world"), 'parameter "sensor.to_world" is a '),
    (("start = 0.2", "start = 0.2\nmaximum = 1"), 'parameter "card.bsdf.reflectance.value": unknown entry "maximum"'),
    (('type = "adam"', 'type = "adamm"'), 'optimizer: unknown entry "adamm"; did you mean "adam"?'),
    (("[[view]]", "[[view]"), "job-bad.toml: "),
    (('target = "target.exr"', "sensor = 0"), 'a view has no "target"'),
    (("target.exr", "nothing.exr"), "nothing.exr"),
    (("min = 0.01", "min = 2.0"), "the range"),
    (("[optimizer]", "[[optimizer]]"), '"optimizer" is ['),
    (('schedule = { type = "exponential", steps = 40, factor = 0.5 }', 'schedule = "linear"'), "\"schedule\" is 'linear'; it must be a table"),
])
def test_mistakes_are_explained(folder, change, message):
    from umbel.ad import jobs
    path = folder / "job-bad.toml"
    assert change[0] in JOB
    path.write_text(JOB.replace(*change, 1))
    with pytest.raises(Exception) as error:
        jobs.load(str(path))
    assert message in str(error.value), str(error.value)


def test_the_command_line_explains_itself(folder):
    assert "umbel optimize" in subprocess.run([sys.executable, "-m", "umbel", "optimize", "--help"], capture_output=True, text=True).stdout
    code, said = run(folder / "nothing.toml")
    assert code == 1 and "there is no such file" in said
    code, said = run(folder / "scene.xml")
    assert code == 1 and "ends in .toml or .py" in said


# ---- jobs of others

@pytest.fixture
def fenced(folder, tmp_path):
    """A folder with the job, of which nothing but its files may be read, in this process."""
    from umbel import _core
    for name in ("scene.xml", "target.exr", "job.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    _core.restrict_paths([str(tmp_path)])
    yield tmp_path
    _core.restrict_paths([])


def test_a_fence_holds_for_all_that_a_job_names(folder, fenced):
    from umbel.ad import jobs
    jobs.load(str(fenced / "job.toml"))  # what is inside is read
    (folder / "s.spd").write_text("400 1\n700 1\n")
    (fenced / "link.exr").symlink_to(folder / "target.exr")
    os.mkfifo(fenced / "pipe.exr")
    outside = os.path.relpath(folder, fenced)
    texture = f"""<scene version="3.0.0"><shape type="sphere"><bsdf type="diffuse"><texture type="bitmap" name="reflectance">
        <string name="filename" value="{folder}/target.exr"/></texture></bsdf></shape></scene>"""
    (fenced / "texture.xml").write_text(texture)
    for old, new in (('"scene.xml"', f'"{outside}/scene.xml"'), ('"scene.xml"', '"texture.xml"'),
                     ('"target.exr"', f'"{outside}/target.exr"'), ('"target.exr"', f'"{folder}/target.exr"'),
                     ('"target.exr"', '"link.exr"')):
        (fenced / "bad.toml").write_text(JOB.replace(old, new, 1))
        with pytest.raises(mi.jit.UserError, match="outside the allowed folders"):
            jobs.load(str(fenced / "bad.toml"))
    (fenced / "bad.toml").write_text(JOB.replace('"target.exr"', '"pipe.exr"', 1))
    with pytest.raises(mi.jit.UserError, match="name a regular file"):
        jobs.load(str(fenced / "bad.toml"))
    for named in ({"type": "bitmap", "filename": str(folder / "target.exr")}, {"type": "spectrum", "filename": str(folder / "s.spd")}):
        with pytest.raises(mi.jit.UserError, match="outside the allowed folders"):
            mi.load_dict(named)  # as the integrator of a job is
    (fenced / "job.py").write_text("job = 1")
    with pytest.raises(mi.jit.UserError, match="a script is a program"):
        jobs.load(str(fenced / "job.py"), scripts=False)


def test_jobs_have_the_limits_of_renders(folder):
    # As much memory as the shadow of a sanitizer takes
    code, said = run(folder / "job.toml", "--untrusted", "--max-memory", "1000T", "-o", folder / "fenced", "-n", 1, "-q")
    assert code == 0 and said == "", said
    for options, message in ((["--max-pixels", "63"], "8 x 8 = 64 pixels, more than the 63"), (["--max-scene", "90"], "UMBEL_MAX_SCENE"),
                             (["--max-image", "100"], "UMBEL_MAX_IMAGE"), (["--restrict-paths", ""], "is empty")):
        code, said = run(folder / "job.toml", *options, "-o", folder / "refused")
        assert code == 1 and message in said, said
    code, said = run(folder / "job.toml", "--max-time", ".5", "-n", 10**7, "-q", "-o", folder / "refused")
    assert code == 2 and "stopped by --max-time" in said, said
