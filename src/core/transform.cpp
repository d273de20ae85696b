// core/transform.cpp: see core/transform.h.
#include "core/transform.h"
#include <cmath>

namespace umbel {

Matrix4 operator*(const Matrix4 &a, const Matrix4 &b) {
    Matrix4 r;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            double s = 0;
            for (int k = 0; k < 4; ++k)
                s += a(i, k) * b(k, j);
            r(i, j) = s;
        }
    return r;
}

Matrix4 Matrix4::translate(double x, double y, double z) {
    Matrix4 r;
    r(0, 3) = x, r(1, 3) = y, r(2, 3) = z;
    return r;
}

Matrix4 Matrix4::scale(double x, double y, double z) {
    Matrix4 r;
    r(0, 0) = x, r(1, 1) = y, r(2, 2) = z;
    return r;
}

Matrix4 Matrix4::rotate(double x, double y, double z, double degrees) {
    double length = std::sqrt(x * x + y * y + z * z);
    if (length == 0)
        fail("rotate: the axis is (0, 0, 0)");
    x /= length, y /= length, z /= length;
    double a = degrees * Pi / 180, s = std::sin(a), c = std::cos(a), k = 1 - c;
    Matrix4 r;
    r.m = { c + x * x * k,
            x * y * k - z * s,
            x * z * k + y * s,
            0,
            y * x * k + z * s,
            c + y * y * k,
            y * z * k - x * s,
            0,
            z * x * k - y * s,
            z * y * k + x * s,
            c + z * z * k,
            0,
            0,
            0,
            0,
            1 };
    return r;
}

Matrix4 Matrix4::look_at(const std::array<double, 3> &origin, const std::array<double, 3> &target,
                         const std::array<double, 3> &up) {
    using V = std::array<double, 3>;
    auto cross = [](const V &a, const V &b) {
        return V{ a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
    };
    auto normalize = [](V v) {
        double n = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (!(n > 0))
            fail("lookat: origin, target and up do not span a camera; they must differ, and up "
                 "must not "
                 "be parallel to the view");
        return V{ v[0] / n, v[1] / n, v[2] / n };
    };
    V d = normalize({ target[0] - origin[0], target[1] - origin[1], target[2] - origin[2] });
    V left = normalize(cross(up, d)), u = cross(d, left);
    Matrix4 r;
    for (int i = 0; i < 3; ++i) {
        size_t k = size_t(i);
        r(i, 0) = left[k], r(i, 1) = u[k], r(i, 2) = d[k], r(i, 3) = origin[k];
    }
    return r;
}

Matrix4 Matrix4::perspective(double fov, double near_clip, double far_clip) {
    double depth = 1 / (far_clip - near_clip), cot = 1 / std::tan(fov * Pi / 360);
    Matrix4 r;
    r.m = { cot, 0, 0, 0, 0, cot, 0, 0, 0, 0, far_clip * depth, -near_clip * far_clip * depth,
            0,   0, 1, 0 };
    return r;
}

Matrix4 Matrix4::inverse() const {
    // Gauss-Jordan with pivoting
    Matrix4 a = *this, r;
    for (int i = 0; i < 4; ++i) {
        int pivot = i;
        for (int k = i + 1; k < 4; ++k)
            if (std::abs(a(k, i)) > std::abs(a(pivot, i)))
                pivot = k;
        if (!(std::abs(a(pivot, i)) > 0))
            fail("a transform is singular and cannot be inverted; check for a scale of 0");
        for (int j = 0; j < 4; ++j) {
            std::swap(a(i, j), a(pivot, j));
            std::swap(r(i, j), r(pivot, j));
        }
        double inv = 1 / a(i, i);
        for (int j = 0; j < 4; ++j)
            a(i, j) *= inv, r(i, j) *= inv;
        for (int k = 0; k < 4; ++k) {
            double f = a(k, i);
            if (k == i || f == 0)
                continue;
            for (int j = 0; j < 4; ++j)
                a(k, j) -= f * a(i, j), r(k, j) -= f * r(i, j);
        }
    }
    return r;
}

Matrix4 Matrix4::transpose() const {
    Matrix4 r;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            r(i, j) = (*this)(j, i);
    return r;
}

std::array<double, 3> Matrix4::point(const std::array<double, 3> &p) const {
    std::array<double, 4> r;
    for (int i = 0; i < 4; ++i)
        r[size_t(i)] =
            (*this)(i, 0) * p[0] + (*this)(i, 1) * p[1] + (*this)(i, 2) * p[2] + (*this)(i, 3);
    return { r[0] / r[3], r[1] / r[3], r[2] / r[3] };
}

std::array<double, 3> Matrix4::vector(const std::array<double, 3> &v) const {
    std::array<double, 3> r;
    for (int i = 0; i < 3; ++i)
        r[size_t(i)] = (*this)(i, 0) * v[0] + (*this)(i, 1) * v[1] + (*this)(i, 2) * v[2];
    return r;
}

std::array<double, 3> Matrix4::normal(const std::array<double, 3> &n) const {
    return inverse().transpose().vector(n);
}

Transform::Transform(const Matrix4 &matrix) : m_matrix(matrix) {
    Matrix4 inverse = matrix.inverse();
    for (size_t i = 0; i < 16; ++i) {
        m[i] = opaque_float(matrix.m[i]);
        m_inverse[i] = opaque_float(inverse.m[i]);
    }
}

Vector3 Transform::point(const Vector3 &p) const {
    auto row = [&](size_t r) {
        return fma(m[r], p.x, fma(m[r + 1], p.y, fma(m[r + 2], p.z, m[r + 3])));
    };
    return { row(0), row(4), row(8) };
}

Vector3 Transform::vector(const Vector3 &v) const {
    auto row = [&](size_t r) { return fma(m[r], v.x, fma(m[r + 1], v.y, m[r + 2] * v.z)); };
    return { row(0), row(4), row(8) };
}

Vector3 Transform::normal(const Vector3 &n) const {
    auto column = [&](size_t i) {
        return fma(m_inverse[i], n.x, fma(m_inverse[i + 4], n.y, m_inverse[i + 8] * n.z));
    };
    return { column(0), column(1), column(2) };
}

Vector3 Transform::project(const Vector3 &p) const {
    auto row = [&](size_t r) {
        return fma(m[r], p.x, fma(m[r + 1], p.y, fma(m[r + 2], p.z, m[r + 3])));
    };
    Float w = rcp(row(12));
    return { row(0) * w, row(4) * w, row(8) * w };
}

Transform Transform::inverse() const {
    Transform t;
    t.m_matrix = m_matrix.inverse();
    t.m = m_inverse;
    t.m_inverse = m;
    return t;
}

} // namespace umbel
