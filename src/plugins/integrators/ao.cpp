// ao: ambient occlusion: which part of the directions above the first surface, by their cosines, is open up to some distance.
//
// Materials and lights do not matter. Surfaces have two sides. Where a ray meets nothing, the image is white.
#include "core/spectra.h"
#include "core/warp.h"
#include "render/hidden_lights.h"
#include "render/integrator.h"

namespace umbel {

class AmbientOcclusion final : public Integrator {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='shading_samples' value='3'/><float name='ray_length' "
                  "value='2'/>");
        Integrator::declare(p);
        p.integer("shading_samples", m_samples, 1, 1).doc("Rays for each one of the camera");
        p.number("ray_length", m_length, -1)
            .doc("How far they look, in units of the scene; -1: half the radius of the sphere "
                 "around it");
    }
    void configure() override {
        if (!(m_length > 0) && m_length != -1)
            complain("ray_length is {}; it must be positive, or -1 for a length by the size of the "
                     "scene",
                     m_length);
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                    const Medium *, const Mask &active) const override {
        Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
        SurfaceInteraction si = scene.ray_intersect(ray, active, true);
        Mask valid = active & si.is_valid();
        bool is_known = m_length > 0 || scene.bounds().is_empty();
        Float length = opaque_float(is_known ? std::abs(m_length) : scene.bounds().radius() / 2);
        struct State {
            SampleStream sampler;
            Float open;
            UInt32 left;
            UMBEL_STRUCT(sampler, open, left)
        };
        State s{ sampler, Float(0), select(valid, jit::opaque(uint32_t(m_samples)), UInt32(0u)) };
        s = jit::loop(
            s, [](const State &s) { return s.left > UInt32(0u); },
            [&](State &s) {
                Vector3 d = square_to_cosine_hemisphere(s.sampler.next_2d());
                d.z = mulsign(d.z, si.wi.z); // on the side that is seen
                Ray out = si.spawn_ray(si.to_world(d));
                out.maxt = length;
                s.open += select(scene.ray_test(out, valid), Float(0), Float(1));
                s.left = s.left - UInt32(1u);
            },
            "ambient occlusion");
        sampler = s.sampler;
        Float value = select(valid, s.open * opaque_float(1.0 / m_samples), Float(1));
        return { white(ray) * value, valid, {} };
    }

private:
    static Spectrum white(const Ray &ray) {
        if (variant().colour != Colour::Spectral)
            return depolarize(Spectrum(1));
        return depolarize(map(ray.wavelengths, [](const Float &w) { return d65(w); }));
    }

    int m_samples = 1;
    double m_length = -1;
};

UMBEL_PLUGIN(Integrator, AmbientOcclusion, "ao")
} // namespace umbel
