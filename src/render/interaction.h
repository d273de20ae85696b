// render/interaction.h: where a ray meets a surface, and what sampling functions exchange.
#pragma once
#include "core/spectrum.h"
#include <memory>

namespace umbel {

/// The rays through the next pixels to the right and below.
struct RayNeighbours {
    Vector3 o_x, d_x, o_y, d_y;
};

/// A ray with the wavelengths that travel along it.
struct Ray {
    Vector3 o, d;
    Float maxt;
    Float time;
    Wavelengths wavelengths;
    UMBEL_STRUCT(o, d, maxt, time, wavelengths)

    /// Of a camera's ray, where a texture filters what a pixel sees; else null.
    std::shared_ptr<const RayNeighbours> neighbours = nullptr;

    Vector3 operator()(const Float &t) const { return fma(d, t, o); }
};

/// A reference point of light transport: on a surface, in a medium, or at a sensor.
struct Interaction {
    Float t;   // distance along the ray; infinity if there is none
    Vector3 p; // position
    Vector3 n; // geometric normal; zero where there is no surface
    Float time;
    Wavelengths wavelengths;
    UMBEL_STRUCT(t, p, n, time, wavelengths)

    Mask is_valid() const { return t < std::numeric_limits<double>::infinity(); }
    /// Rays that leave the surface start a little off it, on the side of their direction.
    Ray spawn_ray(const Vector3 &d) const;
    /// Up to just before a point.
    Ray spawn_ray_to(const Vector3 &target) const;
};

struct SurfaceInteraction : Interaction {
    UInt32 shape;        // 1 + number of the shape in its scene; 0: none
    UInt32 bsdf;         // likewise
    UInt32 bsdf_flags;   // what it does: BSDFFlags
    UInt32 emitter;      // the shape's; 0 if it emits nothing
    UInt32 shape_number; // of the shape in the process: Shape::global_number(); 0: none
    UInt32 instance;     // likewise, of the instance that it is part of
    UInt32 prim;         // triangle of the mesh; 0 for analytic shapes
    Vector2 uv;
    Vector3
        object_p;   // the position in the space of the shape: not `p` if it is part of an instance
    Frame sh_frame; // shading frame
    Vector3 dp_du, dp_dv;
    Vector3 wi; // towards where the ray came from, in the shading frame
    UMBEL_STRUCT(t, p, n, time, wavelengths, shape, bsdf, bsdf_flags, emitter, shape_number,
                 instance, prim, uv, object_p, sh_frame, dp_du, dp_dv, wi)

    /// The rest of the ray that has met the surface, from behind it on: not a little aside, as a ray that leaves it is.
    Ray behind(const Ray &ray) const;

    /// How texture coordinates change from pixel to pixel, where that is known; else invalid.
    Vector2 duv_dx = {}, duv_dy = {};
    /// Finds them out in lanes that see the surface along such a ray; in others they become zero.
    void compute_uv_partials(const Ray &ray, const Mask &active);

    Vector3 to_world(const Vector3 &v) const { return sh_frame.to_world(v); }
    Vector3 to_local(const Vector3 &v) const { return sh_frame.to_local(v); }
    /// In polarized variants, turns a Mueller matrix of local directions into one of world directions.
    Spectrum to_world_mueller(const Spectrum &m, const Vector3 &in_forward,
                              const Vector3 &out_forward) const;
};

/// A place in a medium where light may collide with it.
struct MediumInteraction : Interaction {
    UInt32 medium;  // 1 + number of the medium in its scene; 0: none
    Vector3 wi;     // towards where the ray came from, in the scene's space
    Frame sh_frame; // around wi
    Float mint;     // where along the ray the medium begins
    // Per unit of length, plain: scattering, collisions without effect, extinction, and a bound of the last two's sum
    // that holds along the whole ray
    Spectrum sigma_s, sigma_n, sigma_t, majorant;
    UMBEL_STRUCT(t, p, n, time, wavelengths, medium, wi, sh_frame, mint, sigma_s, sigma_n, sigma_t,
                 majorant)

    Vector3 to_world(const Vector3 &v) const { return sh_frame.to_world(v); }
    Vector3 to_local(const Vector3 &v) const { return sh_frame.to_local(v); }
};

/// A point on a shape.
struct PositionSample {
    Vector3 p, n;
    Vector2 uv;
    Float time;
    Float pdf; // per area
    Mask delta;
    UMBEL_STRUCT(p, n, uv, time, pdf, delta)
};

/// A point on a light seen from a reference point.
struct DirectionSample : PositionSample {
    Vector3 d; // towards the light, unit length
    Float dist;
    UInt32 emitter; // 1 + number of the emitter in its scene
    // pdf is per solid angle at the reference point
    UMBEL_STRUCT(p, n, uv, time, pdf, delta, d, dist, emitter)
};

/// The part of a hit that traversal computes.
struct Hit {
    Float t;    // infinity: none
    Float u, v; // barycentric, of the second and third vertex
    UInt32 prim, geometry;
    UInt32 instance; // 1 + number of the instance in its scene; 0: none
    UMBEL_STRUCT(t, u, v, prim, geometry, instance)

    Mask is_valid() const { return t < std::numeric_limits<double>::infinity(); }
};

} // namespace umbel
