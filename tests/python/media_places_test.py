# tests/python/media_places_test.py: media of instances and of shapes that move.
import numpy as np

import umbel as mi

T = mi.ScalarTransform4f


def fog(to_world):
    return {"type": "cube", "to_world": to_world, "bsdf": {"type": "null"}, "interior": medium()}


def medium(): return {"type": "homogeneous", "sigma_t": 1.5, "albedo": 0.7, "phase": {"type": "hg", "g": 0.3}}


def seen(shapes, **sensor):
    return mi.load_dict({
        "type": "scene", "integrator": {"type": "volpath", "max_depth": 5}, "sky": {"type": "constant"}, **shapes,
        "lamp": {"type": "point", "position": [2, 3, 3], "intensity": 20.0},
        "sensor": {"type": "perspective", "to_world": T().look_at([0, 1, 7], [0, 0, 0], [0, 1, 0]), **sensor,
                   "film": {"type": "hdrfilm", "width": 12, "height": 8, "rfilter": {"type": "box"}}}})


def halves(scene, seed):
    """Means of the left and the right half."""
    image = mi.render(scene, spp=32, seed=seed).numpy()
    return np.array([image[:, :6].mean(), image[:, 6:].mean()])


def same_within_noise(a, b, count=6):
    x, y = ([f(i) for i in range(count)] for f in (a, b))
    return np.all(np.abs(np.mean(x, 0) - np.mean(y, 0)) < 4 * np.hypot(np.std(x, 0), np.std(y, 0)) / np.sqrt(count) + 1e-4)


def test_instances_have_the_media_of_their_group():
    places = [T().translate([-1.5, 0, 0]), T().translate([1.4, 0.3, 0]).rotate([0, 1, 0], 30).scale(0.8)]
    group = {"group": {"type": "shapegroup", "shape": fog(T())}}
    for i, place in enumerate(places):
        group[f"i{i}"] = {"type": "instance", "to_world": place, "group": {"type": "ref", "id": "group"}}
    a, b = seen(group), seen({f"c{i}": fog(place) for i, place in enumerate(places)})
    assert same_within_noise(lambda i: halves(a, i), lambda i: halves(b, i))


def test_media_move_with_their_shapes():
    text = """<scene version="3.0.0"><integrator type="volpath"><integer name="max_depth" value="5"/></integrator>
      <emitter type="constant"/><emitter type="point"><point name="position" x="2" y="3" z="3"/>
        <spectrum name="intensity" value="20"/></emitter>
      <shape type="cube"><animation name="to_world"><transform time="0"><translate x="-1.5"/></transform>
          <transform time="1"><translate x="1.5"/></transform></animation>
        <bsdf type="null"/><medium type="homogeneous" name="interior"><float name="sigma_t" value="1.5"/>
          <float name="albedo" value="0.7"/><phase type="hg"><float name="g" value="0.3"/></phase></medium></shape>
      <sensor type="perspective"><float name="shutter_open" value="0"/><float name="shutter_close" value="1"/>
        <transform name="to_world"><lookat origin="0,1,7" target="0,0,0" up="0,1,0"/></transform>
        <film type="hdrfilm"><integer name="width" value="12"/><integer name="height" value="8"/><rfilter type="box"/></film>
      </sensor></scene>"""
    moving = mi.load_string(text)
    stops = [seen({"c": fog(T().translate([-1.5 + 3 * (i + 0.5) / 12, 0, 0]))}) for i in range(12)]
    assert same_within_noise(lambda i: halves(moving, i), lambda i: np.mean([halves(s, i) for s in stops], 0))
