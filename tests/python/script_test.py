# tests/python/script_test.py: what scripts for Mitsuba 3 do in passing means the same here.
import numpy as np
import pytest

import umbel as mi
import umbel.jit as dr


def test_parameters_are_gone_through_in_pairs():
    params = mi.traverse(mi.load_dict({"type": "diffuse", "reflectance": {"type": "rgb", "value": [0.1, 0.2, 0.3]}}))
    assert [(k, type(v)) for k, v in params] == [("reflectance.value", mi.Color3f)]


def test_a_parameter_that_is_not_there_is_a_key_error():
    params = mi.traverse(mi.load_dict({"type": "diffuse"}))
    with pytest.raises(KeyError, match="reflectance.value"):  # the nearest one
        params["reflectence.value"]
    with pytest.raises(KeyError):
        params["reflectence.value"] = 1
    params.keep([])
    with pytest.raises(KeyError):
        params["reflectance.value"]


def test_flags_follow_references_that_are_gathered():
    scene = mi.load_dict({"type": "scene", "a": {"type": "sphere", "bsdf": {"type": "dielectric"}}, "b": {"type": "rectangle"}})
    bsdfs = scene.shapes_dr().bsdf()
    picked = dr.gather(mi.BSDFPtr, bsdfs, mi.UInt32(1, 0, 1))
    assert list(picked.flags()) == [list(bsdfs.flags())[i] for i in (1, 0, 1)]


class Lamp(mi.Emitter):
    def __init__(self, props):
        super().__init__(props)
        self.m_flags = mi.EmitterFlags.DeltaPosition
        self.at = mi.Point3f(props["position"])

    def sample_direction(self, it, sample, active=True):
        ds = dr.zeros(mi.DirectionSample3f)
        ds.p, ds.delta, ds.pdf = self.at, True, 1
        ds.emitter = mi.EmitterPtr(self)
        ds.d = ds.p - it.p
        ds.dist = dr.norm(ds.d)
        ds.d /= ds.dist
        return ds, mi.Color3f(2, 3, 4) / dr.square(ds.dist)

    def eval(self, si, active=True): return mi.Color3f(0)


def lit_by(light_sampler="auto", **lights):
    return mi.load_dict({"type": "scene", "light_sampler": light_sampler, "floor": {"type": "rectangle"}, **lights,
                         "sensor": {"type": "perspective", "to_world": mi.ScalarTransform4f().look_at([0, 0, 4], [0] * 3, [0, 1, 0]),
                                    "film": {"type": "hdrfilm", "width": 8, "height": 8}}})


def test_samples_of_lights_in_python_name_their_light():
    mi.register_emitter("lamp", Lamp)
    ours = lit_by(light={"type": "lamp", "position": [0.3, 0, 1]})
    theirs = lit_by(light={"type": "point", "position": [0.3, 0, 1], "intensity": {"type": "rgb", "value": [2, 3, 4]}})
    assert np.allclose(mi.render(ours, spp=16).numpy(), mi.render(theirs, spp=16).numpy(), rtol=1e-5)

    lamp, it = ours.emitters()[0], dr.zeros(mi.Interaction3f, 3)
    ds = lamp.sample_direction(it, [0.5, 0.5])[0]
    assert ds.emitter[0] is lamp
    assert list(mi.DirectionSample3f(ds).emitter == mi.EmitterPtr(lamp)) == [True]


class PlacedLamp(Lamp):
    def bbox(self):
        box = super().bbox()  # of an emitter that says nothing: empty
        box.expand(self.at)
        return box


class EndlessLamp(Lamp):
    def bbox(self): return mi.ScalarBoundingBox3f(-dr.inf, dr.inf)


class RayLamp(PlacedLamp):
    def sample_ray(self, time, wavelength, position, direction, active=True):
        ray = mi.Ray3f(self.at, mi.warp.square_to_uniform_sphere(direction))
        return ray, mi.Color3f(2, 3, 4) * (4 * dr.pi)


def many_lamps(kind, sampler="auto"):
    # Close together: whichever is chosen, a place gets the same up to some percent
    places = [[0.3 + 0.02 * np.cos(i), 0.02 * np.sin(i), 1] for i in range(20)]
    colour = {"type": "rgb", "value": [2, 3, 4]}
    theirs = {f"p{i}": {"type": "point", "position": places[i], "intensity": colour} for i in range(4)}
    ours = {f"l{i}": {"type": "point", "position": p, "intensity": colour} if kind == "point" else {"type": kind, "position": p}
            for i, p in enumerate(places[4:])}
    return lit_by(sampler, **theirs, **ours)


@pytest.mark.parametrize("lamp", [Lamp, PlacedLamp, EndlessLamp, RayLamp])
def test_a_tree_of_lights_holds_those_in_python(lamp):
    mi.register_emitter("many_lamps", lamp)
    scene = many_lamps("many_lamps")

    def colour(scene): return mi.render(scene, spp=256).numpy().mean((0, 1))
    # Whichever are chosen, 16,384 samples would know it: even were the four of C++ chosen a quarter as often as the others
    assert np.allclose(colour(scene), colour(many_lamps("point", "uniform")), rtol=0.03)
    box = scene.emitters()[-1].bbox()
    assert bool(dr.all(box.valid())) == (lamp is not Lamp)


def test_a_transform_of_space_acts_on_the_plane():
    t = mi.ScalarTransform4f().translate([1, 2, 3]).scale([4, 5, 6])
    assert type(t.extract()) is mi.ScalarTransform3f
    assert np.allclose(t.extract().matrix, [[4, 0, 1], [0, 5, 2], [0, 0, 1]])


def test_a_pinhole_is_sharp_everywhere():
    assert mi.load_dict({"type": "perspective", "far_clip": 123}).focus_distance() == 123
    assert mi.load_dict({"type": "thinlens", "aperture_radius": 0.1, "focus_distance": 5}).focus_distance() == 5


def test_formats_of_files_are_found_in_streams(tmp_path):
    mi.Bitmap(np.zeros((2, 2, 3), np.uint8)).write(str(tmp_path / "a.png"))
    stream = mi.FileStream(str(tmp_path / "a.png"))
    assert mi.Bitmap.detect_file_format(stream) == mi.Bitmap.FileFormat.PNG and stream.tell() == 0


def test_records_are_assigned_lane_by_lane():
    scene = mi.load_dict({"type": "scene", "a": {"type": "sphere"}, "e": {"type": "constant"}})
    ray = mi.Ray3f(mi.Point3f(0, 0, [3, 4, 5]), mi.Vector3f(0, 0, -1))
    si = dr.zeros(mi.SurfaceInteraction3f, 3)
    si[mi.Bool(True, False, True)] = scene.ray_intersect(ray)
    assert np.allclose(si.t.numpy(), [2, np.inf, 4]) and np.allclose(si.sh_frame.n.z.numpy(), [1, 0, 1])
    assert [s is not None for s in si.shape] == [True, False, True]
    ray[mi.Bool(False, True, False)] = mi.Ray3f(mi.Point3f(9), mi.Vector3f(1, 0, 0))
    assert np.allclose(ray.o.z.numpy(), [3, 9, 5])


def test_references_are_assigned_lane_by_lane():
    a, b = (mi.load_dict({"type": n}) for n in ("isotropic", "hg"))
    phases = mi.PhaseFunctionPtr([a, a, a])
    phases[mi.Bool(True, False, True)] = mi.PhaseFunctionPtr(b)
    assert [p is b for p in phases] == [True, False, True]
    phases[mi.Bool(False, True, False)] = dr.zeros(mi.PhaseFunctionPtr)
    assert [p is None for p in phases] == [False, True, False]
    medium, mei = mi.load_dict({"type": "homogeneous"}), dr.zeros(mi.MediumInteraction3f, 2)
    mei[mi.Bool(False, True)] = medium.sample_interaction(mi.Ray3f([0, 0, 0], [0, 0, 1]), 0.5, 0)
    assert [m is medium for m in mei.medium] == [False, True]


def rounds(body, *state):
    """The body, three times, recorded."""
    def step(i, *s): return (i + 1, *body(i, *s))
    return dr.while_loop((mi.UInt32([0, 0]), *state), lambda i, *s: i < 3, step)[1:]


def test_loops_carry_references_that_were_none():
    # In every round but the first, `which` is an object that the loop was not given
    a, b = (mi.load_dict({"type": "homogeneous", "sigma_t": s}) for s in (1.0, 2.0))
    ray = mi.Ray3f([0, 0, 0], [0, 0, 1])

    def body(i, which, total):
        total = total + which.get_majorant(dr.zeros(mi.MediumInteraction3f), which != None)[0]
        return dr.select(i == 0, mi.MediumPtr(b), mi.MediumPtr(a)), total
    which, total = rounds(body, dr.zeros(mi.MediumPtr, 2), mi.Float(0, 0))
    assert list(total) == [3, 3] and [m is a for m in which] == [True, True]

    def collisions(i, mei, total):
        total = total + dr.select(mei.medium == mi.MediumPtr(b), 10, 1)
        return mi.MediumPtr(b).sample_interaction(ray, 0.5, 0), total
    mei, total = rounds(collisions, dr.zeros(mi.MediumInteraction3f, 2), mi.Float(0, 0))
    assert list(total) == [21, 21] and mei.medium[0] is b


def test_loops_carry_hits_that_were_none():
    scene = mi.load_dict({"type": "scene", "a": {"type": "sphere"}})
    ray = mi.Ray3f(mi.Point3f(0, 0, [3, 4]), mi.Vector3f(0, 0, -1))

    def body(i, now, before, depth):
        si = before.compute_surface_interaction(ray, mi.RayFlags.All, i > 0)
        return scene.ray_intersect_preliminary(ray), now, depth + dr.select(i > 0, si.p.z, 0)
    _, _, depth = rounds(body, scene.ray_intersect_preliminary(ray), dr.zeros(mi.PreliminaryIntersection3f), mi.Float(0, 0))
    assert np.allclose(depth.numpy(), 2)


def test_derivatives_of_records_are_replaced_where_they_have_some():
    scene = mi.load_dict({"type": "scene", "a": {"type": "sphere"}})
    si = scene.ray_intersect(mi.Ray3f([0, 0, 3], [0, 0, -1]))
    t = mi.Float(2)
    dr.enable_grad(t)
    other = mi.SurfaceInteraction3f(si)
    other.t = 3 * t
    si = dr.replace_grad(si, other)
    dr.backward(si.t)
    assert si.t[0] == 2 and dr.grad(t)[0] == 3
    with pytest.raises(Exception, match="incompatible input types"):
        dr.replace_grad(mi.UInt32(1), mi.UInt32(2))
