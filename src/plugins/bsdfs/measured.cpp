// measured: a material as it was measured, from a .bsdf file of RGL's database [Dupuy 2018].
//
//     f(wi, wo) cos(theta_o) = S(s, wi) D(u_m) / (4 sigma(u_i))        without the quotient unless the file says `jacobian`
//
// u_m and u_i are the half vector and wi as points of the unit square, (sqrt(2 theta / pi), phi / (2 pi) + 1/2); s is u_m after the
// inverse of sampling visible normals, so that the table S has its points where light goes. One-sided.
//
// Files with spectra work in all variants: those without wavelengths show their colour under D65. Files with RGB
// values cannot be used in spectral variants.
#include "core/parametric_table.h"
#include "core/spectra.h"
#include "core/tensor_file.h"
#include "render/bsdf.h"
#include <algorithm>

namespace umbel {

namespace {

Vector2 to_square(const Float &theta, const Float &phi) {
    return { sqrt(theta * (2 / Pi)), (phi + Pi) * InvTwoPi };
}
// From the z axis, accurate near it.
Float elevation(const Vector3 &d) { return 2 * asin(min(0.5 * norm(d - Vector3(0, 0, 1)), 1)); }
Float azimuth(const Vector3 &d) { return atan2(d.y, d.x); }

// Linear sRGB under D65 of spectra that are given at some wavelengths, and constant beyond: what each value counts for.
std::vector<Colour3> rgb_weights(const std::vector<double> &wavelengths) {
    std::vector<Colour3> out;
    for (size_t i = 0; i < wavelengths.size(); ++i)
        out.push_back(reflectance_to_srgb([&](double w) {
            auto above = std::upper_bound(wavelengths.begin(), wavelengths.end(), w);
            if (above == wavelengths.begin())
                return i == 0 ? 1.0 : 0.0;
            if (above == wavelengths.end())
                return i + 1 == wavelengths.size() ? 1.0 : 0.0;
            double t = (w - above[-1]) / (above[0] - above[-1]);
            size_t k = size_t(above - wavelengths.begin());
            return k == i ? t : k == i + 1 ? 1 - t : 0.0;
        }));
    return out;
}

} // namespace

class Measured final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/measured.bsdf'/>");
        p.example("<string name='filename' value='$files/measured_anisotropic.bsdf'/>");
        p.file("filename", m_path).doc("A .bsdf file");
    }
    void configure() override {
        // Measurements are not symmetric
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide |
                         BSDFFlags::NonSymmetric };
        if (m_values.empty())
            load(TensorFile(m_path));
        if (!m_is_isotropic)
            m_components[0] |= BSDFFlags::Anisotropic;
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        auto [value, pdf] = scattered(si, si.wi, wo, good);
        if (ctx.mode == BSDFContext::Mode::Importance) // the adjoint
            value = scattered(si, wo, si.wi, good).first * (wo.z / si.wi.z);
        return { depolarize(select(good, value, Spectrum(0))), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u2, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return BSDFSample::none();
        Mask good = active & (si.wi.z > 0);
        Turn turn = turned(si.wi);
        Incident in = incident(turn(si.wi));
        ParametricGrid2D::Sample lit = m_luminance.sample({ u2.y, u2.x }, in.parameters, good),
                                 facet = m_visible.sample(lit.p, in.parameters, good);
        Float phi = (2 * facet.p.y - 1) * Pi + (m_is_isotropic ? in.phi : Float(0)),
              theta = sqr(facet.p.x) * (Pi / 2), r = sin(theta);
        Vector3 m(r * cos(phi), r * sin(phi), cos(theta));
        Float wi_m = dot(in.wi, m), pdf = lit.pdf * facet.pdf / jacobian(facet.p, r, wi_m);
        Vector3 wo = turn(fma(m, 2 * wi_m, -in.wi)); // turning twice changes nothing
        good = good & (wo.z > 0) & (wi_m > 0) & (pdf > 0);
        Spectrum value = ctx.mode == BSDFContext::Mode::Radiance
                             ? reflected(si, in, facet.p, lit.p, good)
                             : unpolarized(eval_pdf(ctx, si, wo, good).first);
        return {
            wo,         select(good, pdf, Float(0)),
            Float(1),   UInt32(uint32_t(BSDFFlags::GlossyReflection)),
            UInt32(0u), depolarize(select(good, value / select(good, pdf, Float(1)), Spectrum(0)))
        };
    }

private:
    // A surface that looks the same when turned or mirrored was measured on one side only, that of negative x or y.
    struct Turn {
        Float x, y;
        Vector3 operator()(const Vector3 &v) const { return { v.x * x, v.y * y, v.z }; }
    };
    Turn turned(const Vector3 &wi) const {
        if (m_symmetry < 2)
            return { Float(1), Float(1) };
        auto away = [](const Float &v) { return select(v < 0, Float(1), Float(-1)); };
        return { away(m_symmetry == 4 ? wi.x : wi.y), away(wi.y) };
    }
    struct Incident {
        Vector3 wi;
        Float phi;
        std::array<Float, 2> parameters; // phi, theta
        Vector2 u;
    };
    static Incident incident(const Vector3 &wi) {
        Float phi = azimuth(wi), theta = elevation(wi);
        return { wi, phi, { phi, theta }, to_square(theta, phi) };
    }
    // Of the half vector in the square against solid angles of wo.
    static Float jacobian(const Vector2 &u_m, const Float &sin_theta_m, const Float &wi_m) {
        return max(2 * Pi * Pi * u_m.x * sin_theta_m, 1e-6) * 4 * wi_m;
    }
    // f cos, and the density of sampling it.
    std::pair<Spectrum, Float> scattered(const SurfaceInteraction &si, const Vector3 &from,
                                         const Vector3 &to, const Mask &active) const {
        Turn turn = turned(from);
        Incident in = incident(turn(from));
        Vector3 wo = turn(to), m = normalize(in.wi + wo);
        Float phi = azimuth(m);
        Vector2 u_m = to_square(elevation(m), m_is_isotropic ? phi - in.phi : phi);
        u_m.y = u_m.y - floor(u_m.y);
        ParametricGrid2D::Sample s = m_visible.invert(u_m, in.parameters, active);
        Float pdf = s.pdf * m_luminance.eval(s.p, in.parameters, active) /
                    jacobian(u_m, sqrt(Frame::sin_theta_2(m)), dot(in.wi, m));
        return { reflected(si, in, u_m, s.p, active), pdf };
    }
    Spectrum reflected(const SurfaceInteraction &si, const Incident &in, const Vector2 &u_m,
                       const Vector2 &s, const Mask &active) const {
        Spectrum value;
        for (size_t i = 0; i < size_t(variant().channels()); ++i)
            if (variant().colour == Colour::Spectral) {
                std::array all{ in.parameters[0], in.parameters[1], si.wavelengths[i] };
                value.c.push_back(m_values[0].eval(s, all, active));
            } else
                value.c.push_back(m_values[i].eval(s, in.parameters, active));
        if (!m_has_jacobian)
            return value;
        Float sigma = m_sigma.eval(in.u, {}, active);
        return value * select(sigma > 0, m_normals.eval(u_m, {}, active) / (4 * sigma), Float(0));
    }

    void load(const TensorFile &file) {
        std::vector<double> phi = file.axis("phi_i"), theta = file.axis("theta_i");
        auto grid = [&](const char *name, std::vector<std::vector<double>> axes, bool is_density) {
            std::vector<size_t> shape;
            for (const auto &a : axes)
                shape.push_back(a.size());
            shape.insert(shape.end(), 2, 0);
            TensorFile::Tensor t = file.get(name, shape);
            size_t width = t.shape[shape.size() - 1], height = t.shape[shape.size() - 2];
            for (size_t i = 0; i < t.size(); ++i)
                if (!std::isfinite(t.values[i]))
                    file.complain(name, fmt::format("number {} is {}", i, t.values[i]));
            try {
                return ParametricGrid2D(t.values, width, height, std::move(axes), is_density);
            } catch (const UserError &e) {
                file.complain(name, e.what());
            }
        };
        m_normals = grid("ndf", {}, false);
        m_sigma = grid("sigma", {}, false);
        m_visible = grid("vndf", { phi, theta }, true);
        m_luminance = grid("luminance", { phi, theta }, true);
        m_has_jacobian = file.get("jacobian", { 1 }).values[0] != 0;
        m_is_isotropic = phi.size() <= 2;
        m_symmetry = m_is_isotropic ? 0 : int(std::lround(TwoPi / (phi.back() - phi.front())));

        bool spectral = variant().colour == Colour::Spectral;
        if (spectral && !file.has("spectra") && file.has("rgb"))
            complain("{} has RGB values only, and spectral variants need spectra; take the file "
                     "with spectra of this material, or an rgb variant",
                     m_path.string());
        if (spectral)
            m_values = { grid("spectra", { phi, theta, file.axis("wavelengths") }, false) };
        else
            load_colours(file, phi, theta);
    }
    // A table for each channel of the variant.
    void load_colours(const TensorFile &file, const std::vector<double> &phi,
                      const std::vector<double> &theta) {
        bool is_rgb = file.has("rgb");
        std::vector<Colour3> weights =
            is_rgb ? std::vector<Colour3>{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }
                   : rgb_weights(file.axis("wavelengths"));
        const char *name = is_rgb ? "rgb" : "spectra";
        size_t n = weights.size();
        TensorFile::Tensor t = file.get(name, { phi.size(), theta.size(), n, 0, 0 });
        size_t size = t.shape[3] * t.shape[4], channels = size_t(variant().channels());
        for (size_t c = 0; c < channels; ++c) {
            std::vector<double> table(phi.size() * theta.size() * size);
            for (size_t i = 0; i < table.size(); ++i)
                for (size_t k = 0; k < n; ++k) {
                    double v = t.values[(i / size * n + k) * size + i % size];
                    if (!std::isfinite(v))
                        file.complain(name, fmt::format("a number is {}", v));
                    table[i] += v * (channels == 1 ? luminance(weights[k]) : weights[k][c]);
                }
            m_values.emplace_back(table, t.shape[4], t.shape[3],
                                  std::vector<std::vector<double>>{ phi, theta }, false);
        }
    }

    std::filesystem::path m_path;
    ParametricGrid2D m_normals, m_sigma;
    ParametricGrid2D m_visible, m_luminance; // sampled one after the other
    std::vector<ParametricGrid2D> m_values;  // one of all wavelengths, or one for each channel
    bool m_is_isotropic = true, m_has_jacobian = true;
    int m_symmetry = 0; // how often the measured part goes into the circle
};

UMBEL_PLUGIN(BSDF, Measured, "measured")
} // namespace umbel
