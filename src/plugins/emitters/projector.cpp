// projector: a camera run backwards: light from a point that throws an image.
//
// Looks along +z of its own space, y up, x to the left, as cameras do. A white wall at distance 1 that it is perpendicular to
// reflects `irradiance` times `scale` as radiance towards everyone: the intensity is pi irradiance / cos(theta)^3, which
// undoes the fall-off towards the image's edges.
#include "core/host_array.h"
#include "render/field_of_view.h"
#include "render/placed_emitter.h"
#include <cmath>

namespace umbel {

class Projector final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<string name='focal_length' value='20mm'/><transform name='to_world'>"
                  "<translate z='-3'/><rotate y='1' angle='180'/></transform>");
        p.example("<float name='fov' value='80'/><transform name='to_world'>"
                  "<lookat origin='1,2,3' target='0,0,0' up='0,0,1'/></transform>"
                  "<texture type='bitmap' name='irradiance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        Emitter::declare(p);
        p.emission("irradiance", m_irradiance, 1)
            .differentiable()
            .doc("The image. Its shape, in pixels, is that of the picture");
        p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies the image");
        m_view.declare(p);
        declare_to_world(p).doc("Where it stands, and where it looks: along +z");
    }
    void configure() override {
        PlacedEmitter::configure();
        auto [width, height] = m_irradiance->resolution();
        double aspect = double(width) / double(height), half = m_view.half_width(where(), aspect);
        m_tan_x = opaque_float(half);
        m_tan_y = opaque_float(half / aspect);
        m_cos_corner = 1 / std::hypot(1, half, half / aspect);
    }
    void child_changed() override { configure(); } // the image may have another shape now
    uint32_t flags() const override {
        return EndpointFlags::DeltaPosition | EndpointFlags::SpatiallyVarying;
    }
    BoundingBox bounds() const override { return swept_bounds({ 0, 0, 0 }); }
    Directions directions() const override { return around_z(m_cos_corner); }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength, const Vector2 &,
                                        const Vector2 &direction,
                                        const Mask &active) const override {
        auto [uv, pdf] = m_irradiance->sample_position(direction, active);
        Vector3 d = normalize({ (1 - 2 * uv.x) * m_tan_x, (1 - 2 * uv.y) * m_tan_y, Float(1) });
        Transform place = to_world(time, active);
        auto [wavelengths, light] =
            sample_emission(*m_irradiance, interaction(place, uv, {}), wavelength, active);
        Float infinity(std::numeric_limits<double>::infinity());
        // dw = 4 tan_x tan_y cos(theta)^3 du dv
        Float area = 4 * Pi * m_tan_x * m_tan_y * select(pdf > 0, rcp(pdf), Float(0));
        return { Ray{ place.translation(), normalize(place.vector(d)), infinity, time,
                      wavelengths },
                 light * (area * m_scale) };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position_at(time, active), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        PositionSample ps = position_at(it.time, active);
        Vector3 d = ps.p - it.p;
        Float dist = norm(d);
        DirectionSample ds{ ps, d / dist, dist, UInt32(0u) };
        View view = view_of(to_world(it.time, active), ds);
        ds.uv = view.uv;
        ds.pdf = select(view.seen, Float(1), Float(0));
        return { ds, eval_direction(it, ds, active) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Transform place = to_world(it.time, active);
        View view = view_of(place, ds);
        Spectrum value = m_irradiance->eval(interaction(place, view.uv, it.wavelengths), active);
        Float cos3 = view.cosine * sqr(view.cosine);
        Float factor = select(view.seen, Pi * m_scale * rcp(cos3 * sqr(ds.dist)), Float(0));
        return depolarize(value * factor);
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_irradiance, si, u, active);
    }

private:
    struct View { // of what is lit from there
        Vector2 uv;
        Float cosine;
        Mask seen;
    };
    View view_of(const Transform &place, const DirectionSample &ds) const {
        Vector3 d = normalize(place.inverse().vector(-ds.d));
        Mask front = d.z > 1e-6;
        Float inv_z = rcp(select(front, d.z, Float(1)));
        Vector2 uv{ (1 - d.x * inv_z / m_tan_x) * 0.5, (1 - d.y * inv_z / m_tan_y) * 0.5 };
        return { uv, select(front, d.z, Float(1)),
                 front & (uv.x >= 0) & (uv.x <= 1) & (uv.y >= 0) & (uv.y <= 1) };
    }
    SurfaceInteraction interaction(const Transform &place, const Vector2 &uv,
                                   const Wavelengths &wavelengths) const {
        SurfaceInteraction si;
        si.p = place.translation();
        si.uv = uv;
        si.wavelengths = wavelengths;
        return si;
    }
    PositionSample position_at(const Float &time, const Mask &active) const {
        Transform place = to_world(time, active);
        return { place.translation(),
                 normalize(place.vector({ 0, 0, 1 })),
                 { Float(0.5), Float(0.5) },
                 time,
                 Float(1),
                 Mask(true) };
    }

    FieldOfView m_view;
    Ref<Texture> m_irradiance;
    Float m_scale, m_tan_x, m_tan_y;
    double m_cos_corner = 0; // of the angle to the image's corners
};

UMBEL_PLUGIN(Emitter, Projector, "projector")
} // namespace umbel
