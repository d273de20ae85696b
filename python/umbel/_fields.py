# umbel/_fields.py: structures whose fields have types: values that are assigned become arrays of them.
from . import jit as dr
from ._variant_types import resolve


class Field:
    """A field as its class shows it."""

    def __init__(self, name, kind): self.name, self.kind, self.__doc__ = name, kind, f"{kind}"

    def __get__(self, obj, cls):
        if obj is None:
            return self
        raise AttributeError(f"'{cls.__name__}' has no value for '{self.name}'")

    def __repr__(self): return f"<field {self.name}: {self.kind}>"


class Typed:
    """The base of such structures; `_kinds` maps fields to names of types."""
    _kinds = {}

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        for name, kind in cls._kinds.items():
            if not name.startswith("_") and name not in cls.__dict__:
                setattr(cls, name, Field(name, kind))

    def __setattr__(self, name, value):
        # Arrays stay what they are, so that records can hold values of any width and precision
        if not isinstance(value, dr.ArrayBase):
            kind = self._kinds.get(name)
            if kind is not None:
                value = convert(kind, value)
        object.__setattr__(self, name, value)

    def __setitem__(self, mask, other):
        """Takes the values of another one in lanes of a mask."""
        for name in self._kinds:
            object.__setattr__(self, name, dr.select(mask, getattr(other, name), getattr(self, name)))

    def assign(self, other):
        """Takes the values of another one."""
        for name in self._kinds:
            object.__setattr__(self, name, dr.copy(getattr(other, name)))


def convert(kind, value):
    """A number, list or NumPy array as an array of that type."""
    if kind == "wavelengths":
        return resolve("UnpolarizedSpectrum")(value) if resolve("is_spectral") else value
    if kind == "frame" or value is None:
        return value
    return resolve(kind)(value)
