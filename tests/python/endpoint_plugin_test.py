# tests/python/endpoint_plugin_test.py: every question that C++ asks of emitters, sensors and textures reaches those written in Python.
import numpy as np

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
    mi.register_sensor("answers", Meter)
    film = {"type": "hdrfilm", "width": 2, "height": 2}
    batch = mi.load_dict({"type": "batch", "film": film, "meter": {"type": "answers", "film": film}})
    si, it, ds = records()
    ps, weight = batch.sample_position(0., mi.Point2f(.5, .75))
    assert numbers(ps.p) == [.5, .75, 7] and numbers(weight) == [8]
    assert numbers(batch.pdf_direction(it, ds)) == [4]
    assert numbers(batch.eval_direction(it, ds)) == [4, 0, 1]
    assert [numbers(end) for end in batch._bounds()] == [[1, 2, 3], [4, 5, 6]]


def test_endpoints_written_in_python_are_told_the_bounds_of_the_scene():
    mi.register_emitter("answers", Lamp)
    mi.register_sensor("answers", Meter)
    scene = mi.load_dict({"type": "scene", "floor": {"type": "rectangle"}, "lamp": {"type": "answers"},
                          "meter": {"type": "answers", "film": {"type": "hdrfilm", "width": 2, "height": 2}}})
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
