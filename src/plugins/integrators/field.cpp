// field: one quantity of the first surface as a colour, for use inside of `multichannel` or alone.
//
// Where colours are RGB, its three numbers are the colour; single numbers are grey, and of two the third is 0. In other
// variants colours are not numbers of one's choice: there, the channels field.R, field.G and field.B hold them.
#include "render/further_colours.h"
#include "render/hidden_lights.h"
#include "render/integrator.h"

namespace umbel {

class Field final : public Integrator {
public:
    void declare(Params &p) override {
        p.example("<string name='field' value='sh_normal'/><float name='undefined' value='.5'/>");
        p.example("<string name='field' value='rel_position'/>");
        p.example("<string name='field' value='albedo'/>");
        Integrator::declare(p);
        p.choice("field", m_field, "position",
                 { "position", "rel_position", "relPosition", "distance", "geo_normal", "geoNormal",
                   "sh_normal", "shNormal", "uv", "albedo", "shape_index", "shapeIndex",
                   "prim_index", "primIndex" })
            .doc("What is shown; rel_position is the position in the camera's space");
        p.spectrum("undefined", m_undefined, SpectrumData::uniform(0))
            .fixed()
            .doc("What is shown where rays meet nothing: a number, or RGB");
    }
    void configure() override {
        using Kind = SpectrumData::Kind;
        if (m_undefined.kind == Kind::Uniform)
            m_undefined.rgb = { m_undefined.value, m_undefined.value, m_undefined.value };
        else if (m_undefined.kind != Kind::Rgb)
            complain("undefined is a measured spectrum; it must be a number, or RGB");
        for (size_t i = 0; i < 3; ++i)
            m_otherwise[i] = opaque_float(m_undefined.rgb[i]);
    }
    std::vector<std::string> aov_names() const override {
        if (is_colour())
            return {};
        return { "field.R", "field.G", "field.B" };
    }

    Radiance sample(const Scene &scene, SampleStream &, const Ray &camera_ray, const Medium *,
                    const Mask &active) const override {
        Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
        // With derivatives of where shapes are
        SurfaceInteraction si =
            scene.interaction(ray, scene.trace(ray, active, true), active,
                              scene.follows_shapes() ? Scene::Follow::Ray : Scene::Follow::Nothing);
        if (m_hide_emitters)
            si.t = si.t + dot(ray.o - camera_ray.o, ray.d);
        Mask valid = active & si.is_valid();
        Vector3 v = select(valid, value(scene, si, valid),
                           Vector3(m_otherwise[0], m_otherwise[1], m_otherwise[2]));
        if (is_colour())
            return { depolarize(Spectrum(std::vector<Float>{ v.x, v.y, v.z })), valid, {} };
        return { black(), valid, { v.x, v.y, v.z } };
    }

private:
    static bool is_colour() { return variant().colour == Colour::Rgb; }

    Vector3 value(const Scene &scene, const SurfaceInteraction &si, const Mask &valid) const {
        const std::string &f = m_field;
        if (f == "position")
            return si.p;
        if (f == "rel_position" || f == "relPosition")
            return in_camera(scene, si);
        if (f == "geo_normal" || f == "geoNormal")
            return si.n;
        if (f == "sh_normal" || f == "shNormal")
            return si.sh_frame.n;
        if (f == "uv")
            return { si.uv.x, si.uv.y, Float(0) };
        if (f == "albedo") {
            Spectrum a =
                scene.bsdfs().call("bsdf.albedo", si.bsdf, valid, Spectrum(0), [&](const BSDF &b) {
                    return unpolarized(b.eval_diffuse_reflectance(si, valid));
                });
            std::vector<Float> c = further_colours(a, si.wavelengths);
            return c.size() == 3 ? Vector3(c[0], c[1], c[2]) : Vector3(c[0]);
        }
        if (f == "distance")
            return Vector3(si.t);
        return Vector3(f.starts_with("shape") ? Float(si.shape) - 1 : Float(si.prim));
    }
    Vector3 in_camera(const Scene &scene, const SurfaceInteraction &si) const {
        if (scene.sensors().size() != 1)
            complain("rel_position is relative to the camera, and the scene has {}",
                     scene.sensors().size());
        const Sensor &camera = *scene.sensors()[0];
        PositionSample at = camera.sample_position(si.time, { Float(0.5), Float(0.5) }, true).first;
        Vector3 z = at.n, y = camera.up(si.time), from = si.p - at.p;
        return { dot(from, cross(y, z)), dot(from, y), dot(from, z) };
    }

    std::string m_field = "position";
    SpectrumData m_undefined;
    std::array<Float, 3> m_otherwise;
};

UMBEL_PLUGIN(Integrator, Field, "field")
} // namespace umbel
