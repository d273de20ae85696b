// core/transform_data.cpp: composing, building and inverting host-side transforms.
#include "core/transform_data.h"
#include <cmath>
#include <numbers>
#include <utility>

namespace umbel {
namespace {

using Vec = TransformData::Vec;

Vec cross(const Vec &a, const Vec &b) {
    return { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
}

// Nothing for zero, overflowing or NaN input: a direction is then undefined.
std::optional<Vec> normalize(const Vec &v) {
    double length = std::hypot(v[0], v[1], v[2]);
    if (!(length > 0) || !std::isfinite(length))
        return {};
    return Vec{ v[0] / length, v[1] / length, v[2] / length };
}

} // namespace

TransformData TransformData::translate(const Vec &offset) {
    TransformData t;
    for (int i = 0; i < 3; ++i)
        t(i, 3) = offset[i];
    return t;
}

TransformData TransformData::scale(const Vec &factors) {
    TransformData t;
    for (int i = 0; i < 3; ++i)
        t(i, i) = factors[i];
    return t;
}

TransformData TransformData::rotate(const Vec &axis, double degrees) {
    TransformData t;
    auto a = normalize(axis);
    if (!a)
        return t;
    double theta = degrees * (std::numbers::pi / 180);
    double s = std::sin(theta), c = std::cos(theta);

    // Quarter turns are by far the most common: keep their zeros and ones exact.
    if (std::fmod(degrees, 90) == 0) {
        s = std::round(s);
        c = std::round(c);
    }
    auto [x, y, z] = *a;
    double d = 1 - c; // Rodrigues: R = c I + s [a]x + (1 - c) a a^T
    t.m = { c + d * x * x,
            d * x * y - s * z,
            d * x * z + s * y,
            0,
            d * x * y + s * z,
            c + d * y * y,
            d * y * z - s * x,
            0,
            d * x * z - s * y,
            d * y * z + s * x,
            c + d * z * z,
            0,
            0,
            0,
            0,
            1 };
    return t;
}

std::optional<TransformData> TransformData::look_at(const Vec &origin, const Vec &target,
                                                    const Vec &up) {
    auto dir = normalize({ target[0] - origin[0], target[1] - origin[1], target[2] - origin[2] });
    auto unit_up = normalize(up);
    if (!dir || !unit_up)
        return {};
    Vec side = cross(*unit_up, *dir);
    auto left = normalize(side);
    // Nearly parallel vectors leave only rounding errors in the cross product.
    if (!left || std::hypot(side[0], side[1], side[2]) < 1e-12)
        return {};
    Vec new_up = cross(*dir, *left);
    TransformData t;
    for (int i = 0; i < 3; ++i) {
        t(i, 0) = (*left)[i];
        t(i, 1) = new_up[i];
        t(i, 2) = (*dir)[i];
        t(i, 3) = origin[i];
    }
    return t;
}

std::optional<TransformData> TransformData::look_at(const Vec &origin, const Vec &target) {
    // The axis that the direction leans on least is safely not parallel to it.
    Vec up = {};
    int least = 0;
    for (int i = 1; i < 3; ++i)
        if (std::abs(target[i] - origin[i]) < std::abs(target[least] - origin[least]))
            least = i;
    up[least] = 1;
    return look_at(origin, target, up);
}

bool AnimationData::put_inside(const TransformData::Vec &origin,
                               const TransformData::Vec &direction) {
    // Upwards is where Mitsuba has it for a direction, so that what scripts read is the same
    auto d = normalize(direction);
    if (!d)
        return false;
    double sign = std::copysign(1.0, (*d)[2]), a = -1 / (sign + (*d)[2]);
    TransformData::Vec up = { 1 + sign * (*d)[0] * (*d)[0] * a, sign * (*d)[0] * (*d)[1] * a,
                              -sign * (*d)[0] };
    std::optional<TransformData> frame = TransformData::look_at({}, direction, up);
    if (frame)
        for (TransformData &t : transforms)
            t = t * TransformData::translate(origin) * *frame;
    return frame.has_value();
}

bool TransformData::is_finite() const {
    for (double v : m)
        if (!std::isfinite(v))
            return false;
    return true;
}

// Gauss-Jordan elimination with row pivoting.
std::optional<TransformData> TransformData::inverse() const {
    TransformData a = *this, b;
    for (int column = 0; column < 4; ++column) {
        int pivot = column;
        for (int row = column + 1; row < 4; ++row)
            if (std::abs(a(row, column)) > std::abs(a(pivot, column)))
                pivot = row;
        double p = a(pivot, column);
        if (p == 0 || !std::isfinite(p))
            return {};
        for (int i = 0; i < 4; ++i) {
            std::swap(a(pivot, i), a(column, i));
            std::swap(b(pivot, i), b(column, i));
        }
        for (int i = 0; i < 4; ++i) {
            a(column, i) /= p;
            b(column, i) /= p;
        }
        for (int row = 0; row < 4; ++row) {
            double factor = a(row, column);
            if (row == column || factor == 0)
                continue;
            for (int i = 0; i < 4; ++i) {
                a(row, i) -= factor * a(column, i);
                b(row, i) -= factor * b(column, i);
            }
        }
    }
    if (!b.is_finite())
        return {};
    return b;
}

Vec TransformData::apply_point(const Vec &p) const {
    double r[4];
    for (int i = 0; i < 4; ++i)
        r[i] = (*this)(i, 0) * p[0] + (*this)(i, 1) * p[1] + (*this)(i, 2) * p[2] + (*this)(i, 3);
    return { r[0] / r[3], r[1] / r[3], r[2] / r[3] };
}

Vec TransformData::apply_vector(const Vec &v) const {
    const TransformData &t = *this;
    auto row = [&](int r) { return t(r, 0) * v[0] + t(r, 1) * v[1] + t(r, 2) * v[2]; };
    return { row(0), row(1), row(2) };
}

Vec TransformData::apply_normal(const Vec &n) const {
    auto inv = inverse();
    if (!inv)
        return {};
    auto column = [&](int c) {
        return (*inv)(0, c) * n[0] + (*inv)(1, c) * n[1] + (*inv)(2, c) * n[2];
    };
    return normalize({ column(0), column(1), column(2) }).value_or(Vec{});
}

TransformData operator*(const TransformData &a, const TransformData &b) {
    TransformData r;
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column) {
            double sum = 0;
            for (int i = 0; i < 4; ++i)
                sum += a(row, i) * b(i, column);
            r(row, column) = sum;
        }
    return r;
}

} // namespace umbel
