// core/mueller.cpp: Mueller calculus.
#include "core/mueller.h"
#include "core/fresnel.h"

namespace umbel {

Vector3 stokes_basis(const Vector3 &forward) { return Frame(forward).s; }

namespace mueller {

namespace {

Spectrum matrix(const std::array<Spectrum, 16> &m) { return Spectrum::mueller(m); }

// Of the doubled angle.
Spectrum rotation(const Spectrum &c, const Spectrum &s) {
    Spectrum i(1), o(0);
    return matrix({ i, o, o, o, o, c, s, o, o, -s, c, o, o, o, o, i });
}
Spectrum rotation(const Float &cosine, const Float &sine) {
    return rotation(Spectrum(cosine), Spectrum(sine));
}

Spectrum cosine(const Spectrum &a) {
    return map(a, [](const Float &v) { return cos(v); });
}
Spectrum sine(const Spectrum &a) {
    return map(a, [](const Float &v) { return sin(v); });
}

} // namespace

Spectrum depolarizer(const Spectrum &value) {
    Spectrum o(0);
    return matrix({ value, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o });
}

Spectrum absorber(const Spectrum &a) {
    Spectrum o(0);
    return matrix({ a, o, o, o, o, a, o, o, o, o, a, o, o, o, o, a });
}

Spectrum diattenuator(const Spectrum &x, const Spectrum &y) {
    Spectrum a = (x + y) * 0.5, b = (x - y) * 0.5, o(0);
    Spectrum c = map(x, y, [](const Float &x, const Float &y) { return sqrt(x * y); });
    return matrix({ a, b, o, o, b, a, o, o, o, o, c, o, o, o, o, c });
}

Spectrum circular_polarizer(bool right) {
    Spectrum a(0.5), b(right ? 0.5 : -0.5), o(0);
    return matrix({ a, o, o, b, o, o, o, o, o, o, o, o, b, o, o, a });
}

Spectrum linear_polarizer(const Spectrum &value) {
    Spectrum a = value * 0.5, o(0);
    return matrix({ a, a, o, o, a, a, o, o, o, o, o, o, o, o, o, o });
}

Spectrum linear_retarder(const Spectrum &phase) {
    Spectrum c = cosine(phase), s = sine(phase), i(1), o(0);
    return matrix({ i, o, o, o, o, i, o, o, o, o, c, s, o, o, -s, c });
}

Spectrum rotator(const Spectrum &theta) { return rotation(cosine(2 * theta), sine(2 * theta)); }

Spectrum rotated_element(const Spectrum &theta, const Spectrum &m) {
    return rotator(-theta) * (m * rotator(theta));
}

Spectrum specular_reflection(const Float &cos_theta_i, const Spectrum &eta, const Spectrum &k) {
    Spectrum a, b, c, s;
    for (size_t i = 0; i < eta.c.size(); ++i) {
        auto [a_s, a_p, cos_theta_t, it, ti] = fresnel_polarized(cos_theta_i, eta.c[i], k.c[i]);
        Float r_s = sqr(a_s.re) + sqr(a_s.im), r_p = sqr(a_p.re) + sqr(a_p.im);
        a.c.push_back(0.5 * (r_s + r_p));
        b.c.push_back(0.5 * (r_s - r_p));
        // a_s conj(a_p) has the phase difference as its argument, and the product of amplitudes as its length
        c.c.push_back(a_s.re * a_p.re + a_s.im * a_p.im);
        s.c.push_back(a_s.im * a_p.re - a_s.re * a_p.im);
    }
    Spectrum o(0);
    return matrix({ a, b, o, o, b, a, o, o, o, o, c, s, o, o, -s, c });
}

Spectrum specular_transmission(const Float &cos_theta_i, const Spectrum &eta) {
    Mask outside = cos_theta_i >= 0;
    Float cos_i = abs(cos_theta_i);
    Spectrum a, b, c, o(0);
    for (const Float &e : eta.c) {
        Float eta_it = select(outside, e, rcp(e));
        Float cos_t_2 = 1 - (1 - sqr(cos_i)) / sqr(eta_it), cos_t = safe_sqrt(cos_t_2);
        // Amplitudes over 2 cos_i; nothing passes where both cosines are zero
        Mask passes = (cos_i > 1e-8) & (cos_t_2 > 0);
        Float t_s = select(passes, rcp(cos_i + eta_it * cos_t), Float(0)),
              t_p = select(passes, rcp(eta_it * cos_i + cos_t), Float(0));
        // Their squares become powers by the ratio of indices and of the beams' cross sections
        Float factor = 4 * eta_it * cos_t * cos_i;
        a.c.push_back(0.5 * factor * (sqr(t_s) + sqr(t_p)));
        b.c.push_back(0.5 * factor * (sqr(t_s) - sqr(t_p)));
        c.c.push_back(factor * t_s * t_p);
    }
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
