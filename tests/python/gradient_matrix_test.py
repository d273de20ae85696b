# tests/python/gradient_matrix_test.py: kinds of parameters x integrators that differentiate by them.
#
# One number is a sum of all pixels with weights. Its derivatives by all parameters of a scene come from reverse mode, by one
# traversal a seed; forward mode gives the same along a direction; differences of images with many samples and the same
# random numbers say what they should be, within three standard errors of both. Scenes with and without occlusion differ in
# data alone, so that all of them share their kernels.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr

SIZE, SEEDS = 8, 12


@pytest.fixture(autouse=True)
def variant():
    """In place of all variants: one takes long enough."""
    with mi.set_variant("llvm_ad_rgb"):
        yield "llvm_ad_rgb"


def _rgb(*value): return {"type": "rgb", "value": list(value)}


def _bitmap(rows, columns, low, high):
    values = np.random.default_rng(rows).uniform(low, high, (rows, columns, 3)).astype(np.float32)
    return mi.Bitmap(mi.TensorXf(values))


def _frame(integrator, depth):
    T = mi.ScalarTransform4f
    film = {"type": "hdrfilm", "width": SIZE, "height": SIZE, "rfilter": {"type": "box"}, "pixel_format": "rgb"}
    kind = {"type": integrator} if integrator.startswith("direct") else {"type": integrator, "max_depth": depth}
    return {"type": "scene", "integrator": kind, "camera": {
        "type": "perspective", "fov": 40, "to_world": T().look_at([0, 3, 4], [0, 0, 0], [0, 1, 0]), "film": film,
        "sampler": {"type": "independent"}}}


def _room(integrator, depth, occluded, bare):
    """A floor that fills the image, a lamp above it, a wall beside it that reflects light; and what stands in between."""
    T = mi.ScalarTransform4f
    away = [0, 0, 0] if occluded else [0, 900, 0]
    wall = [0, -900, 0] if bare else [-3, 1, 0]
    shiny = {"type": "roughconductor", "alpha": 0.4, "eta": 1.5, "k": 2.0, "distribution": "ggx"}
    painted = {"type": "diffuse", "reflectance": {"type": "bitmap", "bitmap": _bitmap(4, 4, .2, .8), "raw": True}}
    return _frame(integrator, depth) | {
        "floor": {"type": "cube", "to_world": T().translate([0, -.1, 0]).scale([6, .1, 6]),
                  "bsdf": {"type": "blendbsdf", "weight": .5, "a": painted, "b": shiny}},
        "lamp": {"type": "rectangle", "to_world": T().translate([1, 3.5, .5]).rotate([1, 0, 0], 90).scale(.8),
                 "emitter": {"type": "area", "radiance": _rgb(9, 8, 7)}},
        "sky": {"type": "envmap", "bitmap": _bitmap(4, 8, .3, 1), "scale": 0. if bare else 1.},
        "wall": {"type": "rectangle", "to_world": T().translate(wall).rotate([0, 1, 0], 90).scale(1.5),
                 "bsdf": {"type": "diffuse", "reflectance": _rgb(.7, .6, .5)}},
        "block": {"type": "cube", "to_world": T().translate(away).translate([.6, .9, 0]).rotate([1, 2, 3], 40).scale(.35),
                  "bsdf": {"type": "diffuse", "reflectance": _rgb(.4, .5, .6)}},
        "ball": {"type": "sphere", "to_world": T().translate(away).translate([-.7, .8, .3]).scale(.45),
                 "bsdf": {"type": "diffuse", "reflectance": _rgb(.6, .3, .2)}}}


def _move(axis):
    def change(before, x):
        if hasattr(before, "matrix"):
            return mi.Transform4f().translate([x if k == axis else 0 for k in range(3)]) @ mi.Transform4f(before)
        lane = dr.arange(mi.UInt32, dr.width(before))
        return before + dr.select(lane % 3 == axis, x, 0)
    return change


def _entry(index):
    def change(before, x):
        out = before.array + dr.select(dr.arange(mi.UInt32, dr.width(before.array)) == index, x, 0)
        return mi.TensorXf(out, before.shape)
    return change


def _plain(before, x): return before + x


# What a number x does to a parameter, and the step of the differences
MATERIALS = {
    "albedo": ("wall.bsdf.reflectance.value", _plain, .05),
    "texture": ("floor.bsdf.bsdf_0.reflectance.data", _entry(16), .05),
    "roughness": ("floor.bsdf.bsdf_1.alpha.value", _plain, .01),
    "index": ("floor.bsdf.bsdf_1.eta.value", _plain, .05),
    "emission": ("lamp.emitter.radiance.value", _plain, .5),
    "environment": ("sky.data", _entry(33), .2)}
SHAPES = {
    "floor, vertices": ("floor.vertex_positions", _move(1), .02), "lamp": ("lamp.to_world", _move(0), .02),
    "camera": ("camera.to_world", _move(0), .02)}


def _weights(shape):
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

    def number(self, image): return dr.sum(image * mi.TensorXf(_weights(image.shape).astype(np.float32)), axis=None)

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
        return ((images[0] - images[1]) * _weights(images[0].shape)).sum() / (2 * step)


EXPECTED = {}  # differences, for integrators that estimate the same


def _differences(key, scene, kinds, spp, seeds):
    if key not in EXPECTED:
        m = Matrix(scene, kinds)
        EXPECTED[key] = {name: [m.difference(name, 500 + i, spp) for i in range(seeds)] for name in kinds}
    return EXPECTED[key]


def _check(scene, kinds, expected, spp, slack=.01):
    m = Matrix(scene, kinds)
    got = np.array([m.backward(i, spp) for i in range(SEEDS)])
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


@pytest.mark.parametrize("occluded", [False, True])
@pytest.mark.parametrize("integrator", ["prb", "prb_basic", "rb", "ad", "prb_projective", "prbvolpath", "direct", "direct_projective"])
def test_materials_and_lights(integrator, occluded):
    direct = integrator.startswith("direct")
    kinds = {k: v for k, v in MATERIALS.items() if not (direct and k == "albedo")}
    expected = _differences(("materials", occluded, direct), _room("direct" if direct else "path", 3, occluded, False),
                            kinds, 4096, 4)
    _check(_room(integrator, 3, occluded, False), kinds, expected, 512 if integrator == "prb_basic" else 128)


@pytest.mark.parametrize("integrator", ["prb", "prb_projective"])
def test_what_moves_where_nothing_comes_into_sight(integrator):
    expected = _differences("shapes", _room("path", 2, False, True), SHAPES, 4096, 4)
    _check(_room(integrator, 2, False, True), SHAPES, expected, 128)
