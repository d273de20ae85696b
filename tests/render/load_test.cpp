// tests/render/load_test.cpp: bad scenes are refused with what, where and a remedy.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class Loading : public testing::Test {
protected:
    VariantScope scope{ find_variant("interp_rgb") };

    static void expect_error(const std::string &body, std::initializer_list<const char *> parts) {
        std::string message = user_error([&] { scene_from(scene_xml(body, 8, 1)); });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << quote(part) << " is not in: " << message;
    }
};

TEST_F(Loading, AnUnknownParameterIsNamedWithTheNearestKnownOne) {
    expect_error("<shape type='sphere'><bsdf type='diffuse' id='floor'><rgb name='reflectence' "
                 "value='1,1,1'/></bsdf></shape>",
                 { "diffuse", "floor", "reflectence", "did you mean \"reflectance\"" });
}
TEST_F(Loading, AnUnknownPluginIsNamedWithTheNearestKnownOne) {
    expect_error("<shape type='sphere'><bsdf type='difuse'/></shape>", { "difuse", "diffuse" });
}
TEST_F(Loading, AWrongTypeIsRefused) {
    expect_error("<shape type='sphere'><string name='radius' value='big'/></shape>",
                 { "radius", "sphere" });
}
TEST_F(Loading, AValueOutOfRangeIsRefused) {
    expect_error("<shape type='sphere'><float name='radius' value='-1'/></shape>",
                 { "radius", "-1" });
}
TEST_F(Loading, AReflectanceAboveOneIsRefused) {
    expect_error("<shape type='sphere'><bsdf type='diffuse'><rgb name='reflectance' "
                 "value='2,1,1'/></bsdf></shape>",
                 { "reflectance", "between 0 and 1" });
}

} // namespace umbel
