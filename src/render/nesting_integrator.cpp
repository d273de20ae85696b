// render/nesting_integrator.cpp: see render/nesting_integrator.h.
#include "render/nesting_integrator.h"
#include "render/followed_camera.h"
#include "render/further_colours.h"
#include "render/replayed_later.h"
#include <algorithm>
#include <map>

namespace umbel {

// ---- those inside

void NestingIntegrator::declare_several(Params &p, const char *doc) {
    p.objects("integrator", m_inner).doc(doc);
    if (!p.loading())
        return;
    m_inner_names.clear();
    for (const Property &q : p.properties()->all())
        if (q.object() && (*q.object())->kind == Kind)
            m_inner_names.push_back(q.name);
    m_inner_names.resize(m_inner.size());
    for (size_t i = 0; i < m_inner.size(); ++i)
        if (m_inner_names[i].empty())
            m_inner_names[i] = i == 0 ? "image" : fmt::format("image{}", i + 1);
    hide_inside();
}

void NestingIntegrator::declare_one(Params &p, const char *doc) {
    m_inner.resize(1);
    p.object("integrator", m_inner[0]).doc(doc);
    if (!p.loading())
        return;
    if (!m_inner[0])
        m_inner[0] =
            p.loader()->load_as<Integrator>(std::make_shared<Properties>("integrator", "path"));
    hide_inside();
}

void NestingIntegrator::hide_inside() {
    if (m_hide_emitters)
        for (const Ref<Integrator> &i : m_inner)
            i->set_hide_emitters(true);
}

void NestingIntegrator::set_hide_emitters(bool hide) {
    Integrator::set_hide_emitters(hide);
    for (const Ref<Integrator> &i : m_inner)
        i->set_hide_emitters(hide);
}

bool NestingIntegrator::prepare(const Scene &scene, const Progress &progress) const {
    return std::all_of(m_inner.begin(), m_inner.end(),
                       [&](const Ref<Integrator> &i) { return i->make_ready(scene, progress); });
}

bool NestingIntegrator::repeats() const {
    return std::all_of(m_inner.begin(), m_inner.end(),
                       [](const Ref<Integrator> &i) { return i->repeats(); });
}

// ---- the image

std::vector<std::string> NestingIntegrator::aov_names() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < m_inner.size(); ++i) {
        std::string layer = i == 0 ? "" : m_inner_names[i] + ".";
        if (i > 0)
            for (const std::string &c : further_colour_names())
                names.push_back(layer + c);
        for (const std::string &name : m_inner[i]->aov_names())
            names.push_back(layer + name);
    }
    return names;
}

Radiance NestingIntegrator::combined(const std::vector<Radiance> &inside, const Ray &ray) const {
    if (inside.empty())
        return { black(), Mask(false), {} };
    Radiance out{ inside[0].L, inside[0].valid, inside[0].aovs };
    for (size_t i = 1; i < inside.size(); ++i) {
        std::vector<Float> colours = further_colours(inside[i].L, ray.wavelengths);
        out.aovs.insert(out.aovs.end(), colours.begin(), colours.end());
        out.aovs.insert(out.aovs.end(), inside[i].aovs.begin(), inside[i].aovs.end());
    }
    return out;
}

Radiance NestingIntegrator::sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                                   const Medium *medium, const Mask &active) const {
    // Some differentiate all of their arithmetic, and with it whatever made the random numbers that they go on with
    ReplayedLater none(false);
    std::vector<NestedRadiance> parts;
    std::vector<Radiance> inside;
    for (const Ref<Integrator> &i : m_inner) {
        SampleStream begin = sampler;
        inside.push_back(i->sample(scene, sampler, ray, medium, active));
        parts.push_back({ begin, inside.back() });
    }
    Radiance out = combined(inside, ray);
    out.nested = std::move(parts);
    return out;
}

// ---- derivatives

namespace {

/// The numbers of a radiance, or of a derivative of it.
template <class T> std::vector<Float> numbers_of(const T &r) {
    std::vector<Float> out = r.L.c;
    out.insert(out.end(), r.aovs.begin(), r.aovs.end());
    return out;
}
/// Back again, in the form of another one.
RadianceDerivative derivative_like(const Radiance &r, const std::vector<Float> &numbers) {
    auto colours = numbers.begin() + long(r.L.c.size());
    RadianceDerivative out{ r.L, { colours, numbers.end() } };
    std::copy(numbers.begin(), colours, out.L.c.begin());
    return out;
}

} // namespace

RadianceDerivative NestingIntegrator::differentiate(ad::Mode mode, const Scene &scene, SampleStream,
                                                    const Ray &ray, const Medium *medium,
                                                    const Radiance &primal,
                                                    const RadianceDerivative &gradient,
                                                    const Mask &active) const {
    refuse_polarization();
    auto inner_derivative = [&](size_t i, const RadianceDerivative &by) {
        const NestedRadiance &part = primal.nested.at(i);
        RadianceDerivative d = m_inner[i]->differentiate(mode, scene, part.sampler, ray, medium,
                                                         part.radiance, by, active);
        if (mode == ad::Mode::Forward) // those that depend on nothing may be left out
            d.aovs.resize(part.radiance.aovs.size(), Float(0));
        return d;
    };

    // What those inside saw, as numbers that the image depends on
    std::vector<Radiance> inside;
    std::vector<std::vector<Float>> leaves;
    std::map<uint64_t, Float>
        tangent_of; // numbers that are passed on as they are: a traversal takes theirs away
    for (size_t i = 0; i < m_inner.size(); ++i) {
        Radiance r = detached(primal.nested.at(i).radiance);
        leaves.push_back(numbers_of(r));
        for (Float &v : leaves.back())
            ad::enable_grad(v);
        if (mode == ad::Mode::Forward) {
            std::vector<Float> tangents = numbers_of(inner_derivative(i, { Spectrum(1), {} }));
            for (size_t k = 0; k < tangents.size(); ++k) {
                ad::set_grad(leaves[i][k], tangents[k]);
                tangent_of[leaves[i][k].grad_id()] = tangents[k];
            }
        }
        RadianceDerivative like = derivative_like(r, leaves[i]);
        inside.push_back({ like.L, r.valid, like.aovs });
    }

    // Through the arithmetic, and on to them
    Radiance image = combined(inside, ray);
    std::vector<Float> numbers = numbers_of(image),
                       tangents = differentiate_values(mode, numbers, numbers_of(gradient));
    for (size_t k = 0; k < tangents.size(); ++k)
        if (auto it = tangent_of.find(numbers[k].grad_id()); it != tangent_of.end())
            tangents[k] = it->second;
    if (mode == ad::Mode::Forward)
        return derivative_like(image, tangents);
    for (size_t i = 0; i < m_inner.size(); ++i) {
        std::vector<Float> by;
        for (const Float &v : leaves[i])
            by.emplace_back(ad::grad(v));
        inner_derivative(i, derivative_like(inside[i], by));
    }
    return {};
}

const Integrator *NestingIntegrator::ignores_camera() const {
    for (const Ref<Integrator> &i : m_inner)
        if (const Integrator *ignores = i->ignores_camera())
            return ignores;
    return nullptr;
}

bool NestingIntegrator::has_boundary() const {
    return std::any_of(m_inner.begin(), m_inner.end(),
                       [](const Ref<Integrator> &i) { return i->has_boundary(); });
}

int NestingIntegrator::continuous_samples(int spp) const {
    return m_inner.empty() ? spp : m_inner[0]->continuous_samples(spp);
}

Float NestingIntegrator::boundary(const BoundaryPass &pass) const {
    bool moves = pass.scene.follows_shapes() || FollowedCamera::is_any();
    for (size_t i = 0; i < m_inner.size(); ++i)
        if (moves && m_inner[i]->has_boundary() && (i > 0 || !shows_first()))
            m_inner[i]->complain(
                "what comes into sight is differentiated in the image alone, not in "
                "what `{}` makes of it; use this integrator by itself",
                plugin());
    if (m_inner.empty() || !m_inner[0]->has_boundary() || !shows_first())
        return {};
    BoundaryPass part = pass;
    if (!part.whole)
        part.whole = this; // of all channels, what comes into sight is another surface's
    return m_inner[0]->boundary(part);
}

} // namespace umbel
