// tests/plugins/radiancemeter_test.cpp: radiance along one ray.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Scene> meter(const std::string &parameters, int width = 1) {
    return scene_from(fmt::format(
        "<scene version='3.0.0'><integrator type='path'/><sensor type='radiancemeter'>{}<film "
        "type='hdrfilm'><integer name='width' value='{}'/><integer name='height' value='1'/>"
        "<rfilter type='box'/></film></sensor><shape type='rectangle'><transform name='to_world'>"
        "<rotate y='1' angle='180'/><translate x='5' z='4'/></transform><emitter type='area'><rgb "
        "name='radiance' value='1,2,3'/></emitter></shape></scene>",
        parameters, width));
}
} // namespace

class BackendRadiancemeter : public VariantTest {};
UMBEL_VARIANTS(BackendRadiancemeter, "interp_rgb", "llvm_rgb_double", "llvm_rgb_polarized")

TEST_P(BackendRadiancemeter, MeasuresWhatComesAlongItsRay) {
    for (auto [parameters, factor] :
         { std::pair("<point name='origin' x='5' y='.5' z='1'/><vector name='direction' x='0' "
                     "y='0' z='7'/>",
                     1.0),
           { "<transform name='to_world'><lookat origin='0,0,0' target='5,0,4' up='0,1,0'/>"
             "</transform>",
             1.0 },
           { "", 0.0 } }) { // beside the light
        Image image = render_image(*meter(parameters), { .spp = 4 });
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(image.get(0, 0, c), factor * double(c + 1), 1e-5) << parameters;
    }
}

TEST(Radiancemeter, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string message = user_error([] { meter("", 2); });
    EXPECT_NE(message.find("2 x 1 pixels"), std::string::npos) << message;
    message = user_error([] { meter("<vector name='direction' x='0' y='0' z='0'/>"); });
    EXPECT_NE(message.find("no length"), std::string::npos) << message;
}

} // namespace umbel
