// sggx: light that is mirrored by flakes, whose normals are distributed as those of an ellipsoid [Heitz 2015]. It describes
// cloth, wood and hair, where extinction depends on the direction. See render/sggx_matrix.h. Scattered light is unpolarized.
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/number_list.h"
#include "render/oriented_phase.h"
#include "render/sggx_matrix.h"
#include "render/volume.h"

namespace umbel {

class Sggx final : public PhaseFunction, public OrientedPhase {
public:
    void declare(Params &p) override {
        p.example("<string name='matrix' value='1, 0.3, 0.6, 0.1, -0.05, 0.2'/>");
        p.example("<volume type='gridvolume' name='S'><string name='filename' "
                  "value='$files/flakes.vol'/></volume>");
        p.named_object("S", m_volume)
            .doc("A volume of six numbers: S_xx, S_yy, S_zz, S_xy, S_xz, S_yz");
        if (p.traversing()) {
            for (size_t i = 0; i < m_matrix.size(); ++i)
                p.exposed(Names[i], &m_matrix[i]).differentiable();
            return;
        }
        std::string text;
        p.string("matrix", text, "").doc("In place of `S`: six numbers, the same everywhere");
        if (p.loading())
            read(text, *p.properties());
    }
    void configure() override {
        m_components = { PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake };
        if (m_volume && m_volume->channel_count() != 6)
            complain("S has {} channels; it needs six: S_xx, S_yy, S_zz, S_xy, S_xz, S_yz",
                     m_volume->channel_count());
        // The trace bounds the largest eigenvalue
        std::vector<double> most;
        if (m_volume)
            most = m_volume->max_per_channel();
        else
            for (const Float &f : m_matrix)
                most.push_back(read_floats(Float(f.detached()))[0]);
        m_max_area = std::sqrt(std::max(0.0, most[0] + most[1] + most[2]));
    }
    void child_changed() override { configure(); }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake))
            return { Spectrum(0), Float(0) };
        Float f = matrix(mei, active).value(mei.wi, wo);
        return { depolarize(Spectrum(f)), f };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &, const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic | PhaseFunctionFlags::Microflake))
            return PhaseFunctionSample::none();
        SggxMatrix m = matrix(mei, active);
        Vector3 wo = m.detached().sample_mirrored(mei, u);
        Float f = m.value(mei.wi, wo), pdf(ad::detach(f));
        Mask some = pdf > 0;
        return { wo, select(some, pdf, Float(0)),
                 depolarize(Spectrum(select(some, f / pdf, Float(0)))) };
    }

    Float projected_area(const MediumInteraction &mei, const Mask &active) const override {
        return matrix(mei, active).area(mei.wi);
    }
    double max_projected_area() const override { return m_max_area; }
    bool area_varies_in_space() const override {
        return m_volume && m_volume->is_spatially_varying();
    }

private:
    SggxMatrix matrix(const MediumInteraction &mei, const Mask &active) const {
        std::vector<Float> m = m_volume ? m_volume->eval_n(mei, active) : m_matrix;
        return { m[0], m[1], m[2], m[3], m[4], m[5] };
    }

    void read(const std::string &text, const Properties &q) {
        if (m_volume && !text.empty())
            fail("{}: give S or matrix, not both", q.describe());
        if (m_volume)
            return;
        std::vector<double> v = parse_number_list(text, "matrix", q);
        if (v.size() != 6)
            fail("{}: needs a volume S of six channels, or a matrix of six numbers: S_xx, S_yy, "
                 "S_zz, S_xy, S_xz, S_yz; matrix has {}",
                 q.describe(), v.size());
        double minor = v[0] * v[1] - v[3] * v[3];
        double det = v[0] * (v[1] * v[2] - v[5] * v[5]) - v[3] * (v[3] * v[2] - v[4] * v[5]) +
                     v[4] * (v[3] * v[5] - v[1] * v[4]);
        if (!(v[0] > 0 && minor > 0 && det > 0))
            fail("{}: the matrix is not positive: no ellipsoid has it", q.describe());
        for (double x : v)
            m_matrix.push_back(opaque_float(x));
    }

    static constexpr const char *Names[] = { "S_xx", "S_yy", "S_zz", "S_xy", "S_xz", "S_yz" };
    Ref<Volume> m_volume;        // or ...
    std::vector<Float> m_matrix; // ... this
    double m_max_area = 1;
};

UMBEL_PLUGIN(PhaseFunction, Sggx, "sggx")
} // namespace umbel
