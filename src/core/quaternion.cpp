// core/quaternion.cpp: see core/quaternion.h. Written once for plain and for traced numbers, hence without branches.
#include "core/quaternion.h"

namespace umbel {
namespace {

using std::atan2, std::cos, std::exp, std::log, std::max, std::round, std::sin, std::sqrt;

double pick(bool m, double a, double b) { return m ? a : b; }
Float pick(const Mask &m, const Float &a, const Float &b) { return select(m, a, b); }
template <class M, class T>
Quaternion<T> pick(const M &m, const Quaternion<T> &a, const Quaternion<T> &b) {
    return { pick(m, a.x, b.x), pick(m, a.y, b.y), pick(m, a.z, b.z), pick(m, a.w, b.w) };
}

template <class T> T norm(const Quaternion<T> &q) { return sqrt(q.squared_norm()); }
template <class T> T vector_norm(const Quaternion<T> &q) {
    return sqrt(q.x * q.x + q.y * q.y + q.z * q.z);
}

// What is divided by: tiny instead of 0, where the numerator is 0, too.
template <class T> T not_zero(const T &v) { return max(v, T(1e-30)); }

} // namespace

template <class T> Quaternion<T> Quaternion<T>::rotation(const Triple &axis, const T &angle) {
    T s = sin(angle * T(0.5));
    return { axis[0] * s, axis[1] * s, axis[2] * s, cos(angle * T(0.5)) };
}

// Four formulas, each divided by a component that it takes for large: the one with the largest, at least 1/2, counts.
template <class T> Quaternion<T> Quaternion<T>::from_matrix(const Matrix3x3<T> &m) {
    T one(1);
    Quaternion by_x{ one + m[0] - m[4] - m[8], m[3] + m[1], m[2] + m[6], m[7] - m[5] },
        by_y{ m[3] + m[1], one - m[0] + m[4] - m[8], m[7] + m[5], m[2] - m[6] },
        by_z{ m[2] + m[6], m[7] + m[5], one - m[0] - m[4] + m[8], m[3] - m[1] },
        by_w{ m[7] - m[5], m[2] - m[6], m[3] - m[1], one + m[0] + m[4] + m[8] };
    Quaternion flat = pick(m[0] > m[4], by_x, by_y), upright = pick(m[0] < -m[4], by_z, by_w);
    return pick(m[8] < T(0), flat, upright).normalized();
}

template <class T> Quaternion<T> Quaternion<T>::from_euler(const Triple &e) {
    T zero(0), one(1);
    return rotation({ zero, zero, one }, e[2]) * rotation({ zero, one, zero }, e[1]) *
           rotation({ one, zero, zero }, e[0]);
}

template <class T> Matrix3x3<T> Quaternion<T>::to_matrix() const {
    T two(2), one(1);
    return {
        one - two * (y * y + z * z), two * (x * y - z * w),       two * (x * z + y * w),
        two * (x * y + z * w),       one - two * (x * x + z * z), two * (y * z - x * w),
        two * (x * z - y * w),       two * (y * z + x * w),       one - two * (x * x + y * y)
    };
}

// With half angles a, b, c of roll, pitch and yaw:
//     w + y = (cos b + sin b) cos(a - c)      x - z = (cos b + sin b) sin(a - c)
//     w - y = (cos b - sin b) cos(a + c)      x + z = (cos b - sin b) sin(a + c)
// Where pitch is +-pi/2 one pair vanishes, and any angle will do for it [Bernardes 2022].
template <class T> std::array<T, 3> Quaternion<T>::to_euler() const {
    T up_c = w + y, up_s = x - z, down_c = w - y, down_s = x + z;
    T difference = atan2(up_s, up_c), sum = atan2(down_s, down_c);
    T pitch =
        T(2) * atan2(sqrt(up_c * up_c + up_s * up_s), sqrt(down_c * down_c + down_s * down_s));
    auto wrap = [](const T &angle) { return angle - T(TwoPi) * round(angle * T(InvTwoPi)); };
    return { wrap(sum + difference), pitch - T(Pi / 2), wrap(sum - difference) };
}

template <class T> std::array<T, 3> Quaternion<T>::rotate(const Triple &v) const {
    Quaternion r = *this * Quaternion{ v[0], v[1], v[2], T(0) } * conj();
    return { r.x, r.y, r.z };
}

template <class T> Quaternion<T> Quaternion<T>::normalized() const {
    return *this * (T(1) / norm(*this));
}

template <class T> Quaternion<T> exp(const Quaternion<T> &q) {
    T angle = vector_norm(q), scale = exp(q.w);
    T s = scale * pick(angle > T(0), sin(angle) / not_zero(angle), T(1));
    return { q.x * s, q.y * s, q.z * s, scale * cos(angle) };
}

template <class T> Quaternion<T> log(const Quaternion<T> &q) {
    T v = vector_norm(q);
    T s = pick(v > T(0), atan2(v, q.w) / not_zero(v), T(1) / not_zero(norm(q)));
    return { q.x * s, q.y * s, q.z * s, T(0.5) * log(q.squared_norm()) };
}

template <class T> Quaternion<T> slerp(const Quaternion<T> &a, const Quaternion<T> &b, const T &t) {
    Quaternion<T> to = pick(dot(a, b) < T(0), b * T(-1), b);
    // The angle from two lengths: the inverse cosine is inaccurate near 0
    T angle = T(2) * atan2(norm(to - a), norm(to + a)), sine = not_zero(sin(angle));
    auto together = angle < T(1e-6); // then linear interpolation is as good
    T wa = pick(together, T(1) - t, sin((T(1) - t) * angle) / sine),
      wb = pick(together, t, sin(t * angle) / sine);
    return (a * wa + to * wb).normalized();
}

#define UMBEL_INSTANTIATE(T)                                                                       \
    template struct Quaternion<T>;                                                                 \
    template Quaternion<T> exp(const Quaternion<T> &);                                             \
    template Quaternion<T> log(const Quaternion<T> &);                                             \
    template Quaternion<T> slerp(const Quaternion<T> &, const Quaternion<T> &, const T &);
UMBEL_INSTANTIATE(double)
UMBEL_INSTANTIATE(Float)
#undef UMBEL_INSTANTIATE

} // namespace umbel
