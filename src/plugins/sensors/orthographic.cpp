// orthographic: a camera whose rays are all parallel: things look the same size however far they are.
//
// Looks along +z of its own space, y up, x to the left. The film shows x from -1 to 1, and of y what its shape leaves room for;
// a scale in `to_world` makes it larger.
#include "render/parallel_camera.h"

namespace umbel {

class Orthographic final : public ParallelCamera {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='near_clip' value='.5'/>");
        ParallelCamera::declare(p);
        declare_focus(p);
    }
    uint32_t flags() const override { return EndpointFlags::DeltaDirection; }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Transform to_world = to_world_at(time, active);
        Vector3 o = to_world.point(film_point(position, m_near_clip));
        Vector3 axis = to_world.vector({ 0, 0, 1 });
        Float length = norm(axis);
        return { Ray{ o, axis / length, (m_far_clip - m_near_clip) * length, time, wavelengths },
                 weight };
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        View view = view_of(to_world_at(it.time, active), it.p);
        DirectionSample ds{ { fma(view.d, -view.dist, it.p), view.d, view.pixel, it.time,
                              select(view.seen, Float(1), Float(0)), Mask(true) },
                            -view.d,
                            view.dist,
                            UInt32(0u) };
        return { ds, Spectrum(view.importance) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &,
                            const Mask &active) const override {
        return Spectrum(view_of(to_world_at(it.time, active), it.p).importance);
    }

private:
    struct View {         // of a place
        Vector2 pixel;    // of the crop window
        Vector3 d;        // of the camera
        Float dist;       // from the film's plane
        Float importance; // per area across the rays
        Mask seen;
    };
    View view_of(const Transform &to_world, const Vector3 &place) const {
        Vector3 p = to_world.inverse().point(place), axis = to_world.vector({ 0, 0, 1 });
        Float length = norm(axis);
        Vector3 d = axis / length;
        Place film = place_of(film_at(p));
        Mask seen = in_reach(p.z) & film.seen;
        return { film.pixel, d, p.z * length, select(seen, rcp(area(to_world, d)), Float(0)),
                 seen };
    }
};

UMBEL_PLUGIN(Sensor, Orthographic, "orthographic")
} // namespace umbel
