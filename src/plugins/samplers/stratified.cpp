// stratified: samples of a pixel are spread over a grid in each pair of dimensions.
//
// With n = k * k samples, sample i visits cell p(i) of a k x k grid, where p is a permutation of its own for every pixel and
// dimension. The count is rounded up to a square.
#include "render/sampler.h"
#include <cmath>

namespace umbel {

class Stratified final : public Sampler {
public:
    void declare(Params &p) override {
        Sampler::declare(p);
        p.boolean("jitter", m_jitter, true)
            .doc("Samples lie anywhere in their cells; if not, in their middles");
    }
    void configure() override {
        m_sample_count = round_sample_count(m_sample_count);
        int side = int(std::lround(std::sqrt(double(m_sample_count))));
        m_side = jit::opaque(uint32_t(side));
        m_count = jit::opaque(uint32_t(m_sample_count));
        m_inv_side = opaque_float(1.0 / side);
        m_inv_count = opaque_float(1.0 / m_sample_count);
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_jitter = m_jitter;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override {
        int side = int(std::ceil(std::sqrt(double(n)) - 1e-9));
        return side * side;
    }

    SamplerState begin(const UInt32 &seed, const UInt32 &pixel,
                       const UInt32 &sample) const override {
        // All samples of a pixel share key0, and with it the permutations
        UInt32 a = mix_bits(pixel + mix_bits(seed + UInt32(0x9e3779b9u)));
        return { a, mix_bits(a ^ mix_bits(sample + UInt32(0x85ebca6bu))), sample, UInt32(0u) };
    }

    Float next_1d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, key(s));
        Float jitter = offset(s, 0);
        s.dimension += UInt32(1u);
        return (Float(cell) + jitter) * m_inv_count;
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, key(s)), y = cell / m_side, x = cell - y * m_side;
        Float jx = offset(s, 0), jy = offset(s, 1);
        s.dimension += UInt32(1u);
        return { (Float(x) + jx) * m_inv_side, (Float(y) + jy) * m_inv_side };
    }

private:
    static UInt32 key(const SamplerState &s) {
        return mix_bits(s.key0 + s.dimension * UInt32(0x9e3779b9u));
    }
    Float offset(const SamplerState &s, uint32_t axis) const {
        if (!m_jitter)
            return 0.5;
        Float u = to_unit(
            mix_bits(s.key1 + s.dimension * UInt32(0x2545f491u) + UInt32(axis * 0x6c078965u)));
        return min(u, 1 - 6e-8);
    }

    // A permutation of 0 .. count-1: a few rounds of hashing within the next power of two, repeated until the result is in
    // range [Kensler 2013]
    UInt32 permute(const UInt32 &index, const UInt32 &key) const {
        UInt32 w = m_count - UInt32(1u);
        for (uint32_t shift : { 1u, 2u, 4u, 8u, 16u })
            w = w | (w >> UInt32(shift));
        struct State {
            UInt32 i;
            Mask again;
            UMBEL_STRUCT(i, again)
        };
        State s{ index % m_count, Mask(true) };
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
                s.again = i >= m_count;
            },
            "permutation");
        return (s.i + key) % m_count;
    }

    bool m_jitter = true;
    UInt32 m_side, m_count;
    Float m_inv_side, m_inv_count;
};

UMBEL_PLUGIN(Sampler, Stratified, "stratified")
} // namespace umbel
