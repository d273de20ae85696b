// render/scene.h: all objects of a scene, and the questions that light transport asks of them.
#pragma once
#include "render/arena.h"
#include "render/launches.h"
#include "render/light_sampler.h"
#include "render/sensor.h"

namespace umbel {

class Integrator;
class OverlappingMedia;

class Scene : public Object {
public:
    static constexpr const char *Kind = "scene";

    Scene();
    ~Scene() override;
    void declare(Params &p) override;
    void configure() override;
    void child_changed() override;
    /// Whether shapes have changed since child_changed() took them up.
    bool is_outdated() const { return m_arena.is_outdated(); }
    /// Lets go of all objects; the scene is of no use afterwards.
    void release();

    // ---- rays
    /// The nearest hit. `coherent`: neighbouring lanes hold similar rays, as camera rays are.
    Hit trace(const Ray &ray, const Mask &active, const Mask &coherent = false) const {
        return m_arena.trace(ray, active, coherent);
    }
    SurfaceInteraction ray_intersect(const Ray &ray, const Mask &active,
                                     const Mask &coherent = false) const {
        return interaction(ray, trace(ray, active, coherent), active);
    }
    /// Whether anything lies between the ray's ends.
    Mask ray_test(const Ray &ray, const Mask &active) const {
        return m_arena.ray_test(ray, active);
    }
    using Follow = Arena::Follow;
    /// All about a hit.
    SurfaceInteraction interaction(const Ray &ray, const Hit &hit, const Mask &active,
                                   Follow follow = Follow::Nothing) const;
    /// Likewise, with derivatives of whatever scripts follow of shapes: see Arena::attached.
    Arena::Attached attached(const Ray &ray, const Hit &hit, const Mask &on_ray,
                             const Mask &active) const;
    /// See Arena::follow_shapes; and likewise of where sensors are: the scene's, and another one that looks at it, or null.
    void follow_shapes(const Sensor *another);
    std::vector<Value> followed_shapes(const Sensor *another) const;
    std::vector<const Sensor *> sensors_and(const Sensor *another) const; // each once
    bool follows_shapes() const { return m_arena.follows_shapes(); }
    /// Derivatives of the normal at a hit with respect to u and v: of the shading normal, or of the geometric one.
    std::pair<Vector3, Vector3> normal_partials(const Ray &ray, const Hit &hit,
                                                const SurfaceInteraction &si, bool shading,
                                                const Mask &active) const {
        return m_arena.normal_partials(ray, hit, si, shading, active);
    }
    /// The number of a hit's triangle in its mesh, its shape, and the place in it by the order of the mesh's indices.
    struct HitPlace : Arena::Place {
        UInt32 shape_number;
    };
    HitPlace place_of(const Hit &hit, const Mask &active) const;

    // ---- lights
    /// A direction towards a light chosen at random, and radiance over density, zero if it is occluded.
    std::pair<DirectionSample, Spectrum> sample_emitter_direction(const Interaction &it,
                                                                  const Vector2 &u,
                                                                  bool test_visibility,
                                                                  const Mask &active) const;
    /// A light for a ray that leaves it, wherever it goes; number 0 if there is none.
    LightSampler::Choice sample_emitter(const Float &u, const Mask &active) const;
    /// Probability of that choice.
    Float pdf_emitter(const UInt32 &emitter, const Mask &active) const;
    /// A ray of light from there, and what it carries over the density of it all: see Endpoint::sample_ray.
    std::pair<Ray, Spectrum> sample_emitter_ray(const LightSampler::Choice &source,
                                                const Float &time, const Float &wavelength,
                                                const Vector2 &position, const Vector2 &direction,
                                                const Mask &active) const;
    /// Density of sample_emitter_direction() for the light that a ray met.
    Float pdf_emitter_direction(const Interaction &it, const DirectionSample &ds,
                                const Mask &active) const;
    /// What arrives at `it` from ds.emitter in that direction, over no density, wherever anything is in between.
    Spectrum eval_emitter_direction(const Interaction &it, const DirectionSample &ds,
                                    const Mask &active) const;
    /// The number of the light that a ray has met: the surface's, or the environment.
    UInt32 emitter_of(const SurfaceInteraction &si) const;
    /// Radiance towards si.wi of what the ray has met.
    Spectrum eval_emitter(const SurfaceInteraction &si, const Mask &active) const;
    /// Likewise, with the density of choosing that direction from `it` by sample_emitter_direction.
    std::pair<Spectrum, Float> eval_emitter_pdf(const Interaction &it, const SurfaceInteraction &si,
                                                const Mask &active) const;
    /// What was met, as a sample of its light seen from `it`.
    DirectionSample direction_to(const Interaction &it, const SurfaceInteraction &si) const;

    // ---- surfaces
    struct BSDFResult { // of both questions of a path: towards a light, and where next
        Spectrum value; // f cos
        Float pdf;
        BSDFSample sample;
        UMBEL_STRUCT(value, pdf, sample)
    };
    BSDFResult eval_and_sample_bsdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                    const Vector3 &wo, const Float &u1, const Vector2 &u2,
                                    const Mask &active) const;
    // ---- media: scene_media.cpp
    const Table<Medium> &media() const { return m_media; }
    /// 0 for null; an error for media that are not part of the scene.
    uint32_t number_of(const Medium *medium) const;
    /// Whether light passes through surfaces in a straight line.
    bool has_null_surfaces() const { return m_has_null; }
    /// How much of it gets from one end of a ray to the other, past how many surfaces; media are none of its business.
    struct Passage {
        Spectrum weight;
        UInt32 surfaces;
    };
    Passage passage(const Ray &ray, const Mask &active) const;
    /// What a surface lets pass in a straight line of the light that arrives at si.wi; 0 in other lanes.
    Spectrum null_transmission(const SurfaceInteraction &si, const Mask &active) const;
    /// The medium that a ray enters which leaves a surface along `d`: the one it was in, unless the surface separates two.
    UInt32 medium_beyond(const SurfaceInteraction &si, const Vector3 &d, const UInt32 &medium,
                         const Mask &active) const;
    /// The first collision along a ray inside a medium; see Medium::sample.
    MediumSample sample_medium(const UInt32 &medium, const Ray &ray, SampleStream &sampler,
                               const Mask &active, const Tracing &how = {}) const;
    struct PhaseResult { // as BSDFResult
        Spectrum value;
        Float pdf;
        PhaseFunctionSample sample;
        UMBEL_STRUCT(value, pdf, sample)
    };
    PhaseResult eval_and_sample_phase(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                                      const Vector3 &wo, const Float &u1, const Vector2 &u2,
                                      const Mask &active) const;
    /// The part of a light's radiance that arrives at `from`, past surfaces and media; the ray begins in `medium`. Without media
    /// and surfaces that light passes through, it is ray_test(). `of_media` becomes what media have let pass. Where it is
    /// differentiated, lanes must be those that light arrives in, and the tangent of its logarithm is returned in its place.
    Spectrum transmittance(const Interaction &from, const DirectionSample &ds, const UInt32 &medium,
                           SampleStream &sampler, const Mask &active, const Tracing &how = {},
                           Spectrum *of_media = nullptr) const;
    bool has_subsurfaces() const { return !m_subsurfaces.empty(); }
    /// The number of what is below a surface; 0: nothing.
    UInt32 subsurface_of(const SurfaceInteraction &si, const Mask &active) const;
    /// Radiance that leaves a surface after having travelled below it.
    Spectrum eval_subsurface(const SurfaceInteraction &si, SampleStream &sampler,
                             const Mask &active) const;

    const Table<BSDF> &bsdfs() const { return m_bsdfs; }
    /// In the order of the scene's description, those of shapes among them.
    const Table<Emitter> &emitters() const { return m_emitters; }

    const std::vector<Ref<Sensor>> &sensors() const { return m_sensors; }
    /// As the scene names them, groups and instances among them.
    const std::vector<Ref<Shape>> &shapes() const { return m_shapes; }
    /// Surfaces by number: those of the scene, then those of each group that has instances.
    const std::vector<const Shape *> &surfaces() const { return m_arena.surfaces(); }
    const Arena &arena() const { return m_arena; }
    size_t instance_count() const { return m_arena.instance_count(); }
    const Ref<Integrator> &integrator() const { return m_integrator; }
    const BoundingBox &bounds() const { return m_arena.bounds(); }
    const Variant &scene_variant() const { return m_variant; }
    /// Of renders, for the next ones; what the scene is does not depend on it.
    LaunchCache &launches() const { return m_launches; }

private:
    void collect_objects();
    void own_bsdfs();
    /// In the order of the scene's description.
    std::vector<Ref<Emitter>> lights() const;
    void collect_media();
    void prepare_subsurfaces() const;
    Spectrum medium_transmittance(const UInt32 &medium, const Ray &ray, SampleStream &sampler,
                                  const Mask &active, const Tracing &how) const;
    void build_arena();
    void add_links(const Hit &hit, const Mask &active, SurfaceInteraction &si) const;

    const Variant &m_variant;
    std::vector<Ref<Shape>> m_shapes;
    std::vector<Ref<Emitter>> m_free_emitters;
    std::vector<Ref<Object>> m_described; // shapes and free emitters, in order
    std::vector<Ref<Sensor>> m_sensors;
    Ref<Integrator> m_integrator;

    Table<BSDF> m_bsdfs;
    Table<Emitter> m_emitters;
    Table<Medium> m_media;
    Table<Subsurface> m_subsurfaces;
    UInt32 m_behind_table; // by shape: interior, exterior, subsurface, region of m_overlaps
    std::unique_ptr<OverlappingMedia> m_overlaps; // null where no media do
    bool m_has_null = false;
    uint32_t m_environment = 0; // its number
    LightChoice m_light_choice;

    bool m_robust = false; // see Geometry::robust
    Arena m_arena;
    UInt32 m_shape_table; // by shape: bsdf, emitter, the bsdf's flags, the shape's global number
    mutable LaunchCache m_launches;
};

/// Reads a scene file's objects in the current variant.
Ref<Scene> load_scene(const Properties &root);
/// The same, giving up the properties on the way: takes less memory.
Ref<Scene> load_scene(Properties &&root);

} // namespace umbel
