# jit/random.py: random numbers: PCG32, Philox, and generators in the manner of NumPy's.
from .. import _core
from ._create import arange, full, zeros
from ._types import ArrayBase, describe, is_array_v, is_tensor_v, leaf_t, tensor_t
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
        return {10: self.next_float16, 11: self.next_float32, 12: self.next_float64}[describe(leaf_t(dtype))[0]](mask)

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

    def prev_float(self, dtype, mask=True):
        return {11: self.prev_float32, 12: self.prev_float64}[describe(leaf_t(dtype))[0]](mask)

    def prev_float32_normal(self, mask=True): return _normal(self.prev_float32(mask))
    def prev_float64_normal(self, mask=True): return _normal(self.prev_float64(mask))

    def next_float_normal(self, dtype, mask=True):
        return _normal(self.next_float(dtype, mask))

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
    """Counter-based generator: ten rounds of multiplication and mixing [Salmon 2011]."""
    DRJIT_STRUCT = {"seed": _core.classes["Array2u"], "counter": _core.classes["Array4u"]}

    def __init__(self, seed=0, counter_0=0, counter_1=0, counter_2=0, iterations=7):
        seed = UInt64(seed)
        self.seed = _core.classes["Array2u"](UInt(seed >> 32), UInt(seed))
        self.counter = _core.classes["Array4u"](UInt(counter_0), UInt(counter_1), UInt(counter_2), 0)
        self.iterations = iterations

    def next_uint32x4(self, mask=True):
        c, (k0, k1) = [self.counter[i] for i in range(4)], (self.seed[0], self.seed[1])
        for _ in range(self.iterations):
            p0, p1 = UInt64(c[0]) * UInt64(0xD2511F53), UInt64(c[2]) * UInt64(0xCD9E8D57)
            c = [UInt(p1 >> 32) ^ c[1] ^ k0, UInt(p1), UInt(p0 >> 32) ^ c[3] ^ k1, UInt(p0)]
            k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
        following = self.counter[3] + 1
        self.counter[3] = following if mask is True else _core.select(mask, following, self.counter[3])
        return _core.classes["Array4u"](*c)

    def next_float32x4(self, mask=True):
        u = self.next_uint32x4(mask)
        bits = (u >> 9) | 0x3F800000
        return _core.bitcast(bits, 11) - 1.0

    def next_uint64x2(self, mask=True):
        u = self.next_uint32x4(mask)
        return _core.classes["Array2u64"](UInt64(u[0]) | (UInt64(u[1]) << 32), UInt64(u[2]) | (UInt64(u[3]) << 32))

    def next_float64x2(self, mask=True):
        bits = (self.next_uint64x2(mask) >> 12) | UInt64(0x3FF0000000000000)
        return _core.bitcast(bits, 12) - 1.0


class Generator:
    """Random arrays of any type and shape; each call continues where the last one ended."""

    def __init__(self, seed=0, method="philox4x32", symbolic=False):
        self._seed = seed if isinstance(seed, ArrayBase) else UInt64(seed)
        if not isinstance(seed, ArrayBase):
            _core.opaque(self._seed)
        self._calls = 0

    def _bits(self, n):
        """Two 64-bit numbers for each element: a hash of seed, call and place."""
        self._calls += 1
        calls = UInt(self._calls)
        _core.opaque(calls)
        g = Philox4x32(self._seed, UInt(_core.lane_index(n)) if n > 1 else UInt(0), calls, 0)
        return g.next_uint64x2()

    def _uniform(self, dtype, shape):
        count, finish = _target(dtype, shape)
        leaf = leaf_t(dtype)
        bits = self._bits(count)[0]
        e = describe(leaf)[0]
        if e == 12:
            r = _core.bitcast((bits >> 12) | UInt64(0x3FF0000000000000), 12) - 1.0
        else:
            r = leaf(_core.bitcast((UInt(bits) >> 9) | 0x3F800000, 11) - 1.0)
        return r, finish

    def random(self, dtype, shape=1):
        """Uniform in [0, 1)."""
        r, finish = self._uniform(dtype, shape)
        return finish(r)

    def uniform(self, dtype, shape=1, low=0.0, high=1.0):
        """Uniform in [low, high)."""
        r, finish = self._uniform(dtype, shape)
        return _core.fma(finish(r), high - low, low) if not is_tensor_v(dtype) else finish(_core.fma(r, high - low, low))

    def normal(self, dtype, shape=1, loc=0.0, scale=1.0):
        """Normal deviates."""
        count, finish = _target(dtype, shape)
        leaf, bits = leaf_t(dtype), self._bits(count)
        if describe(leaf)[0] == 12:
            u, v = (_core.bitcast((bits[i] >> 12) | UInt64(0x3FF0000000000000), 12) - 1.0 for i in range(2))
        else:
            u, v = (_core.bitcast((UInt(bits[i]) >> 9) | 0x3F800000, 11) - 1.0 for i in range(2))
        s, c = sincos(v * two_pi)
        return finish(leaf(_core.fma(sqrt(-2.0 * log(1.0 - u)) * c, scale, loc)))

    def integers(self, dtype, shape=1, low=0, high=None):
        """Uniform in [low, high), or [0, low)."""
        if high is None:
            low, high = 0, low
        count, finish = _target(dtype, shape)
        bits = self._bits(count)[0]
        r = _core.mul_hi(bits, UInt64(high - low))
        return finish(leaf_t(dtype)(r) + low)

    def clone(self):
        g = Generator.__new__(Generator)
        g._seed, g._calls = self._seed, self._calls
        return g


def _target(dtype, shape):
    """Number of elements, and how they become an object of the type."""
    if is_tensor_v(dtype):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        n = 1
        for s in shape:
            n *= s
        return n, lambda r: _core.tensor(dtype, r, shape)
    dims = describe(dtype)[3]
    n = shape if isinstance(shape, int) else shape[-1]
    if not dims:
        return n, lambda r: dtype(r)
    from ._memory import unravel
    entries = 1
    for d in dims:
        entries *= d
    return n * entries, lambda r: unravel(dtype, r)


def rng(seed=0, method="philox4x32", symbolic=False):
    """A random generator: rng(seed).random(Float, 10)."""
    return Generator(seed, method, symbolic)


def seed(value=0): return rng(value)
