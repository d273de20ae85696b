// render/texture_choice.h: textures that show one of two others at each place.
#pragma once
#include "render/texture.h"
#include "render/traced_once.h"

namespace umbel {

class TextureChoice : public Texture {
public:
    void configure() override { m_transform = Transform(m_to_uv); }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        auto colour = [&](const Texture &t) {
            return traced_once(t, "eval", [&] { return t.eval(si, active); }, si, active);
        };
        return select(is_first(si), colour(*m_colour0), colour(*m_colour1));
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        auto number = [&](const Texture &t) {
            return traced_once(t, "eval_1", [&] { return t.eval_1(si, active); }, si, active);
        };
        return select(is_first(si), number(*m_colour0), number(*m_colour1));
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        auto colour = [&](const Texture &t) {
            return traced_once(t, "eval_3", [&] { return t.eval_3(si, active); }, si, active);
        };
        return select(is_first(si), colour(*m_colour0), colour(*m_colour1));
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        auto slope = [&](const Texture &t) {
            return traced_once(
                t, "eval_1_grad", [&] { return t.eval_1_grad(si, active); }, si, active);
        };
        return select(is_first(si), slope(*m_colour0), slope(*m_colour1)); // they end abruptly
    }
    bool is_spatially_varying() const override { return true; }
    Float mean_value() const override {
        auto mean = [](const Texture &t) {
            return traced_once(t, "mean", [&] { return t.mean_value(); });
        };
        return blend_means(mean(*m_colour0), mean(*m_colour1));
    }
    double max_value() const override {
        auto most = [](const Texture &t) {
            return traced_once(t, "max", [&] { return t.max_value(); });
        };
        return std::max(most(*m_colour0), most(*m_colour1));
    }

protected:
    void declare_transform(Params &p) {
        p.transform("to_uv", m_to_uv).doc("Applied to texture coordinates first");
    }
    /// Where in its own pattern, of period 1, a place is: between 0 and 1.
    Vector2 place_in_pattern(const SurfaceInteraction &si) const {
        Vector3 uv = m_transform.point({ si.uv.x, si.uv.y, Float(0) });
        return { uv.x - floor(uv.x), uv.y - floor(uv.y) };
    }
    virtual Mask is_first(const SurfaceInteraction &si) const = 0;
    /// The mean of both, each as often as it is seen.
    virtual Float blend_means(const Float &first, const Float &second) const = 0;

    Ref<Texture> m_colour0, m_colour1;

private:
    TransformData m_to_uv;
    Transform m_transform;
};

} // namespace umbel
