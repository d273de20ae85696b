// tests/plugins/distant_test.cpp: radiance along one direction, of a whole scene or of a part.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
// Above a lamp of 2 x 2 in the plane z = 0, which shines up.
Ref<Scene> view(const std::string &parameters, int width = 1) {
    return scene_from(fmt::format(
        "<scene version='3.0.0'><integrator type='path'/><sensor type='distant'>{}<film "
        "type='hdrfilm'><integer name='width' value='{}'/><integer name='height' value='1'/>"
        "<rfilter type='box'/></film></sensor><shape type='rectangle'><emitter type='area'><rgb "
        "name='radiance' value='1,2,3'/></emitter></shape></scene>",
        parameters, width));
}
const std::string Down = "<vector name='direction' x='0' y='0' z='-3'/>";
double measured(const std::string &parameters) {
    return render_image(*view(parameters), { .spp = 40000 }).get(0, 0, 1);
}
} // namespace

class BackendDistant : public VariantTest {};
UMBEL_VARIANTS(BackendDistant, "llvm_rgb", "llvm_rgb_double")

// The sphere around the lamp has a disk of 2 pi, of which the lamp covers 4.
TEST_P(BackendDistant, MeasuresTheMeanOverTheScene) {
    EXPECT_NEAR(measured(Down), 2 * 4 / (2 * Pi), 0.02);
    EXPECT_NEAR(measured("<transform name='to_world'><lookat origin='0,0,1' target='0,0,0' "
                         "up='0,1,0'/></transform>"),
                2 * 4 / (2 * Pi), 0.02);
    EXPECT_EQ(measured(""), 0) << "from behind";
}

TEST_P(BackendDistant, MeasuresItsTarget) {
    EXPECT_NEAR(measured(Down + "<point name='target' x='.9' y='.9' z='0'/>"), 2, 1e-5);
    EXPECT_EQ(measured(Down + "<point name='target' x='1.1' y='.9' z='0'/>"), 0);
    // A shape of which a quarter lies over the lamp
    EXPECT_NEAR(measured(Down + "<shape name='target' type='rectangle'><transform "
                                "name='to_world'><translate x='1' y='1'/></transform></shape>"),
                0.5, 0.02);
}

TEST(Distant, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string message = user_error([] { view("", 2); });
    EXPECT_NE(message.find("2 x 1 pixels"), std::string::npos) << message;
    message = user_error([] { view("<vector name='direction' x='0' y='0' z='0'/>"); });
    EXPECT_NE(message.find("no length"), std::string::npos) << message;
    message = user_error([] { view("<string name='target' value='lamp'/>"); });
    EXPECT_NE(message.find("target"), std::string::npos) << message;
}

} // namespace umbel
