// ad/derivatives.h: partial derivatives of the element-wise operations.
#pragma once
#include "jit/value.h"

namespace umbel::ad {

/// The derivative of an operation with respect to one operand: `weight` (not valid: 1), in lanes of
/// `mask` only (not valid: all). `zero`: does not depend on it, or only in steps.
struct Partial {
    jit::Value weight, mask;
    bool zero = false;
};

/// With respect to operand number `i` (from 0). Operands and result carry no gradient ids.
Partial partial(jit::Op op, int i, const jit::Value *const *operands, const jit::Value &result);

/// The derivative of lgamma.
jit::Value digamma(const jit::Value &x);

} // namespace umbel::ad
