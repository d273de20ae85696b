// core/permutation.cpp: see core/permutation.h.
#include "core/permutation.h"

namespace umbel {

// A few rounds of hashing within the next power of two, repeated until the result is in range.
UInt32 permute(const UInt32 &index, const UInt32 &count, const UInt32 &key) {
    UInt32 w = count - UInt32(1u);
    for (uint32_t shift : { 1u, 2u, 4u, 8u, 16u })
        w = w | (w >> UInt32(shift));
    struct State {
        UInt32 i;
        Mask again;
        UMBEL_STRUCT(i, again)
    };
    State s{ index % count, Mask(true) };
    s = jit::loop(
        s, [](const State &s) { return s.again; },
        [&](State &s) {
            UInt32 i = s.i;
            i = i ^ key;
            i = i * UInt32(0xe170893du);
            i = i ^ (key >> UInt32(16u));
            i = i ^ ((i & w) >> UInt32(4u));
            i = i ^ (key >> UInt32(8u));
            i = i * UInt32(0x0929eb3fu);
            i = i ^ (key >> UInt32(23u));
            i = i ^ ((i & w) >> UInt32(1u));
            i = i * (UInt32(1u) | (key >> UInt32(27u)));
            i = i * UInt32(0x6935fa69u);
            i = i ^ ((i & w) >> UInt32(11u));
            i = i * UInt32(0x74dcb303u);
            i = i ^ ((i & w) >> UInt32(2u));
            i = i * UInt32(0x9e501cc3u);
            i = i ^ ((i & w) >> UInt32(2u));
            i = i * UInt32(0xc860a3dfu);
            i = i & w;
            i = i ^ (i >> UInt32(5u));
            s.i = i;
            s.again = i >= count;
        },
        "permutation");
    return (s.i + key) % count;
}

Float below_one(const Float &x) {
    return min(x, variant().double_precision ? 1 - 0x1p-53 : 1 - 0x1p-24);
}

} // namespace umbel
