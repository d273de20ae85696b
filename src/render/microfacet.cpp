// render/microfacet.cpp: Beckmann, GGX and Phong microsurfaces.
#include "render/microfacet.h"
#include "core/warp.h"
#include <cmath>

namespace umbel {

Microfacet::Type microfacet_type(const std::string &name) {
    return name == "ggx"                     ? Microfacet::Type::Ggx
           : name == "phong" || name == "as" ? Microfacet::Type::Phong
                                             : Microfacet::Type::Beckmann;
}

void declare_distribution(Params &p, std::string &name) {
    p.choice("distribution", name, "beckmann", { "beckmann", "ggx", "phong", "as" })
        .doc("Shape of the distribution of microscopic normals; `phong`, also called `as`, is "
             "Ashikhmin and Shirley's, of old scenes");
}

namespace {

// Two more than Phong's exponent.
Float phong_power(const Float &alpha) { return max(2 / sqr(alpha), 2); }

// log(1 + x) without loss for small x [Kahan].
Float log_one_plus(const Float &x) {
    Float y = 1 + x, rounded = y - 1;
    return select(rounded == 0, x, log(y) * (x / select(rounded == 0, Float(1), rounded)));
}

} // namespace

Microfacet::Microfacet(Type type, const Float &alpha_u, const Float &alpha_v, bool visible)
    // Perfectly smooth surfaces would divide by zero.
    : m_type(type), m_alpha_u(max(alpha_u, 1e-4)), m_alpha_v(max(alpha_v, 1e-4)),
      m_visible(visible && type != Type::Phong) {}

// With n(phi) = n_u cos(phi)^2 + n_v sin(phi)^2, D = sqrt((n_u + 2) (n_v + 2)) / (2 pi) cos(theta)^n.
Float Microfacet::eval_phong(const Vector3 &m) const {
    Float u = phong_power(m_alpha_u), v = phong_power(m_alpha_v), sin2 = sqr(m.x) + sqr(m.y);
    Float n =
        select(sin2 > 0, (u * sqr(m.x) + v * sqr(m.y)) / select(sin2 > 0, sin2, Float(1)), u) - 2;
    // The cosine's own rounding would count n times
    Float power = exp(-0.5 * n * log_one_plus(sin2 / sqr(m.z)));
    return sqrt(u * v) * (0.5 * InvPi) * power;
}

Vector3 Microfacet::sample_phong(const Vector2 &u) const {
    // Azimuths are those of a circle that is stretched; then the polar angle's part of it is inverted
    Float a = phong_power(m_alpha_u), b = phong_power(m_alpha_v), phi = (2 * Pi) * u.y;
    Float x = cos(phi) * rsqrt(a), y = sin(phi) * rsqrt(b), scale = rsqrt(sqr(x) + sqr(y));
    x = x * scale;
    y = y * scale;
    Float t = -2 * log(1 - u.x) / (a * sqr(x) + b * sqr(y)); // the cosine is exp(-t / 2)
    Float sin2 = select(t < 0.01, t * (1 - t * (0.5 - t * (1.0 / 6))), 1 - exp(-t));
    Float sine = sqrt(sin2);
    return { x * sine, y * sine, exp(-0.5 * t) };
}

Float Microfacet::eval(const Vector3 &m) const {
    if (m_type == Type::Phong) {
        Float d = eval_phong(m);
        return select((m.z > 0) & (d * m.z > 1e-20), d, Float(0));
    }
    Float area = m_alpha_u * m_alpha_v, cos2 = sqr(m.z);
    Float slope2 = sqr(m.x / m_alpha_u) + sqr(m.y / m_alpha_v);
    Float d = m_type == Type::Beckmann ? exp(-slope2 / cos2) / (Pi * area * sqr(cos2))
                                       : rcp(Pi * area * sqr(slope2 + cos2));
    // Below the horizon, and where it would underflow
    return select((m.z > 0) & (d * m.z > 1e-20), d, Float(0));
}

Float Microfacet::smith_g1(const Vector3 &v, const Vector3 &m) const {
    Float slope2 = sqr(m_alpha_u * v.x) + sqr(m_alpha_v * v.y);
    Float tan2 = slope2 / sqr(v.z), g;
    if (m_type == Type::Ggx) {
        g = 2 / (1 + sqrt(1 + tan2));
    } else {
        Float a = rsqrt(tan2), a2 = sqr(a);
        if (m_type == Type::Phong) // Beckmann's, exactly
            g = 2 / (1 + erf(a) + exp(-a2) / (a * std::sqrt(Pi)));
        else // rational fit [Walter 2007, eq. 27], relative error below 0.35 %
            g = select(a >= 1.6, Float(1), (3.535 * a + 2.181 * a2) / (1 + 2.276 * a + 2.577 * a2));
    }
    g = select(slope2 == 0, Float(1), g);
    return select(dot(v, m) * v.z > 0, g, Float(0));
}

Float Microfacet::pdf(const Vector3 &wi, const Vector3 &m) const {
    Float d = eval(m);
    if (!m_visible)
        return d * m.z;
    Float p = d * smith_g1(wi, m) * abs_dot(wi, m) / wi.z;
    return select(wi.z > 0, p, Float(0));
}

std::pair<Vector3, Float> Microfacet::sample(const Vector3 &wi, const Vector2 &u) const {
    if (m_type == Type::Phong) {
        Vector3 m = sample_phong(u);
        return { m, pdf(wi, m) };
    }
    if (!m_visible) {
        // The slope's distribution is that of a radius, stretched along both axes
        Float phi = (2 * Pi) * u.y;
        Float r2 = m_type == Type::Beckmann ? -log(1 - u.x) : u.x / (1 - u.x), r = sqrt(r2);
        Vector3 m = normalize({ m_alpha_u * r * cos(phi), m_alpha_v * r * sin(phi), Float(1) });
        return { m, pdf(wi, m) };
    }
    // Stretch so that roughness is 1, sample slopes there, and go back
    Vector3 stretched = normalize({ m_alpha_u * wi.x, m_alpha_v * wi.y, wi.z });
    Float len2 = sqr(stretched.x) + sqr(stretched.y), inv = rsqrt(len2);
    Mask centre = len2 == 0;
    Float cos_phi = select(centre, Float(1), stretched.x * inv),
          sin_phi = select(centre, Float(0), stretched.y * inv);
    Vector2 slope = sample_visible_slopes(stretched.z, u);
    Float sx = (cos_phi * slope.x - sin_phi * slope.y) * m_alpha_u,
          sy = (sin_phi * slope.x + cos_phi * slope.y) * m_alpha_v;
    Vector3 m = normalize({ -sx, -sy, Float(1) });
    return { m, pdf(wi, m) };
}

Vector2 Microfacet::sample_visible_slopes(const Float &cos_theta_i, const Vector2 &u) const {
    if (m_type == Type::Ggx) { // the projected hemisphere [Heitz 2018]
        Vector2 p = square_to_uniform_disk_concentric(u);
        Float s = 0.5 * (1 + cos_theta_i);
        p.y = lerp(safe_sqrt(1 - sqr(p.x)), p.y, s);
        Float x = p.x, y = p.y, z = safe_sqrt(1 - sqr(p.x) - sqr(p.y));
        Float sin_theta_i = safe_sqrt(1 - sqr(cos_theta_i));
        Float norm = rcp(fma(sin_theta_i, y, cos_theta_i * z));
        return { fma(cos_theta_i, y, -(sin_theta_i * z)) * norm, x * norm };
    }
    // Beckmann: invert the distribution of slopes by Newton's method, from a good guess [Jakob 2014]
    // At normal incidence within rounding of the limit, without its divisions by 0
    Float tan_theta = max(safe_sqrt(fma(-cos_theta_i, cos_theta_i, 1)) / cos_theta_i, 1e-6);
    Float cot_theta = rcp(tan_theta), max_x = erf(cot_theta);
    Vector2 v{ clamp(u.x, 1e-6, 1 - 1e-6), clamp(u.y, 1e-6, 1 - 1e-6) };
    constexpr double SqrtPiInv = 0.5641895835477563;
    Float x = max_x - (max_x + 1) * erf(sqrt(-log(v.x)));
    Float target = v.x * (1 + max_x + SqrtPiInv * tan_theta * exp(-sqr(cot_theta)));
    for (int i = 0; i < 3; ++i) {
        Float slope = erfinv(x);
        Float value = 1 + x + SqrtPiInv * tan_theta * exp(-sqr(slope)) - target;
        Float derivative = 1 - slope * tan_theta;
        x = clamp(x - value / derivative, -0.9999999, 0.9999999);
    }
    return { erfinv(x), erfinv(2 * v.y - 1) };
}

} // namespace umbel
