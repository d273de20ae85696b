// tests/plugins/moment_test.cpp: mean squares beside the image.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendMoment : public VariantTest {};
UMBEL_VARIANTS(BackendMoment, "interp_rgb_double", "llvm_rgb", "llvm_mono")

TEST_P(BackendMoment, IsTheSquareOfWhatIsConstant) {
    Image image = render_image(*scene_from(
        scene_xml("<emitter type='constant'><rgb name='radiance' value='3,3,3'/></emitter>", 4, 16,
                  "moment")));
    int c = image.find_channel(variant().colour == Colour::Mono ? "m2.Y" : "m2.G");
    ASSERT_GE(c, 0);
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 4; ++x)
            EXPECT_NEAR(image.get(x, y, size_t(c)), 9, 1e-4);
}

// A pixel that a surface covers in part: samples are 0 or 1, whose mean is their mean square. The surface is half of the
// view's width w = 8 tan(20 degrees) wide there, and 2 high.
TEST_P(BackendMoment, TellsTheVarianceOfAnEdge) {
    Image image = render_image(*scene_from(scene_xml(
        "<shape type='rectangle'><transform name='to_world'><translate x='1'/></transform><bsdf "
        "type='diffuse'><float name='reflectance' value='0'/></bsdf><emitter type='area'><rgb "
        "name='radiance' value='1,1,1'/></emitter></shape>",
        1, 4096, "moment")));
    int c = image.find_channel(variant().colour == Colour::Mono ? "m2.Y" : "m2.R");
    ASSERT_GE(c, 0);
    EXPECT_NEAR(image.get(0, 0, size_t(c)), image.get(0, 0, 0), 1e-5);
    EXPECT_NEAR(image.get(0, 0, 0), 1 / (8 * std::tan(Pi / 9)), 0.03);
}

} // namespace umbel
