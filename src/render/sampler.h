// render/sampler.h: random and quasi-random numbers.
//
// Counter-based: what a sampler returns is a function of (seed, pixel, sample, dimension) and of nothing else, so
// a render that is split into passes, threads or machines, or that is resumed, is the same render.
#pragma once
#include "core/object.h"
#include "core/random.h"

namespace umbel {

/// Where in its sequence a path is; part of the state of an integrator's loop.
struct SamplerState {
    UInt32 key0, key1; // hash of seed, pixel and, where samples are independent, sample number
    UInt32 sample;
    UInt32 dimension;
    std::vector<Value> more = {}; // of samplers whose state is of another form
    UMBEL_STRUCT(key0, key1, sample, dimension, more)
};

class Sampler : public Object {
public:
    static constexpr const char *Kind = "sampler";

    void declare(Params &p) override;
    /// `seed` is data of the program.
    virtual SamplerState begin(const UInt32 &seed, const UInt32 &pixel, const UInt32 &sample) const;
    virtual Float next_1d(SamplerState &s) const = 0;
    virtual Vector2 next_2d(SamplerState &s) const = 0;

    /// Another sampler with the same parameters.
    virtual Ref<Sampler> clone() const = 0;

    int sample_count() const { return m_sample_count; }
    /// A count that the sampler can serve, at least `n`.
    virtual int round_sample_count(int n) const { return n; }
    /// Changes the count, rounded where need be; structured samplers depend on it.
    void set_sample_count(int n);
    int seed() const { return m_seed; }

protected:
    /// A new sampler of this class, with the parameters that all samplers have.
    template <class T> std::shared_ptr<T> copy_of(const T &) const {
        auto copy = std::make_shared<T>();
        copy->m_sample_count = m_sample_count;
        copy->m_seed = m_seed;
        return copy;
    }

    int m_sample_count = 4, m_seed = 0;
};

/// A sampler in mid-sequence: what integrators are handed.
struct SampleStream {
    const Sampler *sampler = nullptr;
    SamplerState state;
    UMBEL_STRUCT(state)

    Float next_1d() { return sampler->next_1d(state); }
    Vector2 next_2d() { return sampler->next_2d(state); }
};

} // namespace umbel
