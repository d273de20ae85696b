"""What scripts do with images and scenes most of the time."""
import os

from ._bitmap import Bitmap, PixelFormat
from ._struct import Type
from ._transform import Transform4f


def convert_to_bitmap(data, uint8_srgb=True):
    """A Bitmap of an image: 8 bits of sRGB for display, or the numbers as they are."""
    bitmap = data if isinstance(data, Bitmap) else Bitmap(data)
    if uint8_srgb:
        if bitmap.pixel_format() in (PixelFormat.MultiChannel, PixelFormat.RGBAW, PixelFormat.RGBW):
            from ._bitmap import _picture
            return _picture(bitmap)
        bitmap = bitmap.convert(PixelFormat.RGB, Type.UInt8, True)
    return bitmap


def write_bitmap(filename, data, write_async=True, quality=-1):
    """Writes an image (array, tensor or Bitmap) to a file; PNG and JPEG get 8 bits of sRGB."""
    extension = os.path.splitext(os.fspath(filename))[1].lower()
    bitmap = convert_to_bitmap(data, extension in (".png", ".jpg", ".jpeg"))
    (bitmap.write_async if write_async else bitmap.write)(filename, quality=quality)


def cornell_box():
    """The dictionary of a room with two boxes, [-1, 1] in each direction; for load_dict()."""
    T = Transform4f
    room = {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": 8},
        "sensor": {
            "type": "perspective", "fov_axis": "smaller", "near_clip": 0.001, "far_clip": 100.0,
            "focus_distance": 1000, "fov": 39.3077, "to_world": T().look_at([0, 0, 3.9], [0, 0, 0], [0, 1, 0]),
            "sampler": {"type": "independent", "sample_count": 64},
            "film": {"type": "hdrfilm", "width": 256, "height": 256, "rfilter": {"type": "gaussian"},
                     "pixel_format": "rgb", "component_format": "float32"}}}
    for name, colour in (("white", [0.885809, 0.698859, 0.666422]), ("green", [0.105421, 0.37798, 0.076425]),
                         ("red", [0.570068, 0.0430135, 0.0443706])):
        room[name] = {"type": "diffuse", "reflectance": {"type": "rgb", "value": colour}}
    shapes = {
        "light": ("rectangle", T().translate([0, 0.99, 0.01]).rotate([1, 0, 0], 90).scale([0.23, 0.19, 0.19]), "white"),
        "floor": ("rectangle", T().translate([0, -1, 0]).rotate([1, 0, 0], -90), "white"),
        "ceiling": ("rectangle", T().translate([0, 1, 0]).rotate([1, 0, 0], 90), "white"),
        "back": ("rectangle", T().translate([0, 0, -1]), "white"),
        "green-wall": ("rectangle", T().translate([1, 0, 0]).rotate([0, 1, 0], -90), "green"),
        "red-wall": ("rectangle", T().translate([-1, 0, 0]).rotate([0, 1, 0], 90), "red"),
        "small-box": ("cube", T().translate([0.335, -0.7, 0.38]).rotate([0, 1, 0], -17).scale(0.3), "white"),
        "large-box": ("cube", T().translate([-0.33, -0.4, -0.28]).rotate([0, 1, 0], 18.25).scale([0.3, 0.61, 0.3]),
                      "white")}
    for name, (kind, to_world, colour) in shapes.items():
        room[name] = {"type": kind, "to_world": to_world, "bsdf": {"type": "ref", "id": colour}}
    room["light"]["emitter"] = {"type": "area", "radiance": {"type": "rgb", "value": [18.387, 13.9873, 6.75357]}}
    return room


def variant_context(*names):
    """`with variant_context(name):` chooses a variant for a while."""
    from . import set_variant
    return set_variant(*names)


scoped_set_variant = variant_context


def __getattr__(name):
    # Functions about scenes live in the package itself.
    if name in ("traverse", "render", "SceneParameters"):
        import umbel
        return getattr(umbel, name)
    raise AttributeError(f"umbel.util has no attribute '{name}'")
