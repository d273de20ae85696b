// render/roughness.h: how rough a surface is, alike in all directions or not: what rough BSDFs share.
#pragma once
#include "render/bsdf.h"

namespace umbel {

/// A roughness that is one number is not negative; of others, no point is looked at.
inline void refuse_negative(const Properties &q, const char *name) {
    const Property *p = q.find(name);
    if (!p)
        return;
    double v = 0;
    if (auto *number = std::get_if<double>(&p->value))
        v = *number;
    else if (auto *count = std::get_if<int64_t>(&p->value))
        v = double(*count);
    else if (auto *spectrum = std::get_if<SpectrumData>(&p->value))
        v = spectrum->value;
    if (v < 0)
        q.fail_at(*p, fmt::format("parameter {} is {}; it must be at least 0", quote(name), v));
}

struct Roughness {
    Ref<Texture> alpha, alpha_u, alpha_v;
    bool is_anisotropic = false;

    /// The parameters alpha, or alpha_u and alpha_v; with `alone`, one of these two will do.
    void declare(Params &p, bool alone = false) {
        if (!p.traversing() || !is_anisotropic)
            p.texture("alpha", alpha, 0.1)
                .differentiable()
                .doc("Roughness: slope of the microsurface, root mean square");
        if (!p.traversing() || is_anisotropic) {
            p.texture("alpha_u", alpha_u, 0.1)
                .differentiable()
                .doc("Roughness along the tangent; with alpha_v in place of alpha");
            p.texture("alpha_v", alpha_v, 0.1)
                .differentiable()
                .doc("Roughness along the bitangent");
        }
        if (!p.loading())
            return;
        const Properties &q = *p.properties();
        for (const char *name : { "alpha", "alpha_u", "alpha_v" })
            refuse_negative(q, name);
        bool u = q.has("alpha_u"), v = q.has("alpha_v");
        is_anisotropic = u || v;
        if (u != v && !alone)
            fail("{}: alpha_u and alpha_v go together, and one of them is missing", q.describe());
        if (is_anisotropic && q.has("alpha"))
            fail("{}: give either alpha, or alpha_u and alpha_v", q.describe());
    }
    uint32_t flags() const { return is_anisotropic ? uint32_t(BSDFFlags::Anisotropic) : 0u; }

    /// Along the tangent and the bitangent.
    std::pair<Float, Float> eval(const SurfaceInteraction &si, const Mask &active) const {
        Float u = (is_anisotropic ? alpha_u : alpha)->eval_1(si, active);
        return { u, is_anisotropic ? alpha_v->eval_1(si, active) : u };
    }
};

} // namespace umbel
