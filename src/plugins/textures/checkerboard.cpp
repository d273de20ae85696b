// checkerboard: squares of two colours.
#include "render/texture_choice.h"

namespace umbel {

class Checkerboard final : public TextureChoice {
public:
    void declare(Params &p) override {
        p.example("<rgb name='color0' value='.6,.5,.3'/><rgb name='color1' value='.1,.2,.3'/>");
        p.example("<texture type='bitmap' name='color1'><string name='filename' "
                  "value='$files/image.png'/><boolean name='raw' value='true'/></texture>"
                  "<transform name='to_uv'><scale x='3' y='2'/></transform>");
        p.texture("color0", m_colour0, 0.4).differentiable().doc("Of the squares at even places");
        p.texture("color1", m_colour1, 0.2).differentiable().doc("Of the others");
        declare_transform(p);
    }

private:
    Mask is_first(const SurfaceInteraction &si) const override {
        Vector2 at = place_in_pattern(si);
        Mask x = at.x > 0.5, y = at.y > 0.5;
        return !(x ^ y);
    }
    Float blend_means(const Float &first, const Float &second) const override {
        return (first + second) * 0.5;
    }
};

UMBEL_PLUGIN(Texture, Checkerboard, "checkerboard")
} // namespace umbel
