// tests/plugins/prb_test.cpp: paths that are replayed for derivatives; those are tested in tests/render/gradient_test.cpp.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendPrb : public VariantTest {};
UMBEL_VARIANTS(BackendPrb, "interp_rgb", "llvm_rgb_double")

// Inside a sphere that emits 1 and reflects half, paths of n edges see 2 - 1/2^(n-1).
TEST_P(BackendPrb, HasPathsOfSixSegmentsUnlessToldOtherwise) {
    std::string inside =
        "<shape type='sphere'><float name='radius' value='9'/><boolean name='flip_normals' "
        "value='true'/>"
        "<bsdf type='diffuse'/><emitter type='area'><rgb name='radiance' value='1,1,1'/></emitter>"
        "</shape>";
    Estimate seen = channel_mean(render_image(*scene_from(scene_xml(inside, 16, 64, "prb"))), 0);
    EXPECT_NEAR(seen.mean, 2 - 1.0 / 32, 5 * seen.error + 1e-4);
}

} // namespace umbel
