// jit/interp/loops.h: the element-wise loops of the interpreter, one table per kind of CPU.
//
// A loop computes n >= 1 elements; d may be the same register as an operand of the same element
// size. An operand that is uniform has one element, and the loop for that shape reads it once.
#pragma once
#include "jit/op.h"
#include "jit/type.h"
#include <cstddef>

namespace umbel::jit {

using LoopFn = void (*)(void *d, const void *a, const void *b, const void *c, size_t n);
/// d = mask & cond (or mask & !cond); returns how many of the n lanes are set.
using MaskFn = size_t (*)(uint8_t *d, const uint8_t *mask, const uint8_t *cond, size_t n);

struct LoopTable {
    LoopFn unary[OpCount][TypeCount] = {}; // by result type; Cast is apart
    LoopFn binary[OpCount][TypeCount]
                 [3] = {};         // by operand type; both varying, b uniform, a uniform
    LoopFn fma[TypeCount][8] = {}; // bit k is set where operand k is uniform
    LoopFn select[TypeCount][8] = {};
    LoopFn cast[TypeCount][TypeCount] = {}; // from, to
    LoopFn splat[TypeCount] = {};           // all elements of d are the one at a
    MaskFn mask_and = nullptr, mask_and_not = nullptr;
    const char *name = nullptr;
};

/// The table for this machine.
const LoopTable &loops();

/// Null where `op` is not a pure element-wise operation on these types. `uniform`: bit k for
/// operand k.
inline LoopFn find_loop(const LoopTable &table, Op op, Type t, Type operand, unsigned uniform) {
    switch (op) {
    case Op::Cast: return table.cast[int(operand)][int(t)];
    case Op::Fma: return table.fma[int(t)][uniform & 7];
    case Op::Merge:
    case Op::Select: return table.select[int(t)][uniform & 7];
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
        return table.binary[int(op)][int(operand)][uniform == 2 ? 1 : uniform == 1 ? 2 : 0];
    default:
        if (operands(op) == 2)
            return table.binary[int(op)][int(t)][uniform == 2 ? 1 : uniform == 1 ? 2 : 0];
        return table.unary[int(op)][int(t)];
    }
}

// One file each; those for a CPU that the compiler does not target return null.
const LoopTable *loops_base();
const LoopTable *loops_v3();
const LoopTable *loops_v4();

} // namespace umbel::jit
