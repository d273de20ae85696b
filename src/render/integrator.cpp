// render/integrator.cpp: what all integrators share.
#include "render/integrator.h"
#include "core/load_warnings.h"
#include "core/printable.h"
#include "core/traverse.h"
#include "render/followed_once.h"
#include <algorithm>

namespace umbel {

void Integrator::declare(Params &p) {
    p.boolean("hide_emitters", m_hide_emitters, false)
        .doc("Lights are not seen directly by the camera, which sees what is behind them");
    p.integer("samples_per_pass", m_samples_per_pass, -1, -1)
        .doc("A launch computes at most so many samples of a pixel, where 16 take too much memory; "
             "-1: 16. The image's last bits depend on it");
    int block = 0;
    p.integer("block_size", block, 0, 0)
        .fixed()
        .doc("Of scenes for Mitsuba: launches are cut by samples, not by squares of pixels; a "
             "warning says so");
    if (p.loading() && block > 0)
        warn_while_loading(fmt::format("{}: block_size makes no difference; images are computed "
                                       "in launches of samples_per_pass",
                                       printable(p.properties()->describe())));
}

Radiance Integrator::sample(const Scene &, SampleStream &, const Ray &, const Medium *,
                            const Mask &) const {
    complain("does not follow single rays from the camera: it cannot be part of another "
             "integrator, and has no derivatives; use `path`");
}

void Integrator::refuse_polarization() const {
    if (variant().polarized)
        complain("derivatives are available in unpolarized variants only; this one is {}",
                 variant().name);
}

RadianceDerivative Integrator::differentiate(ad::Mode mode, const Scene &scene,
                                             SampleStream sampler, const Ray &ray,
                                             const Medium *medium, const Radiance &,
                                             const RadianceDerivative &gradient,
                                             const Mask &active) const {
    refuse_polarization();
    FollowedOnce followed;
    Radiance r = sample(scene, sampler, ray, medium, active);
    std::vector<Float> values = r.L.c, gradients = gradient.L.c;
    values.insert(values.end(), r.aovs.begin(), r.aovs.end());
    gradients.insert(gradients.end(), gradient.aovs.begin(), gradient.aovs.end());
    if (scene.follows_shapes() && std::none_of(values.begin(), values.end(), ad::grad_enabled))
        complain("has no derivatives by shapes; use `path`, `prb` or `direct`");
    std::vector<Float> tangents = differentiate_values(mode, values, gradients);
    if (mode == ad::Mode::Backward)
        return {};
    RadianceDerivative out{ r.L, { tangents.begin() + long(r.L.c.size()), tangents.end() } };
    std::copy_n(tangents.begin(), r.L.c.size(), out.L.c.begin());
    return out;
}

bool Integrator::make_ready(const Scene &scene, const Progress &progress) const {
    uint64_t now = changes();
    if (m_prepared_for == &scene && m_prepared_at == now)
        return true;
    m_prepared_for = nullptr;
    if (!prepare(scene, progress))
        return false;
    m_prepared_for = &scene;
    m_prepared_at = now;
    return true;
}

void Integrator::set_hide_emitters(bool hide) {
    m_hide_emitters = hide;
    note_change(*this);
}

} // namespace umbel
