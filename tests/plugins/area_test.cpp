// tests/plugins/area_test.cpp: surfaces that emit light.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendArea : public VariantTest {};
UMBEL_VARIANTS(BackendArea, "interp_rgb", "llvm_rgb_double", "llvm_mono_polarized")

TEST_P(BackendArea, ShinesFromItsFrontOnly) {
    auto seen = [](bool flipped) {
        return render_image(*scene_from(scene_xml(
            fmt::format("<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                        "</transform><boolean name='flip_normals' value='{}'/><bsdf "
                        "type='diffuse'><float name='reflectance' value='0'/></bsdf><emitter "
                        "type='area'><rgb name='radiance' value='2, 2, 2'/></emitter></shape>",
                        flipped),
            4, 4)));
    };
    Image front = seen(false), back = seen(true);
    for (size_t c = 0; c < front.channel_count(); ++c) {
        EXPECT_NEAR(front.get(1, 2, c), 2, 1e-5);
        EXPECT_EQ(back.get(1, 2, c), 0);
    }
}

// As Mitsuba has it; a lamp that is to reflect light says so.
TEST(Area, ReflectsNothingUnlessItHasAMaterial) {
    VariantScope scope(find_variant("interp_rgb"));
    auto lit = [](const char *material) {
        return render_image(*scene_from(scene_xml(
                                fmt::format("<shape type='sphere'>{}<emitter type='area'/></shape>"
                                            "<emitter type='constant'/>",
                                            material),
                                3, 4)))
            .get(1, 1, 0);
    };
    EXPECT_NEAR(lit(""), 1, 1e-6);
    EXPECT_NEAR(lit("<bsdf type='diffuse'/>"), 1.5, 0.1);
}

TEST(Area, BelongsToOneSurface) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<emitter type='area' id='lamp'/><shape type='sphere'><ref id='lamp'/></shape>"
                   "<shape type='sphere'><ref id='lamp'/></shape>",
                   { "two shapes" });
}

} // namespace umbel
