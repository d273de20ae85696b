// tests/plugins/orthographic_test.cpp: cameras of parallel rays.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Scene> view(const std::string &camera, const std::string &body = "") {
    return scene_from(
        "<scene version='3.0.0'><integrator type='path'/><sensor type='orthographic'>" + camera +
        "<film type='hdrfilm'><integer name='width' value='40'/><integer name='height' "
        "value='20'/><rfilter type='box'/></film></sensor>" +
        body + "</scene>");
}
double number(const Float &v) { return read_floats(v)[0]; }
} // namespace

class BackendOrthographic : public VariantTest {};
UMBEL_VARIANTS(BackendOrthographic, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendOrthographic, FilmSpansTheUnitSquareTimesItsScale) {
    auto scene = view("<transform name='to_world'><scale x='3' y='3'/></transform>");
    for (auto [u, v] : { std::pair(0.5, 0.5), { 0.0, 0.25 }, { 0.75, 1.0 } }) {
        Ray ray = scene->sensors()[0]
                      ->sample_ray(Float(0), Float(0.5), { opaque_float(u), opaque_float(v) },
                                   { Float(0.5), Float(0.5) }, true)
                      .first;
        EXPECT_NEAR(number(ray.o.x), 3 * (1 - 2 * u), 1e-6);
        EXPECT_NEAR(number(ray.o.y), 1.5 * (1 - 2 * v), 1e-6);
        EXPECT_NEAR(number(ray.o.z), 0.01, 1e-6);
        EXPECT_NEAR(number(ray.d.z), 1, 1e-6);
    }
}

// The part of a film that a disk covers does not depend on its distance.
TEST_P(BackendOrthographic, SizesDoNotShrink) {
    for (const char *z : { "2", "200" }) {
        auto scene = view("", "<shape type='disk'><transform name='to_world'><scale value='.4'/>"
                              "<rotate y='1' angle='180'/><translate z='" +
                                  std::string(z) +
                                  "'/></transform><emitter type='area'><rgb name='radiance' "
                                  "value='1,1,1'/></emitter></shape>");
        double mean = channel_mean(render_image(*scene, { .spp = 64 }), 0).mean;
        EXPECT_NEAR(mean, Pi * 0.16 / 2, 0.01) << z; // the film shows 2 x 1
    }
}

TEST(Orthographic, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string message = user_error(
        [] { view("<float name='near_clip' value='3'/><float name='far_clip' value='2'/>"); });
    EXPECT_NE(message.find("near_clip (3)"), std::string::npos) << message;
}

} // namespace umbel
