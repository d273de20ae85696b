// core/transform.cpp: transforms as data of a program.
#include "core/transform.h"
#include "ad/ad.h"

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

Transform Transform::following(const Value &matrix) const {
    Rows to;
    for (uint32_t i = 0; i < 12; ++i)
        to[i] = Float(jit::gather(matrix, UInt32(i), Mask(true)));
    // The inverse by cofactors, then that of what is moved
    auto at = [&](int row, int column) { return to[4 * (row % 3) + column % 3]; };
    auto cofactor = [&](int row, int column) {
        return at(row + 1, column + 1) * at(row + 2, column + 2) -
               at(row + 1, column + 2) * at(row + 2, column + 1);
    };
    Float det = to[0] * cofactor(0, 0) + to[1] * cofactor(0, 1) + to[2] * cofactor(0, 2);
    Rows back;
    for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column)
            back[4 * row + column] = cofactor(column, row) / det;
        back[4 * row + 3] =
            -(back[4 * row] * to[3] + back[4 * row + 1] * to[7] + back[4 * row + 2] * to[11]);
    }
    for (size_t i = 0; i < 12; ++i) {
        to[i] = Float(ad::replace_grad(m[i], to[i]));
        back[i] = Float(ad::replace_grad(m_inverse[i], back[i]));
    }
    return { to, back };
}

} // namespace umbel
