# tests/oracle/light_tracing.py: light traced through the Cornell box, beside Mitsuba 3's and beside its paths from the camera.
# usage: light_tracing.py UMBEL SCENES
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import mitsuba as mi
    import numpy as np
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(SKIPPED)
from image_test import compare, compare_blocks  # noqa: E402

UMBEL, SCENES = sys.argv[1:3]
RES, SPP, IMAGES = 24, 512, 12
if not os.path.isdir(f"{SCENES}/cbox"):
    print(f"skipped: no scene in {SCENES}; set UMBEL_SCENES")
    sys.exit(SKIPPED)
mi.set_variant("llvm_ad_rgb")
mi.set_log_level(mi.LogLevel.Error)


def rival(path, variant):
    mi.set_variant(variant)
    scene = mi.load_file(path, res=RES, spp=SPP)
    return np.array([np.array(mi.render(scene, seed=1000 + i), dtype=np.float64) for i in range(IMAGES)])


def umbel(path, variant):
    images = []
    for i in range(IMAGES):
        subprocess.run([UMBEL, "render", path, "-q", "-m", variant, "--spp", str(SPP), "-D", f"res={RES}",
                        "--seed", str(i), "-o", path + ".pfm"], check=True)
        images.append(np.array(mi.Bitmap(path + ".pfm"), dtype=np.float64).reshape(RES, RES, -1))
    return np.array(images)


def compare_large(folder):
    """Light traced into 3840 x 2160 pixels, beside the rival's paths from the camera."""
    for method in ("path", "ptracer"):
        base = f"{folder}/{method}/fragments/base.xml"
        text = open(base).read()
        for name, size in (("width", 3840), ("height", 2160)):
            text = text.replace(f'name="{name}" value="$res"', f'name="{name}" value="{size}"')
        open(base, "w").write(text)
    mi.set_variant("llvm_ad_rgb")
    theirs = np.array(mi.render(mi.load_file(f"{folder}/path/cbox-rgb.xml", spp=1), seed=1), dtype=np.float64)
    path = f"{folder}/ptracer/cbox-rgb.xml"
    subprocess.run([UMBEL, "render", path, "-q", "-m", "llvm_rgb", "--spp", "1", "-o", path + ".pfm"], check=True)
    return compare_blocks(theirs, np.array(mi.Bitmap(path + ".pfm"), dtype=np.float64).reshape(2160, 3840, -1))


failed = False
with tempfile.TemporaryDirectory() as folder:
    for method in ("path", "ptracer"):
        shutil.copytree(f"{SCENES}/cbox", f"{folder}/{method}")
        base = f"{folder}/{method}/fragments/base.xml"
        text = open(base).read()
        open(base, "w").write(text.replace('<integrator type="path">', f'<integrator type="{method}">'))
    for colour in ("rgb", "spectral"):
        name = f"cbox-{colour}.xml"
        ours = umbel(f"{folder}/ptracer/{name}", f"llvm_{colour}")
        for method in ("path", "ptracer"):
            accepted, line = compare(rival(f"{folder}/{method}/{name}", f"llvm_ad_{colour}"), ours)
            failed |= not accepted
            print(f"{'ok  ' if accepted else 'FAIL'} {colour}: light tracing against the rival's {method}: {line}",
                  flush=True)
    accepted, line = compare_large(folder)
    failed |= not accepted
    print(f"{'ok  ' if accepted else 'FAIL'} rgb: light tracing at 3840 x 2160 against the rival's path: {line}", flush=True)
sys.exit(failed)
