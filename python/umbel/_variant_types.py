# umbel/_variant_types.py: Float, Vector3f, Spectrum...: names whose type is the active variant's.
from . import _core

classes = _core.classes
_aliases = {"Mask": "Bool", "Int32": "Int", "UInt32": "UInt", "Float32": "Float", "Float64": "Float64"}


def _spectrum(polarized_matrix, precision, colour):
    channels = (1, 3, 4)[colour]
    if polarized_matrix:
        return classes[f"Matrix4{channels}{precision}"]
    return classes[f"Spectrum4{precision}" if channels == 4 else f"Color{channels}{precision}"]


_found = {}


def resolve(name):
    """The type of that name; AttributeError where there is none."""
    key = _core.variant(), name
    if key not in _found:
        _found[key] = _resolve(name)
    return _found[key]


def _resolve(name):
    host = name.startswith("Scalar")
    found = _find(name)
    if host and _core.is_array_type(found):
        return _core.host_of(found)
    return found


def _find(name):
    backend, colour, polarized, double, ad = _core.variant_info(_core.variant())
    facts = {"is_monochromatic": colour == 0, "is_rgb": colour == 1, "is_spectral": colour == 2,
             "is_polarized": bool(polarized), "DEBUG": False}
    if name in facts:
        return facts[name]
    plain = name[6:] if name.startswith("Scalar") else name
    precision = "f64" if double else "f"
    if plain in ("Bool", "Float", "Int", "UInt", "Int32", "UInt32", "Int64", "UInt64") and name is not plain:
        return bool if plain == "Bool" else float if plain == "Float" else int
    if plain == "Float":
        return classes["Float64" if double else "Float"]
    if plain == "Spectrum":
        return _spectrum(polarized, precision, colour)
    if plain == "UnpolarizedSpectrum":
        return _spectrum(False, precision, colour)
    plain = _aliases.get(plain, plain)
    if plain[-3:] in ("f32", "i32", "u32") and plain[:-2] in classes:
        return classes[plain[:-2]]
    if plain.startswith("Texture"):
        from .jit.texture import textures
        endings = {"f": precision, "d": "f64"}
        wanted = plain[:-1] + endings[plain[-1]] if plain[-1] in endings else plain.removesuffix("32")
        if wanted in textures:
            return textures[wanted]
    if plain in classes and not plain.endswith("f"):
        return classes[plain]
    if plain.endswith("f") and plain[:-1] + precision in classes:
        return classes[plain[:-1] + precision]
    if plain.endswith("d") and plain[:-1] + "f64" in classes:
        return classes[plain[:-1] + "f64"]
    raise AttributeError(f"umbel has no attribute '{name}'")


def type_names():
    """The names that `resolve` finds a type for, as completions list them."""
    names = {"Spectrum", "UnpolarizedSpectrum", *_aliases}
    for name in classes:
        names.add(name[:-3] + "d" if name.endswith("f64") else name)
    return sorted(n for n in names if not n.startswith("_"))


class Fields:
    """DRJIT_STRUCT of a structure whose fields have the active variant's types: names, and names of types."""

    def __init__(self, **fields): self._fields = fields
    def __get__(self, obj, cls): return {k: resolve(v) for k, v in self._fields.items()}
