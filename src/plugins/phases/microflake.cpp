// microflake: light that is mirrored by the small flakes of rough fibres [Jakob 2010; Zhao 2011].
//
//     density of flakes' normals:  D(m) = n exp(-(m . fibre)^2 / (2 stddev^2))
//     area that they cover:        sigma(w) = 2 * integral of |w . m| D(m) over all m; 1 for flakes without order
//     f(wi, wo) = D(h) / sigma(wi),  h: half way between wi and wo
//
// Directions are drawn as from `sggx` flakes that cover as much along and across the fibres, which are similar. Scattered light
// is unpolarized.
#include "core/host_array.h"
#include "core/quadrature.h"
#include "render/fibre_axis.h"
#include "render/sggx_matrix.h"
#include <cmath>

namespace umbel {

class Microflake final : public PhaseFunction, public OrientedPhase {
public:
    void declare(Params &p) override {
        p.example("<float name='stddev' value='0.3'/>");
        p.example("<float name='stddev' value='0.1'/>");
        m_axis.declare(p);
        p.number("stddev", m_stddev, 0.2)
            .doc("Roughness of fibres: standard deviation of the cosine between them and the "
                 "flakes' "
                 "normals, above 0.01");
    }
    void configure() override {
        m_components = { PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake };
        m_axis.require_vectors(*this);
        if (!(m_stddev >= 0.01 && m_stddev < 1e6))
            complain("stddev is {}; it must be at least 0.01", m_stddev);
        tabulate();
    }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake))
            return { Spectrum(0), Float(0) };
        FibreAxis::Axis axis = m_axis.at(mei, active);
        return { depolarize(Spectrum(value(axis, mei.wi, wo))), similar(axis).value(mei.wi, wo) };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &, const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake))
            return PhaseFunctionSample::none();
        FibreAxis::Axis axis = m_axis.at(mei, active);
        SggxMatrix flakes = similar(axis).detached();
        Vector3 wo = flakes.sample_mirrored(mei, u);
        Float pdf = flakes.value(mei.wi, wo);
        Mask some = pdf > 0;
        Float weight = value(axis, mei.wi, wo) / select(some, pdf, Float(1));
        return { wo, select(some, pdf, Float(0)),
                 depolarize(Spectrum(select(some, weight, Float(0)))) };
    }

    Float projected_area(const MediumInteraction &mei, const Mask &active) const override {
        return area(m_axis.at(mei, active), mei.wi);
    }
    double max_projected_area() const override { return std::max(1.0, m_across); }
    bool area_varies_in_space() const override { return m_axis.varies_in_space(); }
    bool take_orientation(const Ref<Volume> &volume) override {
        m_axis.take(volume, *this);
        return true;
    }

private:
    // Covered areas for sines from 0 to 1 of the angle between w and the fibre, where they are smooth: between two of them a cubic
    // through both, of slopes that neighbours share. Straight lines would have derivatives with steps.
    static constexpr uint32_t Cells = 256;
    void tabulate() {
        double s = m_stddev, reach = std::min(1.0, 9 * s);
        auto density = [&](double c) { return std::exp(-0.5 * c * c / (s * s)); };
        Quadrature rule = gauss_legendre(64);
        auto over_cosines = [&](auto &&f) { // twice the half
            double sum = 0;
            for (size_t i = 0; i < rule.nodes.size(); ++i)
                sum += reach * rule.weights[i] * f(0.5 * reach * (1 + rule.nodes[i]));
            return sum;
        };
        double n = 1 / (2 * Pi * over_cosines(density));
        std::vector<double> areas;
        for (uint32_t k = 0; k <= Cells; ++k) {
            double sine = double(k) / Cells, cosine = std::sqrt(1 - sine * sine);
            // The mean of |a + b cos(phi)|
            auto seen = [&](double c) {
                double a = cosine * c, b = sine * std::sqrt(1 - c * c);
                double mean =
                    a >= b ? a : 2 / Pi * (std::sqrt(b * b - a * a) + a * std::asin(a / b));
                return density(c) * mean;
            };
            areas.push_back(2 * 2 * Pi * n * over_cosines(seen));
        }
        m_across = areas.back();
        m_ratio = opaque_float(areas.front() / areas.back());
        m_scale = opaque_float(n);
        m_falloff = opaque_float(-0.5 / (s * s));
        m_areas = float_array(cubics(areas));
    }
    // The four coefficients of each cell, after Catmull and Rom. Areas are even in the sine; at 1 they go on as a parabola does.
    static std::vector<double> cubics(const std::vector<double> &areas) {
        std::vector<double> out;
        for (size_t k = 0; k < Cells; ++k) {
            double a = areas[k ? k - 1 : 1], b = areas[k], c = areas[k + 1],
                   d = k + 2 <= Cells ? areas[k + 2] : a - 3 * b + 3 * c;
            double first = 0.5 * (c - a), last = 0.5 * (d - b);
            out.insert(out.end(),
                       { b, first, 3 * (c - b) - 2 * first - last, 2 * (b - c) + first + last });
        }
        return out;
    }

    Float area(const FibreAxis::Axis &axis, const Vector3 &w) const {
        Float x = safe_sqrt(1 - sqr(dot(w, axis.d))) * double(Cells);
        UInt32 cell = to_uint(min(x, double(Cells - 1)));
        std::vector<Value> c = jit::gather_packet(m_areas, cell, 4, Mask(true));
        Float f = x - Float(cell),
              covered = fma(fma(fma(Float(c[3]), f, Float(c[2])), f, Float(c[1])), f, Float(c[0]));
        return select(axis.is_known, covered, Float(1));
    }
    Float value(const FibreAxis::Axis &axis, const Vector3 &wi, const Vector3 &wo) const {
        Vector3 h = wi + wo;
        Float length2 = squared_norm(h);
        Mask some = length2 > 1e-12;
        Float c2 = sqr(dot(h, axis.d)) / select(some, length2, Float(1));
        Float d = select(axis.is_known, m_scale * exp(m_falloff * c2), Float(1 / (4 * Pi)));
        return select(some, d / area(axis, wi), Float(0));
    }
    SggxMatrix similar(const FibreAxis::Axis &axis) const {
        return SggxMatrix::around(axis.d, select(axis.is_known, m_ratio, Float(1)));
    }

    FibreAxis m_axis;
    double m_stddev = 0.2, m_across = 1;
    Float m_ratio, m_scale, m_falloff;
    Float m_areas; // see cubics()
};

UMBEL_PLUGIN(PhaseFunction, Microflake, "microflake")
} // namespace umbel
