// core/vector.h: vectors of two and three Floats. Points, directions and normals are all Vector3; what a
// transform does with one is said by the function that is called.
#pragma once
#include "core/float.h"

namespace umbel {

struct Vector2 {
    Float x, y;
    UMBEL_STRUCT(x, y)

    friend Vector2 operator+(const Vector2 &a, const Vector2 &b) {
        return { a.x + b.x, a.y + b.y };
    }
    friend Vector2 operator-(const Vector2 &a, const Vector2 &b) {
        return { a.x - b.x, a.y - b.y };
    }
    friend Vector2 operator*(const Vector2 &a, const Vector2 &b) {
        return { a.x * b.x, a.y * b.y };
    }
    friend Vector2 operator*(const Vector2 &a, const Float &s) { return { a.x * s, a.y * s }; }
    friend Vector2 operator*(const Float &s, const Vector2 &a) { return a * s; }
};

struct Vector3 {
    Float x, y, z;
    UMBEL_STRUCT(x, y, z)

    Vector3() = default;
    Vector3(Float x, Float y, Float z) : x(std::move(x)), y(std::move(y)), z(std::move(z)) {}
    explicit Vector3(const Float &s) : x(s), y(s), z(s) {}

    friend Vector3 operator+(const Vector3 &a, const Vector3 &b) {
        return { a.x + b.x, a.y + b.y, a.z + b.z };
    }
    friend Vector3 operator-(const Vector3 &a, const Vector3 &b) {
        return { a.x - b.x, a.y - b.y, a.z - b.z };
    }
    friend Vector3 operator*(const Vector3 &a, const Vector3 &b) {
        return { a.x * b.x, a.y * b.y, a.z * b.z };
    }
    friend Vector3 operator*(const Vector3 &a, const Float &s) {
        return { a.x * s, a.y * s, a.z * s };
    }
    friend Vector3 operator*(const Float &s, const Vector3 &a) { return a * s; }
    friend Vector3 operator/(const Vector3 &a, const Float &s) { return a * rcp(s); }
    friend Vector3 operator-(const Vector3 &a) { return { -a.x, -a.y, -a.z }; }
    Vector3 &operator+=(const Vector3 &b) { return *this = *this + b; }
};

using Point2 = Vector2;
using Point3 = Vector3;
using Normal3 = Vector3;

inline Float dot(const Vector3 &a, const Vector3 &b) {
    return fma(a.z, b.z, fma(a.y, b.y, a.x * b.x));
}
inline Float dot(const Vector2 &a, const Vector2 &b) { return fma(a.y, b.y, a.x * b.x); }
inline Vector3 cross(const Vector3 &a, const Vector3 &b) {
    return { fma(a.y, b.z, -(a.z * b.y)), fma(a.z, b.x, -(a.x * b.z)),
             fma(a.x, b.y, -(a.y * b.x)) };
}
inline Float squared_norm(const Vector3 &v) { return dot(v, v); }
inline Float norm(const Vector3 &v) { return sqrt(squared_norm(v)); }
inline Vector3 normalize(const Vector3 &v) { return v * rsqrt(squared_norm(v)); }
inline Float abs_dot(const Vector3 &a, const Vector3 &b) { return abs(dot(a, b)); }
inline Vector3 fma(const Vector3 &a, const Float &s, const Vector3 &b) {
    return { fma(a.x, s, b.x), fma(a.y, s, b.y), fma(a.z, s, b.z) };
}
inline Vector3 select(const Mask &m, const Vector3 &a, const Vector3 &b) {
    return { select(m, a.x, b.x), select(m, a.y, b.y), select(m, a.z, b.z) };
}
inline Vector2 select(const Mask &m, const Vector2 &a, const Vector2 &b) {
    return { select(m, a.x, b.x), select(m, a.y, b.y) };
}
inline Float max_component(const Vector3 &v) { return max(v.x, max(v.y, v.z)); }
inline Vector3 abs(const Vector3 &v) { return { abs(v.x), abs(v.y), abs(v.z) }; }

/// An orthonormal basis around n, without branches [Duff 2017].
struct Frame {
    Vector3 s, t, n;
    UMBEL_STRUCT(s, t, n)

    Frame() = default;
    explicit Frame(const Vector3 &n) : n(n) {
        Float sign = mulsign(1, n.z), a = -rcp(sign + n.z), b = n.x * n.y * a;
        s = { fma(sign * n.x * n.x, a, 1), sign * b, -sign * n.x };
        t = { b, fma(n.y * n.y, a, sign), -n.y };
    }
    Vector3 to_world(const Vector3 &v) const { return fma(n, v.z, fma(t, v.y, s * v.x)); }
    Vector3 to_local(const Vector3 &v) const { return { dot(v, s), dot(v, t), dot(v, n) }; }

    static Float cos_theta(const Vector3 &v) { return v.z; }
    static Float sin_theta_2(const Vector3 &v) { return fma(v.x, v.x, v.y * v.y); }
};

} // namespace umbel
