// render/microfacet.h: distributions of microsurface normals.
#pragma once
#include "core/spectrum.h"

namespace umbel {

/// Anisotropic Beckmann or GGX (Trowbridge-Reitz) microsurfaces [Walter 2007], sampled by all or only by
/// visible normals [Heitz 2018].
class Microfacet {
public:
    enum class Type { Beckmann, Ggx };

    Microfacet(Type type, const Float &alpha_u, const Float &alpha_v, bool visible);

    /// D(m).
    Float eval(const Vector3 &m) const;
    /// Density with which sample() gives m.
    Float pdf(const Vector3 &wi, const Vector3 &m) const;
    /// A normal and its density; wi.z must be positive for visible normals.
    std::pair<Vector3, Float> sample(const Vector3 &wi, const Vector2 &u) const;
    /// Masking of one direction; zero where v and m disagree about the side.
    Float smith_g1(const Vector3 &v, const Vector3 &m) const;
    /// Of both, uncorrelated.
    Float g(const Vector3 &wi, const Vector3 &wo, const Vector3 &m) const {
        return smith_g1(wi, m) * smith_g1(wo, m);
    }
    bool visible() const { return m_visible; }

private:
    Vector2 sample_visible_slopes(const Float &cos_theta_i, const Vector2 &u) const;

    Type m_type;
    Float m_alpha_u, m_alpha_v;
    bool m_visible;
};

/// "beckmann" or "ggx".
Microfacet::Type microfacet_type(const std::string &name);

} // namespace umbel
