# tests/python/oracle_projective_gradients.py: derivatives by what moves agree with those of Mitsuba's `prb_projective`, in
# expectation.
#
# As oracle_gradients.py, for a sum of all pixels with weights, by how far something is moved; `--differences` shows what each side's
# finite differences are. Cubes and cylinders are not among the scenes: Mitsuba's derivatives are two to three times its own differences
# there. Axes of rotations have length 1: Mitsuba makes no rotation of others.
import sys
import warnings

try:
    import drjit
    import mitsuba
except ImportError:
    print("skipped: no Mitsuba")
    sys.exit(77)
from statistics import NormalDist

import numpy as np

import umbel
import umbel.jit

warnings.simplefilter("ignore")
SEEDS, SIZE, SPP = 12, 16, 64


def scene(mi, name):
    T = mi.ScalarTransform4f
    rgb = lambda *v: {"type": "rgb", "value": list(v)}
    glow = lambda *v: {"type": "area", "radiance": rgb(*v)}
    floor = {"type": "rectangle", "to_world": T().translate([0, -.8, 0]).rotate([1, 0, 0], -90).scale(4),
             "bsdf": {"type": "diffuse", "reflectance": rgb(.7, .6, .5)}}
    lamp = {"type": "rectangle", "to_world": T().translate([1, 3, 0]).rotate([1, 0, 0], 90).scale(.5), "emitter": glow(9, 8, 7)}
    wall = {"type": "rectangle", "to_world": T().translate([.3, 0, -2]).scale(1.2), "emitter": glow(.6, .3, .2)}
    turned = T().rotate([.6, .8, 0], 30).scale(.8)
    clay = {"type": "diffuse", "reflectance": rgb(.4, .5, .6)}
    things = {
        "ball that glows": {"wall": wall, "thing": {"type": "sphere", "radius": .8, "emitter": glow(1, .5, .2)}},
        "pane that glows": {"wall": wall, "thing": {"type": "rectangle", "to_world": turned, "emitter": glow(1, .5, .2)}},
        "disk that glows": {"wall": wall, "thing": {"type": "disk", "to_world": turned, "emitter": glow(1, .5, .2)}},
        "ball and shadow": {"floor": floor, "lamp": lamp, "thing": {"type": "sphere", "radius": .45, "bsdf": clay}},
    }[name]
    depth = 1 if "glows" in name else 2
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "prb_projective", "max_depth": depth, "rr_depth": 100},
        "camera": {"type": "perspective", "fov": 45, "to_world": T().look_at([0, 1, 5], [0, 0, 0], [0, 1, 0]),
                   "film": {"type": "hdrfilm", "width": SIZE, "height": SIZE, "rfilter": {"type": "gaussian"}, "pixel_format": "rgb"},
                   "sampler": {"type": "independent"}}, **things})


class Side:
    def __init__(self, mi, dr, name, axes):
        self.mi, self.dr, self.axes = mi, dr, axes
        self.scene = scene(mi, name)
        self.params = mi.traverse(self.scene)
        self.before = mi.Transform4f(self.params["thing.to_world"])
        y, x = np.mgrid[0:SIZE, 0:SIZE] / (SIZE - 1)
        weights = np.repeat((x + .3 * np.sin(5 * x + 1) * np.cos(4 * y))[:, :, None], 3, 2)
        self.weights = mi.TensorXf(weights.astype(np.float32))

    def number(self, way, seed, spp):
        """Of the image of what was moved so far along its axes."""
        mi, zero = self.mi, self.mi.Float(0)
        v = mi.Vector3f(*[way[self.axes.index(k)] if k in self.axes else zero for k in range(3)])
        self.params["thing.to_world"] = mi.Transform4f().translate(v) @ self.before
        self.params.update()
        image = mi.render(self.scene, self.params, spp=spp, seed=2 * seed, seed_grad=2 * seed + 1)
        return self.dr.sum(image * self.weights, axis=None)

    def derivatives(self):
        out = []
        for seed in range(SEEDS):
            way = [self.mi.Float(0) for _ in self.axes]
            for x in way:
                self.dr.enable_grad(x)
            self.dr.backward(self.number(way, seed, SPP))
            out.append([float(np.array(self.dr.grad(x)).ravel()[0]) for x in way])
        return np.array(out).T

    def differences(self, axis, step=.02):
        def value(x, seed):
            way = [self.mi.Float(x if k == axis else 0) for k in self.axes]
            return float(np.array(self.number(way, seed, 4096)).ravel()[0])
        return np.array([(value(step, 100 + k) - value(-step, 100 + k)) / (2 * step) for k in range(3)])


CASES = {"ball that glows": (0, 2), "pane that glows": (0,), "disk that glows": (0,), "ball and shadow": (0, 1)}
mitsuba.set_variant("llvm_ad_rgb")
umbel.set_variant("llvm_ad_rgb")
worst, count = 0, 0
for name, axes in CASES.items():
    theirs, ours = Side(mitsuba, drjit, name, axes), Side(umbel, umbel.jit, name, axes)
    for axis, a, b in zip(axes, theirs.derivatives(), ours.derivatives()):
        error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / SEEDS)
        z = (a.mean() - b.mean()) / max(error, 1e-12)
        worst, count = max(worst, abs(z)), count + 1
        print(f"{name:30} {'xyz'[axis]}: mitsuba {a.mean():.4f} umbel {b.mean():.4f} +- {error:.4f}, z {z:.2f}, "
              f"deviations {a.std():.3f} {b.std():.3f}", flush=True)
        if "--differences" in sys.argv:
            for side in (theirs, ours):
                d = side.differences(axis)
                print(f"    {side.mi.__name__}'s differences: {d.mean():.4f} +- {d.std(ddof=1) / np.sqrt(len(d)):.4f}", flush=True)
# Two-sided, 1 in 1,000 over all comparisons; of so few seeds, tails are heavier than those of a normal distribution
limit = 1.25 * NormalDist().inv_cdf(1 - 0.0005 / count)
print(f"worst |z| {worst:.2f}, limit {limit:.2f} for {count} comparisons")
sys.exit(int(worst > limit))
