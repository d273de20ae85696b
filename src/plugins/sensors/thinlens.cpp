// thinlens: a camera with a lens: sharp at one distance, blurred in front of it and behind.
//
// Looks along +z of its own space, y up, x to the left. A ray leaves a point of the lens, which is a disk around the origin,
// towards the point at `focus_distance` that a pinhole would show at the same place of the film. With the area A of the film at
// distance 1 and that of the lens, L, the importance of a ray at the angle theta is 1 / (A L cos(theta)^4).
#include "render/camera.h"
#include "render/lens.h"

namespace umbel {

class ThinLens final : public FovCamera {
public:
    void declare(Params &p) override {
        p.example("<float name='aperture_radius' value='.2'/><float name='focus_distance' "
                  "value='4'/><float name='fov' value='60'/>");
        p.example("<float name='aperture_radius' value='.1'/><string name='fov_axis' value='y'/>"
                  "<float name='focus_distance' value='1'/><float name='fov' value='70'/>"
                  "<float name='principal_point_offset_y' value='.1'/>");
        FovCamera::declare(p);
        m_lens.declare(p, 0.1, 1, "along the view's axis");
    }
    void configure() override {
        FovCamera::configure();
        m_lens.configure(*this, "For a pinhole, use `perspective`");
        refuse_scale("its lens", "scale aperture_radius and focus_distance instead");
    }

    uint32_t flags() const override { return 0; }
    bool needs_aperture_sample() const override { return true; }
    BoundingBox bounds() const override { // of the lens, at its keyframes
        BoundingBox b;
        for (const TransformData &t : m_to_world.transforms)
            for (double x : { -m_lens.radius, m_lens.radius })
                for (double y : { -m_lens.radius, m_lens.radius })
                    b.extend(t.apply_point({ x, y, 0 }));
        return b;
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &aperture,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Vector3 lens = lens_point(aperture);
        Vector2 slope = slope_at(position);
        Vector3 sharp{ slope.x * m_lens.distance, slope.y * m_lens.distance, m_lens.distance };
        Vector3 d = normalize(sharp - lens);
        Float near_t = m_near_clip / d.z, far_t = m_far_clip / d.z;
        Transform to_world = to_world_at(time, active);
        Vector3 world = normalize(to_world.vector(d));
        Vector3 o = fma(world, near_t, to_world.point(lens));
        return { Ray{ o, world, far_t - near_t, time, wavelengths }, weight };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override {
        return { position_at(to_world_at(time, active), u, time), m_lens.area };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override {
        return rcp(m_lens.area);
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        Transform to_world = to_world_at(it.time, active);
        DirectionSample ds{ position_at(to_world, u, it.time), {}, Float(0), UInt32(0u) };
        Vector3 v = ds.p - it.p;
        ds.dist = norm(v);
        ds.d = v * rcp(ds.dist);
        View view = view_of(to_world, it, ds.d);
        // The lens is met where it was sampled, whatever rounding has to say at its rim
        view.seen = view.in_film;
        ds.uv = view.pixel;
        ds.pdf = select(view.seen, view.density, Float(0));
        Float inv_pdf = select(view.seen, rcp(view.density), Float(0));
        return { ds, Spectrum(view.importance * inv_pdf) };
    }
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        View view = view_of(to_world_at(it.time, active), it, ds.d);
        return select(view.seen, view.density, Float(0));
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        View view = view_of(to_world_at(it.time, active), it, ds.d);
        return Spectrum(select(view.seen, view.importance, Float(0)));
    }

private:
    Vector3 lens_point(const Vector2 &u) const {
        Vector2 p = m_lens.point(u);
        return { p.x, p.y, Float(0) };
    }
    PositionSample position_at(const Transform &to_world, const Vector2 &u,
                               const Float &time) const {
        return { to_world.point(lens_point(u)),
                 normalize(to_world.vector({ 0, 0, 1 })),
                 { Float(0), Float(0) },
                 time,
                 rcp(m_lens.area),
                 Mask(false) };
    }

    struct View {         // of what sees the lens in some direction
        Vector2 pixel;    // of the crop window
        Float importance; // that arrives there
        Float density;    // of points of the lens, per solid angle
        Mask in_film, seen;
    };
    View view_of(const Transform &to_world, const Interaction &it, const Vector3 &towards) const {
        Transform to_local = to_world.inverse();
        Vector3 p = to_local.point(it.p), d = normalize(to_local.vector(-towards));
        Mask front = (d.z > 1e-6) & (p.z > 0);
        Float inv_z = rcp(select(front, d.z, Float(1))), dist = p.z * inv_z;
        Vector3 lens = fma(d, -dist, p), sharp = fma(d, m_lens.distance * inv_z, lens);
        Place place = place_of(film_at({ sharp.x / m_lens.distance, sharp.y / m_lens.distance }));
        Mask in_film = front & in_reach(p.z) & place.seen;
        Mask in_lens = sqr(lens.x) + sqr(lens.y) <= sqr(m_lens.size) * (1 + 1e-5);
        Float area = extent().x * extent().y * rendered_part(4) * m_lens.area;
        return { place.pixel, sqr(sqr(inv_z)) / area, sqr(dist) * inv_z / m_lens.area, in_film,
                 in_film & in_lens };
    }

    Lens m_lens;
};

UMBEL_PLUGIN(Sensor, ThinLens, "thinlens")
} // namespace umbel
