// ad/matvec.h: products of matrices in memory with vectors of each lane, with derivatives.
#pragma once
#include "jit/matvec.h"

namespace umbel::ad {

/// A x + b of the type of the weights (f16 or f32), whose sums are of single precision. `bias_weights` (not valid: none)
/// holds b from `bias` on. Not inside of recorded bodies that are differentiated as a whole: see `collecting`.
std::vector<jit::Value> matvec(const jit::Value &weights, const jit::Matrix &a,
                               const jit::Value &bias_weights, uint32_t bias,
                               std::span<const jit::Value> x);
/// Whether a body is being recorded that will be differentiated as a whole.
bool collecting();

} // namespace umbel::ad
