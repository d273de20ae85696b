// telecentric: a camera with a lens that shows things the same size however far they are, sharp at one distance.
//
// It is to `orthographic` what `thinlens` is to `perspective`. Around each point of the film is a lens of its own: a ray leaves a
// point of that disk towards the point at `focus_distance` straight in front of the film's. With the areas A of the film and L
// of the lens, the focal distance f and the angle theta of a ray to the axis, its importance is f^2 / (A L cos(theta)^4).
#include "render/lens.h"
#include "render/parallel_camera.h"

namespace umbel {

class Telecentric final : public ParallelCamera {
public:
    void declare(Params &p) override {
        p.example("<float name='aperture_radius' value='.3'/><float name='focus_distance' "
                  "value='3'/>");
        p.example("<float name='aperture_radius' value='.1'/><float name='focus_distance' "
                  "value='1'/><float name='near_clip' value='.2'/>");
        ParallelCamera::declare(p);
        m_lens.declare(p, 0, 0, "in units of the scene");
    }
    void configure() override {
        ParallelCamera::configure();
        m_lens.configure(*this, "Without a lens, use `orthographic`");
        for (const TransformData &t : m_to_world.transforms)
            refuse_shear(t);
    }
    uint32_t flags() const override { return 0; }
    bool needs_aperture_sample() const override { return true; }
    BoundingBox bounds() const override { // of all lenses, at its keyframes
        BoundingBox b;
        double height = double(m_film->height()) / m_film->width();
        for (const TransformData &t : m_to_world.transforms)
            for (double x : { -1.0, 1.0 })
                for (double y : { -height, height }) {
                    std::array<double, 3> p = t.apply_point({ x, y, 0 }), low = p, high = p;
                    for (size_t k = 0; k < 3; ++k)
                        low[k] -= m_lens.radius, high[k] += m_lens.radius;
                    b.extend(low);
                    b.extend(high);
                }
        return b;
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &aperture,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Transform to_world = to_world_at(time, active);
        Axes axes(to_world);
        Vector3 lens = lens_point(axes, aperture);
        Vector3 d = normalize(axes.z * m_lens.distance - lens);
        Float by_axis = axes.length_z / dot(d, axes.z);
        Vector3 o = fma(d, m_near_clip * by_axis, to_world.point(film_point(position, 0)) + lens);
        return { Ray{ o, d, (m_far_clip - m_near_clip) * by_axis, time, wavelengths }, weight };
    }
    // Uniformly in the rectangle around all lenses.
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override {
        Transform to_world = to_world_at(time, active);
        Axes axes(to_world);
        Float x = fma(u.x, 2, -1) * (axes.length_x + m_lens.size),
              y = fma(u.y, 2, -1) * fma(axes.length_y, inv_aspect(), m_lens.size);
        Float all = area_with_lenses(axes);
        return { { to_world.translation() + axes.x * x + axes.y * y,
                   axes.z,
                   { Float(0), Float(0) },
                   time,
                   rcp(all),
                   Mask(false) },
                 all };
    }
    Float pdf_position(const PositionSample &ps, const Mask &active) const override {
        return rcp(area_with_lenses(Axes(to_world_at(ps.time, active))));
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        Transform to_world = to_world_at(it.time, active);
        Axes axes(to_world);
        Vector3 d = normalize(axes.z * m_lens.distance - lens_point(axes, u));
        View view = view_of(to_world, axes, it.p, d);
        // The lens is met where it was sampled, whatever rounding has to say at its rim
        DirectionSample ds{ { fma(d, -view.dist, it.p), axes.z, view.pixel, it.time,
                              select(view.in_film, view.density, Float(0)), Mask(false) },
                            -d,
                            view.dist,
                            UInt32(0u) };
        return { ds, Spectrum(select(view.in_film, view.importance / view.density, Float(0))) };
    }
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        Transform to_world = to_world_at(it.time, active);
        View view = view_of(to_world, Axes(to_world), it.p, -ds.d);
        return select(view.in_film & view.in_lens, view.density, Float(0));
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Transform to_world = to_world_at(it.time, active);
        View view = view_of(to_world, Axes(to_world), it.p, -ds.d);
        return Spectrum(select(view.in_film & view.in_lens, view.importance, Float(0)));
    }

private:
    struct Axes { // of the camera, in the scene
        explicit Axes(const Transform &to_world)
            : x(to_world.vector({ 1, 0, 0 })), y(to_world.vector({ 0, 1, 0 })),
              z(to_world.vector({ 0, 0, 1 })), length_x(norm(x)), length_y(norm(y)),
              length_z(norm(z)) {
            x = x / length_x;
            y = y / length_y;
            z = z / length_z;
        }
        Vector3 x, y, z;
        Float length_x, length_y, length_z;
    };
    /// From the film's point on.
    Vector3 lens_point(const Axes &axes, const Vector2 &u) const {
        Vector2 p = m_lens.point(u);
        return axes.x * p.x + axes.y * p.y;
    }
    Float area_with_lenses(const Axes &axes) const {
        return 4 * (axes.length_x + m_lens.size) * fma(axes.length_y, inv_aspect(), m_lens.size);
    }

    struct View { // of a place, from where a ray in direction d comes by
        Vector2 pixel;
        Float dist;       // from the film's plane, along d
        Float importance; // that arrives there
        Float density;    // of points of lenses, per solid angle
        Mask in_film, in_lens;
    };
    View view_of(const Transform &to_world, const Axes &axes, const Vector3 &place,
                 const Vector3 &d) const {
        Vector3 p = to_world.inverse().point(place);
        Float cosine = dot(d, axes.z);
        Mask front = (cosine > 1e-6) & (p.z > 0);
        Float inv_cos = rcp(select(front, cosine, Float(1))), dist = p.z * axes.length_z * inv_cos;
        // The ray meets the plane in focus straight in front of the film's point
        Vector3 sharp = fma(d, m_lens.distance * inv_cos - dist, place);
        Place film = place_of(film_at(to_world.inverse().point(sharp)));
        Vector3 lens = d * (m_lens.distance * inv_cos) - axes.z * m_lens.distance;
        Float density = sqr(m_lens.distance) * inv_cos * sqr(inv_cos) / m_lens.area;
        return { film.pixel,
                 dist,
                 density * inv_cos / area(to_world, axes.z),
                 density,
                 front & in_reach(p.z) & film.seen,
                 squared_norm(lens) <= sqr(m_lens.size) * (1 + 1e-5) };
    }

    void refuse_shear(const TransformData &t) const {
        for (auto [i, k] : { std::pair(0, 1), { 0, 2 }, { 1, 2 } }) {
            double product = 0, a = 0, b = 0;
            for (int row = 0; row < 3; ++row) {
                product += t(row, i) * t(row, k);
                a += t(row, i) * t(row, i);
                b += t(row, k) * t(row, k);
            }
            if (!(std::abs(product) <= 1e-3 * std::sqrt(a * b)))
                complain("to_world shears the camera; its axes must stay at right angles");
        }
    }

    Lens m_lens;
};

UMBEL_PLUGIN(Sensor, Telecentric, "telecentric")
} // namespace umbel
