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

    Vector3 point(const Vector3 &p) const; // affine
    Vector3 vector(const Vector3 &v) const;
    Vector3 normal(const Vector3 &n) const;  // with the inverse transpose, not normalized
    Vector3 translation() const { return { m[3], m[7], m[11] }; }
    Transform inverse() const;

    const TransformData &matrix() const { return m_matrix; }

private:
    TransformData m_matrix, m_inverse_matrix;
    std::array<Float, 16> m, m_inverse;
};

} // namespace umbel
