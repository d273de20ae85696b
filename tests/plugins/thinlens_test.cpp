// tests/plugins/thinlens_test.cpp: cameras with a lens.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Sensor> camera(const std::string &parameters) {
    return scene_from(
               "<scene version='3.0.0'><sensor type='thinlens'><float name='fov' value='60'/>" +
               parameters +
               "<film type='hdrfilm'><integer name='width' value='40'/><integer name='height' "
               "value='20'/><rfilter type='box'/></film></sensor></scene>")
        ->sensors()[0];
}
double number(const Float &v) { return read_floats(v)[0]; }
} // namespace

class BackendThinlens : public VariantTest {};
UMBEL_VARIANTS(BackendThinlens, "interp_rgb", "llvm_rgb_double")

// Rays of one place on the film meet at the distance that is in focus, where a pinhole sees it.
TEST_P(BackendThinlens, IsSharpInFocus) {
    auto sensor = camera("<float name='aperture_radius' value='.3'/><float name='focus_distance' "
                         "value='5'/>");
    for (auto [u, v] : { std::pair(0.5, 0.5), { 0.1, 0.3 }, { 0.9, 0.8 } })
        for (auto [a, b] : { std::pair(0.1, 0.7), { 0.9, 0.4 } }) {
            Ray ray = sensor
                          ->sample_ray(Float(0), Float(0.5), { opaque_float(u), opaque_float(v) },
                                       { opaque_float(a), opaque_float(b) }, true)
                          .first;
            Vector3 p = ray((5 - ray.o.z) / ray.d.z);
            double half = std::tan(Pi / 6);
            EXPECT_NEAR(number(p.x), 5 * half * (1 - 2 * u), 1e-5);
            EXPECT_NEAR(number(p.y), 5 * half / 2 * (1 - 2 * v), 1e-5);
            Vector3 lens = ray(-ray.o.z / ray.d.z);
            EXPECT_LE(std::hypot(number(lens.x), number(lens.y)), 0.3 + 1e-6);
            EXPECT_NEAR(number(ray.o.z), 0.01, 1e-6) << "begins at near_clip";
        }
    EXPECT_TRUE(sensor->needs_aperture_sample());
}

TEST(Thinlens, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto expect = [](const std::string &parameters, std::initializer_list<const char *> parts) {
        std::string message = user_error([&] { camera(parameters); });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect("<float name='aperture_radius' value='0'/>", { "aperture_radius is 0", "perspective" });
    expect("<float name='focus_distance' value='0'/>", { "focus_distance is 0" });
    expect("<float name='near_clip' value='3'/><float name='far_clip' value='2'/>",
           { "near_clip (3)", "far_clip (2)" });
    expect("<transform name='to_world'><scale value='2'/></transform>",
           { "to_world scales", "aperture_radius" });
}

} // namespace umbel
