# bench/render/rival.py: Mitsuba 3's side of the render suite; README.md says what each row measures.
import gc
import os
import sys

import drjit as dr
import mitsuba as mi

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from rival import about, row, seconds, serve  # noqa: E402

SHARED = os.environ.get("UMBEL_SCENES", "../shared/scenes")
MADE = os.environ["UMBEL_BENCH_FOLDER"] + "/scenes"
about.update(name="mitsuba", version=mi.__version__)
loaded = {}


def load(path, variant, **definitions):
    mi.set_variant(variant)
    key = path + variant
    if key not in loaded:  # one at a time: calls of the rival reach the objects of all scenes
        loaded.clear()
        gc.collect()
        loaded[key] = mi.load_file(path, **definitions)
    return loaded[key]


def finish(*values):
    dr.eval(*values)
    dr.sync_thread()


def hot(path, variant, spp, **definitions):
    scene = load(path, variant, spp=spp, **definitions)
    seed = iter(range(1 << 30))
    return seconds(lambda: finish(mi.render(scene, seed=next(seed))), 2, 0.5)


def add(name, *arguments, **definitions):
    row(name)(lambda: hot(*arguments, **definitions))


add("cbox rgb", f"{SHARED}/cbox/cbox.xml", "llvm_ad_rgb", 64, res=256)
add("cbox spectral", f"{SHARED}/cbox/cbox.xml", "llvm_ad_spectral", 64, res=256)
for room in ("staircase", "living-room"):
    add(room, f"{MADE}/{room}.xml", "llvm_ad_rgb", 16, width=480, height=270)
for kind in ("diffuse", "rough"):
    for count in (1, 4, 16, 64):
        add(f"{kind}, {count} material{'s'[:count != 1]}", f"{MADE}/{kind}-{count}.xml", "llvm_ad_rgb", 32)
    add(f"{kind}, 1 of 1,000 cubes", f"{MADE}/{kind}-1-of-1000.xml", "llvm_ad_rgb", 32)
    add(f"{kind}, 1,000 materials", f"{MADE}/{kind}-1000-of-1000.xml", "llvm_ad_rgb", 32)
add("textured, 64 materials", f"{MADE}/textured-64.xml", "llvm_ad_rgb", 32)
add("20 classes mixed", f"{MADE}/mixed-20.xml", "llvm_ad_rgb", 32)


def rough_iteration(gradient):
    scene = load(f"{MADE}/rough-64.xml", "llvm_ad_rgb")
    integrator = mi.load_dict({"type": "prb", "max_depth": 6})
    params = mi.traverse(scene)
    keys = [key for key in params.keys() if key.endswith("alpha.value")]
    assert len(keys) == 64
    seed = iter(range(1 << 30))

    def once():
        if not gradient:
            return finish(mi.render(scene, integrator=integrator, spp=16, seed=next(seed)))
        for key in keys:
            params[key] = dr.detach(params[key])
            dr.enable_grad(params[key])
        params.update()
        image = mi.render(scene, params, integrator=integrator, spp=16, seed=next(seed))
        dr.backward(dr.mean(dr.square(image), axis=None))
        finish(*[dr.grad(params[key]) for key in keys])
    return seconds(once, 2, 0.5)


row("rough, 64 gradients")(lambda: rough_iteration(True))


@row("rough, gradients over primal", "x")
def gradients_over_primal():
    primal = rough_iteration(False)
    return (rough_iteration(True) - primal) / primal


serve()
