// core/animated_transform.cpp: see core/animated_transform.h.
#include "core/animated_transform.h"
#include "core/distribution_tools.h"
#include <algorithm>

namespace umbel {
namespace {

constexpr uint32_t KeyNumbers = 16;

template <class T> Matrix3x3<T> product(const Matrix3x3<T> &a, const Matrix3x3<T> &b) {
    Matrix3x3<T> c;
    for (size_t i = 0; i < 9; ++i) {
        size_t row = i / 3 * 3, column = i % 3;
        c[i] = a[row] * b[column] + a[row + 1] * b[column + 3] + a[row + 2] * b[column + 6];
    }
    return c;
}

template <class T> Matrix3x3<T> transpose(const Matrix3x3<T> &m) {
    return { m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8] };
}

template <class T> Matrix3x3<T> cofactors(const Matrix3x3<T> &m) {
    return { m[4] * m[8] - m[5] * m[7], m[5] * m[6] - m[3] * m[8], m[3] * m[7] - m[4] * m[6],
             m[2] * m[7] - m[1] * m[8], m[0] * m[8] - m[2] * m[6], m[1] * m[6] - m[0] * m[7],
             m[1] * m[5] - m[2] * m[4], m[2] * m[3] - m[0] * m[5], m[0] * m[4] - m[1] * m[3] };
}

template <class T> T determinant(const Matrix3x3<T> &m, const Matrix3x3<T> &cofactors) {
    return m[0] * cofactors[0] + m[1] * cofactors[1] + m[2] * cofactors[2];
}

double frobenius(const Matrix3x3<double> &m) {
    double sum = 0;
    for (double v : m)
        sum += v * v;
    return std::sqrt(sum);
}

// The rotation, or mirrored rotation, that is nearest to m: Newton's iteration R <- (g R + (g R)^-T) / 2, where g
// evens out the sizes of both and so saves steps [Higham 1986]. Nothing if m is singular.
std::optional<Matrix3x3<double>> polar_rotation(Matrix3x3<double> r) {
    double size = frobenius(r);
    if (!(size > 0) || !std::isfinite(size))
        return {};
    for (double &v : r)
        v /= size;
    for (int step = 0; step < 50; ++step) {
        Matrix3x3<double> c = cofactors(r), next;
        double det = determinant(r, c), change = 0;
        if (!(std::abs(det) > 1e-60))
            return {};
        double g = std::sqrt(frobenius(c) / (std::abs(det) * frobenius(r)));
        for (size_t i = 0; i < 9; ++i) {
            next[i] = 0.5 * (g * r[i] + c[i] / (det * g));
            change = std::max(change, std::abs(next[i] - r[i]));
        }
        r = next;
        if (change < 1e-15)
            break;
    }
    return r;
}

template <class T> T mix(const T &a, const T &b, const T &t) { return a + (b - a) * t; }

template <class T> std::array<T, 12> affine(const Matrix3x3<T> &m, const std::array<T, 3> &t) {
    return { m[0], m[1], m[2], t[0], m[3], m[4], m[5], t[1], m[6], m[7], m[8], t[2] };
}

} // namespace

TransformData TransformParts::compose() const {
    TransformData result;
    std::ranges::copy(affine(product(rotation.to_matrix(), stretch), translation),
                      result.m.begin());
    return result;
}

TransformParts decompose(const TransformData &m) {
    if (!m.is_finite())
        fail("the matrix of a transform has numbers that are not finite");
    if (m(3, 0) != 0 || m(3, 1) != 0 || m(3, 2) != 0 || m(3, 3) != 1)
        fail("a transform that moves must be affine: the last row of its matrix is {} {} {} {} "
             "instead of 0 0 0 1",
             m(3, 0), m(3, 1), m(3, 2), m(3, 3));
    Matrix3x3<double> linear = { m(0, 0), m(0, 1), m(0, 2), m(1, 0), m(1, 1),
                                 m(1, 2), m(2, 0), m(2, 1), m(2, 2) };
    auto r = polar_rotation(linear);
    if (!r)
        fail("a transform is singular: it squeezes space into a plane, a line or a point");
    if (determinant(*r, cofactors(*r)) < 0) // the stretch takes the mirror
        for (double &v : *r)
            v = -v;
    TransformParts out;
    out.translation = { m(0, 3), m(1, 3), m(2, 3) };
    out.rotation = Quaternion<double>::from_matrix(*r);
    out.stretch = product(transpose(out.rotation.to_matrix()), linear);
    for (auto [i, j] : { std::pair{ 1, 3 }, { 2, 6 }, { 5, 7 } })
        out.stretch[size_t(i)] = out.stretch[size_t(j)] =
            0.5 * (out.stretch[size_t(i)] + out.stretch[size_t(j)]);
    return out;
}

AnimatedTransform::AnimatedTransform(const AnimationData &keys) : m_keys(keys) {
    size_t n = keys.times.size();
    if (n == 0 || keys.transforms.size() != n)
        fail(
            "an animation has {} times and {} transforms; give each key both, and at least one key",
            n, keys.transforms.size());
    std::vector<double> table;
    for (size_t i = 0; i < n; ++i) {
        if (!std::isfinite(keys.times[i]) || (i > 0 && keys.times[i] <= keys.times[i - 1]))
            fail("an animation's times must increase; the time of key {} is {}", i + 1,
                 keys.times[i]);
        const TransformParts &p = m_parts.emplace_back(decompose(keys.transforms[i]));
        if ((p.stretch[0] < 0) != (m_parts[0].stretch[0] < 0))
            fail("an animation's keys 1 and {} differ in handedness: in between, space would "
                 "collapse; mirror all keys or none",
                 i + 1);
        m_is_static &= keys.transforms[i] == keys.transforms[0];

        // Translation, rotation, the stretch's upper triangle, time, padding
        const auto &[t, q, s] = p;
        table.insert(table.end(), { t[0], t[1], t[2], q.x, q.y, q.z, q.w, s[0], s[1], s[2], s[4],
                                    s[5], s[8], keys.times[i], 0, 0 });
    }
    if (m_is_static)
        m_static = Transform(keys.transforms[0]);
    else
        m_table = float_array(table);
}

TransformData AnimatedTransform::at(double time) const {
    const std::vector<double> &times = m_keys.times;
    size_t next = size_t(std::upper_bound(times.begin(), times.end(), time) - times.begin());
    if (next == 0 || next == times.size() || m_is_static)
        return m_keys.transforms[next == 0 ? 0 : next - 1];
    const TransformParts &a = m_parts[next - 1], &b = m_parts[next];
    double t = (time - times[next - 1]) / (times[next] - times[next - 1]);
    TransformParts p;
    for (size_t i = 0; i < 3; ++i)
        p.translation[i] = mix(a.translation[i], b.translation[i], t);
    for (size_t i = 0; i < 9; ++i)
        p.stretch[i] = mix(a.stretch[i], b.stretch[i], t);
    p.rotation = slerp(a.rotation, b.rotation, t);
    return p.compose();
}

Transform AnimatedTransform::at(const Float &time, const Mask &active) const {
    if (m_is_static)
        return m_static;
    // The key before: the number of inner keys that have passed
    size_t inner = m_keys.times.size() - 2;
    UInt32 key = inner == 0 ? UInt32(0u)
                            : count_leading(
                                  inner,
                                  [&](const UInt32 &i, const Mask &m) {
                                      UInt32 at = (i + 1u) * KeyNumbers + 13u;
                                      return fetch(m_table, at, m) <= time;
                                  },
                                  active);
    auto numbers = [&](const UInt32 &index) {
        std::vector<Value> v = jit::gather_packet(m_table, index, KeyNumbers, active);
        return std::vector<Float>(v.begin(), v.end());
    };
    std::vector<Float> a = numbers(key), b = numbers(key + 1u), c;
    Float t = clamp((time - a[13]) / (b[13] - a[13]), 0, 1);
    for (size_t i = 0; i < 13; ++i)
        c.push_back(mix(a[i], b[i], t));
    Quaternion<Float> q = slerp(Quaternion<Float>{ a[3], a[4], a[5], a[6] },
                                Quaternion<Float>{ b[3], b[4], b[5], b[6] }, t);
    Matrix3x3<Float> r = q.to_matrix(),
                     s = { c[7], c[8], c[9], c[8], c[10], c[11], c[9], c[11], c[12] };

    // The inverse is S^-1 R^T T^-1; a symmetric matrix's cofactors are symmetric, too
    Matrix3x3<Float> s_inverse = cofactors(s);
    Float scale = rcp(determinant(s, s_inverse));
    for (Float &v : s_inverse)
        v = v * scale;
    Matrix3x3<Float> inverse = product(s_inverse, transpose(r));
    std::array<Float, 3> back;
    for (size_t i = 0; i < 3; ++i)
        back[i] = -(inverse[3 * i] * c[0] + inverse[3 * i + 1] * c[1] + inverse[3 * i + 2] * c[2]);
    return Transform(affine(product(r, s), { c[0], c[1], c[2] }), affine(inverse, back));
}

} // namespace umbel
