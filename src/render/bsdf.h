// render/bsdf.h: how surfaces scatter light.
#pragma once
#include "render/component.h"
#include "render/texture.h"

namespace umbel {

/// Bits that say what a BSDF, or one of its lobes, does. The values are those that scripts know.
namespace BSDFFlags {
enum : uint32_t {
    Null = 0x1,
    DiffuseReflection = 0x2,
    DiffuseTransmission = 0x4,
    GlossyReflection = 0x8,
    GlossyTransmission = 0x10,
    DeltaReflection = 0x20,
    DeltaTransmission = 0x40,
    Anisotropic = 0x1000,
    SpatiallyVarying = 0x2000,
    NonSymmetric = 0x4000,
    FrontSide = 0x8000,
    BackSide = 0x10000,

    Reflection = DiffuseReflection | GlossyReflection | DeltaReflection,
    Transmission = DiffuseTransmission | GlossyTransmission | DeltaTransmission | Null,
    Diffuse = DiffuseReflection | DiffuseTransmission,
    Glossy = GlossyReflection | GlossyTransmission,
    Smooth = Diffuse | Glossy,
    Delta = Null | DeltaReflection | DeltaTransmission,
    All = Reflection | Transmission,
};
} // namespace BSDFFlags

/// What a caller wants of a BSDF; known while tracing.
struct BSDFContext {
    enum class Mode { Radiance, Importance } mode = Mode::Radiance;
    uint32_t type_mask = BSDFFlags::All;
    uint32_t component = ~0u; // all

    bool is_enabled(uint32_t flags, uint32_t index = 0) const {
        return (component == ~0u || component == index) && (type_mask & flags);
    }
    /// For a BSDF inside another one, whose components are `count` of the outer one's from `first` on; nothing where the
    /// component that is wanted is not among them. What it samples has components that are less by `first`, too.
    std::optional<BSDFContext> inside(uint32_t first, uint32_t count) const {
        return context_inside(*this, first, count);
    }
};

struct BSDFSample {
    Vector3 wo;
    Float pdf;           // per solid angle; of a delta lobe, its discrete probability
    Float eta;           // relative index of refraction crossed; 1 for reflection
    UInt32 sampled_type; // one BSDFFlags bit of the lobe
    UInt32 sampled_component;
    Spectrum weight; // f cos / pdf
    UMBEL_STRUCT(wo, pdf, eta, sampled_type, sampled_component, weight)

    /// All zero: nothing was sampled.
    static BSDFSample none() {
        return { Vector3(Float(0)), Float(0), Float(1), UInt32(0u), UInt32(0u), Spectrum(0) };
    }
    Mask is_delta() const {
        return (sampled_type & UInt32(uint32_t(BSDFFlags::Delta))) != UInt32(0u);
    }
};
inline BSDFSample select(const Mask &m, const BSDFSample &a, const BSDFSample &b) {
    return { select(m, a.wo, b.wo),
             select(m, a.pdf, b.pdf),
             select(m, a.eta, b.eta),
             select(m, a.sampled_type, b.sampled_type),
             select(m, a.sampled_component, b.sampled_component),
             select(m, a.weight, b.weight) };
}

/// Directions are local: z is the shading normal. `wi` points to where the path came from.
class BSDF : public Object {
public:
    static constexpr const char *Kind = "bsdf";

    /// f(wi, wo) |cos(theta_o)|, and the density with which sample() gives wo. Delta lobes count for nothing.
    virtual std::pair<Spectrum, Float> eval_pdf(const BSDFContext &, const SurfaceInteraction &,
                                                const Vector3 &, const Mask &) const {
        return { Spectrum(0), Float(0) };
    }
    /// `u1` chooses a lobe, `u2` a direction.
    virtual BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                              const Vector2 &u2, const Mask &active) const = 0;
    /// One of the two; what only the other needs is never computed.
    Spectrum eval(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                  const Mask &active) const {
        return eval_pdf(ctx, si, wo, active).first;
    }
    Float pdf(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
              const Mask &active) const {
        return eval_pdf(ctx, si, wo, active).second;
    }
    /// Of the delta lobe that `s` was sampled from: weight times probability, which sampling leaves out of eval_pdf.
    virtual Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &, const BSDFSample &,
                                const Mask &) const {
        return Spectrum(0);
    }
    /// What light that goes straight through is multiplied by.
    virtual Spectrum eval_null_transmission(const SurfaceInteraction &, const Mask &) const {
        return Spectrum(0);
    }
    /// The part of light from the front that is reflected, roughly.
    virtual Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                              const Mask &active) const {
        BSDFContext ctx;
        return unpolarized(eval(ctx, si, Vector3(0, 0, 1), active)) * Pi;
    }

    /// Flags of each lobe; the index is the component's number. Valid after configure().
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
