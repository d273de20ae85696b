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

// How many elements there are, in replays of a recording, too.
UInt32 size_of(const Value &v) {
    UInt32 size(recorded_size(v));
    return size.is_literal() ? data(v.size()) : size;
}

bool is_recorded(const Value &v) { return Recorder::of(v.context()) != nullptr; }

// Each lane from element `first` on, `count` of them, `step` apart, as far as there are that many. Lanes past the last element have
// no result.
Value reduce_lanes(ReduceOp op, const Value &v, const UInt32 &size, const UInt32 &first,
                   const UInt32 &count, const UInt32 &step) {
    Type t = sum_type(op, v.type());
    auto element = [&](const UInt32 &at) { return cast(t, gather(v, at, Mask(true))); };
    Walk w{ UInt32(1u), first, cast(t, gather(v, first, first < size)) };
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

// Recordings have all rounds, whatever the size: later ones may be of more elements. The order of sums is the same.
Value reduce(ReduceOp op, const Value &v) {
    OwnProgram own(v);
    // Few enough lanes for the next round to be short, enough of them to keep a device busy
    constexpr uint32_t Lanes[] = { 1 << 16, 1 << 8, 1 };
    Type t = v.type();
    Value rest = v;
    UInt32 size = size_of(v);
    for (uint32_t lanes : Lanes) {
        if (rest.size() <= lanes && !is_recorded(v))
            continue;
        UInt32 step = data(lanes);
        rest =
            evaluated(reduce_lanes(op, rest, size, UInt32(lane_index(lanes)), UInt32(~0u), step));
        size = min(size, step);
    }
    return evaluated(cast(t, rest));
}

Value block_reduce(ReduceOp op, const Value &v, uint32_t block) {
    OwnProgram own(v);
    uint32_t lanes = uint32_t((uint64_t(v.size()) + block - 1) / block);
    if (lanes == 0)
        return v;
    UInt32 run = data(block);
    Value sums = reduce_lanes(op, v, size_of(v), UInt32(lane_index(lanes)) * run, run, UInt32(1u));
    LaneForEachRun replayed(v, block);
    return evaluated(cast(v.type(), sums));
}

Value dot(const Value &a, const Value &b) {
    OwnProgram own(a);
    Type t = a.type(), wide = is_float(t) ? Type::F64 : t;
    Value products = evaluated(binary(Op::Mul, cast(wide, a), cast(wide, b)));
    return evaluated(cast(t, recorded::reduce(ReduceOp::Add, products)));
}

namespace {

// Lanes go through runs of `run` elements, from the sum `before` on, and put sums to the elements' places.
Value add_up(const Value &v, const UInt32 &size, const UInt32 &run, uint32_t lanes,
             const Value &before, bool exclusive) {
    Value out = full(v.type(), 0, v.size());
    Walk w{ UInt32(0u), UInt32(lane_index(lanes)) * run, before };
    loop(
        w, [&](const Walk &w) { return (w.k < run) & (w.at < size); },
        [&](Walk &w) {
            Value next = combine(ReduceOp::Add, w.sum, gather(v, w.at, Mask(true)));
            scatter(out, exclusive ? w.sum : next, w.at, Mask(true));
            w.sum = next;
            w.at += UInt32(1u);
            w.k += UInt32(1u);
        },
        "prefix sum");
    return out;
}

// By so many lanes, whatever the size: each has a run, of which the length is data.
Value prefix_sum_by(uint32_t lanes, const Value &v, const UInt32 &size, bool exclusive) {
    Value zero = literal(v.type(), 0);
    UInt32 number = data(lanes), run = (size + (number - UInt32(1u))) / number;
    if (lanes == 1)
        return evaluated(add_up(v, size, run, 1, zero, exclusive));
    UInt32 first = UInt32(lane_index(lanes)) * run;
    // In the type of the elements, as what follows
    Walk w{ UInt32(0u), first, zero };
    w = loop(
        w, [&](const Walk &w) { return (w.k < run) & (w.at < size); },
        [&](Walk &w) {
            w.sum = combine(ReduceOp::Add, w.sum, gather(v, w.at, Mask(true)));
            w.at += UInt32(1u);
            w.k += UInt32(1u);
        },
        "sums of runs");
    Value sums = evaluated(w.sum);
    constexpr uint32_t Fewer = 256; // for each lane of the next round
    Value before = prefix_sum_by(lanes / Fewer, sums, number, true);
    return evaluated(add_up(v, size, run, lanes, before, exclusive));
}

} // namespace

Value prefix_sum(const Value &v, bool exclusive, uint32_t block) {
    OwnProgram own(v);
    constexpr uint32_t Lanes = 1 << 16;
    uint32_t n = v.size();
    if (n == 0)
        return v;
    UInt32 size = size_of(v);
    if (!block)
        return prefix_sum_by(Lanes, v, size, exclusive);
    LaneForEachRun replayed(v, block);
    uint32_t lanes = uint32_t((uint64_t(n) + block - 1) / block);
    return evaluated(add_up(v, size, data(block), lanes, literal(v.type(), 0), exclusive));
}

uint32_t count(const Value &mask) {
    OwnProgram own(mask);
    return item(UInt32(recorded::reduce(ReduceOp::Add, evaluated(cast(Type::U32, mask)))));
}

Value compress(const Value &mask) {
    OwnProgram own(mask);
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
