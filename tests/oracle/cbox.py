# tests/oracle/cbox.py: the Cornell box beside Mitsuba 3: every variant of it that runs on a CPU, and every one of Umbel's.
#
# Variants that compile are compared with the rival by a statistical test of several images. The others must give, bit by
# bit, the image of the one that compiles: with derivatives or stepped through, the numbers are the same.
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
# Measured spectra only where they stay spectra: the rival's colours of them are off by 0.1 %, which this test sees. All have
# a box filter: with a wider one, the rival's samples count for several pixels, and sums over pixels would not be tested right.
SCENE = {"mono": "cbox-rgb", "rgb": "cbox-rgb", "spectral": "cbox-spectral"}


def rival(scene, variant):
    mi.set_variant(variant)
    loaded = mi.load_file(scene, res=RES, spp=SPP)
    return np.array([np.array(mi.render(loaded, seed=1000 + i), dtype=np.float64) for i in range(IMAGES)])


def rivals_of(variant):
    """The rival's variants that compute the same as one of Umbel's; without polarization where it has none."""
    colour = next(c for c in SCENE if f"_{c}" in variant)
    names = [f"{backend}_{colour}" for backend in ("scalar", "llvm_ad")]
    if "polarized" in variant and f"llvm_ad_{colour}_polarized" in mi.variants():
        names = [f"{n}_polarized" for n in names]
    return colour, [n for n in names if n in mi.variants()]


def scene_copies(folder, name):
    """One scene a seed, so that all are rendered by one process; images are written as 32-bit floats."""
    shutil.copytree(f"{SCENES}/cbox", f"{folder}/cbox", dirs_exist_ok=True)
    base, scene = (open(f"{folder}/cbox/{f}.xml").read() for f in ("fragments/base", name))
    paths = []
    for i in range(IMAGES):
        def seeded(text):
            text = text.replace('<film type="hdrfilm">', '<film type="hdrfilm"><string name="file_format" value="pfm"/>')
            return text.replace('<sampler type="independent">',
                                f'<sampler type="independent"><integer name="seed" value="{i + 1}"/>')
        open(f"{folder}/cbox/fragments/base{i}.xml", "w").write(seeded(base))
        paths.append(f"{folder}/cbox/{name}{i}.xml")
        open(paths[-1], "w").write(seeded(scene).replace("fragments/base.xml", f"fragments/base{i}.xml"))
    return paths


def umbel(paths, variant):
    subprocess.run([UMBEL, "render", *paths, "-q", "-m", variant, "--spp", str(SPP), "-D", f"res={RES}"], check=True)
    return np.array([np.array(mi.Bitmap(p.replace(".xml", ".pfm")), dtype=np.float64).reshape(RES, RES, -1)
                     for p in paths])


def match(a, b):
    """Monochrome images are written with three equal channels by some formats."""
    n = min(a.shape[-1], b.shape[-1])
    return a[..., :n], b[..., :n]


failed = False


def report(good, line):
    global failed
    failed |= not good
    print(f"{'ok  ' if good else 'FAIL'} {line}", flush=True)


if not os.path.isdir(f"{SCENES}/cbox"):
    print(f"skipped: no scene in {SCENES}; set UMBEL_SCENES")
    sys.exit(SKIPPED)
mi.set_variant("scalar_rgb")
mi.set_log_level(mi.LogLevel.Error)
variants = subprocess.run([UMBEL, "variants"], check=True, capture_output=True, text=True).stdout.split()
compiled = [v for v in variants if v.startswith("llvm_") and "_ad_" not in v]
references, met = {}, set()
with tempfile.TemporaryDirectory() as folder:
    for variant in compiled:
        colour, rivals = rivals_of(variant)
        paths = scene_copies(folder, SCENE[colour])
        images = umbel(paths, variant)
        for name in rivals:
            if name not in references:
                references[name] = rival(f"{SCENES}/cbox/{SCENE[colour]}.xml", name)
            met.add(name)
            accepted, line = compare(*match(references[name], images))
            report(accepted, f"{variant} against {name}: {line}")
        # The same program by other means
        for other in (variant.replace("llvm_", p) for p in ("llvm_ad_", "interp_", "interp_ad_")):
            same = np.array_equal(umbel(paths[:1], other)[0], images[0])
            report(same, f"{other} is {variant}")
    missed = {v for v in mi.variants() if not v.startswith("cuda")} - met
    report(not missed, f"{len(met)} variants of the rival, {len(variants)} of Umbel {missed or ''}")

    # A scene that is slightly wrong
    paths = scene_copies(folder, "cbox-rgb")
    path = f"{folder}/cbox/fragments/bsdfs-rgb.xml"
    text = open(path).read()
    white = text.split('id="white"')[1].split('value="')[1].split('"')[0]
    brighter = ", ".join(str(float(v) * 1.02) for v in white.replace(",", " ").split())
    open(path, "w").write(text.replace(white, brighter))
    accepted, line = compare(*match(references["llvm_ad_rgb"], umbel(paths, "llvm_rgb")))
    report(not accepted, f"white 2 % brighter is told apart: {line}")
sys.exit(failed)
