# tests/oracle/cbox.py: the Cornell box beside Mitsuba 3, in every variant that both have and some that only Umbel has.
#
# Also: an image with one albedo changed by 2 % must be told apart, so that a pass means something.
# usage: cbox.py UMBEL SCENES
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
from image_test import compare  # noqa: E402

UMBEL, SCENES = sys.argv[1:3]
RES, SPP, IMAGES = 32, 128, 12
# Measured spectra only where they stay spectra: the rival's colours of them are off by 0.1 %, which this test sees.
PAIRS = [
    ("cbox-rgb", "llvm_ad_rgb", ["llvm_rgb", "interp_rgb", "llvm_ad_rgb_double", "llvm_rgb_polarized"]),
    ("cbox-rgb", "llvm_ad_mono", ["llvm_mono", "interp_mono_double"]),
    ("cbox", "llvm_ad_spectral", ["llvm_spectral", "llvm_spectral_polarized_double"]),
]


def rival(scene, variant):
    mi.set_variant(variant)
    loaded = mi.load_file(scene, res=RES, spp=SPP)
    return np.array([np.array(mi.render(loaded, seed=1000 + i), dtype=np.float64) for i in range(IMAGES)])


def umbel(scene, variant, folder):
    images = []
    for i in range(IMAGES):
        file = os.path.join(folder, f"{i}.pfm")
        subprocess.run([UMBEL, "render", scene, "-q", "-m", variant, "-o", file, "--seed", str(i + 1),
                        "--spp", str(SPP), "-D", f"res={RES}"], check=True)
        images.append(np.array(mi.Bitmap(file), dtype=np.float64).reshape(RES, RES, -1))
    return np.array(images)


def match(a, b):
    """Monochrome images are written with three equal channels by some formats."""
    n = min(a.shape[-1], b.shape[-1])
    return a[..., :n], b[..., :n]


if not os.path.isdir(f"{SCENES}/cbox"):
    print(f"skipped: no scene in {SCENES}; set UMBEL_SCENES")
    sys.exit(SKIPPED)
mi.set_log_level(mi.LogLevel.Error)
failed = False
with tempfile.TemporaryDirectory() as folder:
    for name, rival_variant, variants in PAIRS:
        scene = f"{SCENES}/cbox/{name}.xml"
        reference = rival(scene, rival_variant)
        for variant in variants:
            accepted, line = compare(*match(reference, umbel(scene, variant, folder)))
            print(f"{'ok  ' if accepted else 'FAIL'} {name}, {variant} against {rival_variant}: {line}", flush=True)
            failed |= not accepted

    # A scene that is slightly wrong
    shutil.copytree(f"{SCENES}/cbox", f"{folder}/cbox")
    path = f"{folder}/cbox/fragments/bsdfs-rgb.xml"
    text = open(path).read()
    reference = rival(f"{SCENES}/cbox/cbox-rgb.xml", "llvm_ad_rgb")
    white = text.split('id="white"')[1].split('value="')[1].split('"')[0]
    brighter = ", ".join(str(float(v) * 1.02) for v in white.replace(",", " ").split())
    open(path, "w").write(text.replace(white, brighter))
    accepted, line = compare(*match(reference, umbel(f"{folder}/cbox/cbox-rgb.xml", "llvm_rgb", folder)))
    print(f"{'FAIL' if accepted else 'ok  '} white 2 % brighter is told apart: {line}")
    failed |= accepted
sys.exit(failed)
