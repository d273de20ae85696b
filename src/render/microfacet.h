// render/microfacet.h: distributions of microsurface normals.
#pragma once
#include "core/params.h"
#include "core/spectrum.h"

namespace umbel {

/// Anisotropic Beckmann, GGX (Trowbridge-Reitz) [Walter 2007] or Phong [Ashikhmin 2000] microsurfaces, sampled by all or only
/// by visible normals [Heitz 2018]; Phong's by all of them. Phong's exponents are 2 / alpha^2 - 2, but not below 0, and its
/// masking is Beckmann's.
class Microfacet {
public:
    enum class Type { Beckmann, Ggx, Phong };

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
    Float eval_phong(const Vector3 &m) const;
    Vector3 sample_phong(const Vector2 &u) const;
    Vector2 sample_visible_slopes(const Float &cos_theta_i, const Vector2 &u) const;

    Type m_type;
    Float m_alpha_u, m_alpha_v;
    bool m_visible;
};

/// Of a word that declare_distribution() has read.
Microfacet::Type microfacet_type(const std::string &name);
/// The parameter `distribution`.
void declare_distribution(Params &p, std::string &name);

} // namespace umbel
