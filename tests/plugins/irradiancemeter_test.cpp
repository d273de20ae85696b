// tests/plugins/irradiancemeter_test.cpp: light on a surface.
#include "support/same_image.h"
#include <cmath>

namespace umbel {
using namespace test;

namespace {

// A plate of 2 x 2 that measures, and whatever shines on it.
std::string measured(const std::string &lights, int spp, const std::string &integrator = "path") {
    return fmt::format(
        "<scene version='3.0.0'><integrator type='{}'/><shape type='rectangle'>"
        "<bsdf type='diffuse'/><sensor type='irradiancemeter'><film type='hdrfilm'>"
        "<integer name='width' value='1'/><integer name='height' value='1'/><rfilter "
        "type='box'/></film><sampler type='independent'><integer name='sample_count' "
        "value='{}'/></sampler></sensor></shape>{}</scene>",
        integrator, spp, lights);
}

double value(const std::string &xml) { return render_image(*scene_from(xml)).get(0, 0, 1); }

} // namespace

class BackendIrradianceMeter : public VariantTest {};
UMBEL_VARIANTS(BackendIrradianceMeter, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendIrradianceMeter, MeasuresASky) {
    EXPECT_NEAR(value(measured(
                    "<emitter type='constant'><rgb name='radiance' value='1,1,1'/></emitter>", 16)),
                Pi, 1e-5);
}

TEST_P(BackendIrradianceMeter, MeasuresALamp) {
    const char *Lamp =
        "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='180'/>"
        "<translate z='2'/></transform><bsdf type='diffuse'><rgb name='reflectance' "
        "value='0,0,0'/></bsdf><emitter type='area'><rgb name='radiance' "
        "value='1,1,1'/></emitter></shape>";
    // The form factor of parallel squares whose distance is their side is 0.199825 [Howell 1982]. The standard deviation of
    // a sample, which sees 1 or 0, is at most pi / 2: of their mean, 0.003.
    EXPECT_NEAR(value(measured(Lamp, 1 << 18)), 0.199825 * Pi, 0.015);
}

// Paths from the light and from the surface, off walls and in sight.
TEST_P(BackendIrradianceMeter, AgreesWithPathsFromTheLight) {
    const char *Lights =
        "<shape type='cube'><transform name='to_world'><scale value='0.3'/><translate "
        "z='0.6'/></transform></shape>"
        "<shape type='rectangle'><transform name='to_world'><rotate y='1' angle='90'/><translate "
        "x='-1' z='1'/></transform><bsdf type='twosided'><bsdf type='diffuse'/></bsdf></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale value='0.4'/><rotate x='1' "
        "angle='180'/><translate z='2.5'/></transform><emitter type='area'><rgb name='radiance' "
        "value='4,3,2'/></emitter></shape>";
    expect_same_image(measured(Lights, 4096), measured(Lights, 4096, "ptracer"));
}

TEST(IrradianceMeter, BelongsToOneSurface) {
    VariantScope scope(find_variant("llvm_rgb"));
    EXPECT_NE(user_error([&] {
                  render_image(*scene_from(
                      "<scene version='3.0.0'><sensor type='irradiancemeter'/></scene>"));
              }).find("put it inside of a shape"),
              std::string::npos);
    EXPECT_NE(user_error([&] {
                  scene_from("<scene version='3.0.0'><sensor type='irradiancemeter' id='s'/>"
                             "<shape type='sphere'><ref id='s'/></shape><shape type='sphere'><ref "
                             "id='s'/></shape></scene>");
              }).find("two shapes"),
              std::string::npos);
    EXPECT_NE(user_error([&] {
                  scene_from("<scene version='3.0.0'><shape type='sphere'><sensor "
                             "type='perspective'/></shape></scene>");
              }).find("cannot be attached"),
              std::string::npos);
    EXPECT_NE(user_error([&] {
                  scene_from("<scene version='3.0.0'><shape type='sphere'><sensor "
                             "type='irradiancemeter'><transform name='to_world'><scale value='2'/>"
                             "</transform></sensor></shape></scene>");
              }).find("remove to_world"),
              std::string::npos);
}

TEST(IrradianceMeter, IsAmongTheScenesSensorsInOrder) {
    VariantScope scope(find_variant("llvm_rgb"));
    Ref<Scene> scene =
        scene_from("<scene version='3.0.0'><shape type='sphere'><sensor type='irradiancemeter' "
                   "id='a'/></shape><sensor type='perspective' id='b'/></scene>");
    ASSERT_EQ(scene->sensors().size(), 2u);
    EXPECT_EQ(scene->sensors()[0]->id(), "a");
    EXPECT_EQ(scene->sensors()[1]->id(), "b");
    EXPECT_EQ(scene->shapes()[0]->sensor(), scene->sensors()[0]);
}

} // namespace umbel
