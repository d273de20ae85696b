// curvature: how a surface is bent: red where that number is positive, blue where it is negative.
//
// With the derivative of the normal along the surface, dn = -S dp, the mean curvature is half the trace of S, and Gaussian
// curvature its determinant. A ball whose normals point outwards has the mean curvature -1 / radius, as in Mitsuba 0.5.
// Meshes without normals are flat. Of an instance, the curvature is that of the shape before it was placed.
#include "render/bends_unevenly.h"
#include "render/colour_value.h"
#include "render/met_shapes.h"

namespace umbel {

class Curvature final : public Texture {
public:
    void declare(Params &p) override {
        p.example("<string name='curvature' value='mean'/><float name='scale' value='.5'/>");
        p.example("<float name='scale' value='.25'/>");
        p.choice("curvature", m_which, "gaussian", { "gaussian", "mean" }).doc("Which one");
        p.scalar("scale", m_scale, 1, 0)
            .doc("Multiplies it; what is beyond -1 or 1 then is as bright as these");
    }
    void changed(std::span<const std::string>) override {}
    void configure() override {
        m_red = ColourValue({ 1, 0, 0 }, SpectrumData::Intent::Reflectance);
        m_blue = ColourValue({ 0, 0, 1 }, SpectrumData::Intent::Reflectance);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        auto [positive, negative] = parts(si, active);
        return m_red.eval(si.wavelengths) * positive + m_blue.eval(si.wavelengths) * negative;
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return rgb_luminance(eval_3(si, active));
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        auto [positive, negative] = parts(si, active);
        return { positive, Float(0), negative };
    }
    Vector2 eval_1_grad(const SurfaceInteraction &, const Mask &) const override {
        for (const Shape *s : live_shapes()) {
            if (auto *mesh = dynamic_cast<const Mesh *>(s); mesh && !mesh->normals.empty())
                complain("has no slope on meshes with normals; use it for colours");
            if (auto *uneven = dynamic_cast<const BendsUnevenly *>(s);
                uneven && !uneven->bends_evenly())
                complain("has no slope on tubes that are not round; use it for colours");
        }
        return { Float(0), Float(0) }; // of balls, round tubes and planes
    }
    bool is_spatially_varying() const override { return true; }
    double max_value() const override { return 1; }

private:
    struct Number {
        Float value;
        UMBEL_STRUCT(value)
    };

    // The curvature's positive part, and the size of the negative one.
    std::pair<Float, Float> parts(const SurfaceInteraction &si, const Mask &active) const {
        m_shapes.update([](const Shape &) { return true; });
        Float k = m_shapes
                      .call<Number>(*this, "curvature", si, active,
                                    [&](const Shape &s, const Mask &mine) {
                                        return Number{ curvature_of(s, si, mine) };
                                    })
                      .value *
                  m_scale;
        return { clamp(k, 0, 1), clamp(-k, 0, 1) };
    }

    Float curvature_of(const Shape &s, const SurfaceInteraction &si, const Mask &active) const {
        bool is_mean = m_which == "mean";
        if (auto *analytic = dynamic_cast<const AnalyticShape *>(&s)) {
            auto *uneven = dynamic_cast<const BendsUnevenly *>(&s);
            Vector2 k = uneven ? uneven->curvature_at(si.uv) : analytic->curvature();
            return is_mean ? (k.x + k.y) * -0.5 : k.x * k.y;
        }
        auto *mesh = dynamic_cast<const Mesh *>(&s);
        if (!mesh || mesh->normals.empty())
            return 0;

        // Positions and normals along two edges
        Vector3 p[3], n[3];
        for (uint32_t k = 0; k < 3; ++k) {
            UInt32 at = mesh->corner(si.prim, k) * UInt32(3u);
            auto triple = [&](const Value &array) {
                auto number = [&](uint32_t j) {
                    return Float(jit::gather(array, at + UInt32(j), active));
                };
                return Vector3(number(0), number(1), number(2));
            };
            p[k] = triple(mesh->positions_array());
            n[k] = triple(mesh->normals_array());
            if (mesh->flips_normals())
                n[k] = -n[k];
        }
        Vector3 a = p[1] - p[0], b = p[2] - p[0], rel = si.object_p - p[0];
        Float aa = dot(a, a), ab = dot(a, b), bb = dot(b, b), ra = dot(rel, a), rb = dot(rel, b);
        Float inv = rcp(aa * bb - ab * ab);
        Float u = (bb * ra - ab * rb) * inv, v = (aa * rb - ab * ra) * inv;
        Vector3 sum = n[0] + (n[1] - n[0]) * u + (n[2] - n[0]) * v;
        Float inv_length = rsqrt(squared_norm(sum));
        Vector3 unit = sum * inv_length;
        auto along = [&](const Vector3 &d) { return fma(unit, -dot(unit, d), d) * inv_length; };
        Vector3 na = along(n[1] - n[0]), nb = along(n[2] - n[0]);

        // The second fundamental form by the first one
        Float e = -dot(a, na), f1 = -dot(b, na), f2 = -dot(a, nb), g = -dot(b, nb);
        return is_mean ? 0.5 * (e * bb - (f1 + f2) * ab + g * aa) * inv : (e * g - f1 * f2) * inv;
    }

    std::string m_which;
    Float m_scale;
    ColourValue m_red, m_blue;
    mutable MetShapes m_shapes;
};

UMBEL_PLUGIN(Texture, Curvature, "curvature")
} // namespace umbel
