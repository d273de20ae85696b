// ad/matvec.cpp: see ad/matvec.h.
#include "ad/matvec.h"
#include "ad/custom.h"
#include "ad/tracker.h"
#include <memory>

namespace umbel::ad {

using namespace jit;

namespace {

std::vector<Value> cast_all(Type t, std::span<const Value> values) {
    std::vector<Value> out;
    for (const Value &v : values)
        out.push_back(v.type() == t ? v : cast(t, v));
    return out;
}

// Inputs: the weights, the array of the bias, the vector.
struct MatVecOp final : CustomOp {
    Matrix a;
    bool biased = false, shared = false; // the bias is in the array of the weights
    uint32_t bias = NoBias;
    Value weights, bias_weights;
    std::vector<Value> x; // single precision

    const char *name() const override { return "matvec"; }

    Value bias_of(const Value &array, uint32_t row) const {
        Value b = gather(array, literal(Type::U32, bias + row), literal(Type::Bool, 1));
        return b.type() == Type::F32 ? b : cast(Type::F32, b);
    }

    // A x + b for these weights; b only `with_bias`
    std::vector<Value> product(const Value &w, const Value &b, std::span<const Value> v,
                               bool with_bias) const {
        std::vector<Value> y = jit::matvec(w, a, with_bias && shared ? bias : NoBias, v);
        if (with_bias && !shared)
            for (uint32_t i = 0; i < y.size(); ++i)
                y[i] = binary(Op::Add, y[i], bias_of(b, i));
        return y;
    }

    std::vector<Value> eval(std::span<const Value> in) override {
        weights = in[0];
        bias_weights = in[1];
        x = cast_all(Type::F32, in.subspan(2));
        return cast_all(weights.type(), product(weights, bias_weights, x, biased));
    }

    void forward() override {
        std::vector<Value> tangents;
        bool moves = false;
        for (size_t j = 0; j < x.size(); ++j) {
            tangents.push_back(grad_in(j + 2));
            moves |= needs_grad_in(j + 2);
        }
        std::vector<Value> y;
        auto add = [&](const std::vector<Value> &more) {
            for (size_t i = 0; i < more.size(); ++i)
                y.size() == more.size() ? void(y[i] = binary(Op::Add, y[i], more[i])) : void();
            if (y.empty())
                y = more;
        };
        if (moves)
            add(product(weights, bias_weights, cast_all(Type::F32, tangents), false));
        if (needs_grad_in(0))
            add(product(full_size(grad_in(0), weights), grad_in(1), x, biased && shared));
        if (biased && !shared && needs_grad_in(1)) {
            std::vector<Value> b;
            for (uint32_t i = 0; i < a.outputs(); ++i)
                b.push_back(bias_of(grad_in(1), i));
            add(b);
        }
        y = cast_all(weights.type(), y);
        for (size_t i = 0; i < y.size(); ++i)
            set_grad_out(i, y[i]);
    }

    static Value full_size(const Value &g, const Value &like) {
        return g.size() == like.size() ? g : binary(Op::Add, g, full(g.type(), 0, like.size()));
    }

    void backward() override {
        std::vector<Value> y;
        for (uint32_t i = 0; i < a.outputs(); ++i)
            y.push_back(grad_out(i));
        y = cast_all(Type::F32, y);
        bool moves = false;
        for (size_t j = 0; j < x.size(); ++j)
            moves |= needs_grad_in(j + 2);
        if (moves) {
            std::vector<Value> g =
                cast_all(weights.type(), jit::matvec(weights, a.transpose(), NoBias, y));
            for (size_t j = 0; j < x.size(); ++j)
                set_grad_in(j + 2, g[j]);
        }
        bool with_bias = biased && needs_grad_in(1);
        if (!needs_grad_in(0) && !with_bias)
            return;
        // Directly into the gradients of the arrays, as gathers do
        Tape &t = AdTracker::of(weights.context()).tape;
        Value into = take(t, 0, weights), bias_into;
        if (with_bias && !shared)
            bias_into = take(t, 1, bias_weights);
        Value all = literal(Type::Bool, 1);
        std::vector<Value> summands;
        for (const Value &v : y)
            summands.push_back(t.summand(v, all));
        matvec_gradient(into, a,
                        !with_bias ? nullptr
                        : shared   ? &into
                                   : &bias_into,
                        bias, x, summands);
        if (needs_grad_in(0))
            t.node(inputs[0]).grad = std::move(into);
        if (with_bias && !shared)
            t.node(inputs[1]).grad = std::move(bias_into);
    }

    Value take(Tape &t, size_t i, const Value &like) {
        Value g;
        if (inputs[i])
            g = std::move(t.node(inputs[i]).grad);
        return g.valid() ? full_size(g, like) : full(like.type(), 0, like.size());
    }
};

} // namespace

std::vector<Value> matvec(const Value &weights, const Matrix &a, const Value &bias_weights,
                          uint32_t bias, std::span<const Value> x) {
    auto op = std::make_shared<MatVecOp>();
    op->a = a;
    op->biased = bias_weights.valid();
    op->bias = op->biased ? bias : NoBias;
    op->shared = op->biased && bias_weights.id() == weights.id() &&
                 bias_weights.grad_id() == weights.grad_id();
    std::vector<Value> in{ weights, op->biased ? bias_weights : weights };
    in.insert(in.end(), x.begin(), x.end());
    return custom(op, in);
}

bool collecting() { return !AdTracker::of(Context::current()).collectors.empty(); }

} // namespace umbel::ad
