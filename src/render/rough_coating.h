// render/rough_coating.h: what rough interfaces reflect and let through, in all directions together.
#pragma once
#include "render/microfacet.h"

namespace umbel {

/// What a microsurface lets through of light that meets it with a cosine above 0, without light between its facets; eta is the
/// index behind it over that in front of it. On the host.
double rough_transmittance(Microfacet::Type type, double alpha, double eta, double cosine);

/// A rough dielectric surface on something else; data of the program, which carries the derivatives of alpha and eta.
struct RoughCoating {
    static constexpr int Size = 64;
    Float transmittance;      // from above, by cosine, at Size places from 0 to 1
    Float reflectance_inside; // of diffuse light from below

    /// From such a table of transmittance.
    static Float at(const Float &table, const Float &cosine, const Mask &active) {
        Float x = clamp(cosine, 0, 1) * (Size - 1), cell = min(floor(x), Size - 2);
        UInt32 i = to_uint(cell);
        Float a(jit::gather(table, i, active)), b(jit::gather(table, i + 1u, active));
        return lerp(a, b, x - cell);
    }
};
RoughCoating rough_coating(Microfacet::Type type, const Float &alpha, const Float &eta);

} // namespace umbel
