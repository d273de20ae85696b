// jit/recorded_gemm.cpp: products of matrices as a kernel of recorded code: a lane for each element.
//
// Sums run over k in order, fused, as on the host: so results have its bits.
#include "jit/control.h"
#include "jit/recorded_algorithm.h"
#include "jit/recording.h"

namespace umbel::jit::recorded {

namespace {

struct Walk { // along a row of A and a column of B
    UInt32 i, at_a, at_b;
    Value sum;
    UMBEL_STRUCT(i, at_a, at_b, sum)
};

} // namespace

Value gemm(const Value &a, const Value &b, const Gemm &g, uint32_t size) {
    OwnProgram own(a);
    // Recordings tell shapes apart by their kernels
    bool is_recorded = Recorder::of(a.context()) != nullptr;
    auto number = [&](uint32_t v) { return is_recorded ? UInt32(v) : opaque(v); };
    std::vector<uint32_t> places;
    for (auto [x, y] : g.batches)
        places.insert(places.end(), { uint32_t(x), uint32_t(y) });
    UInt32 n = number(g.n), k = number(g.k), m = number(g.m), lane(lane_index(size)),
           first = copy(places);

    UInt32 column = lane % m, rows = lane / m, row = rows % n, batch = rows / n;
    UInt32 step_a = g.a_transposed ? n : UInt32(1u), step_b = g.b_transposed ? UInt32(1u) : m;
    Walk w{ UInt32(0u),
            UInt32(gather(first, batch * 2u, Mask(true))) + (g.a_transposed ? row : row * k),
            UInt32(gather(first, batch * 2u + 1u, Mask(true))) +
                (g.b_transposed ? column * k : column),
            literal(a.type(), 0) };
    w = loop(
        w, [&](const Walk &w) { return w.i < k; },
        [&](Walk &w) {
            w.sum = ternary(Op::Fma, gather(a, w.at_a, Mask(true)), gather(b, w.at_b, Mask(true)),
                            w.sum);
            w.at_a += step_a;
            w.at_b += step_b;
            w.i += UInt32(1u);
        },
        "gemm");
    eval(w.sum);
    return w.sum;
}

} // namespace umbel::jit::recorded
