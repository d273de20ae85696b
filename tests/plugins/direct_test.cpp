// tests/plugins/direct_test.cpp: light of one bounce, by two strategies.
#include "support/same_image.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

const char *Body =
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate z='-1'/>"
    "</transform><bsdf type='roughconductor'><float name='alpha' value='0.3'/></bsdf></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='0.7'/><rotate y='1' "
    "angle='160'/><translate x='1' z='0.5'/></transform><emitter type='area'/></shape>";

std::string lit(const std::string &inside, const char *integrator = "direct") {
    std::string xml = scene_xml(Body, 8, 64, integrator);
    std::string tag = fmt::format("<integrator type='{}'/>", integrator);
    return xml.replace(xml.find(tag), tag.size(),
                       fmt::format("<integrator type='{}'>{}</integrator>", integrator, inside));
}

} // namespace

class BackendDirect : public VariantTest {};
UMBEL_VARIANTS(BackendDirect, "llvm_rgb")

TEST_P(BackendDirect, IsAPathOfOneBounce) {
    expect_same_image(lit(""), lit("<integer name='max_depth' value='2'/>", "path"));
}

// Lights alone, the BSDF alone, and both in unequal parts: other noise around the same image.
TEST_P(BackendDirect, StrategiesAgree) {
    auto samples = [](int emitter, int bsdf) {
        return lit(fmt::format("<integer name='emitter_samples' value='{}'/><integer "
                               "name='bsdf_samples' value='{}'/>",
                               emitter, bsdf));
    };
    expect_same_image(samples(1, 0), samples(0, 8));
    expect_same_image(samples(1, 0), samples(1, 3));
}

TEST(Direct, NeedsSomeSample) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string m =
        user_error([] { scene_from(lit("<integer name='shading_samples' value='0'/>")); });
    EXPECT_NE(m.find("at least one sample"), std::string::npos) << m;
}

} // namespace umbel
