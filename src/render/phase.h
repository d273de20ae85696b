// render/phase.h: how media scatter light.
#pragma once
#include "render/bsdf.h"

namespace umbel {

/// Bits that say what a phase function, or one of its components, depends on. The values are those that scripts know.
namespace PhaseFunctionFlags {
enum : uint32_t {
    Isotropic = 1,   // nothing
    Anisotropic = 2, // the angle between the directions
    Microflake = 4,  // both directions: the medium's extinction depends on where light comes from
    All = Isotropic | Anisotropic | Microflake,
};
} // namespace PhaseFunctionFlags

/// What a caller wants of a phase function; known while tracing.
struct PhaseFunctionContext {
    using Mode = BSDFContext::Mode;
    Mode mode = Mode::Radiance;
    uint32_t type_mask = PhaseFunctionFlags::All;
    uint32_t component = ~0u; // all

    bool is_enabled(uint32_t flags, uint32_t index = 0) const {
        return (component == ~0u || component == index) && (type_mask & flags);
    }
    /// For a phase function inside another one: see context_inside().
    std::optional<PhaseFunctionContext> inside(uint32_t first, uint32_t count) const {
        return context_inside(*this, first, count);
    }
};

struct PhaseFunctionSample {
    Vector3 wo;      // in the scene's space
    Float pdf;       // per solid angle
    Spectrum weight; // value over density
    UMBEL_STRUCT(wo, pdf, weight)

    /// Nothing was sampled.
    static PhaseFunctionSample none() { return { Vector3(Float(0)), Float(0), Spectrum(0) }; }
};

/// Directions are those of the scene's space: `mei.wi` points to where the path came from, `wo` to where it goes. So are the
/// axes of Mueller matrices: those of stokes_basis(-wo) and stokes_basis(wi).
class PhaseFunction : public Object {
public:
    static constexpr const char *Kind = "phase";

    /// The part of light from wo that goes to wi per solid angle, and the density with which sample() gives wo.
    virtual std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                                const MediumInteraction &mei, const Vector3 &wo,
                                                const Mask &active) const = 0;
    /// `u1` chooses a component, `u2` a direction.
    virtual PhaseFunctionSample sample(const PhaseFunctionContext &ctx,
                                       const MediumInteraction &mei, const Float &u1,
                                       const Vector2 &u2, const Mask &active) const = 0;

    /// Of microflakes: what they cover of a unit area, seen along mei.wi; the extinction is proportional to it.
    virtual Float projected_area(const MediumInteraction &, const Mask &) const { return 1; }
    virtual double max_projected_area() const { return 1; }

    /// Whether less light is scattered than arrives.
    virtual bool loses_energy() const { return false; }

    /// Flags of each component; the index is its number. Valid after configure().
    const std::vector<uint32_t> &components() const { return m_components; }
    uint32_t flags() const {
        uint32_t f = 0;
        for (uint32_t c : m_components)
            f |= c;
        return f;
    }
    bool has(uint32_t bits) const { return flags() & bits; }

protected:
    std::vector<uint32_t> m_components;
};

} // namespace umbel
