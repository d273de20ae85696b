// volprim_rf_basic: radiance fields of Gaussians: what the `ellipsoids` along a ray emit, each dimmed by those before it.
//
// A ray meets ellipsoids in the order in which it enters them [Moenne-Loccoz 2024]. Each lets pass
//
//     T = 1 - min(opacity G, 0.9999)      G: its Gaussian, where that is largest along the ray
//
// and adds 1 - T of its colour, which depends on the direction by spherical harmonics up to degree 3 (attribute `sh_coeffs`, three
// numbers each; 0.5 is added, and what is negative is black). A ray ends where less than 0.01 would pass, at `max_depth`, or where it
// meets another shape, which is not seen. Colours are taken to be sRGB's and are decoded, unless `srgb_primitives` is false.
//
// Derivatives by centres, radii, rotations, opacities and coefficients walk each ray a second time, as `prb` does. Which
// ellipsoids a ray meets, and in which order, is not differentiated: their Gaussians are next to nothing where they end. RGB and
// monochromatic variants only.
#include "render/colour_value.h"
#include "render/ellipsoid_shape.h"
#include "render/integrator.h"
#include <cmath>
#include <optional>

namespace umbel {

namespace {

// Real spherical harmonics up to a degree of 3, in the order and with the signs of [Sloan 2013].
std::vector<Float> harmonics(const Vector3 &d, uint32_t degree) {
    const Float &x = d.x, &y = d.y, &z = d.z;
    std::vector<Float> out{ Float(0.28209479177387814) };
    if (degree > 0)
        out.insert(out.end(),
                   { -0.48860251190291992 * y, 0.48860251190291992 * z, -0.48860251190291992 * x });
    if (degree > 1)
        out.insert(out.end(),
                   { 1.0925484305920792 * (x * y), -1.0925484305920792 * (y * z),
                     0.31539156525252005 * (3 * sqr(z) - 1), -1.0925484305920792 * (x * z),
                     0.54627421529603959 * (sqr(x) - sqr(y)) });
    if (degree > 2)
        out.insert(out.end(), { -0.59004358992664352 * (y * (3 * sqr(x) - sqr(y))),
                                2.8906114426405538 * (x * y * z),
                                -0.45704579946446577 * (y * (5 * sqr(z) - 1)),
                                0.37317633259011546 * (z * (5 * sqr(z) - 3)),
                                -0.45704579946446577 * (x * (5 * sqr(z) - 1)),
                                1.4453057213202769 * (z * (sqr(x) - sqr(y))),
                                -0.59004358992664352 * (x * (sqr(x) - 3 * sqr(y))) });
    return out;
}

Float decoded(const Float &v) {
    return select(v <= 0.04045, v * (1 / 12.92), pow((max(v, 0.04045) + 0.055) * (1 / 1.055), 2.4));
}
Float decoded_slope(const Float &v) {
    return select(v <= 0.04045, Float(1 / 12.92),
                  (2.4 / 1.055) * pow((max(v, 0.04045) + 0.055) * (1 / 1.055), 1.4));
}

} // namespace

class VolprimRfBasic final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.integer("max_depth", m_max_depth, 64, -1)
            .doc("So many ellipsoids are met along a ray; -1: all");
        p.boolean("srgb_primitives", m_is_srgb, true)
            .doc("Colours are those of sRGB, and are decoded at the end of each ray");
    }

    Radiance sample(const Scene &scene, SampleStream &, const Ray &ray, const Medium *,
                    const Mask &active) const override {
        State s = walk(scene, initial_state(ray, active), "radiance field");
        Radiance out{ m_is_srgb ? map(s.L, decoded) : s.L, active, {} };
        for (const Float &v : s.L.c)
            out.replay.push_back(v);
        return out;
    }

    RadianceDerivative differentiate(ad::Mode mode, const Scene &scene, SampleStream,
                                     const Ray &ray, const Medium *, const Radiance &primal,
                                     const RadianceDerivative &gradient,
                                     const Mask &active) const override {
        State s = initial_state(ray, active);
        s.mode = mode;
        for (size_t c = 0; c < s.L.c.size(); ++c)
            s.L[c] = Float(primal.replay.at(c).detached());
        Spectrum slope = m_is_srgb ? map(s.L, decoded_slope) : Spectrum(1);
        s.gradient = gradient.L * slope;
        if (mode == ad::Mode::Forward)
            s.tangent = Spectrum(0);
        ad::SuspendGrad none; // an ellipsoid is differentiated inside the loop
        s = walk(scene, s, "radiance field derivative");
        return { mode == ad::Mode::Forward ? s.tangent * slope : s.tangent, {} };
    }

private:
    struct State {
        Ray ray;
        Spectrum throughput;
        Spectrum L; // gathered so far; when differentiating, what lies ahead
        UInt32 depth;
        Mask active;
        Spectrum tangent;
        UMBEL_STRUCT(ray, throughput, L, depth, active, tangent)

        std::optional<ad::Mode> mode;
        Spectrum gradient;
    };
    struct Primitive {
        Spectrum colour;
        Float passed;
    };

    State initial_state(const Ray &ray, const Mask &active) const {
        if (variant().polarized || variant().colour == Colour::Spectral)
            complain("is available in RGB and monochromatic variants; this one is {}",
                     variant().name);
        return { .ray = ray,
                 .throughput = Spectrum(1).dense(),
                 .L = black(),
                 .depth = 0u,
                 .active = m_max_depth == 0 ? Mask(false) : active,
                 .tangent = {},
                 .mode = {},
                 .gradient = {} };
    }

    State walk(const Scene &scene, const State &from, const char *name) const {
        std::vector<const EllipsoidShape *> clouds;
        for (const Ref<Shape> &shape : scene.shapes())
            if (auto *cloud = dynamic_cast<const EllipsoidShape *>(shape.get()))
                clouds.push_back(checked(cloud));
        return jit::loop(
            from, [](const State &s) { return s.active; },
            [&](State &s) {
                std::optional<ad::ResumeGrad> all;
                if (s.mode)
                    all.emplace();
                pass(scene, clouds, s);
            },
            name);
    }

    const EllipsoidShape *checked(const EllipsoidShape *cloud) const {
        for (const char *name : { "opacities", "sh_coeffs" })
            if (!cloud->has_attribute(name))
                complain("{} has no attribute \"{}\", which a radiance field needs: files of "
                         "Gaussians have it, scripts give an array",
                         cloud->where(), name);
        return cloud;
    }

    // One ellipsoid: its light, and what passes on to the next
    void pass(const Scene &scene, const std::vector<const EllipsoidShape *> &clouds,
              State &s) const {
        SurfaceInteraction si = scene.ray_intersect(s.ray, s.active, s.depth == UInt32(0u));
        Mask met = false;
        Primitive here{ black(), Float(1) };
        for (const EllipsoidShape *cloud : clouds) {
            Mask this_one = s.active & si.is_valid() &
                            (si.shape_number == UInt32(uint32_t(cloud->global_number())));
            Primitive p = primitive(*cloud, si, s.ray, this_one);
            here.colour = select(this_one, p.colour, here.colour);
            here.passed = select(this_one, p.passed, here.passed);
            met = met | this_one;
        }
        Spectrum near = select(met, s.throughput * here.colour * (1 - here.passed), black());
        if (!s.mode)
            s.L += near;
        s.throughput = detached(s.throughput) * Float(ad::detach(here.passed));
        Vector3 step = s.ray.d * (Float(ad::detach(si.t)) + 1e-4); // as far as Mitsuba goes
        s.ray.o = select(met, s.ray.o + step, s.ray.o);
        s.depth = s.depth + UInt32(1u);
        s.active = met & (max_component(s.throughput) > 0.01);
        if (m_max_depth > 0)
            s.active = s.active & (s.depth < UInt32(uint32_t(m_max_depth)));
        if (!s.mode)
            return;
        Spectrum tangent = differentiate_vertex(*s.mode, s.L, near, Spectrum(here.passed).dense(),
                                                s.gradient, s.active);
        if (*s.mode == ad::Mode::Forward)
            s.tangent += tangent;
    }

    Primitive primitive(const EllipsoidShape &cloud, const SurfaceInteraction &si, const Ray &ray,
                        const Mask &active) const {
        // The ray where the Gaussian is that of unit width around the origin
        std::vector<Float> v = cloud.eval_attribute_x("ellipsoid", si, active);
        Vector3 scale = select(active, Vector3(v[3], v[4], v[5]), Vector3(Float(1)));
        auto inside = [&](const Vector3 &w) {
            Vector3 u = turned_back(w, v, active);
            return Vector3(u.x / scale.x, u.y / scale.y, u.z / scale.z);
        };
        Vector3 o = inside(ray.o - Vector3(v[0], v[1], v[2])), d = inside(ray.d);
        Float dd = select(active, dot(d, d), Float(1));
        Vector3 peak = o - d * (dot(o, d) / dd);
        Float opacity = cloud.eval_attribute_x("opacities", si, active)[0];
        Float covered = min(opacity * exp(-0.5 * dot(peak, peak)), 0.9999);

        // Its colour in this direction
        std::vector<Float> sh = cloud.eval_attribute_x("sh_coeffs", si, active);
        uint32_t degree = degree_of(cloud, sh.size());
        std::vector<Float> basis = harmonics(ray.d, degree);
        Float rgb[3];
        for (size_t c = 0; c < 3; ++c) {
            rgb[c] = Float(0.5);
            for (size_t i = 0; i < basis.size(); ++i)
                rgb[c] = fma(basis[i], sh[3 * i + c], rgb[c]);
            rgb[c] = max(rgb[c], 0);
        }
        Spectrum colour = variant().colour == Colour::Mono
                              ? Spectrum(rgb_luminance({ rgb[0], rgb[1], rgb[2] }))
                              : Spectrum(std::vector<Float>{ rgb[0], rgb[1], rgb[2] });
        return { colour, 1 - covered };
    }

    uint32_t degree_of(const EllipsoidShape &cloud, size_t numbers) const {
        for (uint32_t degree = 0; degree < 4; ++degree)
            if (numbers == 3 * (degree + 1) * (degree + 1))
                return degree;
        complain("{}: \"sh_coeffs\" has {} numbers an ellipsoid; 3, 12, 27 or 48 are those of "
                 "harmonics up to degree 3",
                 cloud.where(), numbers);
    }

    // By the inverse of the rotation; the quaternion need not be of unit length.
    static Vector3 turned_back(const Vector3 &w, const std::vector<Float> &v, const Mask &active) {
        Vector3 q = select(active, -Vector3(v[6], v[7], v[8]), Vector3(Float(0)));
        Float r = select(active, v[9], Float(1)), n = squared_norm(q) + sqr(r);
        Vector3 t = cross(q, w) * (2 / n);
        return w + t * r + cross(q, t);
    }

    int m_max_depth = 64;
    bool m_is_srgb = true;
};

UMBEL_PLUGIN(Integrator, VolprimRfBasic, "volprim_rf_basic")
} // namespace umbel
