// render/expected_samples.h: how much is going to be computed, for what pays off only then.
#pragma once
#include <cstdint>

namespace umbel {

/// While one lives, this thread records what a render of so many samples in all will compute.
class ExpectedSamples {
public:
    explicit ExpectedSamples(uint64_t samples) : m_outer(current()) { current() = samples; }
    ~ExpectedSamples() { current() = m_outer; }
    ExpectedSamples(const ExpectedSamples &) = delete;
    ExpectedSamples &operator=(const ExpectedSamples &) = delete;
    /// 0 where nobody knows.
    static uint64_t now() { return current(); }

private:
    static uint64_t &current() {
        thread_local uint64_t samples = 0;
        return samples;
    }

    uint64_t m_outer;
};

} // namespace umbel
