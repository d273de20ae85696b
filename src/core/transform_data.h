// core/transform_data.h: 4x4 transforms as plain data, as scene files and dictionaries hold them.
#pragma once
#include <array>
#include <optional>
#include <vector>

namespace umbel {

/// A 4x4 matrix in row-major order that acts on column vectors. The traced Transform is made of it.
struct TransformData {
    std::array<double, 16> m = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };

    double &operator()(int row, int column) { return m[4 * row + column]; }
    double operator()(int row, int column) const { return m[4 * row + column]; }
    bool operator==(const TransformData &) const = default;

    using Vec = std::array<double, 3>;
    static TransformData translate(const Vec &offset);
    static TransformData scale(const Vec &factors);
    /// Counter-clockwise about `axis` (any length but zero), in degrees.
    static TransformData rotate(const Vec &axis, double degrees);
    /// +z looks from `origin` to `target`, +y is near `up`, +x points left as seen by a camera.
    /// Nothing if the three do not span a frame.
    static std::optional<TransformData> look_at(const Vec &origin, const Vec &target,
                                                const Vec &up);
    /// As above, with an arbitrary upward direction.
    static std::optional<TransformData> look_at(const Vec &origin, const Vec &target);

    bool is_finite() const;
    /// Nothing if the matrix is singular or not finite.
    std::optional<TransformData> inverse() const;
    /// The image of a point, with the division by w.
    Vec apply_point(const Vec &p) const;
    Vec apply_vector(const Vec &v) const;
    /// With the inverse transpose, of unit length; zero where the matrix is singular.
    Vec apply_normal(const Vec &n) const;
};

TransformData operator*(const TransformData &a, const TransformData &b);

/// Keyframes in order of increasing time.
struct AnimationData {
    std::vector<double> times;
    std::vector<TransformData> transforms;

    bool operator==(const AnimationData &) const = default;
    /// What is in a space inside of its own goes along +z of that, from `origin` along `direction`. False if that has no length.
    bool put_inside(const TransformData::Vec &origin, const TransformData::Vec &direction);
};

} // namespace umbel
