"""What scripts do with images and scenes most of the time."""
import os

from ._bitmap import Bitmap, PixelFormat
from ._struct import Type


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


def variant_context(*names):
    """`with variant_context(name):` chooses a variant for a while."""
    from . import set_variant
    return set_variant(*names)


scoped_set_variant = variant_context


def __getattr__(name):
    # Functions about scenes live in the package itself.
    if name in ("traverse", "render", "cornell_box", "SceneParameters"):
        import umbel
        return getattr(umbel, name)
    raise AttributeError(f"umbel.util has no attribute '{name}'")
