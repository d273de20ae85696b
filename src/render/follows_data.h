// render/follows_data.h: shapes whose surface depends on arrays of their own that scripts may follow.
#pragma once
#include <utility>

namespace umbel {

/// Of an analytic shape: derivatives reach hits through what intersect_primitive() and fill_primitive() record, where
/// is_following(). Elsewhere, as when trees are searched, they leave derivatives of the arrays alone.
class FollowsData {
public:
    virtual ~FollowsData() = default;
    /// Whether some array that the surface depends on carries derivatives.
    virtual bool follows_data() const = 0;

    static bool is_following() { return s_is_following; }
    /// A hit is computed with derivatives, or without, as long as this lives.
    class Following {
    public:
        explicit Following(bool on) : m_before(std::exchange(s_is_following, on)) {}
        ~Following() { s_is_following = m_before; }
        Following(const Following &) = delete;

    private:
        bool m_before;
    };

private:
    static inline thread_local bool s_is_following = false;
};

} // namespace umbel
