// hg: scattering that prefers to go on, or to turn back, as a formula for interstellar dust has it [Henyey 1941].
//
//     f(c) = (1 - g^2) / (4 pi (1 + g^2 - 2 g c)^(3/2)),  c: cosine of the angle by which light is turned
//
// g is the mean of that cosine. Scattered light is unpolarized.
#include "render/axial_phase.h"

namespace umbel {

class HenyeyGreenstein final : public AxialPhase {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='g' value='-0.4'/>");
        p.example("<float name='g' value='0'/>");
        p.scalar("g", m_g, 0.8, -MostExtreme, MostExtreme)
            .differentiable()
            .doc("The mean cosine: near 1 light goes straight on, near -1 it turns back, at 0 all "
                 "directions are alike");
    }

protected:
    Float density(const Float &cosine, const Mask &) const override {
        // No less than in the forward direction, where rounding may have it so; not max(): it is exact for g = 0
        Float square = 1 + sqr(m_g) - 2 * m_g * cosine, least = sqr(1 - abs(m_g));
        square = select(square < least, least, square);
        return (0.25 * InvPi) * (1 - sqr(m_g)) / (square * sqrt(square));
    }

    Float sample_cosine(const Float &u, const Mask &) const override {
        Mask isotropic = abs(m_g) < 1e-3; // the formula below loses its digits
        Float g = select(isotropic, Float(1), m_g);
        Float cosine = (1 + sqr(g) - sqr((1 - sqr(g)) / (1 - g + 2 * g * u))) / (2 * g);
        // To first order in g
        Float flat = 2 * u - 1;
        return select(isotropic, flat + 1.5 * m_g * (1 - sqr(flat)), cosine);
    }

private:
    static constexpr double MostExtreme = 1 - 1e-4;

    Float m_g;
};

UMBEL_PLUGIN(PhaseFunction, HenyeyGreenstein, "hg")
} // namespace umbel
