# umbel/_random.py: hashes, permutations and generators of random numbers.
from . import _core
from . import jit as dr
from ._core import radical_inverse_2, sobol_2
from ._variant_types import resolve
from .jit.random import PCG32, Philox4x32

_mask = 0xFFFFFFFF


def _tea(v0, v1, rounds):
    """Wheeler's and Needham's tiny encryption algorithm [Zafar 2010], of integers or arrays."""
    total = 0
    for _ in range(rounds):
        total = (total + 0x9E3779B9) & _mask
        v0 = (v0 + ((((v1 << 4) + 0xA341316C) ^ (v1 + total) ^ ((v1 >> 5) + 0xC8013EA4)) & _mask)) & _mask
        v1 = (v1 + ((((v0 << 4) + 0xAD90777D) ^ (v0 + total) ^ ((v0 >> 5) + 0x7E95761E)) & _mask)) & _mask
    return v0, v1


def sample_tea_32(v0, v1, rounds=4):
    """Two hashes of two integers."""
    if isinstance(v0, dr.ArrayBase) or isinstance(v1, dr.ArrayBase):
        UInt = resolve("UInt32")
        v0, v1 = UInt(v0), UInt(v1)
    return _tea(v0, v1, rounds)


def sample_tea_64(v0, v1, rounds=4):
    """A hash of 64 bits."""
    a, b = sample_tea_32(v0, v1, rounds)
    if isinstance(a, int):
        return a | b << 32
    UInt64 = resolve("UInt64")
    return UInt64(a) | (UInt64(b) << 32)


def sample_tea_float32(v0, v1, rounds=4):
    """A hash as a number in [0, 1), in single precision."""
    bits = sample_tea_32(v0, v1, rounds)[1] >> 9
    return bits * 2.0 ** -23 if isinstance(bits, int) else dr.reinterpret_array(
        _core.classes["Float"], bits | 0x3F800000) - 1


def sample_tea_float64(v0, v1, rounds=4):
    """Likewise in double precision."""
    bits = sample_tea_64(v0, v1, rounds) >> 12
    return bits * 2.0 ** -52 if isinstance(bits, int) else dr.reinterpret_array(
        _core.classes["Float64"], bits | 0x3FF0000000000000) - 1


def sample_tea_float(v0, v1, rounds=4):
    """Likewise in the variant's precision."""
    double = dr.itemsize_v(resolve("Float")) == 8
    return (sample_tea_float64 if double else sample_tea_float32)(v0, v1, rounds)


def permute(value, size, seed, rounds=4):
    """Where a number below `size`, a power of two, goes in a random permutation."""
    if size < 1 or size & (size - 1):
        raise ValueError(f"permute(): the size must be a power of two, not {size}; see permute_kensler()")
    UInt = resolve("UInt32")
    value, seed = UInt(value), UInt(seed)
    for level in range(size.bit_length() - 1):
        bit = 1 << level
        # Both numbers that may change places here have the same hash
        value = value ^ (sample_tea_32(value | bit, seed, rounds)[0] & bit)
    return value


def permute_kensler(i, l, p, active=True):
    """The same for any size l [Kensler 2013]."""
    return dr.select(active, _core.permute(i, l, p), 0)


class RadicalInverse:
    """Radical inverses in prime bases up to `max_base`, with digits permuted as `scramble` says: 0 not at all, -1 by
    Faure's permutations, else by random ones of that seed."""

    def __init__(self, max_base=8161, scramble=-1):
        primes = []
        for n in range(2, max_base + 1):
            if all(n % p for p in primes if p * p <= n):
                primes.append(n)
        if not primes or len(primes) > 1024:
            raise ValueError(f"RadicalInverse: max_base must be from 2 to 8161, not {max_base}")
        self._plain, self._scrambled = (_core.RadicalInverse(len(primes), s) for s in (0, scramble))
        self._scramble = scramble

    def bases(self): return self._plain.bases()
    def base(self, index): return self._plain.base(index)
    def scramble(self): return self._scramble

    def permutation(self, index):
        """That of a base's digits."""
        return self._scrambled.permutation(index)

    def inverse_permutation(self, index):
        """What undoes it: the digit that becomes 0."""
        import numpy as np
        return int(np.argsort(self.permutation(index))[0])

    def eval(self, base_index, index):
        """The digits of numbers, mirrored at the point: in [0, 1)."""
        return self._plain.eval(base_index, resolve("UInt64")(index))

    def eval_scrambled(self, base_index, index):
        """The same with permuted digits."""
        return self._scrambled.eval(base_index, resolve("UInt64")(index))


ScalarPCG32, ScalarPhilox4x32 = PCG32, Philox4x32
__all__ = ["sample_tea_32", "sample_tea_64", "sample_tea_float", "sample_tea_float32", "sample_tea_float64", "permute",
           "permute_kensler", "radical_inverse_2", "sobol_2", "RadicalInverse", "PCG32", "ScalarPCG32",
           "Philox4x32", "ScalarPhilox4x32"]
