// heterogeneous: a medium whose density varies in space, such as smoke, clouds and cloth.
//
//     extinction = scale sigma_t(p),  scattering = albedo(p) extinction,  emission(p) per unit of length
//
// It fills the box of `sigma_t`. Distances are sampled by delta tracking, transmittance by ratio tracking (render/medium.h), with
// bounds of the extinction cell by cell (render/majorant_grid.h): without bias, but that more than 2^20 over the diagonal of its grid counts
// as so much. The method `simpson` marches along rays in steps of
// `step_size` instead (render/marching.h): transmittance has no noise, and distances follow good samplers, but what is smaller than a
// step may be missed, and dear it is.
#include "core/host_array.h"
#include "core/load_warnings.h"
#include "render/majorant_grid.h"
#include "render/marching.h"
#include "render/oriented_phase.h"
#include "render/volume_range.h"
#include <cmath>

namespace umbel {

class Heterogeneous final : public Medium, public Marched {
public:
    void declare(Params &p) override {
        p.example(
            "<volume type='gridvolume' name='sigma_t'><string name='filename' "
            "value='$files/grey.vol'/><transform name='to_world'><scale value='2'/><translate "
            "x='-1' y='-1' z='-1'/></transform></volume><float name='scale' value='4'/>");
        p.example("<volume type='gridvolume' name='sigma_t'><string name='filename' "
                  "value='$files/colour.vol'/></volume><volume type='gridvolume' name='albedo'>"
                  "<string name='filename' value='$files/colour.vol'/></volume>");
        p.example("<volume type='gridvolume' name='sigma_t'><string name='filename' "
                  "value='$files/grey.vol'/></volume><volume type='gridvolume' name='emission'>"
                  "<string name='filename' value='$files/colour.vol'/></volume><phase type='sggx'>"
                  "<volume type='gridvolume' name='S'><string name='filename' "
                  "value='$files/flakes.vol'/></volume></phase>");
        p.example("<volume type='gridvolume' name='sigma_t'><string name='filename' "
                  "value='$files/colour.vol'/></volume><string name='method' value='simpson'/>");
        p.example("<volume type='gridvolume' name='sigma_t'><string name='filename' "
                  "value='$files/grey.vol'/></volume><volume type='gridvolume' name='orientation'>"
                  "<string name='filename' value='$files/colour.vol'/></volume>"
                  "<phase type='microflake'/>");
        Medium::declare(p);
        p.volume("albedo", m_albedo, 0.75, SpectrumData::Intent::Reflectance)
            .doc("The part of light that collides and is scattered");
        p.volume("sigma_t", m_sigma_t, 1).doc("Extinction: collisions per unit of length");
        p.optional_volume("emission", m_emission)
            .doc(
                "Radiance that leaves it per unit of length; nothing where there is no extinction");
        p.scalar("scale", m_scale, 1, 0)
            .differentiable()
            .doc("Multiplies the extinction: changes its unit");
        if (!p.traversing()) // there, it is a parameter of the phase function
            p.named_object("orientation", m_orientation)
                .doc("Along what fibres lie: a volume of vectors, for phase functions such as "
                     "`microflake` that have no orientation of their own; see there");
        p.choice("method", m_method, "woodcock", { "woodcock", "simpson" })
            .doc("How distances and transmittance are found: by tracking, without bias, or by "
                 "quadrature; a `sigma_t` that is the same everywhere is always tracked");
        p.number("step_size", m_step_size, 0, 0)
            .doc("The length of steps of `simpson`, at most; 0: half the width of a voxel of "
                 "`sigma_t`");
        declare_spectral_extinction(p);
    }
    void configure() override {
        check_ranges();
        if (m_orientation && !take_orientation(*m_phase, m_orientation))
            warn_while_loading(fmt::format("{}: no phase function here asks along what fibres lie; "
                                           "remove `orientation`, or use `microflake` or `kkay`",
                                           where()));
        update();
    }
    void changed(std::span<const std::string>) override { update(); }
    void child_changed() override { update(); }

    Spectrum majorant(const MediumInteraction &, const Mask &) const override {
        return Spectrum(m_majorant);
    }
    Spectrum extinction(const MediumInteraction &mei, const Mask &active) const override {
        Float scale = m_scale;
        if (m_phase->has(PhaseFunctionFlags::Microflake))
            scale *= m_phase->projected_area(mei, active);
        return m_sigma_t->eval(mei, active) * scale;
    }
    Spectrum scattering(const MediumInteraction &mei, const Spectrum &sigma_t,
                        const Mask &active) const override {
        return sigma_t * m_albedo->eval(mei, active);
    }
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override {
        Spectrum sigma_t = extinction(mei, active);
        return { scattering(mei, sigma_t, active), Spectrum(m_majorant) - sigma_t, sigma_t };
    }
    Spectrum emission(const MediumInteraction &mei, const Mask &active) const override {
        if (!m_emission)
            return Spectrum(0);
        Spectrum glow = m_emission->eval(mei, active), sigma_t = m_sigma_t->eval(mei, active);
        // What is denser counts as just so dense, and glows by so much less
        Float most(std::numeric_limits<double>::infinity());
        if (const MajorantGrid *grid = bounds_by_cell())
            most = grid->most();
        return map(glow, sigma_t, [&](const Float &g, const Float &s) {
            return select(s > 0, g * min(most / (s * m_scale), Float(1)), Float(0));
        });
    }
    bool is_emissive() const override { return m_emission != nullptr; }

    // Where the ray is in the box.
    Extent extent(const Ray &ray) const override {
        if (!m_bounds.is_built())
            return Medium::extent(ray);
        MajorantGrid::Path path = m_bounds.path_of(ray);
        return { path.length > 0, path.mint, path.mint + path.length };
    }

    const MajorantGrid *bounds_by_cell() const override {
        return m_bounds.is_built() ? &m_bounds : nullptr;
    }

    const Float *march_step() const override {
        return m_method == "simpson" && m_bounds.is_built() ? &m_step : nullptr;
    }

private:
    // Of what is loaded; scripts may try what they like.
    void check_ranges() const {
        constexpr double Infinity = std::numeric_limits<double>::infinity();
        if (auto v = find_outside(*m_sigma_t, 0, Infinity))
            complain("sigma_t must not be negative, and is {}; repair or clamp its numbers", *v);
        if (auto v = find_outside(*m_albedo, 0, 1 + 1e-5))
            complain("albedo must lie between 0 and 1, and is {}; repair or clamp its numbers", *v);
        if (auto v = m_emission ? find_outside(*m_emission, 0, Infinity) : std::nullopt)
            complain("emission must not be negative, and is {}; repair or clamp its numbers", *v);
    }
    void update() {
        double scale = read_floats(Float(m_scale.detached()))[0] * m_phase->max_projected_area();
        // Flakes may be seen from their edges
        double least = m_phase->has(PhaseFunctionFlags::Microflake) ? 0 : scale;
        m_majorant = opaque_float(scale * m_sigma_t->max_value());
        m_bounds = m_sigma_t->is_spatially_varying() ? MajorantGrid(*m_sigma_t, scale, least)
                                                     : MajorantGrid();
        m_step = opaque_float(m_step_size > 0 ? m_step_size : 0.5 * voxel_width());
    }
    // The least of the three.
    double voxel_width() const {
        TransformData box = m_sigma_t->placement();
        std::array<size_t, 3> n = m_sigma_t->resolution();
        double least = std::numeric_limits<double>::infinity();
        for (int a = 0; a < 3; ++a)
            least =
                std::min(least, std::hypot(box(0, a), box(1, a), box(2, a)) / double(n[size_t(a)]));
        return least;
    }

    Ref<Volume> m_albedo, m_sigma_t, m_emission, m_orientation;
    Float m_scale, m_majorant; // of the whole, and ...
    MajorantGrid m_bounds;     // ... cell by cell, where sigma_t varies
    std::string m_method;
    double m_step_size = 0; // as given, and ...
    Float m_step;           // ... as used
};

UMBEL_PLUGIN(Medium, Heterogeneous, "heterogeneous")
} // namespace umbel
