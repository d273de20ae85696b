// core/mueller.cpp: Mueller calculus.
#include "core/mueller.h"

namespace umbel {

Vector3 stokes_basis(const Vector3 &forward) { return Frame(forward).s; }

namespace mueller {

namespace {

Spectrum matrix(const std::array<Spectrum, 16> &m) { return Spectrum::mueller(m); }

// A complex number a channel.
struct Complex {
    Float re, im;
};
Complex operator+(const Complex &a, const Complex &b) { return { a.re + b.re, a.im + b.im }; }
Complex operator-(const Complex &a, const Complex &b) { return { a.re - b.re, a.im - b.im }; }
Complex operator*(const Complex &a, const Complex &b) {
    return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}
Complex operator*(const Complex &a, const Float &b) { return { a.re * b, a.im * b }; }
Float norm2(const Complex &a) { return sqr(a.re) + sqr(a.im); }
Complex operator/(const Complex &a, const Complex &b) {
    Float inv = rcp(norm2(b));
    return Complex{ a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im } * inv;
}
Complex sqrt(const Complex &a) { // principal value
    // The smaller part follows from the larger one: nothing cancels
    Float large = safe_sqrt(0.5 * (umbel::sqrt(norm2(a)) + abs(a.re)));
    Float small = 0.5 * abs(a.im) / select(large == 0, Float(1), large);
    Mask right = a.re >= 0;
    return { select(right, large, small), mulsign(select(right, small, large), a.im) };
}

struct Reflection { // of one channel: powers of both components and the phase between them
    Float r_s, r_p, cos_delta, sin_delta;
};

Reflection reflect_channel(const Float &cos_theta_i, const Float &eta, const Float &k) {
    // From below, the interface of a dielectric has the inverse index
    Mask outside = cos_theta_i >= 0;
    Complex e{ select(outside, eta, rcp(eta)), select(outside, k, Float(0)) };
    Float cos_i = abs(cos_theta_i), sin2 = 1 - sqr(cos_i);
    Complex e2 = e * e, one{ Float(1), Float(0) };
    Complex cos_t = sqrt(one - Complex{ sin2, Float(0) } / e2);
    // With this branch light in an absorbing medium decays
    Complex a_s =
        (Complex{ cos_i, Float(0) } - e * cos_t) / (Complex{ cos_i, Float(0) } + e * cos_t);
    Complex a_p = (e * cos_i - cos_t) / (e * cos_i + cos_t);
    Float r_s = norm2(a_s), r_p = norm2(a_p);
    // conj(a_s) a_p has the phase difference as its argument, for waves whose phase grows with time, as retarders have it.
    // Amplitudes with eta - i k, which belong to that, are the conjugates of those with eta + i k [Clarke 2010]
    Complex cross{ a_s.re * a_p.re + a_s.im * a_p.im, a_s.re * a_p.im - a_s.im * a_p.re };
    Float inv = rsqrt(norm2(cross));
    Mask dark = norm2(cross) == 0;
    return { r_s, r_p, select(dark, Float(1), cross.re * inv),
             select(dark, Float(0), cross.im * inv) };
}

// Of the doubled angle.
Spectrum rotation(const Float &cosine, const Float &sine) {
    Spectrum c(cosine), s(sine), i(1), o(0);
    return matrix({ i, o, o, o, o, c, s, o, o, -s, c, o, o, o, o, i });
}

} // namespace

Spectrum linear_polarizer(const Spectrum &value) {
    Spectrum a = value * 0.5, o(0);
    return matrix({ a, a, o, o, a, a, o, o, o, o, o, o, o, o, o, o });
}

Spectrum linear_retarder(const Float &phase) {
    Spectrum c(cos(phase)), s(sin(phase)), i(1), o(0);
    return matrix({ i, o, o, o, o, i, o, o, o, o, c, s, o, o, -s, c });
}

Spectrum rotator(const Float &theta) { return rotation(cos(2 * theta), sin(2 * theta)); }

Spectrum rotated_element(const Float &theta, const Spectrum &m) {
    return rotator(-theta) * (m * rotator(theta));
}

Spectrum specular_reflection(const Float &cos_theta_i, const Spectrum &eta, const Spectrum &k) {
    Spectrum a, b, c, s;
    for (size_t i = 0; i < eta.c.size(); ++i) {
        Reflection r = reflect_channel(cos_theta_i, eta.c[i], k.c[i]);
        Float amplitude = umbel::sqrt(r.r_s * r.r_p);
        a.c.push_back(0.5 * (r.r_s + r.r_p));
        b.c.push_back(0.5 * (r.r_s - r.r_p));
        c.c.push_back(amplitude * r.cos_delta);
        s.c.push_back(amplitude * r.sin_delta);
    }
    Spectrum o(0);
    return matrix({ a, b, o, o, b, a, o, o, o, o, c, s, o, o, -s, c });
}

Spectrum specular_transmission(const Float &cos_theta_i, const Float &eta) {
    Mask outside = cos_theta_i >= 0;
    Float eta_it = select(outside, eta, rcp(eta)), cos_i = abs(cos_theta_i);
    Float cos_t_2 = 1 - (1 - sqr(cos_i)) / sqr(eta_it), cos_t = safe_sqrt(cos_t_2);
    Float t_s = 2 * cos_i / (cos_i + eta_it * cos_t), t_p = 2 * cos_i / (eta_it * cos_i + cos_t);
    // Amplitudes squared become powers by the ratio of indices and of the beams' cross sections
    Float factor = select(cos_t_2 > 0, eta_it * cos_t / cos_i, Float(0));
    factor = select(cos_i > 1e-8, factor, Float(0));
    Spectrum a(0.5 * factor * (sqr(t_s) + sqr(t_p))), b(0.5 * factor * (sqr(t_s) - sqr(t_p))),
        c(factor * t_s * t_p), o(0);
    return matrix({ a, b, o, o, b, a, o, o, o, o, c, o, o, o, o, c });
}

Spectrum rotate_stokes_basis(const Vector3 &forward, const Vector3 &current,
                             const Vector3 &target) {
    Vector3 b = normalize(current), t = normalize(target);
    // An arc cosine would lose half of the digits of small angles
    Vector3 n = cross(b, t);
    Float c = dot(b, t), s = mulsign(safe_sqrt(squared_norm(n)), dot(forward, n));
    return rotation(sqr(c) - sqr(s), 2 * c * s);
}

Spectrum rotate_basis(const Spectrum &m, const Vector3 &in_forward, const Vector3 &in_current,
                      const Vector3 &in_target, const Vector3 &out_forward,
                      const Vector3 &out_current, const Vector3 &out_target) {
    Spectrum out = rotate_stokes_basis(out_forward, out_current, out_target);
    // Light arrives in the target's frame: back to the element's, through it, and on to the target's
    Spectrum in = rotate_stokes_basis(in_forward, in_target, in_current);
    return out * (m * in);
}

} // namespace mueller
} // namespace umbel
