// render/mip_map.h: an image at its own size, at half of it, and so on, and where in these a pixel of the camera looks.
#pragma once
#include "core/image_ops.h"
#include "core/spectrum.h"

namespace umbel {

/// Sizes of the levels, and how they follow from the first. The levels' texels lie one after the other.
class MipMap {
public:
    MipMap() = default;
    MipMap(size_t width, size_t height, Boundary horizontal, Boundary vertical);

    uint32_t level_count() const { return uint32_t(m_sizes.size()); }
    Boundary boundary(size_t axis) const { return m_boundary[axis]; }
    /// Of all levels.
    uint32_t texel_count() const { return m_texels; }
    /// All levels of an image of so many channels; each is shrunk from the one before by a Lanczos filter, and keeps to at
    /// least `minimum`. Derivatives follow.
    Float build(const Float &image, uint32_t channels, const Float &minimum) const;

    struct Level {
        UInt32 first; // texel
        Float width, height;
    };
    Level level(const UInt32 &number, const Mask &active) const;

    /// What a pixel covers, around the place that it looks at, in texels of the first level: an ellipse with the covariance
    /// (xx, xy; xy, yy), and its radii.
    struct Ellipse {
        Float xx, xy, yy, major, minor;
    };
    static Ellipse ellipse(const Vector2 &dx, const Vector2 &dy);
    /// No longer than `most` times its width, for which it is widened.
    static Ellipse bounded(const Ellipse &e, const Float &most);
    /// Two neighbouring levels for something of this radius, and the part of the second one.
    struct Choice {
        UInt32 level[2];
        Float part;
    };
    Choice choose(const Float &radius) const;

    /// Elliptically weighted average [Heckbert 1989] of texel(x, y), whole numbers in the level's own texels, around (x, y);
    /// `scale`: the level's size over that of the first one.
    template <class T, class F>
    static T average(const Ellipse &e, const Float &scale_x, const Float &scale_y, const Float &x,
                     const Float &y, const T &zero, const Mask &active, F &&texel);

private:
    Float shrink(const Float &image, uint32_t channels, size_t from, size_t to, size_t lines,
                 bool is_across, Boundary boundary) const;

    std::vector<std::array<size_t, 2>> m_sizes;
    Boundary m_boundary[2] = {};
    uint32_t m_texels = 0;
    UInt32 m_table; // four numbers a level: the first texel, width, height, nothing
    Float m_last;   // level
};

namespace detail {
/// Row by row over the texels in an ellipse.
template <class T> struct EllipseWalk {
    Float x, y, last_x;
    T sum;
    Float weight;
    UMBEL_STRUCT(x, y, last_x, sum, weight)
};
} // namespace detail

template <class T, class F>
T MipMap::average(const Ellipse &e, const Float &scale_x, const Float &scale_y, const Float &x,
                  const Float &y, const T &zero, const Mask &active, F &&texel) {
    // At least a texel wide, such that one is always inside
    Float wider = max(1 - sqr(e.minor * min(scale_x, scale_y)), 0);
    Float xx = fma(e.xx, sqr(scale_x), wider), xy = e.xy * scale_x * scale_y,
          yy = fma(e.yy, sqr(scale_y), wider), det = xx * yy - xy * xy;
    Float ry = sqrt(yy), end = floor(y + ry);
    auto begin_row = [&](detail::EllipseWalk<T> &w) {
        Float d = w.y - y, middle = x + xy / yy * d,
              half = safe_sqrt(det / yy * max(1 - d * d / yy, 0));
        w.x = ceil(middle - half);
        w.last_x = floor(middle + half);
    };
    detail::EllipseWalk<T> walk{ x, ceil(y - ry), x, zero, Float(0) };
    begin_row(walk);
    walk = jit::loop(
        walk, [&](const detail::EllipseWalk<T> &w) { return active & (w.y <= end); },
        [&](detail::EllipseWalk<T> &w) {
            Float dx = w.x - x, dy = w.y - y;
            Float r2 = (yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / det;
            Float weight =
                select((w.x <= w.last_x) & (r2 < 1), exp(-2 * r2) - std::exp(-2.0), Float(0));
            w.sum = w.sum + texel(w.x, w.y) * weight;
            w.weight = w.weight + weight;
            detail::EllipseWalk<T> next = w;
            next.y = w.y + 1;
            begin_row(next);
            Mask done = w.x >= w.last_x;
            w.x = select(done, next.x, w.x + 1);
            w.last_x = select(done, next.last_x, w.last_x);
            w.y = select(done, next.y, w.y);
        },
        "ellipse");
    return walk.sum * rcp(select(walk.weight > 0, walk.weight, Float(1)));
}

} // namespace umbel
