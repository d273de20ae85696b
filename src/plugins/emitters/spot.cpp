// spot: light from a point, in a cone around +z of its own space.
//
// All of `intensity` leaves within `beam_width` of the axis; from there to `cutoff_angle` it falls to zero, linearly in the
// angle. A `texture` colours the cone: it fills the square around it, u along +x and v along +y of the emitter's own space.
#include "core/warp.h"
#include "render/placed_emitter.h"
#include <cmath>

namespace umbel {

class Spot final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<float name='cutoff_angle' value='50'/><transform name='to_world'>"
                  "<lookat origin='1,2,3' target='0,0,0' up='0,0,1'/></transform>");
        p.example("<float name='cutoff_angle' value='60'/><float name='beam_width' value='20'/>"
                  "<transform name='to_world'><translate z='-3'/><rotate y='1' angle='180'/>"
                  "</transform>"
                  "<texture type='bitmap' name='texture'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        Emitter::declare(p);
        p.emission("intensity", m_intensity, 1)
            .differentiable()
            .doc("Radiant intensity along the axis, in W / sr");
        p.texture("texture", m_texture, 1).differentiable().doc("Multiplies the intensity");
        p.number("cutoff_angle", m_cutoff, 20, 0, 89.9)
            .doc("Beyond this angle there is no light, in degrees");
        p.number("beam_width", m_beam, -1, -1, 89.9)
            .doc("Up to this angle the intensity is the same, in degrees; -1: three quarters of "
                 "`cutoff_angle`");
        declare_to_world(p).doc("Where it stands, and where it looks: along +z");
    }
    void configure() override {
        PlacedEmitter::configure();
        double beam = m_beam < 0 ? 0.75 * m_cutoff : m_beam;
        if (!(m_cutoff > 0) || beam > m_cutoff)
            complain("cutoff_angle is {} and beam_width {}; the former must be positive, and not "
                     "less than the latter",
                     m_cutoff, beam);
        auto radians = [](double degrees) { return degrees * Pi / 180; };
        m_cutoff_angle = opaque_float(radians(m_cutoff));
        m_cos_cutoff = opaque_float(std::cos(radians(m_cutoff)));
        m_cos_beam = opaque_float(std::cos(radians(beam)));
        m_inv_transition = opaque_float(1 / std::max(radians(m_cutoff - beam), 1e-7));
        m_inv_tan = opaque_float(0.5 / std::tan(radians(m_cutoff)));
    }
    uint32_t flags() const override {
        return EndpointFlags::DeltaPosition |
               (m_texture->is_spatially_varying() ? uint32_t(EndpointFlags::SpatiallyVarying) : 0);
    }
    BoundingBox bounds() const override { return swept_bounds({ 0, 0, 0 }); }
    Directions directions() const override { return around_z(std::cos(m_cutoff * Pi / 180)); }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength, const Vector2 &,
                                        const Vector2 &direction,
                                        const Mask &active) const override {
        Vector3 d = square_to_uniform_cone(direction, m_cos_cutoff);
        Transform place = to_world(time, active);
        SurfaceInteraction si = interaction(place, d, {});
        auto [wavelengths, intensity] = sample_emission(*m_intensity, si, wavelength, active);
        si.wavelengths = wavelengths;
        Spectrum part = depolarize(m_texture->eval(si, active) * falloff(d));
        Float infinity(std::numeric_limits<double>::infinity());
        Float solid_angle = 2 * Pi * (1 - m_cos_cutoff);
        return { Ray{ place.translation(), normalize(place.vector(d)), infinity, time,
                      wavelengths },
                 intensity * part * solid_angle };
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
        return { ds, eval_direction(it, ds, active) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Transform place = to_world(it.time, active);
        Vector3 d = normalize(place.inverse().vector(-ds.d));
        SurfaceInteraction si = interaction(place, d, it.wavelengths);
        Spectrum value = m_intensity->eval(si, active) * m_texture->eval(si, active);
        return depolarize(value * (falloff(d) * rcp(sqr(ds.dist))));
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        SurfaceInteraction si = interaction(to_world(Float(0), active), Vector3(0, 0, 1), {});
        return sample_emission(*m_intensity, si, u, active);
    }

private:
    // By a direction of its own space.
    Float falloff(const Vector3 &d) const {
        Float angle = acos(clamp(d.z, -1, 1)), edge = (m_cutoff_angle - angle) * m_inv_transition;
        return select(d.z >= m_cos_beam, Float(1),
                      select(d.z > m_cos_cutoff, clamp(edge, 0, 1), Float(0)));
    }
    SurfaceInteraction interaction(const Transform &place, const Vector3 &d,
                                   const Wavelengths &wavelengths) const {
        SurfaceInteraction si;
        si.p = place.translation();
        Float s = m_inv_tan / max(d.z, 1e-6);
        si.uv = { fma(d.x, s, Float(0.5)), fma(d.y, s, Float(0.5)) };
        si.wavelengths = wavelengths;
        return si;
    }
    PositionSample position_at(const Float &time, const Mask &active) const {
        return { to_world(time, active).translation(),
                 Vector3(Float(0)),
                 { Float(0), Float(0) },
                 time,
                 Float(1),
                 Mask(true) };
    }

    double m_cutoff = 20, m_beam = -1; // degrees
    Ref<Texture> m_intensity, m_texture;
    Float m_cutoff_angle, m_cos_cutoff, m_cos_beam, m_inv_transition, m_inv_tan;
};

UMBEL_PLUGIN(Emitter, Spot, "spot")
} // namespace umbel
