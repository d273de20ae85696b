// render/part_choice.h: one of several BSDFs or phase functions that are mixed.
#pragma once
#include "core/float.h"
#include "core/object.h"
#include "core/variant.h"
#include <vector>

namespace umbel {

/// Appends the components of one more object inside `whole`, and returns the number of its first one. UserError about `whole` where
/// there are too many: mixtures of mixtures, each inside the next one twice, have twice as many at each level.
inline uint32_t append_components(std::vector<uint32_t> &all, const std::vector<uint32_t> &more,
                                  const Object &whole) {
    constexpr size_t Most = 4096;
    if (all.size() + more.size() > Most)
        whole.complain("has more than {} components, with all that is inside of what it mixes; mix "
                       "fewer, or at fewer levels",
                       Most);
    auto first = uint32_t(all.size());
    all.insert(all.end(), more.begin(), more.end());
    return first;
}

/// Which of several objects a number chooses, and what is left of it for whoever is chosen.
class PartChoice {
public:
    PartChoice(const Float &u, size_t count) : m_u(u), m_count(count) {}

    struct Turn {
        Mask here;   // lanes that chose it
        Float again; // uniform in [0, 1) there
    };
    /// Of the next one, by its probability; those of all of them sum to 1.
    Turn next(const Float &probability) {
        bool is_last = ++m_done == m_count;
        Float above = is_last ? Float(2) : m_below + probability;
        Mask here = (m_u >= m_below) & (m_u < above) & (probability > 0);
        Float again =
            m_count == 1 ? m_u
                         : clamp((m_u - m_below) / probability, 0,
                                 variant().double_precision ? 0x1.fffffffffffffp-1 : 0x1.fffffep-1);
        m_below = above;
        return { here, select(here, again, Float(0.5)) };
    }

private:
    Float m_u, m_below = 0;
    size_t m_count, m_done = 0;
};

} // namespace umbel
