# tests/python/endpoint_plugin_test.py: every question that C++ asks of emitters, sensors and textures reaches those written in Python.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def numbers(v): return np.array(v).ravel().tolist()


def answers(base):
    """A class with answers that the base class does not give; what is asked for by super() is the base class's answer."""
    class Answers(base):
        def __init__(self, props):
            super().__init__(props)
            self.surroundings = None

        def set_scene(self, scene):
            super().set_scene(scene)
            self.surroundings = scene.bbox()

        def bbox(self):
            assert not dr.any(super().bbox().valid())
            return mi.BoundingBox3f([1, 2, 3], [4, 5, 6])

        def sample_position(self, time, sample, active=True):
            ps = dr.zeros(mi.PositionSample3f)
            ps.p = mi.Point3f(sample.x, sample.y, 7)
            return ps, mi.Float(8)

        def pdf_position(self, ps, active=True): return ps.p.z + 1
        def pdf_direction(self, it, ds, active=True): return super().pdf_direction(it, ds, active) + ds.dist
        def eval_direction(self, it, ds, active=True): return mi.Color3f(ds.dist, 0, 1)
        def eval(self, si, active=True): return mi.Color3f(si.uv.x, 2, 3)

        def sample_wavelengths(self, si, sample, active=True):
            wavelengths, weight = super().sample_wavelengths(si, sample, active)
            return wavelengths, weight * 5
    return Answers


Lamp, Meter = answers(mi.Emitter), answers(mi.Sensor)


def records():
    si, it, ds = dr.zeros(mi.SurfaceInteraction3f), dr.zeros(mi.Interaction3f), dr.zeros(mi.DirectionSample3f)
    si.uv, ds.dist = mi.Point2f(.25, .5), mi.Float(4)
    return si, it, ds


def test_what_super_answers_is_what_the_base_class_does():
    mi.register_emitter("answers", Lamp)
    lamp, (si, it, ds) = mi.load_dict({"type": "answers"}), records()
    assert numbers(lamp.pdf_direction(it, ds)) == [4] and numbers(mi.Emitter.pdf_direction(lamp, it, ds)) == [0]
    assert set(numbers(lamp.sample_wavelengths(si, .5)[1])) == {5}
    assert numbers(lamp.bbox().max) == [4, 5, 6]


def test_what_lights_are_asked_by_a_scene_reaches_those_written_in_python():
    mi.register_emitter("answers", Lamp)
    scene, (_, it, ds) = mi.load_dict({"type": "scene", "floor": {"type": "rectangle"}, "lamp": {"type": "answers"}}), records()
    ds.emitter = mi.EmitterPtr(scene.emitters()[0])
    assert numbers(scene.pdf_emitter_direction(it, ds)) == [4]
    assert numbers(scene.eval_emitter_direction(it, ds)) == [4, 0, 1]


def test_what_sensors_are_asked_by_others_reaches_those_written_in_python():
    # A batch of one asks it all that it is asked itself
    mi.register_sensor("answers_meter", Meter)
    film = {"type": "hdrfilm", "width": 2, "height": 2}
    batch = mi.load_dict({"type": "batch", "film": film, "meter": {"type": "answers_meter", "film": film}})
    si, it, ds = records()
    ps, weight = batch.sample_position(0., mi.Point2f(.5, .75))
    assert numbers(ps.p) == [.5, .75, 7] and numbers(weight) == [8]
    assert numbers(batch.pdf_direction(it, ds)) == [4]
    assert numbers(batch.eval_direction(it, ds)) == [4, 0, 1]
    assert [numbers(end) for end in batch._bounds()] == [[1, 2, 3], [4, 5, 6]]


def test_endpoints_written_in_python_are_told_the_bounds_of_the_scene():
    mi.register_emitter("answers", Lamp)
    mi.register_sensor("answers_meter", Meter)
    scene = mi.load_dict({"type": "scene", "floor": {"type": "rectangle"}, "lamp": {"type": "answers"},
                          "meter": {"type": "answers_meter", "film": {"type": "hdrfilm", "width": 2, "height": 2}}})
    for e in (scene.emitters()[0], scene.sensors()[0]):
        assert numbers(e.surroundings.min) == [-1, -1, 0] and numbers(e.surroundings.max) == [1, 1, 0]
        e.surroundings = None
        e.set_scene(scene)
        assert numbers(e.surroundings.max) == [1, 1, 0]


class Ramp(mi.Texture):
    def eval(self, si, active=True): return mi.Color3f(si.uv.x)
    def eval_1(self, si, active=True): return super().eval_1(si, active) * 2
    def max(self): return .75


class Even(Ramp):
    def is_spatially_varying(self): return False


def test_what_textures_are_asked_by_others_reaches_those_written_in_python():
    mi.register_texture("answers", Ramp)
    si, _, _ = records()
    board = mi.load_dict({"type": "checkerboard", "color0": {"type": "answers"}, "color1": {"type": "answers"}})
    assert numbers(board.eval_1(si)) == [.5]
    mi.register_texture("even_answers", Even)
    volume = mi.load_dict({"type": "constvolume", "value": {"type": "even_answers"}})
    assert volume.max() == .75


def test_super_reaches_the_base_class_in_plugins_of_all_kinds():
    class Named(mi.SamplingIntegrator):
        def aov_names(self): return super().aov_names() + ["x"]

    class Grey(mi.BSDF):
        def __init__(self, props):
            super().__init__(props)
            self.m_components, self.m_flags = [mi.BSDFFlags.DiffuseReflection], mi.BSDFFlags.DiffuseReflection

        def eval(self, ctx, si, wo, active=True): return super().eval(ctx, si, wo, active) + .25
        def pdf(self, ctx, si, wo, active=True): return mi.Float(1)
        def eval_null_transmission(self, si, active=True): return super().eval_null_transmission(si, active) + .5

    class Wide(mi.ReconstructionFilter):
        def __init__(self, props):
            super().__init__(props)
            self.m_radius = 2

        def radius(self): return super().radius() + 1
        def eval(self, x, active=True): return mi.Float(1)

    class Fog(mi.Volume):
        def eval(self, it, active=True): return mi.Color3f(.5)
        def eval_1(self, it, active=True): return super().eval_1(it, active) * 2
        def max(self): return 1
        def resolution(self): return super().resolution()

    mi.register_integrator("super_named", Named)
    mi.register_bsdf("super_grey", Grey)
    mi.register_rfilter("super_wide", Wide)
    mi.register_volume("super_fog", Fog)
    si, it, _ = records()
    assert mi.load_dict({"type": "super_named"}).aov_names() == ["x"]
    grey = mi.load_dict({"type": "super_grey"})
    assert set(numbers(grey.eval(mi.BSDFContext(), si, mi.Vector3f(0, 0, 1)))) == {.25}
    assert set(numbers(grey.eval_null_transmission(si))) == {.5}
    assert mi.load_dict({"type": "super_wide"}).radius() == 3
    fog = mi.load_dict({"type": "super_fog"})
    assert numbers(fog.eval_1(it)) == [1] and len(fog.resolution()) == 3


def test_what_moves_has_no_one_place():
    moves = ("<animation name='to_world'><transform time='0'/><transform time='1'><translate x='1'/></transform></animation>")
    scene = mi.load_string(f"<scene version='3.0.0'><emitter type='spot'>{moves}</emitter>"
                           f"<sensor type='perspective'>{moves}</sensor></scene>")
    for end in (scene.emitters()[0], scene.sensors()[0]):
        with pytest.raises(Exception, match="it moves"):
            end.world_transform()
