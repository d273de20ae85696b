# umbel/_system.py: versions, command lines, and blocks of an image.
from ._variant_types import resolve


class Version:
    """Three numbers: `Version(3, 9, 1)` or `Version("3.9.1")`."""

    def __init__(self, *args):
        if len(args) == 1 and isinstance(args[0], str):
            parts = args[0].split(".")
            if len(parts) != 3 or not all(p.isdigit() for p in parts):
                raise RuntimeError(f"Invalid version number \"{args[0]}\"; it has three parts, such as 3.9.1")
            args = [int(p) for p in parts]
        elif isinstance(args[0] if args else None, Version):
            args = args[0]._key()
        self.major_version, self.minor_version, self.patch_version = args or (0, 0, 0)

    def _key(self): return self.major_version, self.minor_version, self.patch_version
    def __eq__(self, other): return isinstance(other, Version) and self._key() == other._key()
    def __lt__(self, other): return self._key() < other._key()
    def __le__(self, other): return self._key() <= other._key()
    def __gt__(self, other): return self._key() > other._key()
    def __ge__(self, other): return self._key() >= other._key()
    def __hash__(self): return hash(self._key())
    def __repr__(self): return ".".join(map(str, self._key()))


class ArgParser:
    """Reads a command line: `arg = parser.add("-f", extra=True)`, `parser.parse(sys.argv)`, `arg.as_int()`."""

    class Arg:
        """One argument; as a truth value, whether it was given."""

        def __init__(self, prefixes, extra):
            self._prefixes, self._extra, self._values, self._first = prefixes, extra, [], 0

        def __bool__(self): return self._first < len(self._values)
        def extra(self): return self._extra
        def count(self): return len(self._values) - self._first

        def next(self):
            """The same, from its next occurrence on; None after the last."""
            other = ArgParser.Arg(self._prefixes, self._extra)
            other._values, other._first = self._values, self._first + 1
            return other if other else None

        def as_string(self):
            if not self:
                raise RuntimeError(f"the argument {self._prefixes} was not given")
            return self._values[self._first]

        def _as(self, make, name):
            try:
                return make(self.as_string())
            except ValueError:
                raise RuntimeError(f"the argument {self._prefixes} is \"{self.as_string()}\", which is no {name}") from None

        def as_int(self): return self._as(int, "integer")
        def as_float(self): return self._as(float, "number")

    def __init__(self): self._args, self._executable = [], ""

    def add(self, prefixes, extra=False):
        """An argument of that name, or those names; `extra`: a value follows. "" takes what has no name."""
        arg = self.Arg([prefixes] if isinstance(prefixes, str) else list(prefixes), extra)
        self._args.append(arg)
        return arg

    def _find(self, prefix): return next((a for a in self._args if prefix in a._prefixes), None)

    def parse(self, args):
        """Takes apart a command line, whose first word is the program."""
        args = list(args)
        self._executable = args[0] if args else ""
        for a in self._args:
            a._values = []
        i = 1
        while i < len(args):
            i = self._parse_one(args, i)

    def _parse_one(self, args, i):
        word = args[i]
        if word.startswith("--") or not word.startswith("-") or word == "-":
            arg = self._find(word if word.startswith("--") else "")
            if arg is None:
                raise RuntimeError(f"unknown command line argument \"{word}\"")
            return self._take(arg, args, i) if word.startswith("--") else arg._values.append(word) or i + 1
        rest = word[1:]
        while rest:  # several short ones in a row
            arg = self._find("-" + rest[0])
            if arg is None:
                raise RuntimeError(f"unknown command line argument \"{word}\"")
            rest = rest[1:]
            if arg._extra:
                return arg._values.append(rest) or i + 1 if rest else self._take(arg, args, i)
            arg._values.append("")
        return i + 1

    def _take(self, arg, args, i):
        if not arg._extra:
            arg._values.append("")
            return i + 1
        if i + 1 >= len(args):
            raise RuntimeError(f"the command line argument \"{args[i]}\" needs a value")
        arg._values.append(args[i + 1])
        return i + 2

    def executable_name(self): return self._executable


class Spiral:
    """The blocks of an image, from its middle outwards."""

    def __init__(self, size, offset, block_size=32, passes=1):
        self._size, self._offset = [int(s) for s in _host(size)], [int(o) for o in _host(offset)]
        self._block, self._passes, self._left = block_size, passes, passes
        self._blocks = [-(-s // block_size) for s in self._size]
        self.reset()

    def max_block_size(self): return self._block
    def block_count(self): return self._blocks[0] * self._blocks[1]

    def reset(self):
        """Back to the middle, for the same pass; after the last one, for all of them."""
        self._left = self._left or self._passes
        self._place, self._direction = [b // 2 for b in self._blocks], 0
        self._steps_left, self._steps, self._counter = 1, 1, 0

    def next_block(self):
        """(offset, size, number); the size is 0 at the end."""
        V, P = resolve("ScalarVector2u"), resolve("ScalarVector2i")
        if self._counter == self.block_count():
            self._left = max(0, self._left - 1)
            if self._left:
                self.reset()
        if not self._left or self._counter == self.block_count():
            return P(0, 0), V(0, 0), 0xffffffff
        offset = [p * self._block for p in self._place]
        size = [min(self._block, s - o) for s, o in zip(self._size, offset)]
        number = self._counter + (self._left - 1) * self.block_count()
        self._counter += 1
        while self._counter < self.block_count():
            self._step()
            if all(0 <= p < b for p, b in zip(self._place, self._blocks)):
                break
        return P(*(o + f for o, f in zip(offset, self._offset))), V(*size), number

    def _step(self):
        axis, sign = ((0, 1), (1, 1), (0, -1), (1, -1))[self._direction]  # right, down, left, up
        self._place[axis] += sign
        self._steps_left -= 1
        if self._steps_left == 0:
            self._direction = (self._direction + 1) % 4
            self._steps += self._direction % 2 == 0
            self._steps_left = self._steps


def _host(v):
    return [float(e[0]) if hasattr(e, "__len__") else e for e in v]
