# bench/render/rival.py: Mitsuba 3's side of the render suite; README.md says what each row measures.
import gc
import os
import shutil
import subprocess
import sys
import time

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


# ---- shared scenes, in both kinds of colour


def loading(path, variant, **definitions):
    loaded.clear()
    mi.set_variant(variant)

    def once():
        scene = mi.load_file(path, **definitions)
        finish(mi.traverse(scene))
        del scene
        gc.collect()
    return seconds(once, 1, 0)


met = set()  # runs since the program's kernel cache was emptied


def program(path, variant, cold, spp=1, **definitions):
    """Seconds and bytes of a run of the command line's program."""
    home = os.environ["UMBEL_BENCH_FOLDER"] + "/rival-program"
    # Beside the package: the command in the environment's bin is a script that starts it
    command = [os.path.join(os.path.dirname(mi.__file__), "mitsuba"), "-m", variant, "-o", home + "/image.exr"]
    for name, value in dict(definitions, spp=spp).items():
        command += ["-D", f"{name}={value}"]
    command.append(path)
    if cold:
        shutil.rmtree(home, ignore_errors=True)
        met.clear()
    os.makedirs(home, exist_ok=True)
    if not cold and " ".join(command) not in met:
        run(command, home)
    met.add(" ".join(command))
    return run(command, home)


def run(command, home):
    begin, most = time.perf_counter(), 0
    process = subprocess.Popen(command, env=dict(os.environ, HOME=home), stdout=sys.stderr)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                most = max([most] + [1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:")])
        except OSError:
            pass
        time.sleep(0.001)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed on {command[-1]}")
    return time.perf_counter() - begin, most


def images(name, path, variant, **definitions):
    """Writes the images that run.py compares; returns their mean."""
    folder = f"{os.environ['UMBEL_BENCH_FOLDER']}/images/{name}"
    os.makedirs(folder, exist_ok=True)
    scene = load(path, variant, spp=64, **definitions)
    total, count = 0, 12
    for i in range(count):
        image = mi.render(scene, seed=1000 + i)[:, :, :3]
        total += dr.mean(image, axis=None).array[0] / count
        mi.Bitmap(image).write(f"{folder}/rival-{i}.pfm")
    return total


def size(width, height):
    return {"width": width, "height": height}


SCENES = (("cbox", "cbox/cbox.xml", 64, {"res": 256}, {"res": 64}),
          ("matpreview", "matpreview/matpreview.xml", 16, size(480, 360), size(128, 96)),
          ("staircase", "staircase/scene-v3.xml", 16, size(270, 480), size(72, 128)),
          ("living-room", None, 16, size(480, 270), size(128, 72)),
          ("veach-bidir", "veach-bidir/scene-v3.xml", 16, size(480, 270), size(128, 72)))


def add_shared(name, path, compared, variant, spp, large, small):
    add(f"{name}: hot", path, variant, spp, **large)
    row(f"{name}: first image, cold")(lambda: program(path, variant, True, **large)[0])
    row(f"{name}: first image, warm")(lambda: program(path, variant, False, **large)[0])
    row(f"{name}: loading")(lambda: loading(path, variant, **large))
    row(f"{name}: peak memory", "B")(lambda: program(path, variant, False, spp, **large)[1])
    row(f"{name}: agreement", "mean")(lambda: images(f"{name}: agreement", compared, variant, **small))


for name, file, spp, large, small in SCENES:
    for colour in ("rgb", "spectral"):
        path = f"{SHARED}/{file}" if file else f"{MADE}/{name}.xml"
        compared = f"{SHARED}/cbox/cbox-{colour}.xml" if name == "cbox" else path  # as on Umbel's side
        if name in ("staircase", "living-room"):
            compared = f"{MADE}/{name}-compared.xml"
        add_shared(f"{name} {colour}", path, compared, f"llvm_ad_{colour}", spp, large, small)

# ---- media


def add_medium(name):
    path = f"{MADE}/media-{name}.xml"
    add(f"media, {name}", path, "llvm_ad_rgb", 16)
    row(f"media, {name}, first image")(lambda: program(path, "llvm_ad_rgb", True)[0])
    row(f"media, {name}, memory", "B")(lambda: program(path, "llvm_ad_rgb", False, 16)[1])


for name in ("glass", "cloud", "plume", "spectral"):
    add_medium(name)

# ---- large files

LARGE = os.path.normpath(os.environ["UMBEL_BENCH_FOLDER"] + "/../large")
row("5.1 million triangles: loading")(lambda: loading(f"{MADE}/large-ply.xml", "llvm_ad_rgb"))
row("5.1 million triangles: memory", "B")(lambda: program(f"{MADE}/large-ply.xml", "llvm_ad_rgb", False)[1])


def reading(kind):
    """Megabytes a second of a mesh's file, from the disk's cache to vertices in memory."""
    mi.set_variant("llvm_ad_rgb")
    file = f"{LARGE}/grid.{kind}"
    return os.path.getsize(file) / 1e6 / seconds(
        lambda: finish(mi.traverse(mi.load_dict({"type": kind, "filename": file}))), 1, 0)


row("reading binary PLY", "MB/s")(lambda: reading("ply"))
row("reading OBJ", "MB/s")(lambda: reading("obj"))


def bytes_each(many, few, count):
    """What `count` of something take at the peak of a render, by the difference of two scenes."""
    peak = [program(f"{MADE}/{name}.xml", "llvm_ad_rgb", False)[1] for name in (many, few)]
    return (peak[0] - peak[1]) / count


row("memory of a triangle", "B")(lambda: bytes_each("large-ply", "small-ply", 5.12e6))
row("memory of a texel", "B")(lambda: bytes_each("large-texture", "small-texture", 4096 * 4096))

# ---- numbers of objects

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
