// jit/gemm.cpp: see jit/gemm.h.
//
// A task computes up to RowsOfTask rows of 2 N columns: it brings its columns of B together, then adds up eight rows at
// a time. Sums run over k in order, so results do not depend on the number of threads.
#include "jit/gemm.h"
#include "jit/algorithm_common.h"
#include "jit/element_count.h"
#include "jit/launch.h"
#include "jit/rebuild.h"
#include "jit/recorded_algorithm.h"
#include "jit/stream.h"
#include <algorithm>

namespace umbel::jit {
namespace {

constexpr int Rows = 8;
constexpr uint64_t RowsOfTask = 128;

UMBEL_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
UMBEL_INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }

// R rows and 2 N columns; `panel` has 2 N elements for each k.
template <class T, int N, int R>
UMBEL_INLINE void multiply_rows(const T *a, uint64_t row_step, uint64_t column_step, const T *panel,
                                uint64_t k, uint64_t columns, T *c, uint64_t width) {
    Vec<T, N> sum[R][2], b[2];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        sum[r][0] = sum[r][1] = Vec<T, N>{};
    for (uint64_t i = 0; i < k; ++i) {
        std::memcpy(&b[0], panel + i * 2 * N, sizeof(b));
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            T x = a[r * row_step + i * column_step];
            for (int l = 0; l < N; ++l)
                sum[r][0][l] = multiply_add(x, b[0][l], sum[r][0][l]);
            for (int l = 0; l < N; ++l)
                sum[r][1][l] = multiply_add(x, b[1][l], sum[r][1][l]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
        std::memcpy(c + r * width, &sum[r][0], columns * sizeof(T));
}

template <class T, int N> struct Multiply {
    UMBEL_CLONES static void rows(const T *a, uint64_t row_step, uint64_t column_step,
                                  const T *panel, uint64_t k, uint64_t count, uint64_t columns,
                                  T *c, uint64_t width) {
        uint64_t i = 0;
        for (; i + Rows <= count; i += Rows)
            multiply_rows<T, N, Rows>(a + i * row_step, row_step, column_step, panel, k, columns,
                                      c + i * width, width);
        for (; i < count; ++i)
            multiply_rows<T, N, 1>(a + i * row_step, 0, column_step, panel, k, columns,
                                   c + i * width, width);
    }
};

template <class T> void multiply(const Gemm &g, const T *a, const T *b, T *c) {
    constexpr int N = 64 / sizeof(T);
    uint64_t panels = (uint64_t(g.m) + 2 * N - 1) / (2 * N),
             stripes = (g.n + RowsOfTask - 1) / RowsOfTask;
    parallel_blocks(g.batches.size() * panels * stripes, 1, [&](uint64_t task, uint64_t) {
        uint64_t batch = task / (panels * stripes), first = task / stripes % panels * 2 * N;
        uint64_t row = task % stripes * RowsOfTask;
        uint64_t columns = std::min<uint64_t>(2 * N, g.m - first);
        const T *from = b + g.batches[batch].second;
        thread_local std::vector<T> panel;
        panel.assign(uint64_t(g.k) * 2 * N, T(0));
        for (uint64_t i = 0; i < g.k; ++i)
            for (uint64_t j = 0; j < columns; ++j)
                panel[i * 2 * N + j] =
                    g.b_transposed ? from[(first + j) * g.k + i] : from[i * g.m + first + j];
        uint64_t row_step = g.a_transposed ? 1 : g.k, column_step = g.a_transposed ? g.n : 1;
        Multiply<T, N>::rows(a + g.batches[batch].first + row * row_step, row_step, column_step,
                             panel.data(), g.k, std::min<uint64_t>(RowsOfTask, g.n - row), columns,
                             c + (batch * g.n + row) * g.m + first, g.m);
    });
}

// Of so many rows and columns, from that place on.
void need_matrix(const Value &v, uint64_t first, uint32_t rows, uint32_t columns) {
    if (first > v.size() || uint64_t(rows) * columns > v.size() - first)
        fail("gemm: a matrix of {} x {} from element {} on, in an array of {}", rows, columns,
             first, v.size());
}

} // namespace

Value gemm(const Value &a, const Value &b, const Gemm &shape) {
    Context &c = a.context();
    Type t = a.type();
    if (t != b.type() || (t != Type::F32 && t != Type::F64))
        fail("gemm: operands of types {} and {}; both must be f32, or f64", name(t),
             name(b.type()));
    std::vector<TaskArray> arrays;
    for (const Value &v : { outside(a), outside(b) }) {
        if (v.node().region)
            fail("gemm: the operand is computed inside a recorded {}, where whole arrays do not "
                 "exist",
                 c.graph.region(v.node().region).kind);
        BufferRef buffer = c.data(v.id());
        arrays.push_back(
            { std::move(buffer), t, v.size(), TaskArray::Read, 1, v.is_evaluated() ? v.id() : 0 });
    }
    for (auto [x, y] : shape.batches) {
        need_matrix(a, x, shape.n, shape.k);
        need_matrix(b, y, shape.k, shape.m);
    }
    // In steps that do not overflow
    uint64_t one = element_count(uint64_t(shape.n) * shape.m), count = shape.batches.size();
    uint32_t size = element_count(one ? element_count(count) * one : 0);
    if (c.backend().device() && c.region == 0 && size)
        return recorded::gemm(outside(a), outside(b), shape, size);
    BufferRef out = allocate(uint64_t(size) * bytes(t));
    arrays.push_back({ out, t, size, TaskArray::Write, 1 });
    Value result = Value::adopt(c, c.graph.buffer(t, out, size));
    std::vector<uint64_t> params{ uint64_t(t),        shape.n,           shape.k, shape.m,
                                  shape.a_transposed, shape.b_transposed };
    for (auto [x, y] : shape.batches)
        params.insert(params.end(), { x, y });
    launch_algorithm(c, "gemm", size, std::move(arrays), std::move(params), [=](const Task &k) {
        if (t == Type::F32)
            multiply(shape, k.data<float>(0), k.data<float>(1), k.data<float>(2));
        else
            multiply(shape, k.data<double>(0), k.data<double>(1), k.data<double>(2));
    });
    return result;
}

} // namespace umbel::jit
