// tests/plugins/shapegroup_test.cpp: shapes that are seen through instances only.
#include "support/scenes.h"

namespace umbel {
using namespace test;

TEST(ShapeGroup, IsNotSeenUnlessAnInstancePlacesIt) {
    VariantScope scope(find_variant("interp_rgb"));
    auto middle = [](const char *instance) {
        std::string group =
            "<shape type='shapegroup' id='group'><shape type='sphere'><bsdf type='diffuse'>"
            "<float name='reflectance' value='0'/></bsdf></shape></shape>";
        return render_image(
                   *scene_from(scene_xml(group + instance + "<emitter type='constant'/>", 3, 4)))
            .get(1, 1, 0);
    };
    EXPECT_NEAR(middle(""), 1, 1e-6);
    EXPECT_EQ(middle("<shape type='instance'><ref id='group'/></shape>"), 0);
}

} // namespace umbel
