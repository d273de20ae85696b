# tests/soak/growth.py: long runs in one process, whose memory and time must not grow; parts of soak.py.
#
#     growth.py renders|scenes|threads SECONDS COUNT SEED
import gc
import sys
import threading
import time

import numpy as np


def resident():
    """Bytes of this process that are in memory now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def slope(x, y):
    """Of the line through points by the median of slopes (Theil and Sen): a pause of the machine does not bend it."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    i, j = np.triu_indices(len(x), 1)
    return float(np.median((y[j] - y[i]) / (x[j] - x[i])))


class Flat:
    """Watches memory and time of repetitions; `verdict` fails where one of them grows."""

    def __init__(self, seconds, count, bytes_each):
        self.seconds, self.count, self.bytes_each = seconds, count, bytes_each
        self.begun, self.done = time.monotonic(), 0
        self.marks = []  # repetitions, resident bytes, processor time

    def goes_on(self):
        if self.done % max(1, self.step()) == 0:
            gc.collect()
            self.marks.append((self.done, resident(), time.process_time()))
        self.done += 1
        return self.done <= self.count if self.count else time.monotonic() - self.begun < self.seconds

    def step(self):
        """Repetitions between marks: a hundred marks altogether."""
        if self.count:
            return self.count // 100
        elapsed = time.monotonic() - self.begun
        return int(self.done / max(elapsed, 1e-3) * self.seconds / 100) if elapsed > 1 else 10

    def verdict(self, what):
        marks = self.marks[len(self.marks) // 4:]  # caches fill in the beginning
        if len(marks) < 8:
            sys.exit(f"{what}: {self.done} are too few to tell")
        n = [m[0] for m in marks]
        memory = slope(n, [m[1] for m in marks])
        each = [(b[2] - a[2]) / max(b[0] - a[0], 1) for a, b in zip(marks, marks[1:])]
        growth = slope(n[1:], each) * (n[-1] - n[1]) / np.median(each)  # over the whole run, relative
        text = (f"{self.done} {what}: {memory:.1f} B each, {marks[-1][1] >> 20} MiB at the end; "
                f"time of one {1e3 * np.median(each):.2f} ms, {100 * growth:+.0f} % from first to last")
        if memory > self.bytes_each:
            sys.exit(f"memory grows: {text}")
        if growth > 0.25:
            sys.exit(f"time grows: {text}")
        print(text)


def make_scene(mi, rng, size=16):
    kind = ["diffuse", "roughconductor", "plastic", "dielectric"][rng.integers(4)]
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "path", "max_depth": int(rng.integers(2, 6))},
        "light": {"type": "constant", "radiance": float(rng.random())},
        "lamp": {"type": "point", "position": rng.random(3).tolist(), "intensity": 2.0},
        "ball": {"type": "sphere", "radius": 0.5 + float(rng.random()) / 2, "bsdf": {"type": kind}},
        "floor": {"type": "rectangle", "bsdf": {"type": "diffuse", "reflectance": {"type": "rgb", "value": rng.random(3).tolist()}}},
        "sensor": {"type": "perspective", "fov": 40, "to_world": mi.ScalarTransform4f().look_at([0, 1, 4], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": size, "height": size}}})


def renders(seconds, count, seed):
    """Renders of 16 x 16 pixels with another colour, light, place, seed and number of samples each: flat memory and time."""
    import umbel as mi
    import umbel.jit as dr
    rng = np.random.default_rng(seed)
    with mi.set_variant("llvm_ad_rgb"):
        scene = make_scene(mi, rng)
        params = mi.traverse(scene)
        names = {end: [k for k in params.keys() if k.endswith(end)] for end in ("reflectance.value", "intensity.value", "radiance.value",
                                                                                "to_world")}
        watch = Flat(seconds, count, bytes_each=300)
        while watch.goes_on():
            i = watch.done
            for k in names["reflectance.value"]:
                params[k] = type(params[k])(*rng.random(3 if isinstance(params[k], mi.Color3f) else 1))
            for k in names["intensity.value"] + names["radiance.value"]:
                params[k] = type(params[k])(float(rng.random()))
            if i % 4 == 0:
                params["sensor.to_world"] = mi.ScalarTransform4f().look_at([rng.random(), 1, 4], [0, 0, 0], [0, 1, 0])
            params.update()
            if i % 16 == 5:
                for k in names["reflectance.value"]:
                    dr.enable_grad(params[k])
                params.update()
                dr.backward(dr.sum(mi.render(scene, params, spp=4, seed=i), axis=None))
                for k in names["reflectance.value"]:
                    dr.grad(params[k])
                    params[k] = dr.detach(params[k])
                params.update()
            image = mi.render(scene, spp=int(4 + 4 * (i % 3)), seed=i)
            dr.eval(image)
            if i % 64 == 0:
                assert np.isfinite(np.array(image)).all()
        dr.sync_thread()
        watch.verdict("renders")


def scenes(seconds, count, seed):
    """Scenes that are loaded, rendered and dropped: flat memory and time."""
    import umbel as mi
    import umbel.jit as dr
    rng = np.random.default_rng(seed)
    with mi.set_variant("llvm_rgb"):
        watch = Flat(seconds, count, bytes_each=2000)
        while watch.goes_on():
            dr.eval(mi.render(make_scene(mi, rng), spp=1, seed=watch.done))
        dr.sync_thread()
        watch.verdict("scenes")


def threads(seconds, count, seed):
    """Eight threads with scenes of their own and one in common, with interrupted switches: the same images, flat memory."""
    import umbel as mi
    import umbel.jit as dr
    sys.setswitchinterval(1e-5)
    variants = ["llvm_rgb", "interp_rgb"]

    def image(scene, i):
        return np.array(mi.render(scene, spp=2, seed=i % 4)).tobytes()

    want, common = {}, {}
    for v in variants:
        with mi.set_variant(v):
            common[v] = make_scene(mi, np.random.default_rng(seed))
            for i in range(4):
                want[v, i] = image(common[v], i)
    errors = []

    def work(number):
        try:
            v = variants[number % 2]  # the script's choice is that of all threads, and changes while they run
            own = make_scene(mi, np.random.default_rng(seed)) if v == variants[0] else common[v]
            for i in range(20):
                if image(common[v] if i % 2 else own, i) != want[v, i % 4]:
                    raise RuntimeError(f"thread {number}, {v}: another image")
        except BaseException as e:
            errors.append(e)

    watch = Flat(seconds, max(count // 160, 8) if count else 0, bytes_each=100_000)
    mi.set_variant(variants[0])
    while watch.goes_on():
        group = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in group:
            t.start()
        for t in group:
            t.join()
        if errors:
            raise errors[0]
    watch.verdict("groups of eight threads with 20 renders each")


if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
