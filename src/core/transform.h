// core/transform.h: transforms as data of a program, made from the plain numbers of transform_data.h.
#pragma once
#include "core/transform_data.h"
#include "core/vector.h"

namespace umbel {

/// A matrix and its inverse as scalars of the program: changing it compiles nothing.
class Transform {
public:
    Transform() : Transform(TransformData()) {}
    /// UserError where the matrix is singular.
    explicit Transform(const TransformData &m);
    /// Of traced numbers; whoever calls this sees to it that the second is the inverse of the first.
    Transform(std::array<Float, 16> m, std::array<Float, 16> inverse)
        : m_on_host(false), m(std::move(m)), m_inverse(std::move(inverse)) {}

    Vector3 point(const Vector3 &p) const; // affine
    Vector3 vector(const Vector3 &v) const;
    Vector3 normal(const Vector3 &n) const; // with the inverse transpose, not normalized
    Vector3 translation() const { return { m[3], m[7], m[11] }; }
    Transform inverse() const;

    /// The host's copy; only of transforms that were made of one.
    const TransformData &matrix() const {
        check(m_on_host);
        return m_matrix;
    }

private:
    bool m_on_host = true;
    TransformData m_matrix, m_inverse_matrix;
    std::array<Float, 16> m, m_inverse;
};

} // namespace umbel
