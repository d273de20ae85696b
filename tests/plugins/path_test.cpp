// tests/plugins/path_test.cpp: how long paths are, and what they leave out.
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {

// Inside a sphere that emits 1 and reflects half, paths of n edges see 1 + 1/2 + ... + 1/2^(n-1).
double seen(const std::string &inside) {
    std::string xml =
        scene_xml("<shape type='sphere'><float name='radius' value='9'/><boolean "
                  "name='flip_normals' value='true'/><bsdf type='diffuse'/><emitter "
                  "type='area'><rgb name='radiance' value='1,1,1'/></emitter></shape>",
                  16, 64);
    std::string tag = "<integrator type='path'/>";
    xml.replace(xml.find(tag), tag.size(), "<integrator type='path'>" + inside + "</integrator>");
    return channel_mean(render_image(*scene_from(xml)), 0).mean;
}
std::string depth(int n) { return fmt::format("<integer name='max_depth' value='{}'/>", n); }

} // namespace

class BackendPath : public VariantTest {};
UMBEL_VARIANTS(BackendPath, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendPath, EndsAtItsDepth) {
    EXPECT_EQ(seen(depth(0)), 0);
    EXPECT_NEAR(seen(depth(1)), 1, 1e-5);
    EXPECT_NEAR(seen(depth(2)), 1.5, 0.02);
    EXPECT_NEAR(seen(depth(3)), 1.75, 0.02);
}

TEST_P(BackendPath, RussianRouletteAddsNoiseOnly) {
    EXPECT_NEAR(seen(depth(6) + "<integer name='rr_depth' value='2'/>"),
                seen(depth(6) + "<integer name='rr_depth' value='100'/>"), 0.05);
}

TEST_P(BackendPath, MayHideWhatShines) {
    EXPECT_EQ(seen(depth(2) + "<boolean name='hide_emitters' value='true'/>"), 0);
}

} // namespace umbel
