"""umbel.jit.hashgrid: encodings of points by features on grids of many resolutions, in tables [Müller 2022]."""
import math
import warnings

from .. import _core
from ._types import describe, is_half_v, leaf_t

UInt, Int = _core.classes["UInt"], _core.classes["Int"]


class HashEncoding:
    """Base class: `n_levels` grids, each `per_level_scale` times as fine as the last, with `n_features_per_level`
    numbers at each vertex. Fine grids share a table of `hashmap_size` vertices, by hashing.

    `encoding(p)` takes a point of the unit cube as a list of arrays and gives n_levels * n_features_per_level features.
    Positions keep their precision; features have that of `dtype`, the type of the parameters.
    """
    DRJIT_STRUCT = {"data": None}

    def __init__(self, dtype, dimension, *, n_levels=16, n_features_per_level=2, hashmap_size=2**19,
                 base_resolution=16, per_level_scale=2, align_corners=False, torchngp_compat=False,
                 smooth_weight_gradients=False, smooth_weight_lambda=1.0, init_scale=1e-4, rng=None):
        """`align_corners`: vertices lie on the border of the cube. `torchngp_compat`: places as tiny-cuda-nn has them.
        `smooth_weight_gradients`: derivatives with respect to positions are those of a smooth ramp, blended in by
        `smooth_weight_lambda`. Parameters begin as uniform random numbers within `init_scale` of 0."""
        self._dimension, self._n_levels, self._n_features_per_level = dimension, n_levels, n_features_per_level
        self._hashmap_size, self._base_resolution, self._per_level_scale = hashmap_size, base_resolution, per_level_scale
        self._align_corners, self._torchngp_compat = align_corners, torchngp_compat
        self._smooth_weight_gradients, self._smooth_weight_lambda = smooth_weight_gradients, smooth_weight_lambda
        self._init_scale, self._dtype = init_scale, leaf_t(dtype)
        if n_features_per_level % 2:
            warnings.warn("The number of features per level should be a multiple of 2, but it was "
                          f"{n_features_per_level}.", RuntimeWarning)
        assert hashmap_size % n_features_per_level == 0, (
            f"Invalid hashmap size {hashmap_size}, must be a multiple of the number of features {n_features_per_level}.")

        # Vertices of each level: all of the grid, or as many as the table has
        self._level_offsets = [0]
        for level in range(n_levels):
            vertices = min(self._resolution(self._level_scale(level))**dimension, 0x7FFFFFFF)
            vertices = -(-vertices // n_features_per_level) * n_features_per_level
            self._level_offsets.append(self._level_offsets[-1] + min(vertices, hashmap_size))

        if rng is None:
            from .random import rng as generator
            rng = generator()
        self.data = rng.random(self._dtype, self.n_params) * (2 * init_scale) - init_scale
        _core.schedule(self.data)

    @property
    def n_params(self):
        """Number of parameters."""
        return self._level_offsets[-1] * self._n_features_per_level

    @property
    def params(self):
        """The parameters: a flat array, level by level, vertex by vertex."""
        return self.data

    @params.setter
    def params(self, values): self.set_params(values)

    def set_params(self, values):
        """Replaces the parameters, as after a step of an optimizer."""
        assert len(values) == len(self.data), (f"The number of parameters ({len(values)}) does not match the number of "
                                               f"expected parameters ({len(self.data)})")
        assert type(values) is type(self.data), (f"Expected parameters of type {type(self.data)}, but got "
                                                 f"{type(values)}")
        _core.assign(self.data, values)

    dtype = property(lambda self: self._dtype, doc="Type of the parameters.")
    dimension = property(lambda self: self._dimension, doc="Number of coordinates of a point.")
    hashmap_size = property(lambda self: self._hashmap_size, doc="Most vertices of a level.")
    n_levels = property(lambda self: self._n_levels, doc="Number of grids.")
    n_features_per_level = property(lambda self: self._n_features_per_level, doc="Numbers at a vertex.")
    base_resolution = property(lambda self: self._base_resolution, doc="Vertices along an edge of the coarsest grid.")
    per_level_scale = property(lambda self: self._per_level_scale, doc="From one grid to the next.")
    align_corners = property(lambda self: self._align_corners, doc="Whether vertices lie on the border.")
    torchngp_compat = property(lambda self: self._torchngp_compat, doc="Whether places are those of tiny-cuda-nn.")
    smooth_weight_gradients = property(lambda self: self._smooth_weight_gradients, doc="Whether weights are smoothed.")
    smooth_weight_lambda = property(lambda self: self._smooth_weight_lambda, doc="How much they are.")
    init_scale = property(lambda self: self._init_scale, doc="Bound of the first parameters.")
    n_output_features = property(lambda self: self._n_features_per_level * self._n_levels, doc="Number of features.")

    def level_offset(self, level_i):
        """Vertices before those of a level, up to and with `n_levels`."""
        return self._level_offsets[level_i]

    def _level_scale(self, level):
        # As `base_resolution` counts vertices, the cells are one fewer
        return 2.0**(level * math.log2(self._per_level_scale)) * self._base_resolution - 1.0

    def _resolution(self, scale):
        """Vertices along an edge."""
        return math.ceil(scale) + 1

    def hash(self, key):
        """A number for a vertex with these coordinates."""
        raise NotImplementedError(f"{type(self).__name__}.hash() is not defined")

    def indexing_function(self, key, level_i):
        """Place of a vertex among those of all levels: by coordinates where the grid fits in, else by hashing."""
        resolution = self._resolution(self._level_scale(level_i))
        first, end = self._level_offsets[level_i:level_i + 2]
        size, stride, index = end - first, 1, None
        for d in range(self._dimension):
            term = UInt(key[d]) * stride if stride != 1 else UInt(key[d])
            index = term if index is None else index + term
            stride *= resolution
            if stride > size:
                break
        if size < stride:
            index = self.hash(key)
        index = index & (size - 1) if size & (size - 1) == 0 else index % size
        return index + first if first else index

    def _table(self):
        """The parameters to read from. Those of half precision are widened, so that sums, above all of gradients, keep
        single precision; not inside a recorded body, which reads arrays that exist before it."""
        return self.data if not is_half_v(self._dtype) or _core.is_recording() else _core.classes["Float"](self.data)

    def _add_vertex(self, table, values, level, weight, index, active):
        if self._smooth_weight_gradients:
            from ._math import cos, pi
            smooth = 0.5 * (1 - cos(weight * pi))
            weight = weight + self._smooth_weight_lambda * (smooth - _core.detach(smooth))
        n = self._n_features_per_level
        dtype = type(table)
        weight = weight if type(weight) is dtype else dtype(weight)
        mask = None if active is True else active
        if n == 1:
            features = [_core.gather(dtype, table, index, mask)]
        else:
            packet = _core.lookup(describe(dtype)[0], 0, (n,), 0)
            features = _core.entries(_core.gather(packet, table, index, mask)) if packet is not None else \
                [_core.gather(dtype, table, index * n + k, mask) for k in range(n)]
        for k, f in enumerate(features):
            old = values[level * n + k]
            values[level * n + k] = f * weight if old is None else _core.fma(f, weight, old)

    def __call__(self, p, active=True):
        """Features of a point, given by its coordinates; 0 where not `active`."""
        p = list(p)
        assert len(p) == self._dimension, (f"This encoding expects an input of feature dimension {self._dimension} but "
                                           f"got {len(p)}.")
        values, table = [None] * self.n_output_features, self._table()
        for level in range(self._n_levels):
            scale = self._level_scale(level)
            shift = self._shift()
            x = [_core.fma(c, type(c)(scale), type(c)(shift)) for c in p]
            for weight, key in self._vertices(x):
                self._add_vertex(table, values, level, weight, self.indexing_function(key, level), active)
        array = _core.lookup(describe(self._dtype)[0], 0, (-1,), 0)
        return _core.from_entries(array, [v if type(v) is self._dtype else self._dtype(v) for v in values])

    def _facts(self):
        names = ("dimension", "hashmap_size", "n_levels", "n_features_per_level", "base_resolution", "per_level_scale",
                 "align_corners", "torchngp_compat", "smooth_weight_gradients", "smooth_weight_lambda")
        return [f"dtype={self._dtype}"] + [f"{n}={getattr(self, n)}" for n in names]

    def _text(self, name, facts):
        return f"{name}(\n    " + ",\n    ".join(facts) + "\n)"


class HashGridEncoding(HashEncoding):
    """Features interpolated between the 2^d vertices of each grid's cell."""

    _primes = (1, 2654435761, 805459861, 3674653429, 2097192037, 1434869437, 2165219737)  # those of tiny-cuda-nn

    def _shift(self): return 0.5 if not self._align_corners or self._torchngp_compat else 0.0

    def _vertices(self, x):
        from ._math import floor
        base = [floor(c) for c in x]
        t = [c - b for c, b in zip(x, base)]
        cell = [UInt(b) for b in base]
        for corner in range(2**self._dimension):
            weight, key = None, []
            for d in range(self._dimension):
                far = corner >> d & 1
                w = t[d] if far else 1 - t[d]
                weight = w if weight is None else weight * w
                key.append(cell[d] + 1 if far else cell[d])
            yield weight, key

    def hash(self, key):
        index = None
        for d in range(self._dimension):
            term = UInt(key[d]) * self._primes[d] if d else UInt(key[d])
            index = term if index is None else index ^ term
        return index

    def __repr__(self): return self._text("HashGrid", self._facts())


class PermutoEncoding(HashEncoding):
    """Features interpolated between the d + 1 vertices of a simplex of the cell [Rosu 2023]: cheap in many dimensions."""

    def _shift(self): return 0.0 if self._align_corners else 0.5

    def _vertices(self, x):
        from ._math import floor
        n = self._dimension
        base = [floor(c) for c in x]
        t = [c - b for c, b in zip(x, base)]
        cell = [Int(b) for b in base]
        # Coordinates in ascending order, and which they were
        value, order = list(t), [Int(i) for i in range(n)]
        for i in range(n):
            for j in range(i + 1, n):
                swap = value[i] > value[j]
                value[i], value[j] = _core.select(swap, value[j], value[i]), _core.select(swap, value[i], value[j])
                order[i], order[j] = _core.select(swap, order[j], order[i]), _core.select(swap, order[i], order[j])
        # The simplex climbs from the cell's corner along the largest coordinate first; of equal ones, the later
        for rank in range(n):
            weight = value[rank] if rank == 0 else value[rank] - value[rank - 1]
            key = []
            for d in range(n):
                up = (t[d] > value[rank]) | ((t[d] == value[rank]) & (order[rank] <= d))
                key.append(cell[d] + _core.select(up, Int(1), Int(0)))
            yield weight, key
        yield 1 - value[n - 1], cell

    def hash(self, key):
        k = UInt(0)
        for c in key:
            k = (k + UInt(c)) * 2531011
        return k

    def __repr__(self):
        return self._text("PermutoEncoding", [f for f in self._facts() if not f.startswith("torchngp")])
