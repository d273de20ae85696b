// singlescatter: light that is scattered once below a smooth refracting surface: gems, ice, thin liquids and what is little of a medium.
//
//     L = T(wo) / eta^2  int  sigma_s exp(-sigma_t s)  int p(w, w') eta^2 T(w') exp(-sigma_t s') Le  dw' ds
//
// along the refracted ray of view, at distances s from where it leaves the surface, and over directions w' from which light of
// emitters comes, s' after it has entered. T is what the surface lets pass. On its way to the eye light may be reflected inside.
// There are two forms.
//
// Fast: light enters on the straight line from where it is scattered to the emitter, and is refracted there as by a plane, whose
// depth tells how far it gets inside [Jensen 2001]. The solid angle that it fills shrinks accordingly. This is exact for planes
// under light from far away, and for an index of 1.
//
// Slow: light takes its true way. That of points and directions is found by Newton's method, for all ways that there are
// [Walter 2009]; see render/refracted_light.h. Other lights are met by directions sampled from the phase function, and theirs may
// be reflected inside on its way in, too. Surfaces that bend must tell their curvature, as meshes, spheres and cylinders do.
//
// The shape should be closed. Its BSDF should reflect like glass and nothing else: `plastic` or `roughplastic` without a diffuse
// part; the coefficients of the medium are taken where light leaves. Light that other surfaces reflect is left out, and so are
// lights inside. Presets have isotropic scattering, as of `dipole`, which adds what is scattered more often. Derivatives are those
// by the coefficients, at fixed ways of light.
#include "ad/ad.h"
#include "core/fresnel.h"
#include "render/phase.h"
#include "render/refracted_light.h"
#include "render/replay.h"
#include "render/scattering_coefficients.h"
#include "render/subsurface.h"

namespace umbel {

class SingleScatter final : public Subsurface {
public:
    void declare(Params &p) override {
        p.example("<rgb name='sigma_s' value='1,.6,.2'/><rgb name='sigma_a' value='.05,.3,1'/>");
        p.example("<string name='material' value='apple'/><boolean name='fast_single_scatter' "
                  "value='false'/><phase type='hg'><float name='g' value='.5'/></phase>");
        m_coefficients.declare(p);
        p.number("scale", m_scale, 1, 0).doc("Multiplies the coefficients: changes their unit");
        m_coefficients.declare_eta(p, m_eta);
        p.object(p.traversing() ? "phase_function" : "phase", m_phase)
            .doc("How the medium scatters; `isotropic` if absent");
        p.boolean("fast_single_scatter", m_is_fast, true)
            .doc("Light goes straight to where it is scattered, but for its angle; false: it takes "
                 "its true way");
        p.integer("fss_samples", m_samples, 2, 1)
            .doc("Places on each part of the ray of view where light may be scattered");
        p.boolean("single_scatter_shadow_rays", m_casts_shadows, true)
            .doc("Whether other surfaces hide lights that places below the surface connect to");
        p.boolean("single_scatter_transmittance", m_attenuates, true)
            .doc("Whether light loses any on its way in");
        p.integer("single_scatter_depth", m_depth, 4, 1)
            .doc(
                "Parts of the ray of view, and in the slow form of the ways of lights that have an "
                "extent: all but the first follow a reflection inside");
        if (p.loading() && !m_phase)
            m_phase = p.loader()->load_as<PhaseFunction>(
                std::make_shared<Properties>("phase", "isotropic"));
    }
    void configure() override {
        if (!(m_scale > 0))
            complain("scale is {}; it must be positive", m_scale);
        m_index = opaque_float(m_eta);
        m_unit = opaque_float(m_scale);
    }

    void prepare(const Scene &, const Shape &) override {}

    Spectrum eval(const Scene &scene, const SurfaceInteraction &si, SampleStream &sampler,
                  const Mask &active) const override {
        auto [sigma_t, albedo] = m_coefficients.eval(si, active);
        sigma_t = sigma_t * m_unit;
        Spectrum fixed = detached(sigma_t);
        Inside m{ scene, scene.subsurface_of(si, active), fixed };
        Light light = follow(m, si, sampler, active);
        // Scattered light is sigma_s exp(-sigma_t way), for any way: derivatives need but the sum of these
        Spectrum L = light.L;
        for (size_t c = 0; c < L.c.size(); ++c)
            if (ad::grad_enabled(sigma_t[c]))
                L[c] -= (sigma_t[c] - fixed[c]) * light.by_way[c];
        return depolarize(sigma_t * albedo * L);
    }

private:
    /// What light meets inside.
    struct Inside {
        const Scene &scene;
        UInt32 number; // of this among all that is below surfaces
        Spectrum sigma_t;
    };
    struct Light {
        Spectrum L, by_way; // the latter times the length of its way inside
        UMBEL_STRUCT(L, by_way)
        static Light none() { return { Spectrum(0), Spectrum(0) }; }
        void add(const Light &l, const Mask &active) {
            L += select(active, l.L, Spectrum(0));
            by_way += select(active, l.by_way, Spectrum(0));
        }
        /// After another part of the way.
        Light then(const Spectrum &weight, const Float &length) const {
            return { L * weight, (by_way + L * length) * weight };
        }
    };

    // ---- along the ray of view

    // The refracted ray, and on where the surface reflects it inside.
    Light follow(const Inside &m, const SurfaceInteraction &si, SampleStream &sampler,
                 const Mask &active) const {
        struct State {
            SampleStream sampler;
            Ray ray;
            Float way;
            Spectrum throughput;
            Light light;
            UInt32 part;
            Mask active;
            UMBEL_STRUCT(sampler, ray, way, throughput, light, part, active)
        };
        ad::SuspendGrad none;
        FresnelResult f = fresnel(si.wi.z, m_index);
        Vector3 d = si.to_world(refract(si.wi, f.cos_theta_t, f.eta_ti));
        State s{ sampler,    si.spawn_ray(d),       Float(0), Spectrum(1 - f.r), Light::none(),
                 UInt32(0u), active & (si.wi.z > 0) };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                SurfaceInteraction end = m.scene.ray_intersect(s.ray, s.active);
                Mask hit = s.active & end.is_valid();
                Float length = select(hit, end.t, Float(Endless));
                Light light = scattered(m, s.ray, length, s.sampler, s.active);
                s.light.add(light.then(s.throughput, s.way), s.active);

                Mask inside = is_left(m, end, hit);
                s.throughput =
                    s.throughput * transmittance(m.sigma_t, length) * fresnel(end.wi.z, m_index).r;
                s.way += length;
                s.ray = end.spawn_ray(end.to_world(reflect(end.wi)));
                s.part = s.part + UInt32(1u);
                Float q = min(max_component(s.throughput), 1);
                Mask goes_on = s.sampler.next_1d() < q;
                s.throughput = s.throughput * rcp(select(q > 0, q, Float(1)));
                s.active = inside & goes_on & (s.part < jit::opaque(uint32_t(m_depth)));
            },
            "single scattering");
        sampler = s.sampler;
        return s.light;
    }

    // A mean over places, each with the density of its distance.
    Light scattered(const Inside &m, const Ray &ray, const Float &length, SampleStream &sampler,
                    const Mask &active) const {
        struct State {
            SampleStream sampler;
            Light sum;
            UInt32 sample;
            UMBEL_STRUCT(sampler, sum, sample)
        };
        UInt32 count = jit::opaque(uint32_t(m_samples));
        State s{ sampler, Light::none(), UInt32(0u) };
        s = jit::loop(
            s, [&](const State &s) { return active & (s.sample < count); },
            [&](State &s) {
                auto [t, weight] = sample_distance(m, length, s.sampler);
                MediumInteraction mei = collision(ray, t);
                Light light = m_is_fast || m_eta == 1 ? straight_light(m, mei, s.sampler, active)
                                                      : bent_light(m, mei, s.sampler, active);
                s.sum.add(light.then(weight, t), active);
                s.sample = s.sample + UInt32(1u);
            },
            "places");
        sampler = s.sampler;
        return s.sum.then(Spectrum(rcp(Float(count))), Float(0));
    }

    // For the extinction of one channel; the weight is over the mean of all channels' densities.
    static std::pair<Float, Spectrum> sample_distance(const Inside &m, const Float &length,
                                                      SampleStream &sampler) {
        size_t n = m.sigma_t.c.size();
        Float u = sampler.next_1d() * double(n), channel = min(floor(u), double(n - 1));
        Float chosen = m.sigma_t[0];
        for (size_t c = 1; c < n; ++c)
            chosen = select(channel == double(c), m.sigma_t[c], chosen);
        // What has hardly any extinction is sampled uniformly
        Mask collides = chosen * length > Thin;
        Float safe = select(collides, chosen, Float(1)), rest = u - channel;
        Float t =
            select(collides, -log(1 - rest * (1 - exp(-safe * length))) / safe, rest * length);
        t = clamp(t, 0, length);
        Float density = mean(map(m.sigma_t, [&](const Float &s) {
            Float x = s * length;
            return select(x > Thin, s * exp(-s * t) / (1 - exp(-max(x, Thin))), rcp(length));
        }));
        Mask good = density > 0;
        Spectrum weight = transmittance(m.sigma_t, t);
        return { t, select(good, weight * rcp(select(good, density, Float(1))), Spectrum(0)) };
    }

    // ---- from lights

    // As if light was not bent but where it enters, and that by a plane.
    Light straight_light(const Inside &m, const MediumInteraction &mei, SampleStream &sampler,
                         const Mask &active) const {
        auto [ds, light] = m.scene.sample_emitter_direction(mei, sampler.next_2d(), false, active);
        Mask lit = active & (ds.pdf > 0);
        SurfaceInteraction p = m.scene.ray_intersect(mei.spawn_ray_to(ds.p), lit);
        lit = is_left(m, p, lit & p.is_valid());
        Float cos_o = -p.wi.z;
        FresnelResult f = fresnel(cos_o, m_index);
        Vector3 towards = -p.to_world(refract(-p.wi, f.cos_theta_t, f.eta_ti));
        // Of the straight line; where light grazes the surface, it gets in nonetheless
        Float shorter = cos_o / max(-f.cos_theta_t, 1e-6);
        Spectrum phase = unpolarized(m_phase->eval_pdf({}, mei, towards, lit).first);
        phase = phase * ((1 - f.r) * shorter * sqr(f.eta_ti));
        Light L = Light::none();
        L.add(way_in(m, phase * arriving(m, p, ds, light, sampler, lit), p.t * shorter), lit);
        return L;
    }

    // On its true way: from points and directions, and from what has an extent.
    Light bent_light(const Inside &m, const MediumInteraction &mei, SampleStream &sampler,
                     const Mask &active) const {
        Light L = Light::none();
        if (has_refracted_lights(m.scene)) {
            LightSampler::Choice one = m.scene.sample_emitter(sampler.next_1d(), active);
            RefractedLight r =
                refracted_light(m.scene, mei, one.emitter, m.number, m_index, sampler, active);
            Mask lit = active & (r.weight > 0);
            Float passes = 1 - fresnel(r.si.wi.z, m_index).r;
            Vector3 towards = -r.si.to_world(r.si.wi);
            Spectrum phase = unpolarized(m_phase->eval_pdf({}, mei, towards, lit).first);
            phase = phase * (passes * r.weight * one.inverse_pmf());
            L.add(way_in(m, phase * arriving(m, r.si, r.ds, r.light, sampler, lit), r.si.t), lit);
        }
        for (const Emitter *e : m.scene.emitters().objects())
            if (!e->is_delta()) {
                L.add(met_light(m, mei, sampler, active), active);
                break;
            }
        return L;
    }
    // Where the surface does not let it pass, light from there was reflected inside before
    Light met_light(const Inside &m, const MediumInteraction &mei, SampleStream &sampler,
                    const Mask &active) const {
        struct State {
            SampleStream sampler;
            Ray ray;
            Float way;
            Light light; // of a weight of 1
            UInt32 part;
            Mask active;
            UMBEL_STRUCT(sampler, ray, way, light, part, active)
        };
        Float u1 = sampler.next_1d();
        Vector2 u2 = sampler.next_2d();
        PhaseFunctionSample ps = m_phase->sample({}, mei, u1, u2, active);
        State s{ sampler,       mei.spawn_ray(ps.wo), Float(0),
                 Light::none(), UInt32(0u),           active & (ps.pdf > 0) };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                SurfaceInteraction p = m.scene.ray_intersect(s.ray, s.active);
                Mask inside = is_left(m, p, s.active & p.is_valid());
                FresnelResult f = fresnel(p.wi.z, m_index);
                Mask lit = inside & (f.r < 1);
                s.way += select(inside, p.t, Float(0));
                Vector3 d = p.to_world(refract(p.wi, f.cos_theta_t, f.eta_ti));
                SurfaceInteraction light = m.scene.ray_intersect(p.spawn_ray(d), lit);
                Spectrum emitted = unpolarized(m.scene.eval_emitter(light, lit));
                s.light.add(way_in(m, emitted * (1 - f.r), s.way), lit);

                s.ray = p.spawn_ray(p.to_world(reflect(p.wi)));
                s.part = s.part + UInt32(1u);
                Mask is_reflected = s.sampler.next_1d() < f.r;
                s.active = inside & is_reflected & (s.part < jit::opaque(uint32_t(m_depth)));
            },
            "light's way in");
        sampler = s.sampler;
        return s.light.then(unpolarized(ps.weight), Float(0));
    }
    // At the surface, past whatever is outside.
    Spectrum arriving(const Inside &m, const SurfaceInteraction &p, const DirectionSample &ds,
                      const Spectrum &light, SampleStream &sampler, const Mask &active) const {
        if (!m_casts_shadows)
            return unpolarized(light);
        UInt32 outside = m.scene.medium_beyond(p, ds.d, UInt32(0u), active);
        return unpolarized(m.scene.transmittance(p, ds, outside, sampler, active) * light);
    }

    // ---- common parts

    // Whether a ray has met this surface from inside.
    static Mask is_left(const Inside &m, const SurfaceInteraction &p, const Mask &hit) {
        return hit & (p.wi.z < 0) & (m.scene.subsurface_of(p, hit) == m.number);
    }
    Light way_in(const Inside &m, const Spectrum &L, const Float &length) const {
        return m_attenuates ? Light{ L, Spectrum(0) }.then(transmittance(m.sigma_t, length), length)
                            : Light{ L, Spectrum(0) };
    }
    static Spectrum transmittance(const Spectrum &sigma_t, const Float &length) {
        return map(sigma_t, [&](const Float &s) { return exp(-s * length); });
    }
    static MediumInteraction collision(const Ray &ray, const Float &t) {
        MediumInteraction mei;
        mei.t = t;
        mei.mint = Float(0);
        mei.p = ray(t);
        mei.n = Vector3(Float(0));
        mei.time = ray.time;
        mei.wavelengths = ray.wavelengths;
        mei.medium = UInt32(0u);
        mei.wi = -ray.d;
        mei.sh_frame = Frame(mei.wi);
        mei.sigma_s = mei.sigma_n = mei.sigma_t = mei.majorant = Spectrum(0);
        return mei;
    }

    static constexpr double Endless = 1e8; // the length of a ray that never leaves
    static constexpr double Thin = 1e-3;   // an optical depth

    ScatteringCoefficients m_coefficients;
    double m_scale = 1, m_eta = 1;
    bool m_is_fast = true, m_casts_shadows = true, m_attenuates = true;
    int m_samples = 2, m_depth = 4;
    Ref<PhaseFunction> m_phase;
    Float m_index, m_unit;
};

UMBEL_PLUGIN(Subsurface, SingleScatter, "singlescatter")
} // namespace umbel
