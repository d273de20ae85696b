# tests/python/plugin_test.py: plugins written in Python, what their changes reach, and what compiles nothing.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr
from objects_test import close, gradients, room


class Mirror(mi.BSDF):
    """A mirror whose colour is a parameter."""

    def __init__(self, props):
        super().__init__(props)
        self.colour = mi.Color3f(props.get("colour", .5))
        self.m_components = [mi.BSDFFlags.DeltaReflection | mi.BSDFFlags.FrontSide]

    def traverse(self, cb): cb.put("colour", self.colour, mi.ParamFlags.Differentiable)

    def sample(self, ctx, si, sample1, sample2, active):
        bs = mi.BSDFSample3f(mi.reflect(si.wi))
        bs.pdf, bs.sampled_type = mi.Float(1), mi.UInt32(mi.BSDFFlags.DeltaReflection)
        return bs, dr.select(active & (si.wi.z > 0), self.colour, 0)

    def eval_pdf(self, ctx, si, wo, active): return mi.Spectrum(0), mi.Float(0)

    def eval_delta(self, ctx, si, bs, active): return dr.select(active & (si.wi.z > 0), self.colour, 0)


def test_gradients_pass_through_delta_lobes_in_python():
    mi.register_bsdf("pymirror", Mirror)
    d = room(sky={"type": "constant", "radiance": 2.})
    d["wall"]["bsdf"] = {"type": "pymirror"}
    del d["lamp"]
    scene = mi.load_dict(d)
    params = mi.traverse(scene)
    dr.enable_grad(params["wall.bsdf.colour"])
    params.update()
    image = mi.render(scene, params, spp=4, integrator=mi.load_dict({"type": "prb"}))
    dr.backward(dr.sum(image, axis=None))
    covered = (2 - image.numpy()[..., 0]).sum()  # the sky's 2, or 1 in the mirror
    assert covered > 0 and close(np.array(dr.grad(params["wall.bsdf.colour"])).ravel(), 2 * covered, rtol=.1)


class Rooted(mi.BSDF):
    """Diffuse; the left half does not depend on the colour, but only a careful one says so to derivatives: those of a root at 0
    are infinite, and 0 times that is none."""

    def __init__(self, props):
        super().__init__(props)
        self.colour, self.careful = mi.Color3f(.1, .2, .3), props.get("careful")
        self.m_components = [mi.BSDFFlags.DiffuseReflection | mi.BSDFFlags.FrontSide]

    def traverse(self, cb): cb.put("colour", self.colour, mi.ParamFlags.Differentiable)

    def albedo(self, si):
        left = si.uv.x < .5
        root = dr.select(left, 0, dr.sqrt(self.colour)) if self.careful else dr.sqrt(self.colour * dr.select(left, 0, mi.Float(1)))
        return .2 + root

    def sample(self, ctx, si, sample1, sample2, active):
        bs = mi.BSDFSample3f(mi.warp.square_to_cosine_hemisphere(sample2))
        bs.pdf, bs.sampled_type = bs.wo.z / dr.pi, mi.UInt32(mi.BSDFFlags.DiffuseReflection)
        return bs, dr.select(active & (si.wi.z > 0), self.albedo(si), 0)

    def eval_pdf(self, ctx, si, wo, active):
        good = active & (si.wi.z > 0) & (wo.z > 0)
        return dr.select(good, self.albedo(si) * wo.z / dr.pi, 0), dr.select(good, wo.z / dr.pi, 0)

    def eval(self, ctx, si, wo, active): return self.eval_pdf(ctx, si, wo, active)[0]


def test_derivatives_that_are_not_finite_are_left_out_and_told(capfd):
    mi.register_bsdf("rooted", Rooted)

    def gradient(careful):
        d = room(sky={"type": "constant", "radiance": 2.})
        d["wall"]["bsdf"] = {"type": "rooted", "careful": careful}
        del d["lamp"]
        scene = mi.load_dict(d)
        params = mi.traverse(scene)
        dr.enable_grad(params["wall.bsdf.colour"])
        params.update()
        image = mi.render(scene, params, spp=4, seed=1, seed_grad=2, integrator=mi.load_dict({"type": "prb", "max_depth": 2}))
        dr.backward(dr.sum(image, axis=None))
        return np.array(dr.grad(params["wall.bsdf.colour"])).ravel(), capfd.readouterr().err
    expected, said = gradient(True)
    assert (expected > 0).all() and "left out" not in said
    found, said = gradient(False)
    assert close(found, expected, rtol=1e-4) and "is NaN or infinite, and left out of gradients" in said


def test_all_that_share_a_texture_hear_that_it_changes():
    ball = lambda x: {"type": "sphere", "center": [x, 0, 0], "bsdf": {"type": "principled", "sheen": {"type": "ref", "id": "t"}}}
    scene = mi.load_dict({"type": "scene", "t": {"type": "uniform", "value": 0.}, "a": ball(-2), "b": ball(2)})
    si, wo = dr.zeros(mi.SurfaceInteraction3f), mi.Vector3f(.8, 0, .6)
    si.wi, si.sh_frame.n = mi.Vector3f(-.8, 0, .6), mi.Normal3f(0, 0, 1)
    seen = lambda: [np.array(s.bsdf().eval(mi.BSDFContext(), si, wo)).ravel()[0] for s in scene.shapes()]
    without = seen()
    params = mi.traverse(scene)
    params["t.value"] = 1.
    params.update()
    changed = seen()
    assert changed[0] > without[0] and changed[1] == changed[0]


class Narrow(mi.ReconstructionFilter):
    def __init__(self, props):
        super().__init__(props)
        self.m_radius = 1.

    def eval(self, x, active=True): return dr.maximum(1 - dr.abs(x), 0)


def test_a_filter_in_python_is_used_by_films():
    mi.register_rfilter("narrow", Narrow)
    images = []
    for name in ("narrow", "tent"):
        d = room()
        d["sensor"]["film"]["rfilter"] = {"type": name}
        images.append(mi.render(mi.load_dict(d), spp=8).numpy())
    assert close(*images)
    assert mi.load_dict({"type": "narrow"}).border_size() == 1


def test_parameters_of_plugins_in_python_keep_their_types():
    class Holder(mi.Texture):
        def __init__(self, props):
            super().__init__(props)
            self.offset, self.level, self.heard = mi.Point2f(1, 2), 3., []

        def traverse(self, cb):
            cb.put("offset", self.offset, mi.ParamFlags.Differentiable | mi.ParamFlags.Discontinuous)
            cb.put("level", self.level, mi.ParamFlags.NonDifferentiable)

        def parameters_changed(self, keys): self.heard += keys

        def eval(self, si, active): return mi.Spectrum(self.level)
    mi.register_texture("holder", Holder)
    bsdf = mi.load_dict({"type": "diffuse", "reflectance": {"type": "holder"}})
    params = mi.traverse(bsdf)
    assert sorted(params.keys()) == ["reflectance.level", "reflectance.offset"]
    assert type(params["reflectance.offset"]) is mi.Point2f and params.flags("reflectance.offset") == 2
    assert params.flags("reflectance.level") == 1
    params["reflectance.offset"] = mi.Point2f(5, 6)
    params["reflectance.level"] = 4.
    changed = params.update()
    holder = changed[0][0]
    assert changed[0][1] == {"offset", "level"} and changed[-1][1] == {"reflectance"}
    assert holder.level == 4. and close(np.array(holder.offset).ravel(), [5, 6])
    assert sorted(holder.heard) == ["level", "offset"]
    assert params.update() == []


def test_making_a_plugin_again_compiles_nothing():
    def image():
        mi.register_bsdf("pymirror", Mirror)  # as running a notebook's cell again does
        d = room(sky={"type": "constant", "radiance": 2.})
        d["wall"]["bsdf"] = {"type": "pymirror", "colour": .25}
        return mi.render(mi.load_dict(d), spp=2).numpy()
    first = image()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        assert close(image(), first)
        if mi.variant().startswith("llvm"):
            assert all(k["cache_hit"] for k in dr.kernel_history([dr.KernelType.JIT]))


def test_what_moves_compiles_nothing():
    scene = mi.load_dict(room(sky={"type": "constant"}))
    params = mi.traverse(scene)
    keys = [k for k in params.keys() if k.endswith("to_world")]
    assert len(keys) >= 2

    def image(x):
        for k in keys:
            params[k] = mi.Transform4f().translate([x, 2 * x, 0]) @ mi.Transform4f(start[k])
        params.update()
        return mi.render(scene, spp=2).numpy()
    start = {k: np.array(params[k].matrix, dtype=float).reshape(4, 4) for k in keys}
    image(.125)
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
        dr.kernel_history_clear()
        image(.3)
        if mi.variant().startswith("llvm"):
            assert all(k["cache_hit"] for k in dr.kernel_history([dr.KernelType.JIT]))


def test_lights_and_cameras_know_where_they_are():
    T = mi.ScalarTransform4f
    place = lambda e: np.array(e.world_transform().matrix, dtype=float).reshape(4, 4)[:3, 3]
    at = T().translate([1, 2, 3])
    for light in ({"type": "point", "position": [1, 2, 3]}, {"type": "point", "to_world": at}, {"type": "spot", "to_world": at},
                  {"type": "point", "position": [1, 1, 1], "to_world": T().translate([0, 1, 2])}, {"type": "collimated", "to_world": at}):
        assert np.allclose(place(mi.load_dict(light)), [1, 2, 3])
    square = lambda camera, p: np.ravel(camera.projection_transform() @ mi.Point3f(p))[:2]
    film = {"type": "hdrfilm", "width": 8, "height": 4}
    wide = mi.load_dict({"type": "perspective", "fov": 90, "film": film})
    flat = mi.load_dict({"type": "orthographic", "film": film})
    assert np.allclose(square(wide, [-2, 1, 2]), [1, 0], atol=1e-5) and np.allclose(square(wide, [0, 0, 7]), .5, atol=1e-5)
    assert np.allclose(square(flat, [-1, .5, 2]), [1, 0], atol=1e-5) and np.allclose(square(flat, [0, 0, 7]), .5, atol=1e-5)


def test_lights_say_which_numbers_their_rays_need():
    numbers = {"point": (False, True), "spot": (False, True), "directional": (True, False), "collimated": (False, False),
               "constant": (True, True)}
    for name, needed in numbers.items():
        light = mi.load_dict({"type": name})
        assert (light.needs_sample_2(), light.needs_sample_3()) == needed, name


def test_a_camera_has_one_field_of_view():
    with pytest.raises(RuntimeError, match="not both"):
        mi.load_dict({"type": "perspective", "fov": 40, "focal_length": "50mm"})
    for props in ({"fov": 40.}, {"fov": 40., "fov_axis": "y"}, {"fov": 40., "fov_axis": "diagonal"}, {"focal_length": "35mm"},
                  {"fov": 40., "fov_axis": "smaller"}, {}):
        camera = mi.load_dict({"type": "perspective", "film": {"type": "hdrfilm", "width": 30, "height": 20}, **props})
        assert np.isclose(mi.parse_fov(props, 1.5), mi.traverse(camera)["x_fov"], rtol=1e-5)
    with pytest.raises(mi.UserError, match="fov_axis is"):
        mi.parse_fov({"fov": 40., "fov_axis": "z"}, 1.5)


def test_plugins_may_be_functions_that_give_back_objects():
    def triangle(props):
        size = props.get("size", 1.)
        return mi.Mesh("triangle", faces=[[0, 1, 2]], positions=[[0, 0, 0], [size, 0, 0], [0, size, 0]])
    mi.register_shape("triangle", triangle)
    mi.register_bsdf("blue", lambda props: mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0, 0, 1]}}))
    scene = mi.load_dict({"type": "scene", "small": {"type": "triangle"}, "large": {"type": "triangle", "size": 3.}})
    assert [s.id() for s in scene.shapes()] == ["small", "large"]
    assert [s.surface_area()[0] for s in scene.shapes()] == pytest.approx([.5, 4.5])
    ball = mi.load_dict({"type": "sphere", "bsdf": {"type": "blue"}})
    assert np.allclose(np.ravel(mi.traverse(ball.bsdf())["reflectance.value"]), [0, 0, 1])
    with pytest.raises(mi.UserError, match="sizes"):
        mi.load_dict({"type": "triangle", "sizes": 3.})
    mi.register_bsdf("gives_nothing", lambda props: None)
    with pytest.raises(mi.UserError, match="gave nothing back"):
        mi.load_dict({"type": "gives_nothing"})
    mi.register_bsdf("gives_a_shape", lambda props: mi.load_dict({"type": "sphere"}))
    with pytest.raises(mi.UserError, match="gave back a shape"):
        mi.load_dict({"type": "gives_a_shape"})
