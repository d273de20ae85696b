// python/empty_arrays.h: operations on arrays of size zero, which hold no value, as NumPy has them.
//
// What is computed element by element from such an array has size zero, too. Beside it only one element has a place, as it
// broadcasts.
#pragma once
#include "jit/value.h"

namespace umbel::python {

/// Whether one of the operands has size zero; UserError if another one then has more than one element.
template <class... Values> bool any_empty(jit::Op op, const Values &...operands) {
    if ((operands.valid() && ...)) [[likely]]
        return false;
    for (const jit::Value *v : { &operands... })
        if (v->valid() && v->size() > 1)
            fail("{}: operand sizes 0 and {} do not match (only a size of 1 broadcasts)",
                 jit::name(op), v->size());
    return true;
}

inline jit::Value apply(jit::Op op, const jit::Value &a) {
    return a.valid() ? jit::unary(op, a) : jit::Value();
}
inline jit::Value apply(jit::Op op, const jit::Value &a, const jit::Value &b) {
    return any_empty(op, a, b) ? jit::Value() : jit::binary(op, a, b);
}
inline jit::Value apply(jit::Op op, const jit::Value &a, const jit::Value &b, const jit::Value &c) {
    return any_empty(op, a, b, c) ? jit::Value() : jit::ternary(op, a, b, c);
}

} // namespace umbel::python
