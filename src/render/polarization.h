// render/polarization.h: Mueller matrices of BSDFs, in the frames that local directions imply.
#pragma once
#include "render/bsdf.h"

namespace umbel {

/// A matrix that refers to axes perpendicular to the plane of `wi` and `wo` and the normal m, turned to the axes that
/// the directions of travel imply. The identity unless the variant is polarized.
Spectrum to_implied_basis(const BSDFContext &ctx, const Spectrum &m, const Vector3 &wi,
                          const Vector3 &wo, const Vector3 &normal);

} // namespace umbel
