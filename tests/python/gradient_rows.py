# tests/python/gradient_rows.py: derivatives by many parameters at once, beside differences; see gradient_matrix_test.py.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

SIZE = 8


def rgb(*value): return {"type": "rgb", "value": list(value)}


def frame(integrator, depth):
    """A camera above, and the method."""
    T = mi.ScalarTransform4f
    film = {"type": "hdrfilm", "width": SIZE, "height": SIZE, "rfilter": {"type": "box"}, "pixel_format": "rgb"}
    kind = {"type": integrator} if integrator.startswith("direct") else {"type": integrator, "max_depth": depth}
    return {"type": "scene", "integrator": kind, "camera": {
        "type": "perspective", "fov": 40, "to_world": T().look_at([0, 3, 4], [0, 0, 0], [0, 1, 0]), "film": film,
        "sampler": {"type": "independent"}}}


def move(axis):
    def change(before, x):
        if hasattr(before, "matrix"):
            return mi.Transform4f().translate([x if k == axis else 0 for k in range(3)]) @ mi.Transform4f(before)
        lane = dr.arange(mi.UInt32, dr.width(before))
        return before + dr.select(lane % 3 == axis, x, 0)
    return change


def entry(index):
    def change(before, x):
        out = before.array + dr.select(dr.arange(mi.UInt32, dr.width(before.array)) == index, x, 0)
        return mi.TensorXf(out, before.shape)
    return change


def plain(before, x): return before + x


def weights(shape):
    y, x = np.mgrid[0:shape[0], 0:shape[1]] / (SIZE - 1)
    return np.repeat((.3 + x + .3 * np.sin(5 * x + 1) * np.cos(4 * y))[:, :, None], shape[2], 2)


class Matrix:
    """Derivatives by several parameters of a scene."""

    def __init__(self, scene, kinds):
        self.scene, self.kinds = mi.load_dict(scene), kinds
        self.params = mi.traverse(self.scene)
        self.before = {}
        for name, (key, _, _) in kinds.items():
            value = self.params[key]
            self.before[name] = type(value)(value)

    def render(self, numbers, seed, spp):
        for name, x in numbers.items():
            key, change, _ = self.kinds[name]
            self.params[key] = change(self.before[name], x)
        self.params.update()
        return mi.render(self.scene, self.params, seed=seed, seed_grad=seed + 1000, spp=spp)

    def number(self, image): return dr.sum(image * mi.TensorXf(weights(image.shape).astype(np.float32)), axis=None)

    def followed(self):
        numbers = {name: mi.Float(0) for name in self.kinds}
        for x in numbers.values():
            dr.enable_grad(x)
        return numbers

    def backward(self, seed, spp):
        numbers = self.followed()
        dr.backward(self.number(self.render(numbers, seed, spp)))
        return [float(dr.grad(x)[0]) for x in numbers.values()]

    def forward(self, seed, spp):
        """Along one direction."""
        numbers = self.followed()
        loss = self.number(self.render(numbers, seed, spp))
        for k, x in enumerate(numbers.values()):
            dr.set_grad(x, 1 + k)
            dr.enqueue(dr.ADMode.Forward, x)
        dr.traverse(dr.ADMode.Forward)
        return float(dr.grad(loss).array[0])

    def difference(self, name, seed, spp):
        step = self.kinds[name][2]
        images = [np.array(self.render({k: mi.Float(x if k == name else 0) for k in self.kinds}, seed, spp), np.float64)
                  for x in (step, -step)]
        return ((images[0] - images[1]) * weights(images[0].shape)).sum() / (2 * step)


EXPECTED = {}  # differences, for integrators that estimate the same


def differences(key, scene, kinds, spp, seeds):
    if key not in EXPECTED:
        m = Matrix(scene, kinds)
        EXPECTED[key] = {name: [m.difference(name, 500 + i, spp) for i in range(seeds)] for name in kinds}
    return EXPECTED[key]


def check(scene, kinds, expected, spp, seeds, slack=.01):
    m = Matrix(scene, kinds)
    got = np.array([m.backward(i, spp) for i in range(seeds)])
    along = got[0] @ np.arange(1, len(kinds) + 1)
    assert m.forward(0, spp) == pytest.approx(along, rel=2e-3, abs=2e-3 * np.abs(got[0]).sum())
    wrong = []
    for k, name in enumerate(kinds):
        want, mine = np.array(expected[name]), got[:, k]
        error = np.sqrt(want.var(ddof=1) / len(want) + mine.var(ddof=1) / len(mine))
        line = f"{name}: differences {want.mean():.4f}, derivative {mine.mean():.4f} +- {error:.4f}"
        print(line)
        # A step as wide as that of the differences has an error of its own
        if abs(want.mean() - mine.mean()) > 3 * error + slack * abs(want.mean()) or error > .2 * abs(want.mean()):
            wrong.append(line)
    assert not wrong, "\n".join(wrong)
