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
from gradient_rows import Matrix, check, differences, entry, frame, move, plain, rgb


@pytest.fixture(autouse=True)
def variant(request):
    """In place of all variants: one takes long enough."""
    name = getattr(request, "param", "llvm_ad_rgb")
    with mi.set_variant(name):
        yield name


def _bitmap(rows, columns, low, high):
    values = np.random.default_rng(rows).uniform(low, high, (rows, columns, 3)).astype(np.float32)
    return mi.Bitmap(mi.TensorXf(values))


def _room(integrator, depth, occluded, bare):
    """A floor that fills the image, a lamp above it, a wall beside it that reflects light; and what stands in between."""
    T = mi.ScalarTransform4f
    away = [0, 0, 0] if occluded else [0, 900, 0]
    wall = [0, -900, 0] if bare else [-3, 1, 0]
    shiny = {"type": "roughconductor", "alpha": 0.4, "eta": 1.5, "k": 2.0, "distribution": "ggx"}
    painted = {"type": "diffuse", "reflectance": {"type": "bitmap", "bitmap": _bitmap(4, 4, .2, .8), "raw": True}}
    return frame(integrator, depth) | {
        "floor": {"type": "cube", "to_world": T().translate([0, -.1, 0]).scale([6, .1, 6]),
                  "bsdf": {"type": "blendbsdf", "weight": .5, "a": painted, "b": shiny}},
        "lamp": {"type": "rectangle", "to_world": T().translate([1, 3.5, .5]).rotate([1, 0, 0], 90).scale(.8),
                 "emitter": {"type": "area", "radiance": rgb(9, 8, 7)}},
        "sky": {"type": "envmap", "bitmap": _bitmap(4, 8, .3, 1), "scale": 0. if bare else 1.},
        "wall": {"type": "rectangle", "to_world": T().translate(wall).rotate([0, 1, 0], 90).scale(1.5),
                 "bsdf": {"type": "diffuse", "reflectance": rgb(.7, .6, .5)}},
        "block": {"type": "cube", "to_world": T().translate(away).translate([.6, .9, 0]).rotate([1, 2, 3], 40).scale(.35),
                  "bsdf": {"type": "diffuse", "reflectance": rgb(.4, .5, .6)}},
        "ball": {"type": "sphere", "to_world": T().translate(away).translate([-.7, .8, .3]).scale(.45),
                 "bsdf": {"type": "diffuse", "reflectance": rgb(.6, .3, .2)}}}


# What a number x does to a parameter, and the step of the differences
MATERIALS = {
    "albedo": ("wall.bsdf.reflectance.value", plain, .05),
    "texture": ("floor.bsdf.bsdf_0.reflectance.data", entry(16), .05),
    "roughness": ("floor.bsdf.bsdf_1.alpha.value", plain, .01),
    "index": ("floor.bsdf.bsdf_1.eta.value", plain, .05),
    "emission": ("lamp.emitter.radiance.value", plain, .5),
    # Of a texel with one channel far above the others: in spectral variants derivatives jump where another becomes the largest
    "environment": ("sky.data", entry(36), .1)}
SHAPES = {
    "floor, vertices": ("floor.vertex_positions", move(1), .02), "lamp": ("lamp.to_world", move(0), .02),
    "camera": ("camera.to_world", move(0), .02)}


ALL = ["prb", "prb_basic", "rb", "ad", "prb_projective", "prb_reparam", "prbvolpath", "direct", "direct_projective"]


def _effort(integrator):
    """Samples and seeds: `direct` takes long, without samples of lights there is more noise."""
    return {"prb_basic": (512, 8), "direct": (64, 6), "ad": (128, 6)}.get(integrator, (128, 8))


# Without occlusion spectra do nothing that they do not do with it: one method of each kind
@pytest.mark.parametrize("integrator, occluded, variant", [(k, o, "llvm_ad_rgb") for k in ALL for o in (False, True)] + [
    (k, o, "llvm_ad_spectral") for k in ALL for o in (False, True) if o or k in ("prb", "prbvolpath", "direct_projective")],
    indirect=["variant"])
def test_materials_and_lights(integrator, occluded, variant):
    direct = integrator.startswith("direct")
    kinds = {k: v for k, v in MATERIALS.items() if not (direct and k == "albedo")}
    expected = differences(("materials", variant, occluded, direct),
                           _room("direct" if direct else "path", 3, occluded, False), kinds, 2048, 4)
    check(_room(integrator, 3, occluded, False), kinds, expected, *_effort(integrator))


# `prbvolpath` refuses shapes
@pytest.mark.parametrize("integrator, variant", [(k, "llvm_ad_rgb") for k in ("prb", "prb_basic", "prb_reparam", "direct")] +
                         [("prb", "llvm_ad_spectral"), ("prb_reparam", "llvm_ad_spectral")], indirect=["variant"])
def test_what_moves_where_nothing_comes_into_sight(integrator, variant):
    # Of 4 x 2,048 samples, differences by the lamp have errors of 1 %
    expected = differences(("shapes", variant), _room("path", 2, False, True), SHAPES, 4096, 8)
    check(_room(integrator, 2, False, True), SHAPES, expected, 4096 if integrator == "prb_basic" else 192, 6)


@pytest.mark.parametrize("integrator", ["rb", "ad", "prb_projective", "direct_projective"])
def test_what_moves_where_nothing_comes_into_sight_is_that_of_prb(integrator):
    def matrix(kind): return Matrix(_room(kind, 2, False, True), SHAPES)
    expected, m = matrix("prb").backward(0, 16), matrix(integrator)
    np.testing.assert_allclose(m.backward(0, 16), expected, rtol=1e-3)
    assert m.forward(0, 16) == pytest.approx(np.dot(expected, [1, 2, 3]), rel=1e-3)


def _cloud(integrator, occluded):
    """Smoke in a grid above a floor; and what stands before its lamp, and in it."""
    T = mi.ScalarTransform4f
    away = [0, 0, 0] if occluded else [0, 900, 0]

    def volume(channels, low, high):
        values = np.random.default_rng(channels).uniform(low, high, (2, 2, 2, channels)).astype(np.float32)
        return {"type": "gridvolume", "grid": mi.VolumeGrid(values), "to_world": T().translate([-1, 0, -1]).scale(2)}
    return frame(integrator, 4) | {
        "floor": {"type": "rectangle", "to_world": T().rotate([1, 0, 0], -90).scale(6),
                  "bsdf": {"type": "diffuse", "reflectance": rgb(.6, .5, .4)}},
        "lamp": {"type": "rectangle", "to_world": T().translate([1, 3.5, .5]).rotate([1, 0, 0], 90).scale(.8),
                 "emitter": {"type": "area", "radiance": rgb(9, 8, 7)}},
        "sky": {"type": "constant", "radiance": rgb(.3, .4, .5)},
        "cloud": {"type": "cube", "to_world": T().translate([0, 1.02, 0]), "bsdf": {"type": "null"}, "interior": {
            "type": "heterogeneous", "sigma_t": volume(1, .3, 1), "albedo": volume(3, .5, .9), "phase": {"type": "hg", "g": .3}}},
        "block": {"type": "cube", "to_world": T().translate(away).translate([.6, 2.4, .3]).rotate([1, 2, 3], 40).scale(.3),
                  "bsdf": {"type": "diffuse", "reflectance": rgb(.4, .5, .6)}},
        "ball": {"type": "sphere", "to_world": T().translate(away).translate([-.3, .8, .3]).scale(.3),
                 "bsdf": {"type": "diffuse", "reflectance": rgb(.6, .3, .2)}}}


MEDIA = {
    "density": ("cloud.interior_medium.sigma_t.data", entry(5), .1),
    "albedo of the medium": ("cloud.interior_medium.albedo.data", entry(15), .05),
    "phase": ("cloud.interior_medium.phase_function.g", plain, .05),
    "emission": ("lamp.emitter.radiance.value", plain, .5),
    "albedo": ("floor.bsdf.reflectance.value", plain, .05)}


@pytest.mark.parametrize("occluded, variant", [(False, "llvm_ad_rgb"), (True, "llvm_ad_rgb"), (False, "llvm_ad_spectral")],
                         indirect=["variant"])
def test_media(occluded, variant):
    expected = differences(("media", variant, occluded), _cloud("volpath", occluded), MEDIA, 1024, 4)
    check(_cloud("prbvolpath", occluded), MEDIA, expected, 512, 8)


@pytest.mark.parametrize("variant", ["llvm_ad_spectral_double"], indirect=True)
def test_derivatives_by_a_texel_jump_where_another_channel_becomes_the_largest(variant):
    light = mi.load_dict({"type": "envmap", "bitmap": _bitmap(4, 8, .3, 1)})
    params, si = mi.traverse(light), dr.zeros(mi.SurfaceInteraction3f, 200)
    before = mi.TensorXf(params["data"])
    tie = float(before.array[35] - before.array[33])  # blue is a little above red
    assert 0 < tie < .01
    phi = dr.arange(mi.Float, 200) * .05
    si.wi = mi.Vector3f(.8 * dr.sin(phi), -.6, .8 * dr.cos(phi))
    si.wavelengths = type(si.wavelengths)(*[mi.Float(w) for w in (430, 510, 580, 650)])

    def number(x):
        params["data"] = entry(33)(before, x)
        params.update()
        return dr.sum(dr.sum(light.eval(si)))

    def slope(at):
        x = mi.Float(at)
        dr.enable_grad(x)
        dr.backward(number(x))
        step = 1e-5
        difference = (number(mi.Float(at + step)) - number(mi.Float(at - step))) / (2 * step)
        assert dr.grad(x)[0] == pytest.approx(difference[0], rel=1e-5)
        return difference[0]
    below, above = slope(.5 * tie), slope(1.5 * tie)
    assert abs(below - above) > .2 * abs(below)
