// jit/interp/fold.h: constant folding by the loops of the interpreter: both give the same bits.
#pragma once
#include "jit/op.h"
#include "jit/type.h"

namespace umbel::jit {

/// Evaluates one instruction on literals: each value's bytes are the low ones, the rest is zero; a
/// bool is 0 or 1. `operand_type` is the first operand's type; it matters for Cast and comparisons.
/// False where `op` is not pure and element-wise, or has no meaning for these types.
bool fold(Op op, Type t, Type operand_type, const uint64_t *operand_bits, uint64_t &result_bits);

} // namespace umbel::jit
