// jit/matvec.h: products of a matrix in memory with a vector that each lane has of its own.
#pragma once
#include "jit/array.h"

namespace umbel::jit {

/// Where a matrix is in an array of f16 or f32: element (i, j) at offset + i * stride + j. The transpose multiplies
/// if `transposed`.
struct Matrix {
    uint32_t offset = 0, stride = 0, rows = 0, columns = 0;
    bool transposed = false;

    uint32_t outputs() const { return transposed ? columns : rows; }
    uint32_t inputs() const { return transposed ? rows : columns; }
    Matrix transpose() const { return { offset, stride, rows, columns, !transposed }; }
};
constexpr uint32_t NoBias = ~0u;

/// A x, plus the elements of the array from `bias` on. x and the result are f32; one call of the host a packet,
/// whatever the size.
std::vector<Value> matvec(const Value &weights, const Matrix &a, uint32_t bias,
                          std::span<const Value> x);
/// Adds the gradient of A to `weights`, an array like that of the matrix, and that of the bias to `bias_weights` (which
/// may be the same, or null): the sums of y x^T and of y over all lanes, for the gradient y of the product.
void matvec_gradient(Value &weights, const Matrix &a, Value *bias_weights, uint32_t bias,
                     std::span<const Value> x, std::span<const Value> y);

} // namespace umbel::jit
