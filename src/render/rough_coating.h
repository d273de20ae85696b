// render/rough_coating.h: what rough interfaces reflect and let through, in all directions together.
#pragma once
#include "render/microfacet.h"
#include "render/texture.h"

namespace umbel {

/// What a microsurface lets through of light that meets it with a cosine above 0, without light between its facets; eta is the
/// index behind it over that in front of it. On the host.
double rough_transmittance(Microfacet::Type type, double alpha, double eta, double cosine);

/// A rough dielectric surface on something else, for one roughness or for several; data of the program, which carries the
/// derivatives of alpha and eta.
struct RoughCoating {
    static constexpr int Size = 64;
    Float transmittance;      // from above, by cosine, at Size places from 0 to 1
    Float reflectance_inside; // of diffuse light from below

    /// From such a table of transmittance, of the roughness with this number.
    static Float at(const Float &table, const Float &cosine, const Mask &active,
                    const UInt32 &row = UInt32(0u)) {
        Float x = clamp(cosine, 0, 1) * (Size - 1), cell = min(floor(x), Size - 2);
        UInt32 i = to_uint(cell) + row * uint32_t(Size);
        Float a(jit::gather(table, i, active)), b(jit::gather(table, i + 1u, active));
        return lerp(a, b, x - cell);
    }
};
RoughCoating rough_coating(Microfacet::Type type, const Float &alpha, const Float &eta);

/// What plugins say of a coating's roughness: a number or, as in old scenes, a texture.
class CoatingRoughness {
public:
    void declare(Params &p);
    /// Computes the tables, for this relative index.
    void configure(const Float &eta);
    /// Whether a texture has become rougher than its tables know.
    bool is_outgrown() const;

    Microfacet surface(const SurfaceInteraction &si, const Mask &active) const;
    /// What gets through from above, and what is reflected inside: see RoughCoating.
    Float transmittance(const SurfaceInteraction &si, const Float &cosine,
                        const Mask &active) const;
    Float reflectance_inside(const SurfaceInteraction &si, const Mask &active) const;

private:
    static constexpr int Rows = 32;
    /// Between which rows of the tables a place's roughness lies, and how far.
    std::pair<UInt32, Float> row(const SurfaceInteraction &si, const Mask &active) const;

    std::string m_distribution;
    bool m_visible = true;
    Float m_alpha;
    Ref<Texture> m_texture; // null: a number
    double m_most = 1;      // roughness of the last row
    RoughCoating m_tables;
};

} // namespace umbel
