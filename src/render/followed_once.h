// render/followed_once.h: derivatives of shapes while an image is differentiated.
#pragma once

namespace umbel {

/// While one lives, hits are differentiated by what Arena::follow_shapes() took up last, as in recordings: whoever
/// differentiates an image passes that on. Elsewhere each question takes it up afresh.
class FollowedOnce {
public:
    FollowedOnce() { ++count(); }
    ~FollowedOnce() { --count(); }
    FollowedOnce(const FollowedOnce &) = delete;
    FollowedOnce &operator=(const FollowedOnce &) = delete;
    static bool is_on() { return count() != 0; }

private:
    static int &count() {
        thread_local int n = 0;
        return n;
    }
};

} // namespace umbel
