// render/replayed_later.h: paths that are walked a second time.
#pragma once
#include <utility>

namespace umbel {

/// While one lives, differentiate() will be told (or not) what sample() has kept for it. Elsewhere nothing need be kept, and the
/// arithmetic of sample() may be differentiated, which loops with local arrays do not allow.
class ReplayedLater {
public:
    explicit ReplayedLater(bool is = true) : m_before(std::exchange(state(), is)) {}
    ~ReplayedLater() { state() = m_before; }
    ReplayedLater(const ReplayedLater &) = delete;
    ReplayedLater &operator=(const ReplayedLater &) = delete;
    static bool is_on() { return state(); }

private:
    static bool &state() {
        thread_local bool is = false;
        return is;
    }
    bool m_before;
};

} // namespace umbel
