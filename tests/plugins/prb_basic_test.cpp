// tests/plugins/prb_basic_test.cpp: the plain form of prb, which finds lights by chance only.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendPrbBasic : public VariantTest {};
UMBEL_VARIANTS(BackendPrbBasic, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendPrbBasic, SamplesNoLights) {
    std::string ball = "<shape type='sphere'><bsdf type='diffuse'/></shape>";
    auto seen = [&](const char *integrator, const char *light) {
        return channel_mean(render_image(*scene_from(scene_xml(ball + light, 8, 64, integrator))),
                            0);
    };
    const char *point =
        "<emitter type='point'><point name='position' x='0' y='0' z='4'/></emitter>";
    EXPECT_GT(seen("prb", point).mean, 0.001);
    EXPECT_EQ(seen("prb_basic", point).mean, 0); // chance never finds a point
    const char *sky = "<emitter type='constant'/>";
    EXPECT_NEAR(seen("prb_basic", sky).mean, seen("prb", sky).mean, 0.01);
}

} // namespace umbel
