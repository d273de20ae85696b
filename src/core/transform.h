// core/transform.h: transforms as data of a program, made from the plain numbers of transform_data.h.
#pragma once
#include "core/transform_data.h"
#include "core/vector.h"

namespace umbel {

/// An affine matrix and its inverse as scalars of the program: changing it compiles nothing.
class Transform {
public:
    using Rows = std::array<Float, 12>; // the upper three of the matrix, one after the other

    Transform() : Transform(TransformData()) {}
    /// UserError where the matrix is singular.
    explicit Transform(const TransformData &m);
    /// Of traced numbers; whoever calls this sees to it that the second is the inverse of the first.
    Transform(Rows m, Rows inverse) : m(std::move(m)), m_inverse(std::move(inverse)) {}

    Vector3 point(const Vector3 &p) const;
    Vector3 vector(const Vector3 &v) const;
    Vector3 normal(const Vector3 &n) const; // with the inverse transpose, not normalized
    Vector3 translation() const { return { m[3], m[7], m[11] }; }
    Transform inverse() const { return { m_inverse, m }; }
    /// The same with derivatives of an array of 16 numbers, row by row, which are its own.
    Transform following(const Value &matrix) const;

private:
    Rows m, m_inverse;
};

} // namespace umbel
