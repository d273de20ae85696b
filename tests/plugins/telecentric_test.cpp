// tests/plugins/telecentric_test.cpp: cameras with a lens, and without perspective.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Scene> view(const std::string &camera, const std::string &body = "") {
    return scene_from(
        "<scene version='3.0.0'><integrator type='path'/><sensor type='telecentric'>" + camera +
        "<film type='hdrfilm'><integer name='width' value='40'/><integer name='height' "
        "value='20'/><rfilter type='box'/></film></sensor>" +
        body + "</scene>");
}
double number(const Float &v) { return read_floats(v)[0]; }
const std::string Lens = "<float name='aperture_radius' value='.3'/><float name='focus_distance' "
                         "value='5'/>";
} // namespace

class BackendTelecentric : public VariantTest {};
UMBEL_VARIANTS(BackendTelecentric, "interp_rgb", "llvm_rgb_double")

// Rays of one place on the film meet in front of it, at the distance that is in focus, in units of the scene.
TEST_P(BackendTelecentric, IsSharpInFocus) {
    auto scene = view(Lens + "<transform name='to_world'><scale value='2'/></transform>");
    for (auto [u, v] : { std::pair(0.5, 0.5), { 0.1, 0.3 }, { 0.9, 0.8 } })
        for (auto [a, b] : { std::pair(0.1, 0.7), { 0.9, 0.4 } }) {
            Ray ray = scene->sensors()[0]
                          ->sample_ray(Float(0), Float(0.5), { opaque_float(u), opaque_float(v) },
                                       { opaque_float(a), opaque_float(b) }, true)
                          .first;
            Vector3 p = ray((5 - ray.o.z) / ray.d.z), lens = ray(-ray.o.z / ray.d.z);
            double x = 2 * (1 - 2 * u), y = 1 - 2 * v;
            EXPECT_NEAR(number(p.x), x, 1e-5);
            EXPECT_NEAR(number(p.y), y, 1e-5);
            double off = std::hypot(number(lens.x) - x, number(lens.y) - y);
            EXPECT_LE(off, 0.3 + 1e-6);
            EXPECT_GT(off, 0.01);
            EXPECT_NEAR(number(ray.o.z), 0.02, 1e-6) << "begins at near_clip";
        }
}

// What a disk covers of the film depends on its distance no more than its blur does.
TEST_P(BackendTelecentric, SizesDoNotShrink) {
    for (const char *z : { "2", "20" }) {
        auto scene = view(Lens, "<shape type='disk'><transform name='to_world'><scale value='.4'/>"
                                "<rotate y='1' angle='180'/><translate z='" +
                                    std::string(z) +
                                    "'/></transform><emitter type='area'><rgb name='radiance' "
                                    "value='1,1,1'/></emitter></shape>");
        // From 20 on, some light is blurred over the edges: the film shows 2 x 1, and the blur is .9 wide
        double mean = channel_mean(render_image(*scene, { .spp = 64 }), 0).mean;
        if (z[1])
            EXPECT_LT(mean, Pi * 0.16 / 2);
        else
            EXPECT_NEAR(mean, Pi * 0.16 / 2, 0.01);
    }
}

TEST(Telecentric, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto expect = [](const std::string &parameters, std::initializer_list<const char *> parts) {
        std::string message = user_error([&] { view(parameters); });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect("", { "aperture_radius is 0", "orthographic" });
    expect("<float name='aperture_radius' value='1'/>", { "focus_distance is 0" });
    expect(Lens + "<float name='near_clip' value='3'/><float name='far_clip' value='2'/>",
           { "near_clip (3)", "far_clip (2)" });
    expect(Lens + "<transform name='to_world'><matrix value='1 1 0 0 0 1 0 0 0 0 1 0 0 0 0 "
                  "1'/></transform>",
           { "shears" });
}

} // namespace umbel
