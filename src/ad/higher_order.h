// ad/higher_order.h: gradients that have derivatives of their own.
//
//     Float32 f = ..., g = gradient(f, x);
//     Float32 loss = f + g * g;
//     backward(loss);              // of both terms
#pragma once
#include "ad/ad.h"
#include <span>

namespace umbel::ad {

/// Gradients of the sum of all of y, or of it with weights, as values that can be differentiated again. Leaves
/// nothing on the tape's nodes, and the graph as it is.
std::vector<Value> gradient(std::span<const Value> y, std::span<const Value> x,
                            std::span<const Value> weights = {});
/// Tangents of y for directions of x (1 where none is given), likewise.
std::vector<Value> tangent(std::span<const Value> x, std::span<const Value> y,
                           std::span<const Value> directions = {});

template <class T> jit::Array<T> gradient(const jit::Array<T> &y, const jit::Array<T> &x) {
    const Value of[] = { y }, by[] = { x };
    return jit::Array<T>(gradient(of, by)[0]);
}

/// The product of the matrix of second derivatives at x of f, which maps an array to a number, with v: forward
/// through the gradient.
template <class T, class F>
jit::Array<T> hessian_product(F &&f, const jit::Array<T> &x, const jit::Array<T> &v) {
    jit::Array<T> at(x.detached());
    enable_grad(at);
    const Value by[] = { at }, of[] = { gradient(jit::Array<T>(f(at)), at) }, way[] = { v };
    return jit::Array<T>(tangent(by, of, way)[0].detached());
}

} // namespace umbel::ad
