// jit/interp/half.h: exact, branch-free conversions between f16 and f32 or f64.
//
// Internal linkage on purpose: files compiled for different CPUs must not share these bodies.
#pragma once
#include "jit/type.h"

namespace umbel::jit {

#define UMBEL_INLINE static inline __attribute__((always_inline, unused))
#define UMBEL_MEMBER inline __attribute__((always_inline))
#define UMBEL_INLINE_MEMBER static inline __attribute__((always_inline))

UMBEL_INLINE float float_from_half(half h) {
    uint32_t magnitude = uint32_t(h.bits & 0x7fff) << 13, exponent = magnitude & 0x0f800000;
    // Normal numbers rebias the exponent by 127 - 15 = 112; infinities and NaNs by twice that.
    uint32_t normal = magnitude + (112u << 23);
    uint32_t special = (magnitude + (224u << 23)) | (magnitude & 0x007fe000 ? 0x00400000u : 0u);
    // Subnormals: give them the exponent of 2^-14 with a leading one and subtract that one again.
    uint32_t offset = magnitude + (113u << 23);
    float tiny = __builtin_bit_cast(float, offset) - __builtin_bit_cast(float, 113u << 23);
    uint32_t bits = exponent == 0x0f800000 ? special : normal;
    bits = exponent == 0 ? __builtin_bit_cast(uint32_t, tiny) : bits;
    return __builtin_bit_cast(float, bits | uint32_t(h.bits & 0x8000) << 16);
}

/// Rounds to nearest, ties to even; too large becomes infinite.
UMBEL_INLINE half half_from_float(float f) {
    uint32_t bits = __builtin_bit_cast(uint32_t, f), magnitude = bits & 0x7fffffff;
    // A carry out of the mantissa lands in the exponent, which is what rounding up needs.
    uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    // Below 2^-14 the sum with 0.5 has the f16 subnormal's unit as its last place.
    uint32_t clipped = magnitude < 0x38800000 ? magnitude : 0;
    float shifted = __builtin_bit_cast(float, clipped) + 0.5f;
    uint32_t tiny = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000;
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : 0x7c00;
    uint32_t result = magnitude < 0x38800000 ? tiny : normal;
    result = magnitude >= 0x47800000 ? special : result; // 65536 and above
    return half{ uint16_t(result | (bits >> 16 & 0x8000)) };
}

/// One rounding: the detour through f32 rounds to odd, which keeps the information ties need.
UMBEL_INLINE half half_from_double(double d) {
    float f = float(d);
    uint32_t bits = __builtin_bit_cast(uint32_t, f);
    double back = double(f);
    bits -= __builtin_fabs(back) > __builtin_fabs(d) ? 1 : 0;
    bits |= back != d ? 1 : 0;
    return half_from_float(__builtin_bit_cast(float, bits));
}

} // namespace umbel::jit
