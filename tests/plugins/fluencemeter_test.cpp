// tests/plugins/fluencemeter_test.cpp: the mean radiance at a point.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendFluenceMeter : public VariantTest {};
UMBEL_VARIANTS(BackendFluenceMeter, "interp_rgb", "llvm_rgb_double", "llvm_mono")

// Of a ball of radiance 2, the part of all directions in which it is seen, by light that is followed either way.
TEST_P(BackendFluenceMeter, MeasuresTheSolidAngleOfABall) {
    for (const char *integrator : { "path", "ptracer" }) {
        Image image = render_image(
            *scene_from(fmt::format(
                "<scene version='3.0.0'><integrator type='{}'/><sensor type='fluencemeter'>"
                "<transform name='to_world'><translate x='1' y='2' z='3'/></transform>"
                "<film type='hdrfilm'><integer name='width' value='4'/><integer name='height' "
                "value='4'/><rfilter type='box'/></film></sensor><shape type='sphere'><point "
                "name='center' x='2' y='2' z='3'/><float name='radius' value='.6'/><bsdf "
                "type='diffuse'><spectrum name='reflectance' value='0'/></bsdf><emitter "
                "type='area'><rgb name='radiance' value='2,2,2'/></emitter></shape></scene>",
                integrator)),
            { .spp = 4096 });
        double want = 2 * (1 - std::sqrt(1 - 0.36)) / 2;
        EXPECT_NEAR(channel_mean(image, 0).mean, want, 0.01) << integrator;
    }
}

} // namespace umbel
