# umbel/_cornell_box.py: the Cornell box as a dictionary, to be changed and loaded.
from ._transform import ScalarTransform4f as T


def cornell_box():
    """The Cornell box, one unit a half of its width: a dictionary for load_dict(), with names as in Mitsuba 3."""
    def bsdf(*rgb): return {"type": "diffuse", "reflectance": {"type": "rgb", "value": list(rgb)}}
    def shape(kind, to_world, material, **more):
        return {"type": kind, "to_world": to_world, "bsdf": {"type": "ref", "id": material}, **more}
    def wall(position, axis, angle, material):
        return shape("rectangle", T().translate(position).rotate(axis, angle), material)
    def block(position, angle, size, material):
        return shape("cube", T().translate(position).rotate([0, 1, 0], angle).scale(size), material)

    light = {"type": "area", "radiance": {"type": "rgb", "value": [18.387, 13.9873, 6.75357]}}
    return {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 8},
        "sensor": {
            "type": "perspective", "fov_axis": "smaller", "fov": 39.3077,
            "near_clip": 0.001, "far_clip": 100.0, "focus_distance": 1000,
            "to_world": T().look_at(origin=[0, 0, 3.90], target=[0, 0, 0], up=[0, 1, 0]),
            "sampler": {"type": "independent", "sample_count": 64},
            "film": {"type": "hdrfilm", "width": 256, "height": 256, "rfilter": {"type": "gaussian"},
                     "pixel_format": "rgb", "component_format": "float32"},
        },
        "white": bsdf(0.885809, 0.698859, 0.666422),
        "green": bsdf(0.105421, 0.37798, 0.076425),
        "red": bsdf(0.570068, 0.0430135, 0.0443706),
        "light": shape("rectangle", T().translate([0, 0.99, 0.01]).rotate([1, 0, 0], 90).scale([0.23, 0.19, 0.19]),
                       "white", emitter=light),
        "floor": wall([0, -1, 0], [1, 0, 0], -90, "white"),
        "ceiling": wall([0, 1, 0], [1, 0, 0], 90, "white"),
        "back": wall([0, 0, -1], [1, 0, 0], 0, "white"),
        "green-wall": wall([1, 0, 0], [0, 1, 0], -90, "green"),
        "red-wall": wall([-1, 0, 0], [0, 1, 0], 90, "red"),
        "small-box": block([0.335, -0.7, 0.38], -17, 0.3, "white"),
        "large-box": block([-0.33, -0.4, -0.28], 18.25, [0.3, 0.61, 0.3], "white"),
    }
