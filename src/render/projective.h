// render/projective.h: a path tracer whose derivative knows what comes into sight where shapes or the camera move.
//
// PathTracer differentiates what is seen; the rest is an integral over rays that touch a silhouette. Along such a ray, what
// is seen changes by the difference of radiance on both sides, times the speed at which the silhouette crosses it, relative
// to the points that the path tracer holds on to [Zhang 2020, 2023]:
//
//     dI = integral  W (L_inside - L_outside) (edge x w) . v_rel  dt dw
//
// with importance W, an `edge` of which t is a place, and w the ray's direction. `v_rel` is the velocity of the place on the
// silhouette less that of the segment there: the ends of the first segment of a path are the camera and a direction, those
// of later ones stay on their surfaces. There a surface's own points move as its silhouette does, so that only what lies
// behind it counts.
//
// Where normals of shading are not those of the surface, light also jumps along lines that are no silhouettes (LineKind): beside them
// is the same surface, of which `v_rel` is relative to the point there. Where a surface turns dark, a segment of a path ends; where it
// turns away from light, one begins, at a right angle to its normal n: there (edge x n) . v_rel takes the place of the product above,
// and no cosine is part of W.
//
// Silhouettes seen by the camera are drawn by their length in the image. Those of later segments are drawn by a point on a
// silhouette and a direction, uniform or towards a light, both ways combined; from there one walk leads to the camera, the
// other collects light. `guiding` learns where that is worth while.
#pragma once
#include "render/path_tracer.h"
#include "render/silhouettes.h"

namespace umbel {

class SampleGuide;

class ProjectiveTracer : public PathTracer {
public:
    void declare(Params &p) override;
    Float boundary(const BoundaryPass &pass) const override;
    bool has_boundary() const override { return true; }
    int continuous_samples(int spp) const override { return m_sppc < 0 ? spp : m_sppc; }

protected:
    using PathTracer::PathTracer;

private:
    struct Target;
    struct Seed;
    struct Segment;
    struct Walk;
    /// How much gets through between the camera and what a ray leads to, or comes from.
    Scene::Passage sight(const Scene &scene, const Ray &ray, const Mask &active) const;
    int samples(int own, const BoundaryPass &pass) const { return own < 0 ? pass.spp : own; }
    void primary(const BoundaryPass &pass, const Silhouettes &edges, Target &target) const;
    void indirect(const BoundaryPass &pass, const Silhouettes &edges, Target &target) const;
    void primary_launch(const BoundaryPass &pass, const Silhouettes &edges,
                        const DiscreteDistribution &pieces, const Viewpoint &camera, uint32_t first,
                        uint32_t lanes, double scale, Target &target) const;
    /// Brightness of what samples of the boundary bring, by their place in the unit cube: for guiding.
    Float indirect_launch(const BoundaryPass &pass, const Silhouettes &edges,
                          const DiscreteDistribution &pieces, LineKind kind, bool to_light,
                          const SampleGuide &guide, uint32_t first, uint32_t lanes, double scale,
                          Target *target, std::vector<Float> *places) const;
    Seed seed(const BoundaryPass &pass, const Silhouettes &edges,
              const DiscreteDistribution &pieces, LineKind kind, bool to_light, const Float &u0,
              const Vector2 &u, const Float &time, const Wavelengths &wavelengths) const;
    Segment segment(const Scene &scene, const Silhouettes &edges, const Seed &s, LineKind kind,
                    SampleStream &sampler, const Float &time, const Wavelengths &wavelengths) const;

    int m_sppc = -1, m_sppp = -1, m_sppi = -1;
    std::string m_guiding = "octree";
    /// Of so many samples of light between surfaces, those that are drawn towards lights, or not.
    uint64_t share_of(uint64_t total, bool to_light) const;

    bool m_guiding_proj = true;
    std::string m_project_seed = "both";
    int m_guiding_rounds = 1;
};

} // namespace umbel
