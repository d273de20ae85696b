// null: a surface that is not there: it only separates, say, two media.
#include "render/bsdf.h"

namespace umbel {

class Null final : public BSDF {
public:
    void configure() override {
        m_components = { BSDFFlags::Null | BSDFFlags::FrontSide | BSDFFlags::BackSide };
    }
    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &, const Mask &) const override {
        if (!ctx.is_enabled(BSDFFlags::Null))
            return BSDFSample::none();
        return { -si.wi,     Float(1),   Float(1), UInt32(uint32_t(BSDFFlags::Null)),
                 UInt32(0u), Spectrum(1) };
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &, const Mask &) const override {
        return Spectrum(1);
    }
};

UMBEL_PLUGIN(BSDF, Null, "null")
} // namespace umbel
