// tests/plugins/perspective_rdist_test.cpp: images that lenses distort.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Sensor> camera(const std::string &type, const std::string &parameters) {
    return scene_from("<scene version='3.0.0'><sensor type='" + type + "'>" + parameters +
                      "<film type='hdrfilm'><integer name='width' value='40'/><integer "
                      "name='height' value='30'/><rfilter type='box'/></film></sensor></scene>")
        ->sensors()[0];
}
std::array<double, 2> slope(const Sensor &s, double u, double v) {
    Ray r = s.sample_ray(Float(0), Float(0.5), { opaque_float(u), opaque_float(v) },
                         { Float(0.5), Float(0.5) }, true)
                .first;
    return { read_floats(r.d.x / r.d.z)[0], read_floats(r.d.y / r.d.z)[0] };
}
} // namespace

class BackendRadialDistortion : public VariantTest {};
UMBEL_VARIANTS(BackendRadialDistortion, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendRadialDistortion, PlacesOnTheFilmAreThoseOfTheModel) {
    double tolerance = variant().double_precision ? 1e-12 : 2e-6;
    for (auto [k1, k2] : { std::pair(0.0, 0.0), { -0.2, 0.05 }, { 0.4, 0.3 }, { -0.2, 0.0 } }) {
        std::string fov = "<float name='fov' value='65'/>";
        auto plain = camera("perspective", fov),
             lens = camera("perspective_rdist",
                           fmt::format("{}<string name='kc' value='{}, {}'/>", fov, k1, k2));
        for (auto [u, v] : { std::pair(0.5, 0.5), { 0.02, 0.03 }, { 0.3, 0.9 }, { 1.0, 0.5 } }) {
            auto want = slope(*plain, u, v), got = slope(*lens, u, v);
            double r2 = got[0] * got[0] + got[1] * got[1], f = 1 + k1 * r2 + k2 * r2 * r2;
            EXPECT_NEAR(got[0] * f, want[0], tolerance) << k1 << " " << k2;
            EXPECT_NEAR(got[1] * f, want[1], tolerance) << k1 << " " << k2;
        }
    }
}

TEST(RadialDistortion, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto expect = [](const std::string &kc, std::initializer_list<const char *> parts) {
        std::string message = user_error([&] {
            camera("perspective_rdist",
                   "<float name='fov' value='65'/><string name='kc' value='" + kc + "'/>");
        });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect("-.2", { "kc is", "two numbers" });
    expect("-.2, .1, 3", { "two numbers" });
    expect("nan, 0", { "two numbers" });
    expect("-.6, 0", { "corners", "field of view" }); // bends back before it reaches them
}

} // namespace umbel
