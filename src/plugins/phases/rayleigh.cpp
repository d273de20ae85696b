// rayleigh: scattering by particles much smaller than the wavelength, such as the air's molecules.
//
//     f(c) = 3 / (16 pi) (1 + c^2),  c: cosine of the angle by which light is turned
//
// Light oscillates across its direction. Of what oscillates in the plane of the two directions, a part c^2 is scattered, of what
// oscillates across that plane all: so light that was turned by 90 degrees is polarized, as the sky is.
#include "core/mueller.h"
#include "render/axial_phase.h"

namespace umbel {

class Rayleigh final : public AxialPhase {
protected:
    Float density(const Float &cosine, const Mask &) const override {
        return (3.0 / 16 * InvPi) * (1 + sqr(cosine));
    }

    // Where (c^3 + 3 c + 4) / 8 is u: a cubic equation with one root.
    Float sample_cosine(const Float &u, const Mask &) const override {
        Float z = 4 * u - 2, a = pow(abs(z) + sqrt(sqr(z) + 1), Float(1.0 / 3));
        return mulsign(a - rcp(a), z);
    }

    Spectrum mueller(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                     const Vector3 &wo, const Float &cosine) const override {
        if (!variant().polarized)
            return Spectrum(1);
        // Frames whose axis is perpendicular to both directions
        Float c2 = sqr(cosine), norm = rcp(1 + c2);
        Spectrum i(1), o(0), b((1 - c2) * norm), c(2 * cosine * norm);
        Spectrum m = Spectrum::mueller({ i, b, o, o, b, i, o, o, o, o, c, o, o, o, o, c });
        bool radiance = ctx.mode == PhaseFunctionContext::Mode::Radiance;
        Vector3 in = radiance ? -wo : -mei.wi, out = radiance ? mei.wi : wo;
        Vector3 axis = cross(in, out);
        axis = select(squared_norm(axis) > 1e-12, axis, stokes_basis(in)); // any will do
        return mueller::rotate_basis(m, in, axis, stokes_basis(in), out, axis, stokes_basis(out));
    }
};

UMBEL_PLUGIN(PhaseFunction, Rayleigh, "rayleigh")
} // namespace umbel
