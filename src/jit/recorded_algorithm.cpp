// jit/recorded_algorithm.cpp: see jit/recorded_algorithm.h.
#include "jit/recorded_algorithm.h"
#include "jit/control.h"
#include "jit/lane_runs.h"
#include "jit/recording.h"

namespace umbel::jit::recorded {

namespace {

struct Walk { // over the elements of a lane
    UInt32 k, at;
    Value sum;
    UMBEL_STRUCT(k, at, sum)
};

Value combine(ReduceOp op, const Value &a, const Value &b) {
    switch (op) {
    case ReduceOp::Add: return binary(Op::Add, a, b);
    case ReduceOp::Mul: return binary(Op::Mul, a, b);
    case ReduceOp::Min: return binary(Op::Min, b, a); // what is there stays where b is NaN
    case ReduceOp::Max: return binary(Op::Max, b, a);
    case ReduceOp::And: return binary(Op::And, a, b);
    default: return binary(Op::Or, a, b);
    }
}

// What changes with sizes is data: the kernels are the same for all of them.
UInt32 data(uint64_t v) { return jit::opaque(uint32_t(v)); }

Value evaluated(Value v) {
    jit::eval(v);
    return v;
}

// What sums and products are accumulated in, as on the host.
Type sum_type(ReduceOp op, Type t) {
    return is_float(t) && (op == ReduceOp::Add || op == ReduceOp::Mul) ? Type::F64 : t;
}

// Each lane from element `first` on, `count` of them, `step` apart, as far as there are that many.
Value reduce_lanes(ReduceOp op, const Value &v, const UInt32 &first, const UInt32 &count,
                   const UInt32 &step) {
    Type t = sum_type(op, v.type());
    UInt32 size(recorded_size(v));
    if (size.is_literal())
        size = data(v.size());
    auto element = [&](const UInt32 &at) { return cast(t, gather(v, at, Mask(true))); };
    Walk w{ UInt32(1u), first, element(first) };
    w = loop(
        w, [&](const Walk &w) { return (w.k < count) & (w.at + step < size); },
        [&](Walk &w) {
            w.at += step;
            w.sum = combine(op, w.sum, element(w.at));
            w.k += UInt32(1u);
        },
        "reduce");
    return w.sum;
}

} // namespace

Value reduce(ReduceOp op, const Value &v) {
    // Few enough lanes for the next round to be short, enough of them to keep a device busy
    constexpr uint32_t Lanes[] = { 1 << 16, 1 << 8, 1 };
    Type t = v.type();
    Value rest = v;
    for (uint32_t lanes : Lanes) {
        if (rest.size() <= lanes)
            continue;
        UInt32 step = data(lanes);
        rest = evaluated(reduce_lanes(op, rest, UInt32(lane_index(lanes)), UInt32(~0u), step));
    }
    return evaluated(cast(t, rest));
}

Value block_reduce(ReduceOp op, const Value &v, uint32_t block) {
    uint32_t lanes = uint32_t((uint64_t(v.size()) + block - 1) / block);
    if (lanes == 0)
        return v;
    UInt32 run = data(block);
    Value sums = reduce_lanes(op, v, UInt32(lane_index(lanes)) * run, run, UInt32(1u));
    LaneForEachRun replayed(v, block);
    return evaluated(cast(v.type(), sums));
}

Value dot(const Value &a, const Value &b) {
    Type t = a.type(), wide = is_float(t) ? Type::F64 : t;
    Value products = evaluated(binary(Op::Mul, cast(wide, a), cast(wide, b)));
    return evaluated(cast(t, recorded::reduce(ReduceOp::Add, products)));
}

Value prefix_sum(const Value &v, bool exclusive, uint32_t block) {
    constexpr uint32_t Run = 256; // elements of a lane
    uint32_t n = v.size(), run = block ? block : Run;
    if (n == 0)
        return v;
    Type t = v.type();
    uint32_t lanes = uint32_t((uint64_t(n) + run - 1) / run);
    Value before = literal(t, 0); // the sum of all runs before
    if (!block && lanes > 1)
        before = recorded::prefix_sum(recorded::block_reduce(ReduceOp::Add, v, run), true, 0);

    Value out = full(t, 0, n);
    UInt32 length = data(run), size = data(n), first = UInt32(lane_index(lanes)) * length;
    Walk w{ UInt32(0u), first, before };
    loop(
        w, [&](const Walk &w) { return (w.k < length) & (w.at < size); },
        [&](Walk &w) {
            Value next = combine(ReduceOp::Add, w.sum, gather(v, w.at, Mask(true)));
            scatter(out, exclusive ? w.sum : next, w.at, Mask(true));
            w.sum = next;
            w.at += UInt32(1u);
            w.k += UInt32(1u);
        },
        "prefix sum");
    return evaluated(out);
}

uint32_t count(const Value &mask) {
    return item(UInt32(recorded::reduce(ReduceOp::Add, evaluated(cast(Type::U32, mask)))));
}

Value compress(const Value &mask) {
    uint32_t n = mask.size();
    Value ones = evaluated(cast(Type::U32, mask));
    uint32_t total = n ? item(UInt32(recorded::reduce(ReduceOp::Add, ones))) : 0;
    if (total == 0)
        return copy_from(Type::U32, nullptr, 0);
    Value out = full(Type::U32, 0, total), place = recorded::prefix_sum(ones, true, 0);
    scatter(out, lane_index(n), place, mask);
    return evaluated(out);
}

} // namespace umbel::jit::recorded
