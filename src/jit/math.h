// jit/math.h: the transcendental functions of jit/op.h, one template each for every backend.
//
// Each works on float and double, and on any type with the vocabulary of jit/math_scalar.h, with
// the same roundings: the interpreter, constant folding and compiled code agree to the bit. There
// are no branches but if_any around rare cases, and no tables but the digits of 2/pi. Special cases
// are those of Annex F of the C standard: signs of zeros, infinities, NaN, and the values of pow
// and atan2 there.
#pragma once
#include "jit/math_exp.h"
#include "jit/math_special.h"
#include "jit/math_trig.h"
#include "jit/op.h"

namespace umbel::jit::math {

/// Largest error of a function, in units in the last place of the exact result, over all arguments,
/// subnormal arguments and results included. Found by search (every 37th single, about a million
/// doubles) and rounded up, not proven; tests/jit/math_test.cpp holds the functions to it.
struct Bound {
    Op op;
    double f32, f64;
};

// clang-format off
inline constexpr Bound bounds[] = {
    { Op::Sin,      2,    2 },
    { Op::Cos,      2,    2 },
    { Op::Tan,      3,    3 },
    { Op::Asin,     2.25, 2.25 },
    { Op::Acos,     1.5,  1.5 },
    { Op::Atan,     2.25, 3 },
    { Op::Sinh,     2.75, 3 },
    { Op::Cosh,     2,    2 },
    { Op::Tanh,     2.75, 2.75 },
    { Op::Asinh,    2,    2 },
    { Op::Acosh,    2.25, 2.25 },
    { Op::Atanh,    2.25, 2.25 },
    { Op::Exp,      1.75, 1.75 },
    { Op::Exp2,     1.25, 1.25 },
    { Op::Log,      1,    1 },
    { Op::Log2,     2,    2 },
    { Op::Cbrt,     1,    1 },
    { Op::Erf,      1.5,  1.5 },
    { Op::Erfinv,   2.5,  3.5 },
    { Op::Lgamma,   0.75, 4 }, // below -1/2, where it has zeros: or as many ulp of 1
    { Op::Atan2,    2.25, 3 },
    { Op::Pow,      2.5,  1.5 },
};
// clang-format on

} // namespace umbel::jit::math
