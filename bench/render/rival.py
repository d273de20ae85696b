# bench/render/rival.py: Mitsuba 3's side of the render suite; README.md says what each row measures.
import os
import sys

import drjit as dr
import mitsuba as mi

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rival import about, row, seconds, serve  # noqa: E402

SCENES = os.environ.get("UMBEL_SCENES", "../shared/scenes")
about.update(name="mitsuba", version=mi.__version__)
loaded = {}


def hot(path, variant, spp, **definitions):
    mi.set_variant(variant)
    key = path + variant
    if key not in loaded:
        loaded[key] = mi.load_file(f"{SCENES}/{path}", spp=spp, **definitions)
    seed = iter(range(1 << 30))

    def once():
        image = mi.render(loaded[key], seed=next(seed))
        dr.eval(image)
        dr.sync_thread()

    return seconds(once, 2, 0.5)


@row("cbox rgb")
def cbox_rgb():
    return hot("cbox/cbox.xml", "llvm_ad_rgb", 64, res=256)


@row("cbox spectral")
def cbox_spectral():
    return hot("cbox/cbox.xml", "llvm_ad_spectral", 64, res=256)


serve()
