// measured_polarized: a material as it was measured with polarized light, from a .pbsdf file [Baek 2020].
//
// The file has Mueller matrices by angles of the half vector and of the difference to it [Rusinkiewicz 1998], and by wavelength; axes of
// Stokes vectors are perpendicular to the plane of reflection. What was not measured is NaN there, and black here. One-sided.
#include "core/fresnel.h"
#include "core/host_array.h"
#include "core/parametric_table.h"
#include "core/tensor_file.h"
#include "core/warp.h"
#include "render/microfacet.h"
#include "render/polarization.h"

namespace umbel {

class MeasuredPolarized final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/measured.pbsdf'/><float "
                  "name='wavelength' value='520'/>");
        p.file("filename", m_path).doc("A .pbsdf file");
        p.scalar("alpha_sample", m_alpha, 0.1, 1e-4)
            .doc("Roughness of a GGX surface by which directions are sampled: about that of the "
                 "material, for the least noise");
        p.number("wavelength", m_wavelength, -1)
            .fixed()
            .doc("The one that is shown, in nm; -1: those of the path, in spectral variants only");
    }
    void configure() override {
        // Measurements are not symmetric
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide |
                         BSDFFlags::NonSymmetric };
        if (m_wavelength != -1 && !(m_wavelength > 0))
            complain("wavelength is {}; give a positive number of nanometres", m_wavelength);
        if (m_wavelength == -1 && variant().colour != Colour::Spectral)
            complain("give a `wavelength` in nm, such as 550: without one, this material works in "
                     "spectral variants only");
        if (m_wavelength != -1)
            m_fixed = opaque_float(m_wavelength);
        if (!m_data.valid())
            load(TensorFile(m_path));
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        Vector3 h = normalize(si.wi + wo);
        Float facets = surface().pdf(si.wi, h) / (4 * dot(wo, h));
        Float pdf = lerp(facets, InvPi * wo.z, Float(DiffusePart));
        return { select(good, value(ctx, si, wo, h, good) * wo.z, Spectrum(0)),
                 select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return BSDFSample::none();
        Vector3 m = surface().sample(si.wi, u2).first;
        Vector3 wo = select(u1 < DiffusePart, square_to_cosine_hemisphere(u2), reflect(si.wi, m));
        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask good = active & (pdf > 0);
        return { wo,         select(good, pdf, Float(0)),
                 Float(1),   UInt32(uint32_t(BSDFFlags::GlossyReflection)),
                 UInt32(0u), select(good, value / select(good, pdf, Float(1)), Spectrum(0)) };
    }

private:
    static constexpr double DiffusePart = 0.1; // of the samples

    Microfacet surface() const { return { Microfacet::Type::Ggx, m_alpha, m_alpha, true }; }

    // BRDF, a Mueller matrix in polarized variants.
    Spectrum value(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                   const Vector3 &h, const Mask &active) const {
        bool radiance = ctx.mode == BSDFContext::Mode::Radiance;
        const Vector3 &in = radiance ? wo : si.wi, &out = radiance ? si.wi : wo;
        // Axes around the half vector, from the direction of the normal on; at the normal itself from that of `out`
        Vector3 b = select(squared_norm(Vector3(h.x, h.y, 0)) > 0, Vector3(-h.y, h.x, 0),
                           Vector3(-out.y, out.x, 0));
        b = normalize(b);
        Vector3 t = cross(b, h);
        Float phi_d = atan2(dot(b, in), dot(t, in)), theta_d = acos(clamp(dot(h, in), -1, 1)),
              theta_h = acos(clamp(h.z, -1, 1));

        size_t channels = size_t(variant().channels()), entries = variant().polarized ? 16 : 1;
        std::vector<Float> all(entries * channels);
        Mask valid = true;
        bool one = m_fixed.valid();
        for (size_t c = 0; c < channels; ++c) {
            if (one && c > 0) {
                for (size_t k = 0; k < entries; ++k)
                    all[k * channels + c] = all[k * channels];
                continue;
            }
            std::array parameters{ phi_d, theta_d, theta_h, one ? m_fixed : si.wavelengths[c] };
            ParametricTable::Place place = m_tables.locate(parameters, active);
            for (size_t k = 0; k < entries; ++k)
                all[k * channels + c] =
                    m_tables.fetch(m_data, 16, place, UInt32(uint32_t(k)), active);
            valid = valid & (abs(all[c]) < 1e30); // false for NaN
        }
        for (size_t c = 0; c < channels; ++c)
            all[c] = max(all[c], 0);
        for (Float &v : all)
            v = select(valid, v, Float(0));
        return to_implied_basis(ctx, Spectrum(std::move(all)), si.wi, wo, h);
    }

    void load(const TensorFile &file) {
        auto angles = [&](const char *name) {
            std::vector<double> v = file.get(name, { 1, 0 }).values;
            for (size_t i = 0; i < v.size(); ++i)
                if (!std::isfinite(v[i]) || (i > 0 && !(v[i] > v[i - 1])))
                    file.complain(name,
                                  fmt::format("number {} is {}; they must increase", i, v[i]));
            return v;
        };
        std::vector<std::vector<double>> axes = { angles("phi_d"), angles("theta_d"),
                                                  angles("theta_h"), file.axis("wvls") };
        std::vector<size_t> shape;
        for (const auto &a : axes)
            shape.push_back(a.size());
        shape.insert(shape.end(), 2, 4);
        m_data = float_array(file.get("M", shape).values);
        m_tables = ParametricTable(std::move(axes));
    }

    std::filesystem::path m_path;
    Float m_alpha, m_fixed; // the latter invalid: wavelengths of the path
    double m_wavelength = -1;
    ParametricTable m_tables;
    Float m_data; // matrices, row by row
};

UMBEL_PLUGIN(BSDF, MeasuredPolarized, "measured_polarized")
} // namespace umbel
