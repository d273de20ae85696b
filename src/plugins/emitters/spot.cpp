// spot: light from a point, in a cone around +z of its own space.
//
// All of `intensity` leaves within `beam_width` of the axis; from there to `cutoff_angle` it falls to zero, linearly in the
// angle. A `texture` colours the cone: it fills the square around it, u along +x and v along +y of the emitter's own space.
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/warp.h"
#include "render/placed_emitter.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Spot final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<float name='cutoff_angle' value='50'/><float name='beam_width' value='30'/>"
                  "<transform name='to_world'>"
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
        p.scalar("cutoff_angle", m_cutoff, 20, 0, 89.9)
            .differentiable()
            .doc("Beyond this angle there is no light, in degrees");
        p.scalar("beam_width", m_beam, -1, -1, 89.9)
            .differentiable()
            .doc("Up to this angle the intensity is the same, in degrees; -1: three quarters of "
                 "`cutoff_angle`");
        declare_to_world(p).doc("Where it stands, and where it looks: along +z");
        for (Float *v :
             { &m_cutoff_angle, &m_cos_cutoff, &m_cos_beam, &m_inv_transition, &m_inv_tan })
            p.derived(*v);
    }
    void configure() override {
        PlacedEmitter::configure();
        set_angles();
    }
    void changed(std::span<const std::string> names) override {
        touch();
        PlacedEmitter::configure();
        if (std::any_of(names.begin(), names.end(), [](const std::string &name) {
                return name == "cutoff_angle" || name == "beam_width";
            }))
            set_angles();
    }
    uint32_t flags() const override {
        return EndpointFlags::DeltaPosition |
               (m_texture->is_spatially_varying() ? uint32_t(EndpointFlags::SpatiallyVarying) : 0);
    }
    BoundingBox bounds() const override { return swept_bounds({ 0, 0, 0 }); }
    Directions directions() const override { return around_z(m_widest); }

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
    // What lanes need of the angles: numbers of the host, with the derivatives of what they were computed of.
    void set_angles() {
        constexpr double Radians = Pi / 180, LeastTransition = 1e-7;
        auto number = [](const Float &v) { return read_floats(Float(v.detached()))[0]; };
        if (number(m_beam) < 0)
            m_beam = opaque_float(0.75 * number(m_cutoff));
        double cutoff = number(m_cutoff), beam = number(m_beam);
        if (!(cutoff > 0 && cutoff < 90) || !(beam <= cutoff))
            complain("cutoff_angle is {} and beam_width {}; the former must be positive, less than "
                     "90, and not less than the latter",
                     cutoff, beam);
        auto with_derivative = [](double v, const Float &of) {
            Float f = opaque_float(v);
            return ad::grad_enabled(of) ? Float(ad::replace_grad(f, of)) : f;
        };
        Float c = m_cutoff * Radians, b = m_beam * Radians;
        cutoff *= Radians, beam *= Radians;
        m_widest = std::cos(cutoff);
        m_cutoff_angle = with_derivative(cutoff, c);
        m_cos_cutoff = with_derivative(m_widest, cos(c));
        m_cos_beam = with_derivative(std::cos(beam), cos(b));
        m_inv_transition = with_derivative(1 / std::max(cutoff - beam, LeastTransition),
                                           1 / max(c - b, LeastTransition));
        m_inv_tan = with_derivative(0.5 / std::tan(cutoff), 0.5 / tan(c));
    }
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

    Float m_cutoff, m_beam; // degrees
    double m_widest = 1;    // the cosine of the former
    Ref<Texture> m_intensity, m_texture;
    Float m_cutoff_angle, m_cos_cutoff, m_cos_beam, m_inv_transition, m_inv_tan;
};

UMBEL_PLUGIN(Emitter, Spot, "spot")
} // namespace umbel
