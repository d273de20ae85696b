# umbel/jit/_enum.py: enumerations that are numbers and print as names, in all versions of Python.
import enum


def _named(self):
    name = self._name_
    return f"{type(self).__name__}.{name}" if name and "|" not in name else str(int(self))


def _formatted(self, spec): return format(int(self), spec) if spec else _named(self)


class NamedInt(enum.IntEnum):
    """A number with a name: `LogLevel.Warn`."""
    __str__ = __repr__ = _named
    __format__ = _formatted


class NamedFlags(enum.IntFlag):
    """Bits with names; several of them print as their number."""
    __str__ = __repr__ = _named
    __format__ = _formatted
