// support/random_values.h: random numbers, and values of every type in the places where mistakes live.
#pragma once
#include "jit/value.h"
#include <cmath>
#include <string>

namespace umbel::test {

using jit::Type;

class Random {
public:
    explicit Random(uint64_t seed) : m_state((seed ^ seed >> 31) * 0xd6e8feb86659fd93u) { bits(); }
    uint64_t bits() { // an additive sequence through a 64-bit mixer
        uint64_t x = m_state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint32_t below(uint32_t n) { return uint32_t((bits() >> 32) * n >> 32); }
    int between(int lo, int hi) { return lo + int(below(uint32_t(hi - lo + 1))); }
    bool chance(int percent) { return int(below(100)) < percent; }
    template <class C> auto &of(C &list) { return list[below(uint32_t(std::size(list)))]; }

private:
    uint64_t m_state;
};

inline uint64_t float_bits(Type t, double v) {
    if (t == Type::F16)
        return jit::float_to_half(float(v));
    return t == Type::F32 ? jit::to_bits(float(v)) : jit::to_bits(v);
}

// Half of the values are ordinary small numbers; the rest are where mistakes live.
inline uint64_t random_bits(Random &r, Type t) {
    uint64_t mask = bits(t) == 64 ? ~0ull : (1ull << bits(t)) - 1, sign = 1ull << (bits(t) - 1);
    if (t == Type::Bool)
        return r.bits() & 1;
    if (is_float(t)) {
        uint64_t inf = float_bits(t, INFINITY);
        switch (r.below(16)) {
        case 0: return 0;
        case 1: return sign;
        case 2: return float_bits(t, 1);
        case 3: return float_bits(t, -1);
        case 4: return inf;
        case 5: return inf | sign;
        case 6: return float_bits(t, NAN);
        case 7: return 1 | (r.bits() & sign); // least denormal
        case 8: return inf - 1;               // largest
        case 9: return float_bits(t, r.chance(50) ? 0.5 : 4294967296.0);
        case 10: return r.bits() & mask; // anything
        default:
            return float_bits(t, (double(r.below(20001)) - 10000) / (r.chance(50) ? 1000 : 97));
        }
    }
    switch (r.below(12)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return mask;
    case 3: return sign;
    case 4: return sign - 1;
    case 5: return bits(t) + r.below(3) - 1; // shift amounts at the width
    case 6: return 1ull << r.below(uint32_t(bits(t)));
    case 7: return r.bits() & mask;
    default: return (uint64_t(r.below(64)) - (is_signed(t) ? 20 : 0)) & mask;
    }
}

/// The value with these bits, for people.
inline std::string text_of(Type t, uint64_t v) {
    switch (t) {
    case Type::F16: return fmt::format("{} (0x{:04x})", jit::half_to_float(uint16_t(v)), v);
    case Type::F32: return fmt::format("{} (0x{:08x})", jit::from_bits<float>(v), v);
    case Type::F64: return fmt::format("{} (0x{:016x})", jit::from_bits<double>(v), v);
    default: return fmt::format("0x{:x}", v);
    }
}

inline bool is_nan(Type t, uint64_t v) {
    return t == Type::F16   ? std::isnan(jit::half_to_float(uint16_t(v)))
           : t == Type::F32 ? std::isnan(jit::from_bits<float>(v))
           : t == Type::F64 ? std::isnan(jit::from_bits<double>(v))
                            : false;
}

} // namespace umbel::test
