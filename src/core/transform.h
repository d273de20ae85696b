// core/transform.h: affine and projective transforms: as numbers of the host, and as data of a program.
#pragma once
#include "core/vector.h"
#include <array>

namespace umbel {

/// A 4x4 matrix of the host, in double precision, row by row.
struct Matrix4 {
    std::array<double, 16> m{ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };

    double &operator()(int r, int c) { return m[size_t(4 * r + c)]; }
    double operator()(int r, int c) const { return m[size_t(4 * r + c)]; }
    friend Matrix4 operator*(const Matrix4 &a, const Matrix4 &b);

    static Matrix4 translate(double x, double y, double z);
    static Matrix4 scale(double x, double y, double z);
    /// Angle in degrees about an axis of any length.
    static Matrix4 rotate(double ax, double ay, double az, double degrees);
    /// From camera space (looking along +z, x to the left) to the world.
    static Matrix4 look_at(const std::array<double, 3> &origin, const std::array<double, 3> &target,
                           const std::array<double, 3> &up);
    /// Camera space to [0, 1]^3: x and y of the image, depth.
    static Matrix4 perspective(double fov_degrees, double near_clip, double far_clip);
    /// Throws UserError where the matrix is singular.
    Matrix4 inverse() const;
    Matrix4 transpose() const;
    std::array<double, 3> point(const std::array<double, 3> &p) const;
    std::array<double, 3> vector(const std::array<double, 3> &v) const;
    /// With the inverse transpose; `this` is the forward matrix.
    std::array<double, 3> normal(const std::array<double, 3> &n) const;
};

/// A matrix as sixteen scalars of the program: changing it compiles nothing.
class Transform {
public:
    Transform() = default;
    explicit Transform(const Matrix4 &m);

    Vector3 point(const Vector3 &p) const; // affine
    Vector3 vector(const Vector3 &v) const;
    Vector3 normal(const Vector3 &n) const;  // with the inverse transpose, not normalized
    Vector3 project(const Vector3 &p) const; // with division by w
    Transform inverse() const;

    const Matrix4 &matrix() const { return m_matrix; }

private:
    Matrix4 m_matrix;
    std::array<Float, 16> m, m_inverse;
};

} // namespace umbel
