// jit/gemm.h: products of matrices in arrays.
#pragma once
#include "jit/array.h"

namespace umbel::jit {

/// C = A B for each pair of places in `batches`, where A (n x k) and B (k x m) begin in their arrays. Row by row;
/// transposed ones are stored as k x n and m x k.
struct Gemm {
    uint32_t n, k, m;
    bool a_transposed, b_transposed;
    std::vector<std::pair<uint64_t, uint64_t>> batches;
};
/// All products one after another, f32 or f64; operands are evaluated first. No derivatives.
Value gemm(const Value &a, const Value &b, const Gemm &shape);

} // namespace umbel::jit
