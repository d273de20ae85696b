// render/path_tracer.h: unidirectional path tracing with multiple importance sampling, and its derivative.
//
// At every surface, light is gathered in two ways, by sampling a light and by sampling the BSDF, and both estimates are
// combined with the power heuristic [Veach 1995]. Paths end at `max_depth` or by Russian roulette.
//
// The derivative walks each path a second time with the same random numbers [Vicini 2021]. Since the path's radiance is known
// by then, what still lies ahead follows by subtraction, and each bounce can be differentiated on its own. No ray is traced a
// second time: what a bounce met is kept along the way, and in one bit whether it saw the light. Nothing is differentiated
// but emission and BSDFs.
//
// Where vertices or transforms of shapes are followed, so is what moves with them. The first point of a path stays on the
// camera's ray; all others stay where they are on their surfaces, and the density of light from one to the next is
// differentiated with them. That is all of the derivative but for what comes into sight or goes out of it: see
// Integrator::boundary. Mirrors and the like are an exception: what is seen in them is taken to stay in its direction.
//
// Two other ways to the same derivative, see PathDerivative, differ in how they know what lies ahead of a vertex.
#pragma once
#include "render/followed_camera.h"
#include "render/integrator.h"
#include "render/visibility_warp.h"
#include <span>

namespace umbel {

enum class PathDerivative {
    Replay,    // known from the first walk: `prb`
    Radiative, // estimated by another path from each vertex [Nimier-David 2020]: `rb`
    Recorded,  // all arithmetic of the loop is kept and differentiated: `ad`
};

class PathTracer : public Integrator {
public:
    void declare(Params &p) override;
    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override;
    RadianceDerivative differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                     const Ray &ray, const Medium *medium, const Radiance &primal,
                                     const RadianceDerivative &gradient,
                                     const Mask &active) const override;
    const Integrator *ignores_camera() const override { return nullptr; }

protected:
    /// `max_depth` is the default. A basic one meets lights by chance only, and paths do not end by roulette.
    explicit PathTracer(int max_depth = -1, bool is_basic = false,
                        PathDerivative derivative = PathDerivative::Replay)
        : m_max_depth(max_depth), m_is_basic(is_basic), m_derivative(derivative) {}

    // Of a radiative derivative, which is biased unless both are -1
    int m_incident_depth = -1; // of the paths that tell what lies ahead; 0: it is taken to be 1
    int m_adjoint_depth = -1;  // how many vertices are differentiated

    VisibilityWarp m_warp; // of `prb_reparam`

    /// Radiance along rays that do not leave the camera, of paths of so many segments at most, the first one included.
    Radiance sample_up_to(const Scene &scene, SampleStream &sampler, const Ray &ray,
                          const UInt32 &segments, const Mask &active) const;
    int max_depth() const { return m_max_depth; }
    void set_max_depth(int depth) { m_max_depth = depth; }

private:
    static constexpr uint32_t KeptVertices = 16; // of a path that is replayed
    struct State;
    State initial_state(const SampleStream &sampler, const Ray &ray, const Mask &active) const;
    void bounce(const Scene &scene, State &s) const;
    Hit next_hit(const Scene &scene, State &s, const Mask &first) const;
    SurfaceInteraction attached_hit(const Scene &scene, State &s) const;
    Spectrum attached_light(const Scene &scene, const SurfaceInteraction &si,
                            const SurfaceInteraction &fixed, DirectionSample &ds,
                            const Spectrum &light, State &s, const Mask &active) const;
    Spectrum attached_scattering(const Scene &scene, const SurfaceInteraction &si, State &s,
                                 const Ray &arrived, const BSDFSample &bs) const;
    void differentiate_first_sight(const Scene &scene, State &s) const;
    std::vector<Spectrum> seen_beside(const Scene &scene, const State &s,
                                      std::span<const VisibilityWarp::Aside> asides) const;
    Float warped(const Scene &scene, const Ray &ray, const SurfaceInteraction &from, const Hit &hit,
                 const SurfaceInteraction &to, bool has_rim, State &s, const UInt32 &number,
                 const Mask &active) const;
    Mask is_lit(const Scene &scene, const Ray &ray, const Mask &active, State &s) const;
    Spectrum incident(const Scene &scene, State &s) const;

    int m_max_depth, m_rr_depth = 5;
    const bool m_is_basic;
    const PathDerivative m_derivative;
    bool m_strict_normals = false;
};

} // namespace umbel
