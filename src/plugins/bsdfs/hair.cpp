// hair: a fiber of coloured glass with tilted scales [Marschner 2003; d'Eon 2011b; Chiang 2016]. The tangent frame's y axis
// runs along the fiber.
//
//     f(wi, wo) |cos(theta_o)| = sum over p of  A_p(wi) M_p(wi, wo) N_p(wi, wo)
//
// Light leaves after p = 0, 1 or 2 crossings of the fiber, or after more, which are taken together. A_p: what Fresnel's equations and
// absorption leave; M: the blurred cone of mirror directions along the fiber; N: a blurred angle around it. Angles across the fiber
// are measured from the normal: a surface stands for the whole cross section, and light leaves at another place than where it
// arrived. So at one place only what is seen is bounded by what arrives.
#include "core/fresnel.h"
#include "core/spectra.h"
#include "core/upsampling.h"
#include "core/warp.h"
#include "render/bsdf.h"
#include "render/colour_value.h"
#include "render/dielectric_ior.h"

namespace umbel {

namespace {

constexpr int Most =
    3; // crossings that are told apart, the last of which stands for all further ones

// Absorption in a fiber of radius 1 by pigments of concentration 1 [d'Eon 2011b]: linear sRGB, and for spectral variants
// coefficients of smooth spectra as Mitsuba has them, by powers of the wavelength in nm.
struct Pigment {
    Colour3 rgb, by_wavelength;
};
constexpr Pigment Eumelanin = {
    { 0.419, 0.697, 1.37 }, { 0.00011429464211687446, -0.13819833099842072, 41.7608757019043 }
};
constexpr Pigment Pheomelanin = {
    { 0.187, 0.4, 1.05 }, { 0.0001355799031443894, -0.16048622131347656, 46.89097595214844 }
};

Spectrum absorption(const Pigment &p, const Wavelengths &w) {
    switch (variant().colour) {
    case Colour::Mono: return Spectrum(luminance(p.rgb));
    case Colour::Rgb:
        return Spectrum(std::vector<Float>{ Float(p.rgb[0]), Float(p.rgb[1]), Float(p.rgb[2]) });
    case Colour::Spectral: break;
    }
    return map(w, [&](const Float &l) {
        const Colour3 &c = p.by_wavelength;
        Float x = fma(fma(Float(c[0]), l, c[1]), l, c[2]);
        return fma(0.5 * x, rsqrt(fma(x, x, 1)), 0.5);
    });
}

Float power(const Float &x, int n) {
    Float r(1);
    for (Float square = x; n; n /= 2, square = sqr(square))
        if (n % 2)
            r = r * square;
    return r;
}

// The logistic distribution of scale s, cut off at -pi and pi.
struct TrimmedLogistic {
    Float s;

    Float below(double x) const { return rcp(1 + exp(-x / s)); }
    Float mass() const { return below(Pi) - below(-Pi); }
    Float pdf(const Float &x) const {
        Float e = exp(-abs(x) / s);
        return e / (s * sqr(1 + e) * mass());
    }
    Float sample(const Float &u) const {
        return clamp(-s * log(rcp(fma(u, mass(), below(-Pi))) - 1), -Pi, Pi);
    }
};

} // namespace

class Hair final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='longitudinal_roughness' value='.5'/><float "
                  "name='azimuthal_roughness' value='.6'/><float name='scale_tilt' value='-4'/>"
                  "<float name='int_ior' value='1.4'/><rgb name='sigma_a' value='.1,.4,1.5'/>"
                  "<float name='scale' value='.5'/>");
        p.scalar("longitudinal_roughness", m_beta_m, 0.3, 0, 1)
            .differentiable()
            .doc("Blurs highlights along the fiber");
        p.scalar("azimuthal_roughness", m_beta_n, 0.3, 0, 1)
            .differentiable()
            .doc("Blurs highlights around the fiber");
        p.scalar("scale_tilt", m_tilt, 2)
            .differentiable()
            .doc("Angle of the scales on the fiber in degrees");
        m_ior.declare(p, "amber");
        bool pigments = !p.traversing() || !m_sigma_a;
        if (pigments) {
            p.scalar("eumelanin", m_eumelanin, 1.3, 0)
                .differentiable()
                .doc("Concentration of the pigment of brown and black hair");
            p.scalar("pheomelanin", m_pheomelanin, 0.2, 0)
                .differentiable()
                .doc("Concentration of the pigment of red hair");
        }
        if (!p.traversing() || m_sigma_a) {
            declare_absorption(p);
            p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies `sigma_a`");
        }
        if (!p.loading())
            return;
        const Properties &q = *p.properties();
        if (m_sigma_a && (q.has("eumelanin") || q.has("pheomelanin")))
            fail("{}: give either sigma_a or concentrations of pigments", q.describe());
        if (m_ior.interior == m_ior.exterior)
            fail(
                "{}: int_ior and ext_ior are both {}; a fiber that is to be seen has another index "
                "than what is around it",
                q.describe(), m_ior.interior);
    }
    void configure() override {
        m_components = { BSDFFlags::Glossy | BSDFFlags::Anisotropic | BSDFFlags::NonSymmetric |
                         BSDFFlags::FrontSide | BSDFFlags::BackSide };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!is_wanted(ctx))
            return { Spectrum(0), Float(0) };
        Paths here = paths(si, si.wi, active);
        Float pdf(0);
        for (int p = 0; p <= Most; ++p)
            pdf += here.probability[size_t(p)] * spread(here, wo, p);
        // The adjoint: light that comes the other way
        bool radiance = ctx.mode == BSDFContext::Mode::Radiance;
        Paths there = radiance ? here : paths(si, wo, active);
        Spectrum value(0);
        for (int p = 0; p <= Most; ++p)
            value += there.attenuation[size_t(p)] * spread(there, radiance ? wo : si.wi, p);
        if (!radiance)
            value = value * abs(wo.z / si.wi.z);
        Mask good = active & here.good & there.good & (wo.z != 0);
        if (!radiance)
            good = good & (si.wi.z != 0);
        good = good & reaches(ctx, si.wi, wo);
        return { depolarize(select(good, value, Spectrum(0))), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        if (!is_wanted(ctx))
            return BSDFSample::none();
        Paths in = paths(si, si.wi, active);

        // How often light crosses; what is left of the number that chose is used again
        UInt32 crossings(0u);
        Float left = u1, u = u1 / in.probability[0];
        for (size_t p = 0; p < Most; ++p) {
            Mask further = in.probability[p] < left;
            left = left - in.probability[p];
            crossings = select(further, UInt32(uint32_t(p + 1)), crossings);
            u = select(further, left / in.probability[p + 1], u);
        }
        auto chosen = [&](const auto &of) {
            Float v = of(Most);
            for (int p = 0; p < Most; ++p)
                v = select(crossings == UInt32(uint32_t(p)), of(p), v);
            return v;
        };

        // Along the fiber
        Float v = chosen([&](int p) { return variance(p); });
        Float cos_theta = 1 + v * log(u2.x + (1 - u2.x) * exp(-2 / v));
        Float cos_phi = cos(TwoPi * u2.y);
        Float sin_i = chosen([&](int p) { return tilted(in, p).y; }),
              cos_i = chosen([&](int p) { return tilted(in, p).x; });
        Float sin_o = -cos_theta * sin_i + safe_sqrt(1 - sqr(cos_theta)) * cos_phi * cos_i;
        Float cos_o = safe_sqrt(1 - sqr(sin_o));

        // Around it
        Float around = select(crossings == UInt32(uint32_t(Most)), TwoPi * u,
                              chosen([&](int p) { return turn(in, p); }) + logistic().sample(u));
        Float phi = in.phi + around;
        Vector3 wo = normalize({ cos_o * cos(phi), sin_o, cos_o * sin(phi) });

        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask good = active & (pdf > 0);
        return { wo,
                 select(good, pdf, Float(0)),
                 Float(1), // light crosses the fiber as a whole
                 select(si.wi.z * wo.z > 0, UInt32(uint32_t(BSDFFlags::GlossyReflection)),
                        UInt32(uint32_t(BSDFFlags::GlossyTransmission))),
                 UInt32(0u),
                 select(good, value / select(good, pdf, Float(1)), Spectrum(0)) };
    }

private:
    // Light from one direction, by the number of crossings.
    struct Paths {
        Float sin_theta, cos_theta; // from the plane across the fiber
        Float phi;                  // around it
        Float gamma_i, gamma_t;     // from the normal, before and after refraction
        std::array<Spectrum, Most + 1> attenuation;
        std::array<Float, Most + 1> probability;
        Mask good; // not along the fiber
    };
    Paths paths(const SurfaceInteraction &si, const Vector3 &wi, const Mask &active) const {
        const Float &eta = m_ior.eta;
        Paths r;
        Float across2 = sqr(wi.x) + sqr(wi.z);
        r.good = across2 > 0;
        Float x = select(r.good, wi.x, Float(0)), z = select(r.good, wi.z, Float(1));
        Float inv = rsqrt(select(r.good, across2, Float(1))), h = -x * inv;
        r.sin_theta = wi.y;
        r.cos_theta = safe_sqrt(1 - sqr(wi.y));
        r.phi = atan2(z, x);
        r.gamma_i = atan2(-x, z);
        // Refraction in the projection across the fiber has an index of its own
        Float sin_gamma_t = h * r.cos_theta / safe_sqrt(sqr(eta) - sqr(r.sin_theta));
        r.gamma_t = asin(clamp(sin_gamma_t, -1, 1));
        Float length = 2 * safe_sqrt(1 - sqr(sin_gamma_t)) / safe_sqrt(1 - sqr(r.sin_theta / eta));
        Spectrum passed =
            map(sigma_a(si, active), [&](const Float &s) { return exp(-s * length); });
        Float f = fresnel(r.cos_theta * abs(z) * inv, eta).r;
        auto &a = r.attenuation;
        a[0] = Spectrum(f);
        a[1] = passed * sqr(1 - f);
        for (size_t p = 2; p < Most; ++p)
            a[p] = a[p - 1] * passed * f;
        a[Most] = a[Most - 1] * map(passed, [&](const Float &t) { return t * f / (1 - t * f); });

        Float sum(0);
        for (size_t p = 0; p <= Most; ++p)
            sum += r.probability[p] = luminance(a[p], si.wavelengths);
        Float scale = select(sum > 0, rcp(sum), Float(0));
        for (Float &v : r.probability)
            v = v * scale;
        return r;
    }
    // M N: the density with which light that crosses p times leaves along wo.
    Float spread(const Paths &in, const Vector3 &wo, int p) const {
        Vector2 along = tilted(in, p);
        Vector3 wi(along.x * cos(in.phi), along.y, along.x * sin(in.phi));
        Float m = square_to_rough_fiber_pdf(wo, wi, Vector3(0, 1, 0), rcp(variance(p)));
        if (p == Most) // all directions around the fiber alike
            return m;
        Float off = atan2(wo.z, wo.x) - in.phi - turn(in, p);
        off = off - TwoPi * round(off * InvTwoPi);
        return m * TwoPi * logistic().pdf(off);
    }
    // Cosine and sine of the angle along the fiber, as if scales were not tilted.
    Vector2 tilted(const Paths &in, int p) const {
        if (p == Most)
            return { in.cos_theta, in.sin_theta };
        Float a = m_tilt * ((p == 0 ? -2 : p == 1 ? 1 : 4) * Pi / 180), c = cos(a), s = sin(a);
        return { abs(in.cos_theta * c - in.sin_theta * s), in.sin_theta * c + in.cos_theta * s };
    }
    // By which light turns around the fiber on the way.
    static Float turn(const Paths &in, int p) {
        return 2 * p * in.gamma_t - 2 * in.gamma_i + p * Pi;
    }
    // Roughness to the variance along, and to the scale around the fiber: fits that look even [Chiang 2016].
    Float variance(int p) const {
        Float b = max(m_beta_m, MinRoughness);
        Float v = sqr(0.726 * b + 0.812 * sqr(b) + 3.7 * power(b, 20));
        return v * (p == 0 ? 1 : p == 1 ? 0.25 : 4);
    }
    TrimmedLogistic logistic() const {
        Float b = max(m_beta_n, MinRoughness);
        return { std::sqrt(Pi / 8) * (0.265 * b + 1.194 * sqr(b) + 5.372 * power(b, 22)) };
    }
    Spectrum sigma_a(const SurfaceInteraction &si, const Mask &active) const {
        if (m_sigma_a)
            return m_sigma_a->eval(si, active) * m_scale;
        return absorption(Eumelanin, si.wavelengths) * m_eumelanin +
               absorption(Pheomelanin, si.wavelengths) * m_pheomelanin;
    }
    // A colour that could be a reflectance has the spectrum of one, as in Mitsuba; others have no bound.
    void declare_absorption(Params &p) {
        const Property *given = p.loading() ? p.properties()->find("sigma_a") : nullptr;
        auto *colour = given ? std::get_if<SpectrumData>(&given->value) : nullptr;
        bool bounded = colour && colour->kind == SpectrumData::Kind::Rgb &&
                       std::max({ colour->rgb[0], colour->rgb[1], colour->rgb[2] }) <= 1;
        Param &param = bounded ? p.texture("sigma_a", m_sigma_a, 0)
                               : p.unbounded_texture("sigma_a", m_sigma_a);
        param.differentiable().doc(
            "In place of pigments: absorption in a fiber of radius 1, per unit of length");
    }
    static bool is_wanted(const BSDFContext &ctx) { return ctx.is_enabled(BSDFFlags::Glossy); }
    // Of a caller that asks for one side only.
    static Mask reaches(const BSDFContext &ctx, const Vector3 &wi, const Vector3 &wo) {
        bool reflects = ctx.type_mask & BSDFFlags::GlossyReflection,
             transmits = ctx.type_mask & BSDFFlags::GlossyTransmission;
        Mask same = wi.z * wo.z > 0;
        return reflects && transmits ? Mask(true) : reflects ? same : !same;
    }

    static constexpr double MinRoughness = 0.01; // below, densities leave single precision
    Float m_beta_m, m_beta_n, m_tilt, m_eumelanin, m_pheomelanin, m_scale;
    DielectricIor m_ior;
    Ref<Texture> m_sigma_a; // null: pigments
};

UMBEL_PLUGIN(BSDF, Hair, "hair")
} // namespace umbel
