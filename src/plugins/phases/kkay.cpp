// kkay: fibres of hair or cloth that mirror light into a cone around them [Kajiya 1989].
//
//     f(wi, wo) = kd / (4 pi) + ks n max(0, cos(angle between wo and the cone))^exponent
//
// n is such that light across the fibres is kept if ks is 1; what comes along them loses more. Scattered light is unpolarized.
#include "core/warp.h"
#include "render/fibre_axis.h"
#include <cmath>

namespace umbel {

class KajiyaKay final : public PhaseFunction, public OrientedPhase {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='ks' value='0.7'/><float name='exponent' value='12'/><volume "
                  "name='orientation' type='constvolume'><vector name='value' x='1' y='0.5' "
                  "z='-0.3'/></volume>");
        m_axis.declare(p);
        p.scalar("kd", m_kd, 0.2, 0).doc("Part of light that is scattered in all directions");
        p.scalar("ks", m_ks, 0.4, 0).doc("Part that is mirrored");
        p.number("exponent", m_exponent, 4, 0).doc("How narrow the cone is");
    }
    void configure() override {
        m_components = { PhaseFunctionFlags::Anisotropic };
        m_axis.require_vectors(*this);
        // Of sin^(exponent + 1) from 0 to pi
        double e = m_exponent;
        double integral =
            std::exp(0.5 * std::log(Pi) + std::lgamma(0.5 * e + 1) - std::lgamma(0.5 * e + 1.5));
        m_scale = opaque_float(1 / (2 * Pi * integral));
        m_power = opaque_float(e);
    }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic))
            return { Spectrum(0), Float(0) };
        return { depolarize(Spectrum(value(mei, wo, active))), Float(InvFourPi) };
    }
    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &, const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic))
            return PhaseFunctionSample::none();
        Vector3 wo = square_to_uniform_sphere(u);
        return { wo, Float(InvFourPi), depolarize(Spectrum(value(mei, wo, active) / InvFourPi)) };
    }
    bool loses_energy() const override { return true; }
    bool take_orientation(const Ref<Volume> &volume) override {
        m_axis.take(volume, *this);
        return true;
    }

private:
    static constexpr double InvFourPi = 1 / (4 * Pi);

    Float value(const MediumInteraction &mei, const Vector3 &wo, const Mask &active) const {
        FibreAxis::Axis axis = m_axis.at(mei, active);
        Float i = dot(mei.wi, axis.d), o = dot(wo, axis.d);
        Float cosine = safe_sqrt((1 - sqr(i)) * (1 - sqr(o))) - i * o;
        Mask some = axis.is_known & (cosine > 0);
        Float mirrored = select(some, pow(select(some, cosine, Float(1)), m_power), Float(0));
        return m_kd * InvFourPi + m_ks * m_scale * mirrored;
    }

    FibreAxis m_axis;
    Float m_kd, m_ks;
    double m_exponent = 4;
    Float m_scale, m_power;
};

UMBEL_PLUGIN(PhaseFunction, KajiyaKay, "kkay")
} // namespace umbel
