// core/filled_array.h: arrays of the program that the host writes where kernels read them.
#pragma once
#include "jit/array.h"
#include "jit/buffer.h"
#include "jit/element_count.h"

namespace umbel {

/// As jit::copy() of a vector that `fill(T *)` wrote, without the vector: its pages are not fetched, zeroed and copied by
/// one core. `fill` must write all of it.
template <class T, class Fill> jit::Value filled_array(size_t n, Fill &&fill) {
    uint32_t count = jit::element_count(n);
    jit::BufferRef memory = jit::allocate(sizeof(T) * n);
    T *begin = static_cast<T *>(memory->data());
    fill(begin);
    return jit::borrow_from(jit::type_of_v<T>, begin, count, [memory] {});
}

} // namespace umbel
