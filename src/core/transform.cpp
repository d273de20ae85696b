// core/transform.cpp: transforms as data of a program.
#include "core/transform.h"

namespace umbel {

Transform::Transform(const TransformData &matrix) {
    auto inverse = matrix.inverse();
    if (!inverse)
        fail("a transform is singular: it squeezes space into a plane, a line or a point");
    for (size_t i = 0; i < 12; ++i) {
        m[i] = opaque_float(matrix.m[i]);
        m_inverse[i] = opaque_float(inverse->m[i]);
    }
}

Vector3 Transform::point(const Vector3 &p) const {
    auto row = [&](int r) {
        return fma(m[4 * r], p.x, fma(m[4 * r + 1], p.y, fma(m[4 * r + 2], p.z, m[4 * r + 3])));
    };
    return { row(0), row(1), row(2) };
}

Vector3 Transform::vector(const Vector3 &v) const {
    auto row = [&](int r) {
        return fma(m[4 * r], v.x, fma(m[4 * r + 1], v.y, m[4 * r + 2] * v.z));
    };
    return { row(0), row(1), row(2) };
}

Vector3 Transform::normal(const Vector3 &n) const {
    auto column = [&](int c) {
        return fma(m_inverse[c], n.x, fma(m_inverse[c + 4], n.y, m_inverse[c + 8] * n.z));
    };
    return { column(0), column(1), column(2) };
}

} // namespace umbel
