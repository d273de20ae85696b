// tests/plugins/constant_test.cpp: environments of one radiance.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendConstant : public VariantTest {};
UMBEL_VARIANTS(BackendConstant, "interp_rgb", "llvm_rgb_double", "llvm_rgb_polarized")

TEST_P(BackendConstant, IsItsRadianceInAllDirections) {
    for (const char *target : { "0,0,1", "0.3,1,0.2", "-1,-1,-1" }) {
        std::string camera =
            fmt::format("<lookat origin='0,0,0' target='{}' up='0.1,0.2,0.9'/>", target);
        Image image = render_image(*scene_from(
            scene_xml("<emitter type='constant'><rgb name='radiance' value='1,2,3'/></emitter>", 4,
                      4, "path", camera)));
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(image.get(2, 1, c), double(c + 1), 1e-5) << target;
    }
}

// From a surface that reflects half of it, and sees nothing else.
TEST_P(BackendConstant, LightsTheScene) {
    Image image = render_image(*scene_from(
        scene_xml("<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                  "</transform><bsdf type='diffuse'><float name='reflectance' value='0.5'/></bsdf>"
                  "</shape><emitter type='constant'><rgb name='radiance' value='1,1,1'/></emitter>",
                  16, 64)));
    expect_mean(image, 0.5);
}

TEST(Constant, IsNoSurface) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><emitter type='constant'/></shape>",
                   { "cannot be attached to a shape" });
}

} // namespace umbel
