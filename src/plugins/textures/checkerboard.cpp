// checkerboard: squares of two colours.
#include "render/texture.h"
#include "render/traced_once.h"

namespace umbel {

class Checkerboard final : public Texture {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<texture type='bitmap' name='color1'><string name='filename' "
                  "value='$files/image.png'/><boolean name='raw' value='true'/></texture>"
                  "<transform name='to_uv'><scale x='3' y='2'/></transform>");
        p.texture("color0", m_colour0, 0.4).differentiable().doc("Of the squares at even places");
        p.texture("color1", m_colour1, 0.2).differentiable().doc("Of the others");
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
    }
    void configure() override { m_transform = Transform(m_to_uv); }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        auto colour = [&](const Texture &t) {
            return traced_once(t, "eval", [&] { return t.eval(si, active); }, si, active);
        };
        return select(even(si), colour(*m_colour0), colour(*m_colour1));
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        auto number = [&](const Texture &t) {
            return traced_once(t, "eval_1", [&] { return t.eval_1(si, active); }, si, active);
        };
        return select(even(si), number(*m_colour0), number(*m_colour1));
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        auto colour = [&](const Texture &t) {
            return traced_once(t, "eval_3", [&] { return t.eval_3(si, active); }, si, active);
        };
        return select(even(si), colour(*m_colour0), colour(*m_colour1));
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        auto slope = [&](const Texture &t) {
            return traced_once(
                t, "eval_1_grad", [&] { return t.eval_1_grad(si, active); }, si, active);
        };
        return select(even(si), slope(*m_colour0), slope(*m_colour1)); // squares end abruptly
    }
    bool is_spatially_varying() const override { return true; }
    Float mean_value() const override {
        auto mean = [](const Texture &t) {
            return traced_once(t, "mean", [&] { return t.mean_value(); });
        };
        return (mean(*m_colour0) + mean(*m_colour1)) * 0.5;
    }
    double max_value() const override {
        auto most = [](const Texture &t) {
            return traced_once(t, "max", [&] { return t.max_value(); });
        };
        return std::max(most(*m_colour0), most(*m_colour1));
    }

private:
    Mask even(const SurfaceInteraction &si) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        Mask x = uv.x - floor(uv.x) > 0.5, y = uv.y - floor(uv.y) > 0.5;
        return !(x ^ y);
    }

    Ref<Texture> m_colour0, m_colour1;
    TransformData m_to_uv;
    Transform m_transform;
};

UMBEL_PLUGIN(Texture, Checkerboard, "checkerboard")
} // namespace umbel
