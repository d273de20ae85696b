// checkerboard: squares of two colours.
#include "render/texture.h"

namespace umbel {

class Checkerboard final : public Texture {
public:
    void declare(Params &p) override {
        p.texture("color0", m_colour0, 0.4).differentiable().doc("Of the squares at even places");
        p.texture("color1", m_colour1, 0.2).differentiable().doc("Of the others");
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
    }
    void configure() override { m_transform = Transform(m_to_uv); }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return select(even(si), m_colour0->eval(si, active), m_colour1->eval(si, active));
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return select(even(si), m_colour0->eval_1(si, active), m_colour1->eval_1(si, active));
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        return select(even(si), m_colour0->eval_3(si, active), m_colour1->eval_3(si, active));
    }
    bool is_spatially_varying() const override { return true; }
    Float mean_value() const override {
        return (m_colour0->mean_value() + m_colour1->mean_value()) * 0.5;
    }
    double max_value() const override {
        return std::max(m_colour0->max_value(), m_colour1->max_value());
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
