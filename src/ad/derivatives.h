// ad/derivatives.h: partial derivatives of the element-wise operations.
#pragma once
#include "jit/value.h"
#include <span>

namespace umbel::ad {

/// The derivative of an operation with respect to one operand: `weight` (not valid: 1), in lanes of
/// `mask` only (not valid: all). `zero`: does not depend on it, or only in steps.
struct Partial {
    jit::Value weight, mask;
    bool zero = false;
};

/// An element-wise operation by its name; `type`: what a cast converts to.
jit::Value apply_op(jit::Op op, jit::Type type, std::span<const jit::Value> operands);

/// With respect to operand number `i` (from 0). Operands and result carry gradient ids where the derivative is
/// to be differentiated again, else none.
Partial partial(jit::Op op, int i, const jit::Value *const *operands, const jit::Value &result);

/// The derivative of lgamma.
jit::Value digamma(const jit::Value &x);

} // namespace umbel::ad
