# umbel/_variants.py: choosing a variant.
#
# Mitsuba's scalar_rgb ... are taken, too: variants of `interp` in which mi.Float, mi.UInt32, mi.Bool ... are Python's
# numbers. Vectors and records stay arrays, of one lane where they are made of numbers.
import importlib
import operator

from . import _aliases, _core
from ._variant_types import resolve
from .detail import variant_changed

_numbers = {"Bool": bool, "Mask": bool, "Float": float, "Float16": float, "Float32": float, "Float64": float,
            **{name + bits: int for name in ("Int", "UInt") for bits in ("", "8", "16", "32", "64")}}
_scalar = False


class _Variant:
    """What set_variant returns: in a `with` statement the variant before comes back at the end."""

    def __init__(self, before): self._before = before
    def __enter__(self): return self
    def __exit__(self, *exc): set_variant(self._before)


def set_variant(*names):
    """Chooses a variant, the first of those that exist; `with set_variant(name):` does so for a while."""
    global _scalar
    if not names:
        raise TypeError("set_variant: which? variants() lists them all")
    before = variant()
    # A single name needs no list, for which a GPU's driver is started
    name = names[0] if len(names) == 1 else next((n for n in names if n in variants()), names[0])
    scalar = name.startswith("scalar_") and "_ad_" not in name
    _core.choose_variant(name.replace("scalar", "interp", 1) if scalar else name)
    _scalar = scalar
    variant_changed(before, variant())
    return _Variant(before)


class _Device:
    """What set_device returns: in a `with` statement the device before comes back at the end."""

    def __init__(self, before): self._before = before
    def __enter__(self): return self
    def __exit__(self, *exc): _core.choose_device(self._before)


def set_device(number):
    """Chooses the GPU that cuda variants compute on, from 0 on; None: the one that UMBEL_DEVICE names, as at first.

    `with set_device(number):` does so for a while. Arrays and scenes stay where they were made.
    """
    chosen = -1 if number is None else operator.index(number)
    if number is not None and not 0 <= chosen <= 1024:
        raise ValueError(f"set_device: {number} is not the number of a device; they count from 0")
    return _Device(_core.choose_device(chosen))


def variant():
    """The variant in use."""
    name = _core.variant()
    return name.replace("interp", "scalar", 1) if _scalar and name.startswith("interp_") else name


def variants():
    """All variants."""
    names = _core.variants()
    return names + [n.replace("interp", "scalar", 1) for n in names if n.startswith("interp_") and "_ad_" not in n]


def is_variant(name):
    """Whether it is one of variants(), which are asked for only where it may be."""
    return name.startswith(("llvm_", "interp_", "cuda_", "scalar_")) and name in variants()


def public_type(name):
    """mi.Float, mi.Vector3f ...: what the name means to scripts in the variant in use."""
    if _scalar and name in _numbers:
        return _numbers[name]
    if name == "python" or is_variant(name):  # umbel.llvm_ad_rgb: see _aliases.py
        return importlib.import_module(f"umbel.{name}")
    found = resolve(name)
    return _core.host_of(found) if _scalar and _core.is_array_type(found) else found
