// jit/math.h: the transcendental functions of jit/op.h, one template each for every backend.
//
// Each works on float and double, and on any type with the vocabulary of jit/math_scalar.h, with the same
// roundings: the interpreter, constant folding and compiled code agree to the bit. There are no branches
// but if_any around rare cases, and no tables but the digits of 2/pi. Special cases are those of Annex F of
// the C standard: signs of zeros, infinities, NaN, and the values of pow and atan2 there.
#pragma once
#include "jit/math_exp.h"
#include "jit/math_special.h"
#include "jit/math_trig.h"
#include "jit/op.h"

namespace umbel::jit::math {

/// Largest error of a function, in units in the last place of the exact result, over all arguments,
/// subnormal arguments and results included. jit/math_test.cpp holds the functions to it.
struct Bound {
    Op op;
    double single, twice;
};

// clang-format off
inline constexpr Bound bounds[] = {
    { Op::Sin,    9, 9 },
    { Op::Cos,    9, 9 },
    { Op::Tan,    9, 9 },
    { Op::Asin,   9, 9 },
    { Op::Acos,   9, 9 },
    { Op::Atan,   9, 9 },
    { Op::Sinh,   9, 9 },
    { Op::Cosh,   9, 9 },
    { Op::Tanh,   9, 9 },
    { Op::Asinh,  9, 9 },
    { Op::Acosh,  9, 9 },
    { Op::Atanh,  9, 9 },
    { Op::Exp,    9, 9 },
    { Op::Exp2,   9, 9 },
    { Op::Log,    9, 9 },
    { Op::Log2,   9, 9 },
    { Op::Cbrt,   9, 9 },
    { Op::Erf,    9, 9 },
    { Op::Erfinv, 9, 9 },
    { Op::Lgamma, 9, 9 }, // or, between its poles below 0, as many ulp of 1: it has zeros there
    { Op::Atan2,  9, 9 },
    { Op::Pow,    9, 9 },
};
// clang-format on

} // namespace umbel::jit::math
