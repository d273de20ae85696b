// jit/matvec.cpp: see jit/matvec.h.
//
// Unrolled into a program, a layer of 64 x 64 weights would be 8,000 instructions, and its gradient as many sums over
// all lanes. Here either is one call of a host function for each packet of lanes.
#include "jit/matvec.h"
#include "jit/algorithm_common.h"
#include "jit/control.h"
#include "jit/host_call.h"
#include "jit/host_pointer.h"
#include "jit/rebuild.h"
#include "jit/stream.h"
#include <algorithm>
#include <array>
#include <memory>

namespace umbel::jit {
namespace {

constexpr int Rows = 8;   // of the result, at a time
constexpr int Lanes = 16; // as many as the widest vectors have

template <int N>
UMBEL_INLINE void add_product(Vec<float, N> &acc, float a, const Vec<float, N> &b) {
    for (int i = 0; i < N; ++i)
        acc[i] = __builtin_fmaf(a, b[i], acc[i]);
}

// ---- A x

// Up to Rows results for N lanes; weight (r, j) at w[r * row_step + j * column_step].
template <int N, int R>
UMBEL_INLINE void product_rows(const float *w, uint64_t row_step, uint64_t column_step,
                               uint32_t columns, const float *bias, const float *x, uint32_t lanes,
                               float *y) {
    Vec<float, N> acc[R], v;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        acc[r] = Vec<float, N>{} + (bias ? bias[r] : 0.f);
    for (uint32_t j = 0; j < columns; ++j) {
        std::memcpy(&v, x + uint64_t(j) * lanes, sizeof(v));
        const float *p = w + j * column_step;
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
            add_product<N>(acc[r], p[r * row_step], v);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        std::memcpy(y + uint64_t(r) * lanes, &acc[r], sizeof(v));
}

template <int N>
UMBEL_INLINE void product_block(const float *w, uint64_t row_step, uint64_t column_step,
                                uint32_t rows, uint32_t columns, const float *bias, const float *x,
                                uint32_t lanes, float *y) {
    for (uint32_t l = 0; l < lanes; l += N) {
        if (rows == Rows)
            product_rows<N, Rows>(w, row_step, column_step, columns, bias, x + l, lanes, y + l);
        else
            for (uint32_t r = 0; r < rows; ++r)
                product_rows<N, 1>(w + r * row_step, 0, column_step, columns,
                                   bias ? bias + r : nullptr, x + l, lanes,
                                   y + uint64_t(r) * lanes + l);
    }
}

UMBEL_CLONES void product(const float *w, uint64_t row_step, uint64_t column_step, uint32_t rows,
                          uint32_t columns, const float *bias, const float *x, uint32_t lanes,
                          float *y) {
    if (lanes % Lanes == 0)
        product_block<Lanes>(w, row_step, column_step, rows, columns, bias, x, lanes, y);
    else
        product_block<4>(w, row_step, column_step, rows, columns, bias, x, lanes, y);
}

UMBEL_CLONES void widen(const f16 *in, uint64_t n, float *out) {
    uint64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        Vec<float, 16> v;
        load<16, float>(in + i, v);
        std::memcpy(out + i, &v, sizeof(v));
    }
    for (; i < n; ++i)
        out[i] = float(in[i]);
}

// The inputs before those of the lanes: each a number for all of them.
struct Header {
    enum { Offset, Stride, NumRows, NumColumns, Transposed, Bias, Count };
    uint32_t v[Count];
    const float *rest;
    Header(const void *frame, uint32_t lanes) {
        for (int k = 0; k < Count; ++k)
            v[k] = static_cast<const uint32_t *>(frame)[uint64_t(k) * lanes];
        rest = static_cast<const float *>(frame) + uint64_t(Count) * lanes;
    }
    Matrix matrix() const {
        return { v[Offset], v[Stride], v[NumRows], v[NumColumns], v[Transposed] != 0 };
    }
};

std::vector<Value> header(const Matrix &a, uint32_t bias) {
    std::vector<Value> out;
    for (uint32_t n : { a.offset, a.stride, a.rows, a.columns, uint32_t(a.transposed), bias })
        out.push_back(literal(Type::U32, n));
    return out;
}

template <class W>
void matvec_packet(void *user, uint64_t, uint32_t lanes, const int32_t *, void *frame) {
    const Header h(frame, lanes);
    const Matrix a = h.matrix();
    const auto *weights = static_cast<const W *>(user);
    uint32_t rows = a.outputs(), columns = a.inputs();
    const float *x = h.rest;
    float *y = const_cast<float *>(x) + uint64_t(columns) * lanes;
    thread_local std::vector<float> scratch; // weights of half precision, widened
    for (uint32_t r = 0; r < rows; r += Rows) {
        uint32_t count = std::min<uint32_t>(Rows, rows - r);
        const float *w, *bias = nullptr;
        float bias_rows[Rows];
        uint64_t row_step = a.transposed ? 1 : a.stride, column_step = a.transposed ? a.stride : 1;
        const W *first = weights + a.offset + r * row_step;
        if constexpr (std::is_same_v<W, float>) {
            w = first;
        } else {
            scratch.resize(uint64_t(Rows) * columns);
            if (a.transposed)
                for (uint32_t j = 0; j < columns; ++j)
                    widen(first + j * column_step, count, &scratch[uint64_t(j) * Rows]);
            else
                for (uint32_t k = 0; k < count; ++k)
                    widen(first + k * row_step, columns, &scratch[uint64_t(k) * columns]);
            row_step = a.transposed ? 1 : columns;
            column_step = a.transposed ? Rows : 1;
            w = scratch.data();
        }
        if (h.v[Header::Bias] != NoBias) {
            for (uint32_t k = 0; k < count; ++k)
                bias_rows[k] = float(weights[h.v[Header::Bias] + r + k]);
            bias = bias_rows;
        }
        product(w, row_step, column_step, count, columns, bias, x, lanes, y + uint64_t(r) * lanes);
    }
}

// ---- The sum of y x^T over lanes

// 16 x 16 elements; the butterflies exchange blocks of 1, 2, 4 and 8.
UMBEL_INLINE void transpose_block(const float *in, uint64_t in_step, float *out,
                                  uint64_t out_step) {
    using V = Vec<float, 16>;
    using I = Vec<int32_t, 16>;
    V r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
        std::memcpy(&r[i], in + i * in_step, sizeof(V));
    auto exchange = [&]<int K>() UMBEL_INLINE_LAMBDA {
        I low, high;
        for (int t = 0; t < 16; ++t) {
            low[t] = t & K ? 16 + t - K : t;
            high[t] = t & K ? 16 + t : t + K;
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i)
            if (!(i & K)) {
                V a = r[i], b = r[i + K];
                r[i] = __builtin_shuffle(a, b, low);
                r[i + K] = __builtin_shuffle(a, b, high);
            }
    };
    exchange.template operator()<1>();
    exchange.template operator()<2>();
    exchange.template operator()<4>();
    exchange.template operator()<8>();
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
        std::memcpy(out + i * out_step, &r[i], sizeof(V));
}

// sum[i][j] += y[i][l] xt[l][j] over lanes l, for R rows and 16 columns.
template <int R>
UMBEL_INLINE void outer_rows(const float *y, uint64_t y_step, const float *xt, uint64_t width,
                             uint32_t lanes, float *sum) {
    Vec<float, 16> acc[R], v;
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        std::memcpy(&acc[r], sum + r * width, sizeof(v));
    for (uint32_t l = 0; l < lanes; ++l) {
        std::memcpy(&v, xt + l * width, sizeof(v));
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
            add_product<16>(acc[r], y[r * y_step + l], v);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        std::memcpy(sum + r * width, &acc[r], sizeof(v));
}

// `x` has `columns` rows of `lanes`; `xt` gets lanes rows of `width`, the rest of which are 0.
UMBEL_CLONES void outer_sum(const float *y, uint32_t rows, const float *x, uint32_t columns,
                            uint32_t lanes, uint64_t stride, uint64_t width, float *xt,
                            float *sum) {
    for (uint32_t j = 0; j < columns; j += 16) {
        if (lanes == 16 && j + 16 <= columns) {
            transpose_block(x + j * stride, stride, xt + j, width);
        } else {
            for (uint32_t k = j; k < std::min(j + 16, columns); ++k)
                for (uint32_t l = 0; l < lanes; ++l)
                    xt[l * width + k] = x[k * stride + l];
        }
    }
    for (uint32_t i = 0; i < rows; i += Rows)
        for (uint64_t j = 0; j < width; j += 16) {
            const float *g = y + i * stride;
            float *s = sum + i * width + j;
            if (i + Rows <= rows)
                outer_rows<Rows>(g, stride, xt + j, width, lanes, s);
            else
                for (uint32_t r = 0; r < rows - i; ++r)
                    outer_rows<1>(g + r * stride, 0, xt + j, width, lanes, s + r * width);
        }
}

// A sum for each block of lanes; the last row or column may be that of the bias.
struct OuterSum final : HostEffect {
    Matrix a;
    uint32_t bias = NoBias, rows = 0, columns = 0; // of the sum, with the bias
    uint64_t width = 0;                            // of a row, a multiple of 16
    Type type = Type::F32;
    bool separate_bias = false; // in the second target
    std::array<std::unique_ptr<float[]>, MaxBlocks> sums;

    static void packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
        auto &self = *static_cast<OuterSum *>(static_cast<HostEffect *>(user));
        auto &sum = self.sums[current_block()];
        if (!sum)
            sum = std::make_unique<float[]>(self.rows * self.width);
        // Lanes outside of the mask have no say, whatever they hold
        auto *values = static_cast<float *>(frame);
        bool all = std::all_of(mask, mask + lanes, [](int32_t m) { return m != 0; });
        if (!all)
            for (uint32_t k = 0; k < self.rows + self.columns; ++k)
                for (uint32_t l = 0; l < lanes; ++l)
                    if (!mask[l])
                        values[uint64_t(k) * lanes + l] = 0;
        thread_local std::vector<float> xt;
        xt.assign(16 * self.width, 0.f);
        for (uint32_t l = 0; l < lanes; l += 16)
            outer_sum(values + l, self.rows, values + uint64_t(self.rows) * lanes + l, self.columns,
                      std::min(16u, lanes - l), lanes, self.width, xt.data(), sum.get());
    }

    template <class T> void add(std::span<void *const> targets) {
        auto *weights = static_cast<T *>(targets[0]);
        auto *biases = static_cast<T *>(targets[separate_bias ? 1 : 0]);
        parallel_blocks(rows, 4, [&](uint64_t begin, uint64_t end) {
            std::vector<float> row(width);
            for (uint64_t i = begin; i < end; ++i) {
                std::fill(row.begin(), row.end(), 0.f);
                for (auto &s : sums)
                    if (s)
                        for (uint64_t j = 0; j < width; ++j)
                            row[j] += s[i * width + j];
                for (uint32_t j = 0; j < columns; ++j) {
                    T &cell = i == a.rows      ? biases[bias + j]
                              : j == a.columns ? biases[bias + i]
                                               : weights[a.offset + i * a.stride + j];
                    cell = T(float(cell) + row[j]);
                }
            }
        });
    }
    void finish(std::span<void *const> targets) override {
        type == Type::F16 ? add<f16>(targets) : add<float>(targets);
        for (auto &s : sums)
            s.reset();
    }
};

} // namespace

// ---- As recorded code, where there is no host to call: loops over rows and columns, numbers of a lane in local arrays

namespace {

struct RowWalk {
    UInt32 row;
    LocalArray<float> y;
    UMBEL_STRUCT(row, y)
};
struct ColumnWalk {
    UInt32 column;
    Float32 sum;
    UMBEL_STRUCT(column, sum)
};

LocalArray<float> in_array(std::span<const Value> values) {
    LocalArray<float> out(Float32(0.f), uint32_t(std::max<size_t>(values.size(), 1)));
    for (size_t k = 0; k < values.size(); ++k)
        out = LocalArray<float>(
            local_set(out, literal(Type::U32, k), values[k], literal(Type::Bool, 1)));
    return out;
}
// 0 for each lane of the vector: loops run as many.
UInt32 zero_for(std::span<const Value> values) {
    uint32_t lanes = 1;
    for (const Value &v : values)
        lanes = std::max(lanes, v.size());
    return UInt32(literal(Type::U32, 0, lanes));
}
Float32 element(const Value &array, const UInt32 &index) {
    return Float32(local_get(array, index, literal(Type::Bool, 1)));
}

std::vector<Value> recorded_matvec(const Value &weights, const Matrix &a, uint32_t bias,
                                   std::span<const Value> x) {
    auto weight = [&](const UInt32 &at) {
        return Float32(cast(Type::F32, gather(weights, at, literal(Type::Bool, 1))));
    };
    UInt32 row_step(a.transposed ? 1u : a.stride), column_step(a.transposed ? a.stride : 1u);
    LocalArray<float> v = in_array(x);
    RowWalk rows{ zero_for(x), LocalArray<float>(Float32(0.f), std::max(a.outputs(), 1u)) };
    rows = loop(
        rows, [&](const RowWalk &r) { return r.row < UInt32(a.outputs()); },
        [&](RowWalk &r) {
            UInt32 first = UInt32(a.offset) + r.row * row_step;
            Float32 start = bias == NoBias ? Float32(0.f) : weight(UInt32(bias) + r.row);
            ColumnWalk columns{ zero_for(x), start };
            columns = loop(
                columns, [&](const ColumnWalk &c) { return c.column < UInt32(a.inputs()); },
                [&](ColumnWalk &c) {
                    c.sum =
                        fma(weight(first + c.column * column_step), element(v, c.column), c.sum);
                    c.column += UInt32(1u);
                },
                "matvec row");
            r.y = LocalArray<float>(local_set(r.y, r.row, columns.sum, literal(Type::Bool, 1)));
            r.row += UInt32(1u);
        },
        "matvec");
    std::vector<Value> out;
    for (uint32_t k = 0; k < a.outputs(); ++k)
        out.push_back(element(rows.y, UInt32(k)));
    return out;
}

struct Cell {
    UInt32 k;
    UMBEL_STRUCT(k)
};

// The sums of left_i right_j, and of left_i where the bias is.
void recorded_gradient(Value &weights, const Matrix &a, Value *bias_weights, uint32_t bias,
                       std::span<const Value> left, std::span<const Value> right) {
    LocalArray<float> l = in_array(left), r = in_array(right);
    auto add = [](Value &to, const Float32 &v, const UInt32 &at) {
        scatter(to, cast(to.type(), v), at, literal(Type::Bool, 1), ReduceOp::Add);
    };
    uint32_t count = a.rows * a.columns;
    loop(
        Cell{ zero_for(left) + zero_for(right) },
        [&](const Cell &c) { return c.k < UInt32(count); },
        [&](Cell &c) {
            UInt32 i = c.k / UInt32(a.columns), j = c.k - i * UInt32(a.columns);
            add(weights, element(l, i) * element(r, j),
                UInt32(a.offset) + i * UInt32(a.stride) + j);
            c.k += UInt32(1u);
        },
        "matvec gradient");
    if (!bias_weights)
        return;
    std::span<const Value> y = a.transposed ? right : left;
    for (uint32_t k = 0; k < y.size(); ++k)
        add(*bias_weights, Float32(y[k]), UInt32(bias + k));
}

bool has_no_host(const Value &v) { return v.context().backend().device() != nullptr; }

} // namespace

// ---- Interface

std::vector<Value> matvec(const Value &weights, const Matrix &a, uint32_t bias,
                          std::span<const Value> x) {
    if (weights.type() != Type::F16 && weights.type() != Type::F32)
        fail("matvec: the matrix has type {}, not f16 or f32", name(weights.type()));
    if (has_no_host(weights))
        return recorded_matvec(weights, a, bias, x);
    std::vector<Value> inputs = header(a, bias);
    inputs.insert(inputs.end(), x.begin(), x.end());
    std::vector<Type> types(a.outputs(), Type::F32);
    ExternFn fn = weights.type() == Type::F16 ? &matvec_packet<f16> : &matvec_packet<float>;
    if (outside(weights).node().region && weights.size() != 1)
        fail("matvec: the matrix is computed in the loop or call that is being recorded; it must "
             "exist before it");
    return call_host(weights.type() == Type::F16 ? "matvec f16" : "matvec f32", fn, weights, inputs,
                     types, literal(Type::Bool, 1));
}

void matvec_gradient(Value &weights, const Matrix &a, Value *bias_weights, uint32_t bias,
                     std::span<const Value> x, std::span<const Value> y) {
    // Rows and columns are those of the matrix in memory
    std::vector<Value> left(y.begin(), y.end()), right(x.begin(), x.end());
    if (has_no_host(weights)) {
        if (a.transposed)
            std::swap(left, right);
        return recorded_gradient(weights, a, bias_weights, bias, left, right);
    }
    if (bias_weights)
        right.push_back(literal(Type::F32, 0x3f800000)); // 1
    if (a.transposed)
        std::swap(left, right);
    auto effect = std::make_shared<OuterSum>();
    effect->a = a;
    effect->bias = bias;
    effect->rows = uint32_t(left.size());
    effect->columns = uint32_t(right.size());
    effect->width = (right.size() + 15) / 16 * 16;
    effect->type = weights.type();
    std::vector<Value *> targets{ &weights };
    if (bias_weights && bias_weights != &weights) {
        effect->separate_bias = true;
        targets.push_back(bias_weights);
    }
    left.insert(left.end(), right.begin(), right.end());
    call_host_adding("matvec gradient", &OuterSum::packet, effect, targets, left,
                     literal(Type::Bool, 1));
}

} // namespace umbel::jit
