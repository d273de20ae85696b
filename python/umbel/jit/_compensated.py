# jit/_compensated.py: sums that keep what rounding takes from them.
import builtins
import math

from .. import _core
from ._create import zeros
from ._grad import detach
from ._hooks import ArgumentError, UserError
from ._math import abs, isfinite, select
from ._memory import scatter_add
from ._reduce import max
from ._types import ArrayBase, describe, is_float_v, largest


def scatter_add_kahan(target_1, target_2, value, index, active=True):
    """target_1[index] += value, in place, for each lane; what rounding takes from the sums is added to target_2, so that both
    together are nearly twice as precise. Not for recorded bodies, as it looks at all values first."""
    if _core.is_recording():
        raise UserError("scatter_add_kahan(): it needs all values at once, which a recorded body does not have; use scatter_add()")
    tp = type(target_1)
    if not (isinstance(target_1, ArrayBase) and is_float_v(tp) and not describe(tp)[3] and type(target_2) is tp and
            len(target_1) == len(target_2)):
        raise ArgumentError("scatter_add_kahan(): the targets must be flat arrays of numbers with a point, of one type and size")
    value = tp(value)
    finite = select(isfinite(value) & active, value, 0)
    # Multiples of a unit, whose sums are exact in any order, and rests of half a unit [Rump 2008]
    bound = max(abs(detach(finite)))[0] * (_lanes(value, index) + 2)
    unit = math.ldexp(1, math.frexp(bound)[1]) if bound < largest(tp) / 4 else 0
    coarse = (finite + unit) - unit
    sums, rests = zeros(tp, len(target_1)), zeros(tp, len(target_1))
    scatter_add(sums, coarse + (value - finite), index, active)
    scatter_add(rests, finite - coarse, index, active)
    total = target_1 + sums
    added = total - target_1
    lost = (target_1 - (total - added)) + (sums - added)  # exactly what the last sum was rounded by
    small = target_2 + select(isfinite(total), lost + rests, 0)
    rounded = total + small
    _core.assign(target_2, select(isfinite(rounded), small - (rounded - total), 0))
    _core.assign(target_1, rounded)


def _lanes(*arrays):
    return builtins.max(_core.width(a) if isinstance(a, ArrayBase) else 1 for a in arrays)
