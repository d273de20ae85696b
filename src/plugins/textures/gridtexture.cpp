// gridtexture: lines around the unit squares of texture coordinates.
//
// A line reaches `line_width` to either side of where a coordinate is a whole number, as in Mitsuba 0.5.
#include "render/texture_choice.h"

namespace umbel {

class GridTexture final : public TextureChoice {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<rgb name='color0' value='.7,.4,.2'/><rgb name='color1' value='.1,.3,.6'/>"
                  "<float name='line_width' value='.1'/><transform name='to_uv'><scale x='3' "
                  "y='2'/><translate x='.3'/></transform>");
        p.texture("color0", m_colour0, 0.2).differentiable().doc("Between the lines");
        p.texture("color1", m_colour1, 0.4).differentiable().doc("Of the lines");
        p.scalar("line_width", m_width, 0.01, 0, 0.5)
            .doc("How far lines reach from their middle, in texture coordinates");
        declare_transform(p);
    }

private:
    Mask is_first(const SurfaceInteraction &si) const override {
        auto away = [&](const Float &x) { return min(x, 1 - x) >= m_width; };
        Vector2 at = place_in_pattern(si);
        return away(at.x) & away(at.y);
    }
    Float blend_means(const Float &first, const Float &second) const override {
        Float inside = sqr(1 - 2 * Float(m_width.detached()));
        return lerp(second, first, inside);
    }

    Float m_width;
};

UMBEL_PLUGIN(Texture, GridTexture, "gridtexture")
} // namespace umbel
