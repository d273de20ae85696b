// jit/recorded_sort.cpp: sorting as kernels of recorded code, by least significant digits first.
//
// A lane has a run of elements. For each digit, lanes count theirs; what comes before, digit by digit and in each run by run, says
// where a lane's elements go; it puts them there one after the other. So elements with equal digits stay in order.
#include "jit/control.h"
#include "jit/recorded_algorithm.h"
#include "jit/recording.h"

namespace umbel::jit::recorded {

namespace {

constexpr uint32_t DigitBits = 4, Digits = 1 << DigitBits;

struct Walk { // over a lane's elements
    UInt32 at;
    LocalArray<uint32_t> numbers; // by digit: how many; where the next one goes
    UMBEL_STRUCT(at, numbers)
};

Type unsigned_type(Type t) {
    constexpr Type types[] = { Type::U8, Type::U16, Type::U32, Type::U64 };
    return types[bytes(t) == 8 ? 3 : bytes(t) / 2];
}

// Unsigned integers of the same order; see jit/algorithm_sort.cpp.
Value ordered_keys(const Value &keys, bool descending) {
    Type t = keys.type(), u = unsigned_type(t), wide = bytes(t) == 8 ? Type::U64 : Type::U32;
    uint64_t top = uint64_t(1) << (bits(t) - 1), all = top | (top - 1);
    auto number = [&](uint64_t n) { return literal(wide, n); };
    Value x = cast(wide, bitcast(u, keys));
    Value flip = number(is_float(t) || is_signed(t) ? top : 0);
    if (is_float(t)) { // negative ones: all bits, as a larger magnitude comes first
        Value negative = binary(Op::Ne, binary(Op::And, x, number(top)), number(0));
        flip = ternary(Op::Select, negative, number(all), flip);
    }
    return binary(Op::Xor, binary(Op::Xor, x, flip), number(descending ? all : 0));
}

Value evaluated(Value v) {
    jit::eval(v);
    return v;
}

struct Pairs {
    Value keys, indices;
};

Pairs sort_by_digit(const Pairs &in, uint32_t n, const UInt32 &size, uint32_t lanes,
                    uint32_t shift) {
    Type t = in.keys.type();
    UInt32 lane(lane_index(lanes)),
        stride = opaque(lanes), run = (size + (stride - UInt32(1u))) / stride, first = lane * run;
    Value by = cast(t, opaque(shift)), mask = literal(t, Digits - 1);
    auto digit = [&](const Value &key) {
        return UInt32(cast(Type::U32, binary(Op::And, binary(Op::Shr, key, by), mask)));
    };
    auto is_left = [&](const Walk &w) { return (w.at < size) & (w.at - first < run); };

    // How many
    Walk w{ first, LocalArray<uint32_t>(UInt32(0u), Digits) };
    w = loop(
        w, is_left,
        [&](Walk &w) {
            UInt32 d = digit(gather(in.keys, w.at, Mask(true)));
            w.numbers.set(d, w.numbers.get(d) + 1u);
            w.at += 1u;
        },
        "count");
    UInt32 counts(opaque(full(Type::U32, 0, Digits * lanes)));
    for (uint32_t d = 0; d < Digits; ++d)
        scatter(counts, w.numbers.get(UInt32(d)), UInt32(d) * stride + lane);
    jit::eval();
    Value before = recorded::prefix_sum(counts, true, 0);

    // Where to
    Pairs out{ opaque(full(t, 0, n)), opaque(full(Type::U32, 0, n)) };
    Walk place{ first, LocalArray<uint32_t>(UInt32(0u), Digits) };
    for (uint32_t d = 0; d < Digits; ++d)
        place.numbers.set(UInt32(d), UInt32(gather(before, UInt32(d) * stride + lane, Mask(true))));
    loop(
        place, is_left,
        [&](Walk &w) {
            Value key = gather(in.keys, w.at, Mask(true));
            UInt32 d = digit(key), to = w.numbers.get(d);
            scatter(out.keys, key, to, Mask(true), ReduceOp::Store);
            scatter(out.indices, gather(in.indices, w.at, Mask(true)), to, Mask(true),
                    ReduceOp::Store);
            w.numbers.set(d, to + 1u);
            w.at += 1u;
        },
        "place");
    jit::eval();
    return out;
}

} // namespace

Value sort_permutation(const Value &keys, bool descending) {
    OwnProgram own(keys);
    uint32_t n = keys.size();
    Pairs pairs{ evaluated(ordered_keys(keys, descending)), evaluated(lane_index(n)) };
    if (n == 0)
        return pairs.indices;
    // Recordings have as many lanes for all sizes: later ones may be of more elements
    constexpr uint32_t Run = 64, RecordedLanes = 1 << 14;
    bool is_recorded = Recorder::of(keys.context()) != nullptr;
    uint32_t lanes = is_recorded ? RecordedLanes : uint32_t((uint64_t(n) + Run - 1) / Run);
    UInt32 size = is_recorded ? UInt32(recorded_size(keys)) : UInt32(opaque(n));
    for (uint32_t shift = 0; shift < bits(keys.type()); shift += DigitBits)
        pairs = sort_by_digit(pairs, n, size, lanes, shift);
    return pairs.indices;
}

} // namespace umbel::jit::recorded
