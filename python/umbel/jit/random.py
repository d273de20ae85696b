# jit/random.py: random numbers: PCG32, Philox, and generators in the manner of NumPy's.
from .. import _core
from ._create import _check_shape, _count, arange, full, zeros
from ._hooks import ArgumentError, ShapeError, UserError
from ._types import (ArrayBase, describe, is_array_v, is_tensor_v, leaf_t, replace_type_t)
from ._math import log, sincos, sqrt, two_pi

UInt, UInt64, Float, Float64 = (_core.classes[n] for n in ("UInt", "UInt64", "Float", "Float64"))
Bool = _core.classes["Bool"]

_multiplier = 0x5851F42D4C957F2D


class PCG32:
    """O'Neill's permuted congruential generator, a stream for each lane [O'Neill 2014]."""
    DRJIT_STRUCT = {"state": UInt64, "inc": UInt64}

    def __init__(self, size=1, initstate=0x853C49E6748FEA9B, initseq=0xDA3E39CB94B95BDB):
        if isinstance(size, PCG32):
            self.state, self.inc = _core.copy(size.state), _core.copy(size.inc)
            return
        initstate, initseq = UInt64(initstate), UInt64(initseq)
        if size > 1:  # a stream and a start of its own for each lane
            lane = UInt64(_core.lane_index(size))
            initstate, initseq = initstate + lane, initseq + lane
        self.seed(initstate, initseq)

    @property
    def state(self):
        """Where each stream is: a 64-bit integer a lane."""
        return self._state

    @state.setter
    def state(self, value): self._state = value if type(value) is UInt64 else UInt64(value)

    @property
    def inc(self):
        """Which stream it is: an odd 64-bit integer a lane."""
        return self._inc

    @inc.setter
    def inc(self, value): self._inc = value if type(value) is UInt64 else UInt64(value)

    def seed(self, initstate=0x853C49E6748FEA9B, initseq=0xDA3E39CB94B95BDB):
        """Starts anew."""
        initstate, initseq = UInt64(initstate), UInt64(initseq)
        self.state = zeros(UInt64, len(initseq))
        self.inc = (initseq << 1) | 1
        self.next_uint32()
        self.state = self.state + initstate
        self.next_uint32()
        return self

    def _advance(self, mask):
        old = self.state
        new = old * UInt64(_multiplier) + self.inc
        self.state = new if mask is True else _core.select(mask, new, old)
        return old

    def next_uint32(self, mask=True):
        old = self._advance(mask)
        shifted = UInt(((old >> 18) ^ old) >> 27)
        return _core._rotr(shifted, UInt(old >> 59))

    def next_uint64(self, mask=True):
        a = UInt64(self.next_uint32(mask))
        return a | (UInt64(self.next_uint32(mask)) << 32)

    def next_float32(self, mask=True):
        bits = (self.next_uint32(mask) >> 9) | 0x3F800000
        return _core.bitcast(bits, 11) - 1.0

    def next_float64(self, mask=True):
        bits = (UInt64(self.next_uint32(mask)) << 20) | 0x3FF0000000000000
        return _core.bitcast(bits, 12) - 1.0

    def next_float16(self, mask=True):
        return _core.classes["Float16"](self.next_float32(mask))

    def next_float(self, dtype, mask=True):
        """Of the precision of `dtype`."""
        return {10: self.next_float16, 11: self.next_float32, 12: self.next_float64}[_float_type(dtype)](mask)

    # One step back: what the last call returned
    def prev_uint32(self, mask=True):
        new = _jump(self.state, self.inc, -1)
        self.state = new if mask is True else _core.select(mask, new, self.state)
        old = self.state
        return _core._rotr(UInt(((old >> 18) ^ old) >> 27), UInt(old >> 59))

    def prev_uint64(self, mask=True):
        a = UInt64(self.prev_uint32(mask)) << 32
        return a | UInt64(self.prev_uint32(mask))

    def prev_float32(self, mask=True):
        return _core.bitcast((self.prev_uint32(mask) >> 9) | 0x3F800000, 11) - 1.0

    def prev_float64(self, mask=True):
        return _core.bitcast((UInt64(self.prev_uint32(mask)) << 20) | 0x3FF0000000000000, 12) - 1.0

    def prev_float16(self, mask=True):
        return _core.classes["Float16"](self.prev_float32(mask))

    def prev_float(self, dtype, mask=True):
        return {10: self.prev_float16, 11: self.prev_float32, 12: self.prev_float64}[_float_type(dtype)](mask)

    def prev_float_normal(self, dtype, mask=True):
        return {10: self.prev_float16_normal, 11: self.prev_float32_normal, 12: self.prev_float64_normal}[
            _float_type(dtype)](mask)

    def prev_float16_normal(self, mask=True): return _core.classes["Float16"](self.prev_float32_normal(mask))
    def prev_float32_normal(self, mask=True): return _normal(self.prev_float32(mask))
    def prev_float64_normal(self, mask=True): return _normal(self.prev_float64(mask))

    def next_float_normal(self, dtype, mask=True):
        return {10: self.next_float16_normal, 11: self.next_float32_normal, 12: self.next_float64_normal}[
            _float_type(dtype)](mask)

    def next_float16_normal(self, mask=True): return _core.classes["Float16"](self.next_float32_normal(mask))
    def next_float32_normal(self, mask=True): return _normal(self.next_float32(mask))
    def next_float64_normal(self, mask=True): return _normal(self.next_float64(mask))

    def _bounded(self, draw, bound, mask):
        """Uniform below `bound`: what would make some numbers more likely is drawn again."""
        tp = type(bound)
        threshold = (~bound + 1) % bound

        def again(state):
            return state[1]

        def body(state):
            g = PCG32.__new__(PCG32)
            g.state, g.inc = state[0], self.inc
            r = draw(g, state[1])
            ok = r >= threshold
            return [g.state, state[1] & ~ok, _core.select(state[1], r % bound, state[2])]
        lanes = zeros(tp, _core.width(self.state))
        start = Bool(True) if mask is True else mask
        start = start | _core.full(Bool, False, len(lanes)) if len(lanes) > 1 else start
        out = _core.loop("next_bounded", [self.state, start, lanes], again, body)
        self.state = out[0]
        return out[2]

    def next_uint32_bounded(self, bound, mask=True):
        return self._bounded(PCG32.next_uint32, UInt(bound), mask)

    def next_uint64_bounded(self, bound, mask=True):
        return self._bounded(PCG32.next_uint64, UInt64(bound), mask)

    def __add__(self, steps):
        """Jumps ahead [Brown 1994]."""
        r = PCG32(self)
        r.state = _jump(r.state, r.inc, steps)
        return r

    def __iadd__(self, steps):
        self.state = _jump(self.state, self.inc, steps)
        return self

    def __sub__(self, other):
        if isinstance(other, PCG32):
            return _distance(self, other)
        return self + (-other)

    def __isub__(self, steps):
        self.state = _jump(self.state, self.inc, -steps)
        return self

    def __repr__(self): return f"PCG32[\n  state={self.state},\n  inc={self.inc}\n]"


class ScalarPCG32:
    """The PCG32 of umbel.jit.scalar: one stream, whose numbers are Python's."""

    def __init__(self, size=1, initstate=0x853C49E6748FEA9B, initseq=0xDA3E39CB94B95BDB):
        self._generator = PCG32(size._generator) if isinstance(size, ScalarPCG32) else PCG32(1, initstate, initseq)

    def __getattr__(self, name):
        if not name.startswith(("next_", "prev_")):
            raise AttributeError(f"PCG32 has no attribute '{name}'")
        draw = getattr(self._generator, name)
        return lambda *args, **kwargs: draw(*args, **kwargs)[0]

    def seed(self, initstate=0x853C49E6748FEA9B, initseq=0xDA3E39CB94B95BDB):
        """Starts anew."""
        self._generator.seed(initstate, initseq)
        return self

    state = property(lambda self: self._generator.state[0], lambda self, v: setattr(self._generator, "state", v))
    inc = property(lambda self: self._generator.inc[0], lambda self, v: setattr(self._generator, "inc", v))

    def __add__(self, steps):
        r = ScalarPCG32(self)
        r._generator += steps
        return r

    def __sub__(self, other):
        if isinstance(other, ScalarPCG32):
            return (self._generator - other._generator)[0]
        return self + (-other)


def _float_type(dtype):
    """Number of the float type of an array type's elements; Python's float has 64 bits."""
    e = 12 if dtype is float else describe(leaf_t(dtype))[0] if is_array_v(dtype) else 0
    if e not in (10, 11, 12):
        raise ArgumentError(f"'{getattr(dtype, '__name__', dtype)}' is no type of floats")
    return e


def _jump(state, inc, delta):
    mult, plus = UInt64(_multiplier), inc
    all_mult, all_plus = UInt64(1), UInt64(0)
    bits = delta & 0xFFFFFFFFFFFFFFFF if isinstance(delta, int) else _core.bitcast(_core.classes["Int64"](delta), 9)
    for i in range(64):
        if isinstance(bits, int):
            if not bits:
                break
            if bits & 1:
                all_mult, all_plus = all_mult * mult, all_plus * mult + plus
        else:
            take = (bits & 1) != 0
            all_plus = _core.select(take, all_plus * mult + plus, all_plus)
            all_mult = _core.select(take, all_mult * mult, all_mult)
        plus = (mult + 1) * plus
        mult = mult * mult
        bits = bits >> 1
    return state * all_mult + all_plus


def _distance(a, b):
    """Steps from b to a, bit by bit."""
    state, mult, plus = b.state, UInt64(_multiplier), b.inc
    bit, steps = 1, UInt64(0)
    for _ in range(64):
        differ = ((state ^ a.state) & UInt64(bit)) != 0
        state = _core.select(differ, state * mult + plus, state)
        steps = _core.select(differ, steps | UInt64(bit), steps)
        plus = (mult + 1) * plus
        mult = mult * mult
        bit <<= 1
    return _core.bitcast(steps, 8)


def _normal(u):
    """A normal deviate from a uniform one: by the inverse of the distribution."""
    half = 0.5 * (2.0 ** -24 if describe(type(u))[0] == 11 else 2.0 ** -53)
    return _core.erfinv(_core.fma(u, 2.0, -1.0 + half * 2)) * (2.0 ** 0.5)


class Philox4x32:
    """Counter-based generator: rounds of multiplication and mixing; seven pass all tests [Salmon 2011]."""
    DRJIT_STRUCT = {"seed": _core.classes["Array2u"], "counter": _core.classes["Array4u"]}

    def __init__(self, seed=0, counter_0=0, counter_1=0, counter_2=0, iterations=7):
        if isinstance(seed, Philox4x32):
            self.seed, self.counter = _core.copy(seed.seed), _core.copy(seed.counter)
            self.iterations = seed.iterations
            return
        seed = UInt64(seed)
        self.seed = _core.classes["Array2u"](UInt(seed >> 32), UInt(seed))
        self.counter = _core.classes["Array4u"](UInt(counter_0), UInt(counter_1), UInt(counter_2), 0)
        self.iterations = iterations

    def next_uint32x4(self, mask=True):
        """Four numbers of 32 bits."""
        c, (k0, k1) = [self.counter[i] for i in range(4)], (self.seed[0], self.seed[1])
        for _ in range(self.iterations):
            p0, p1 = UInt64(c[0]) * UInt64(0xD2511F53), UInt64(c[2]) * UInt64(0xCD9E8D57)
            c = [UInt(p1 >> 32) ^ c[1] ^ k0, UInt(p1), UInt(p0 >> 32) ^ c[3] ^ k1, UInt(p0)]
            k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
        following = self.counter[3] + 1
        self.counter[3] = following if mask is True else _core.select(mask, following, self.counter[3])
        return _core.classes["Array4u"](*c)

    def next_uint64x2(self, mask=True):
        """Two numbers of 64 bits."""
        u = self.next_uint32x4(mask)
        return _core.classes["Array2u64"](UInt64(u[0]) | (UInt64(u[1]) << 32), UInt64(u[2]) | (UInt64(u[3]) << 32))

    def next_float32x4(self, mask=True):
        """Four numbers in [0, 1)."""
        bits = (self.next_uint32x4(mask) >> 9) | 0x3F800000
        return _core.bitcast(bits, 11) - 1.0

    def next_float64x2(self, mask=True):
        """Two numbers in [0, 1)."""
        bits = (self.next_uint64x2(mask) >> 12) | UInt64(0x3FF0000000000000)
        return _core.bitcast(bits, 12) - 1.0

    def next_float16x4(self, mask=True):
        """Four numbers in [0, 1)."""
        return _core.classes["Array4f16"](self.next_float32x4(mask))

    def next_float32x4_normal(self, mask=True):
        """Four normal deviates."""
        u = self.next_float32x4(mask)
        return type(u)(*_box_muller(u[2], u[0]), *_box_muller(u[3], u[1]))

    def next_float64x2_normal(self, mask=True):
        """Two normal deviates."""
        u = self.next_float64x2(mask)
        return type(u)(*_box_muller(u[0], u[1]))

    def next_float16x4_normal(self, mask=True):
        """Four normal deviates."""
        return _core.classes["Array4f16"](self.next_float32x4_normal(mask))


def _box_muller(u, v):
    """Two normal deviates from two uniform ones [Box 1958]."""
    r = sqrt(-2.0 * log(1.0 - u))
    s, c = sincos(v * two_pi)
    return c * r, s * r


class Generator:
    """Random arrays of any type and shape; each call continues where the last one ended. See rng()."""

    def random(self, dtype, shape):
        """Uniform in [0, 1)."""
        raise NotImplementedError("random(): a subclass must offer it")

    def normal(self, dtype, shape, loc=0.0, scale=1.0):
        """Normal deviates of this mean and standard deviation."""
        raise NotImplementedError("normal(): a subclass must offer it")

    def integers(self, dtype, shape, low=0, high=None, endpoint=False):
        """Uniform in [low, high), or [0, low); `endpoint` includes the upper bound."""
        raise NotImplementedError("integers(): a subclass must offer it")

    def clone(self):
        """A generator that goes on with the same numbers."""
        raise NotImplementedError("clone(): a subclass must offer it")

    def uniform(self, dtype, shape, low=0.0, high=1.0):
        """Uniform in [low, high)."""
        from ._math import fma
        return fma(self.random(dtype, shape), high - low, low)

    def permutation(self, x, n=None, *, axis=0):
        """permutation(type, n): the numbers below n in random order. permutation(array, axis): its entries so."""
        from ._memory import argsort, gather
        if isinstance(x, type):
            if not isinstance(n, int) or n < 0:
                raise UserError("permutation(): the number of elements must be a non-negative integer")
            return argsort(self.random(Float, n)) if n > 1 else arange(UInt, n)
        if not isinstance(x, ArrayBase):
            raise UserError("permutation(): an array, a tensor or an array type is needed")
        axis = axis if n is None else n
        shape = x.shape if is_tensor_v(x) else (len(x),)
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(f"permutation(): axis {axis} is out of bounds for {len(shape)} dimensions")
        count = shape[axis]
        if count <= 1:
            return _core.copy(x)
        order = argsort(self.random(Float, count))
        if is_tensor_v(x):
            return x[tuple([slice(None)] * (axis % len(shape)) + [order])]
        return gather(type(x), x, order)


class Philox4x32Generator(Generator):
    """Random arrays by Philox4x32: counters are the number of the batch and the lane. A batch has several numbers
    for each lane, which are used from the last one on; what is left over is dropped."""
    DRJIT_STRUCT = {"_seed": UInt64, "_counter": UInt}

    def __init__(self, seed=0, counter=0, symbolic=False):
        self._seed = seed if isinstance(seed, ArrayBase) and type(seed) is UInt64 else UInt64(seed)
        self._counter = counter if type(counter) is UInt else UInt(counter)
        self._symbolic = symbolic

    def clone(self):
        return Philox4x32Generator(_core.copy(self._seed), _core.copy(self._counter))

    def _entries(self, lanes, count, draw):
        """`count` arrays of `lanes` numbers."""
        if not self._symbolic and not _core.is_recording():
            _core.opaque(self._seed)
            _core.opaque(self._counter)
        pool, out = [], []
        while len(out) < count:
            if not pool:
                batch = draw(Philox4x32(self._seed, self._counter, _core.lane_index(lanes) if lanes else UInt()))
                pool = _core.entries(batch)
                self._counter = self._counter + 1
            out.append(pool.pop())
        return out

    def _sample(self, dtype, shape, draw):
        if is_tensor_v(dtype):
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            n = _count(shape)
            values = leaf_t(dtype)(self._entries(n, 1, draw)[0]) if n else leaf_t(dtype)()
            return _core.tensor(dtype, values, shape)
        dims = describe(dtype)[3]
        if dims and isinstance(shape, int) and _core.is_host(dtype):  # numbers of entries, without lanes
            shape = dims if shape == 1 else (shape,)
        if dims and isinstance(shape, int):
            lanes = shape
            dims = tuple(1 if d < 0 else d for d in dims)
        else:
            dims, lanes = _check_shape(dtype, shape)
        return _core.from_entries(dtype, self._entries(lanes, _count(dims), draw))

    def random(self, dtype, shape=1):
        e = _float_type(dtype)
        draw = {10: Philox4x32.next_float16x4, 11: Philox4x32.next_float32x4, 12: Philox4x32.next_float64x2}[e]
        return self._entries(1, 1, draw)[0][0] if dtype is float else self._sample(dtype, shape, draw)

    def normal(self, dtype, shape=1, loc=0.0, scale=1.0):
        from ._math import fma
        e = _float_type(dtype)
        draw = {10: Philox4x32.next_float16x4_normal, 11: Philox4x32.next_float32x4_normal,
                12: Philox4x32.next_float64x2_normal}[e]
        r = self._entries(1, 1, draw)[0][0] if dtype is float else self._sample(dtype, shape, draw)
        return fma(r, scale, loc)

    def integers(self, dtype, shape=1, low=0, high=None, endpoint=False):
        if high is None:
            low, high = 0, low
        if endpoint:
            high = high + 1
        if not is_array_v(dtype) or describe(leaf_t(dtype))[0] not in (6, 7):
            raise ArgumentError("integers(): the type must be one of integers of 32 bits")
        # The upper half of number times bound; what would favour some results is drawn again [Lemire 2019]
        words, wide = replace_type_t(dtype, 7), replace_type_t(dtype, 9)
        draw = Philox4x32.next_uint32x4
        bound = words(high - low)
        product = wide(self._sample(words, shape, draw)) * wide(bound)
        if not isinstance(high - low, int) or 2**32 % (high - low):
            from ._reduce import any
            threshold = (~bound + 1) % bound
            while True:
                again = words(product) < threshold
                if _core.is_recording() or not bool(any(again, axis=None)):
                    break
                product = _core.select(again, wide(self._sample(words, shape, draw)) * wide(bound), product)
        return dtype(product >> 32) + low

    def __repr__(self):
        return f"Philox4x32Generator[seed={self._seed[0]}, counter={self._counter[0]}]"


def rng(seed=0, method="philox4x32", symbolic=False):
    """A random generator: rng(seed).random(Float, 10)."""
    if method != "philox4x32":
        raise UserError(f"rng(): the method must be 'philox4x32', not {method!r}")
    return Philox4x32Generator(seed, symbolic=symbolic)


def seed(value=0):
    """A generator with this seed, as rng() makes it."""
    return rng(value)
