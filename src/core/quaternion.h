// core/quaternion.h: quaternions, of plain numbers (T = double) and of traced ones (T = Float).
//
//     q = x i + y j + z k + w      i^2 = j^2 = k^2 = i j k = -1
//
// A unit quaternion turns v into q v q*; q and -q are the same rotation. Products apply from right to left, as matrices do.
#pragma once
#include "core/float.h"

namespace umbel {

template <class T> using Matrix3x3 = std::array<T, 9>; // row by row

template <class T> struct Quaternion {
    using Triple = std::array<T, 3>;
    T x, y, z, w;
    UMBEL_STRUCT(x, y, z, w)

    static Quaternion identity() { return { T(0), T(0), T(0), T(1) }; }
    /// Counter-clockwise about an axis of unit length, in radians.
    static Quaternion rotation(const Triple &axis, const T &angle);
    /// Of a rotation matrix; orthonormal, and no mirror image.
    static Quaternion from_matrix(const Matrix3x3<T> &m);
    /// Rz(e[2]) Ry(e[1]) Rx(e[0]): roll about x first, then pitch, then yaw, in radians.
    static Quaternion from_euler(const Triple &e);

    /// Of unit quaternions.
    Matrix3x3<T> to_matrix() const;
    /// With pitch in [-pi/2, pi/2]; where that is reached, only the difference of roll and yaw has a meaning.
    Triple to_euler() const;
    Triple rotate(const Triple &v) const;

    T squared_norm() const { return x * x + y * y + z * z + w * w; }
    Quaternion conj() const { return { -x, -y, -z, w }; }
    Quaternion inverse() const { return conj() * (T(1) / squared_norm()); }
    Quaternion normalized() const;

    friend Quaternion operator+(const Quaternion &a, const Quaternion &b) {
        return { a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w };
    }
    friend Quaternion operator-(const Quaternion &a, const Quaternion &b) {
        return { a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w };
    }
    friend Quaternion operator*(const Quaternion &a, const T &s) {
        return { a.x * s, a.y * s, a.z * s, a.w * s };
    }
    friend Quaternion operator*(const Quaternion &a, const Quaternion &b) {
        return { a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                 a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                 a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                 a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z };
    }
};

template <class T> T dot(const Quaternion<T> &a, const Quaternion<T> &b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
template <class T> Quaternion<T> exp(const Quaternion<T> &q);
/// The principal logarithm; exp() undoes it.
template <class T> Quaternion<T> log(const Quaternion<T> &q);
/// From a (t = 0) to b (t = 1), unit quaternions, at constant speed and the shorter way round.
template <class T> Quaternion<T> slerp(const Quaternion<T> &a, const Quaternion<T> &b, const T &t);

} // namespace umbel
