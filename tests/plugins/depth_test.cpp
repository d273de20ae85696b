// tests/plugins/depth_test.cpp: distances.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendDepth : public VariantTest {};
UMBEL_VARIANTS(BackendDepth, "interp_rgb_double", "llvm_rgb")

// The camera of scene_xml stands 4 away from the plane z = 0; beside the square, there is nothing.
TEST_P(BackendDepth, IsTheDistanceAlongTheRay) {
    Image image = render_image(*scene_from(scene_xml(
        "<shape type='rectangle'><transform name='to_world'><scale value='0.5'/></transform>"
        "</shape>",
        33, 1, "depth")));
    EXPECT_NEAR(image.get(16, 16, 0), 4, 0.01);
    EXPECT_EQ(image.get(0, 0, 0), 0);
    double edge = image.get(16, 12, 0); // 4 pixels of 2 * 4 tan(20 degrees) / 33 off the middle
    EXPECT_NEAR(edge, std::hypot(4, 4 * 8 * std::tan(Pi / 9) / 33), 0.02);
}

} // namespace umbel
