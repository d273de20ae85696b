// render/channel_choice.h: spectra of which one channel, chosen at random, decides what is sampled.
#pragma once
#include "ad/ad.h"
#include "core/spectrum.h"

namespace umbel {

/// What is sampled is not differentiated: at a fixed distance, light is. Zero where the density is.
inline Spectrum over(const Spectrum &value, const Float &density) {
    Float d(ad::detach(density));
    return select(d > 0, value / select(d > 0, d, Float(1)), Spectrum(0));
}

inline UInt32 choose_channel(const Float &u) {
    uint32_t n = uint32_t(variant().channels());
    UInt32 i = to_uint(u * double(n));
    return select(i < UInt32(n), i, UInt32(n - 1));
}

inline Float channel_of(const Spectrum &s, const UInt32 &channel) {
    Float v = s[0];
    for (size_t i = 1; i < s.c.size(); ++i)
        v = select(channel == UInt32(uint32_t(i)), s[i], v);
    return v;
}

} // namespace umbel
