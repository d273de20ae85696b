# bench/diff/rows.py: derivatives of images, on both sides: the same scenes, the same calls; README.md says what each row measures.
import gc
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

SHARED = os.environ.get("UMBEL_SCENES", "../shared/scenes")
SPP, DEPTH = 16, 8
SCENES = {"cbox": ("cbox/cbox.xml", {"res": 360}), "staircase": ("staircase/scene-v3.xml", {"width": 270, "height": 480}),
          "living-room": ("living-room/scene-v3.xml", {"width": 480, "height": 270})}


def plume(mi, size):
    """Smoke in a grid of 64 x 64 x 64 voxels under a sky and a lamp."""
    T, n = mi.ScalarTransform4f, 64
    z, y, x = (np.mgrid[0:n, 0:n, 0:n] + .5) / n * 2 - 1
    density = np.clip(1.2 - 2 * np.hypot(x - .3 * np.sin(2.5 * z), y + .2 * z), .01, 1)[..., None].astype(np.float32)
    grid = {"type": "gridvolume", "grid": mi.VolumeGrid(density), "to_world": T().translate([-1, -1, -1]).scale(2)}
    return mi.load_dict({
        "type": "scene",
        "sensor": {"type": "perspective", "fov": 35, "to_world": T().look_at([5, 0, 2], [0, 0, 0], [0, 0, 1]),
                   "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
        "sky": {"type": "constant", "radiance": .5}, "lamp": {"type": "point", "position": [2, 3, 4], "intensity": 20.},
        "cube": {"type": "cube", "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "albedo": .8, "scale": 8., "sigma_t": grid}}})


def ball(mi, size):
    """A ball of 1,216 triangles that casts a shadow on the ground, to be differentiated by its vertices."""
    rings, sectors, T = 20, 32, mi.ScalarTransform4f
    t, p = np.meshgrid(np.pi * np.arange(1, rings) / rings, 2 * np.pi * np.arange(sectors) / sectors, indexing="ij")
    inner = np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], -1).reshape(-1, 3)
    vertices = np.concatenate([[[0, 0, 1]], inner, [[0, 0, -1]]])
    i, j, last = np.arange(sectors), (np.arange(sectors) + 1) % sectors, len(vertices) - 1
    faces = [np.stack([0 * i, 1 + i, 1 + j], -1), np.stack([last - sectors + j, last - sectors + i, 0 * i + last], -1)]
    for r in range(rings - 2):
        a, b = 1 + r * sectors, 1 + (r + 1) * sectors
        faces += [np.stack([a + i, b + i, a + j], -1), np.stack([a + j, b + i, b + j], -1)]
    faces = np.concatenate(faces)
    mesh = mi.Mesh("ball", vertex_count=len(vertices), face_count=len(faces))
    params = mi.traverse(mesh)
    params["vertex_positions"] = mi.Float(vertices.ravel().astype(np.float32))
    params["faces"] = mi.UInt32(faces.ravel().astype(np.uint32))
    params.update()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "ball.ply")
        mesh.write_ply(file)
        return mi.load_dict({
            "type": "scene",
            "sensor": {"type": "perspective", "fov": 35, "to_world": T().look_at([5, 2, 4], [0, 0, 0], [0, 0, 1]),
                       "film": {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}}},
            "sky": {"type": "constant", "radiance": .2},
            "lamp": {"type": "rectangle", "to_world": T().look_at([-2, 2, 5], [0, 0, 0], [0, 1, 0]),
                     "emitter": {"type": "area", "radiance": {"type": "rgb", "value": 8.}}},
            "ground": {"type": "rectangle", "to_world": T().translate([0, 0, -1.2]).scale(6), "bsdf": {"type": "diffuse"}},
            "ball": {"type": "ply", "filename": file, "face_normals": True, "bsdf": {"type": "diffuse"}}})


def box(mi, size):
    """A Cornell box of a size that rows choose."""
    description = mi.cornell_box()
    description["sensor"]["film"] |= {"width": size, "height": size, "rfilter": {"type": "box"}}
    return mi.load_dict(description)


def with_float_textures(path, folder):
    """A copy of a scene whose textures are floats in memory: the rival has no derivatives by those of bytes."""
    source = os.path.dirname(os.path.abspath(path))
    for entry in os.listdir(source):
        os.symlink(os.path.join(source, entry), os.path.join(folder, entry))
    with open(path) as file:
        text = re.sub(r'<texture\b[^>]*type="bitmap"[^>]*[^/]>', r'\g<0><string name="format" value="variant"/>', file.read())
    copy = os.path.join(folder, "float-textures.xml")
    with open(copy, "w") as file:
        file.write(text)
    return copy


def load_scene(mi, name):
    path, sizes = SCENES[name]
    path = f"{SHARED}/{path}"
    if mi.__name__ == "umbel":
        return mi.load_file(path, spp=SPP, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        return mi.load_file(with_float_textures(path, folder), spp=SPP, **sizes)


def load(mi, name):
    """A scene by name, the integrator that differentiates it, and the parameters to differentiate by."""
    options = {}
    if name == "plume":
        scene, kind = plume(mi, 256), "prbvolpath"
    elif name == "ball":
        scene, kind, options = ball(mi, 256), "prb_projective", {"guiding": "none"}
    elif name == "guided ball":
        scene, kind = ball(mi, 32), "prb_projective"
    else:
        scene, kind = load_scene(mi, name), "prb"
    params = mi.traverse(scene)
    if name == "plume":
        keys = ["cube.interior_medium.sigma_t.data"]
    elif "ball" in name:
        keys = ["ball.vertex_positions"]
    else:
        keys = [k for k in params.keys() if "reflectance" in k and k.endswith((".value", ".data")) and not int(params.flags(k)) & 1]
    return scene, mi.load_dict({"type": kind, "max_depth": DEPTH, **options}), params, keys


class Iteration:
    """An image, its squares' mean, and gradients of all parameters."""

    def __init__(self, mi, dr, loaded):
        self.mi, self.dr = mi, dr
        self.scene, self.integrator, self.params, self.keys = loaded

    def finish(self, *values):
        self.dr.eval(*values)
        self.dr.sync_thread()

    def primal(self, k):
        self.finish(self.mi.render(self.scene, integrator=self.integrator, spp=SPP, seed=k))

    def gradient(self, k):
        dr, params = self.dr, self.params
        for key in self.keys:
            value = type(params[key])(dr.detach(params[key]))
            dr.enable_grad(value)
            params[key] = value
        params.update()
        image = self.mi.render(self.scene, params, integrator=self.integrator, spp=SPP, seed=k)
        dr.backward(dr.mean(dr.square(image), axis=None))
        self.finish(*[dr.grad(params[key]) for key in self.keys])


def best(once, count=3):
    once(0)
    times = []
    for k in range(count):
        begin = time.perf_counter()
        once(k + 1)
        times.append(time.perf_counter() - begin)
    return min(times)


def in_a_process(*words):
    """The number that this script prints for these words, in a process of its own."""
    command = [sys.executable, "-B", os.path.abspath(sys.argv[0]), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1])
    return float(done.stdout.split()[-1])


def peak():
    """Of this process. getrusage() would count what its parent had before it became this one."""
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def begin(mi):
    mi.set_variant("llvm_ad_rgb")
    mi.set_log_level(mi.LogLevel.Error)  # the rival writes warnings to where answers go


def answer_in_process(mi, dr, words):
    """What in_a_process() asked for: peak memory of three iterations; or time and memory by depth and size."""
    begin(mi)
    if words[0] == "memory":
        it = Iteration(mi, dr, load(mi, words[1]))
        for k in range(3):
            it.gradient(k)
        print(peak())
        return
    what, kind, size, depth = words[0], words[1], int(words[2]), int(words[3])
    scene = box(mi, size)
    params = mi.traverse(scene)
    keys = [c + ".reflectance.value" for c in ("white", "green", "red")]
    integrator = mi.load_dict({"type": kind, "max_depth": depth, "rr_depth": 1000})
    it = Iteration(mi, dr, (scene, integrator, params, keys))
    it.primal(0)
    before = peak()
    if what == "time":
        print(best(it.gradient, 2))
    else:
        it.gradient(0)
        print(max(peak() - before, 1))


def define(mi, dr, row):
    """Rows that both sides have."""
    begin(mi)
    loaded = {}

    def iteration(name):
        if name not in loaded:  # one at a time: calls of the rival reach the objects of all scenes
            loaded.clear()
            gc.collect()
            loaded[name] = Iteration(mi, dr, load(mi, name))
        return loaded[name]

    def add(name):
        what = {"plume": "prbvolpath", "ball": "prb_projective", "guided ball": "prb_projective"}.get(name, "prb")
        row(f"{name}: {what} iteration")(lambda: best(iteration(name).gradient))
        row(f"{name}: primal")(lambda: best(iteration(name).primal))
        row(f"{name}: peak memory", "B")(lambda: in_a_process("memory", name))
    for name in (*SCENES, "plume", "ball", "guided ball"):
        add(name)


def define_methods(row):
    """Rows of Umbel alone: what derivatives cost by three methods, as paths and images grow."""
    def add(kind, size, depth):
        row(f"{kind}, {size} x {size}, depth {depth}")(lambda: in_a_process("time", kind, size, depth))
        row(f"{kind}, {size} x {size}, depth {depth}, memory", "B")(lambda: in_a_process("growth", kind, size, depth))
    for kind in ("prb", "rb", "ad"):
        for depth in (2, 4, 8, 16):
            add(kind, 128, depth)
        for size in (64, 256, 512):
            add(kind, size, 4)

    @row("ad: largest image, depth 8", "pixels")
    def largest():
        fits = 0
        for size in (512, 1024, 1536):
            try:
                in_a_process("growth", "ad", size, 8)
            except RuntimeError as error:
                print(f"ad, {size} x {size}, depth 8: {error}", file=sys.stderr)
                break
            fits = size * size
        return fits
