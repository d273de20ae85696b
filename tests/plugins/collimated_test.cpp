// tests/plugins/collimated_test.cpp: a beam without width.
#include "render/emitter.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendCollimated : public VariantTest {};
UMBEL_VARIANTS(BackendCollimated, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendCollimated, SendsItsPowerAlongOneRay) {
    auto e = make_object<Emitter>(Properties("emitter", "collimated")
                                      .set("power", 2.5)
                                      .set("to_world", TransformData::translate({ 1, 2, 3 })));
    auto [ray, power] = e->sample_ray(Float(0), Float(0.4), { Float(0.1), Float(0.9) },
                                      { Float(0.7), Float(0.2) }, true);
    EXPECT_EQ(read_floats(ray.o.y)[0], 2);
    EXPECT_EQ(read_floats(ray.d.z)[0], 1);
    if (variant().colour == Colour::Rgb) {
        EXPECT_NEAR(read_floats(unpolarized(power)[1])[0], 2.5, 1e-6);
    }
    EXPECT_NE(user_error([&] {
                  make_object<Emitter>(Properties("emitter", "collimated")
                                           .set("power", Properties("texture", "checkerboard")));
              }).find("has no width"),
              std::string::npos);
}

// A white floor under the beam reflects all of it: seen from straight above at a distance of 4, a pixel gets power / pi
// over what it covers of the floor.
TEST_P(BackendCollimated, IsSeenWhereItHits) {
    Ref<Scene> scene = scene_from(scene_xml(
        "<shape type='rectangle'><bsdf type='diffuse'><float name='reflectance' value='1'/></bsdf>"
        "</shape><emitter type='collimated'><float name='power' value='3'/><transform "
        "name='to_world'><lookat origin='0.3,0.3,2' target='0.3,0.3,0' up='0,1,0'/></transform>"
        "</emitter>",
        4, 4096, "ptracer"));
    Image image = render_image(*scene);
    double side = 2 * 4 * std::tan(20 * Pi / 180) / 4, sum = 0; // of a pixel on the floor
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 4; ++x)
            sum += image.get(x, y, 1);
    EXPECT_NEAR(sum, 3 * InvPi / (side * side), variant().colour == Colour::Spectral ? 0.05 : 0.01);
}

} // namespace umbel
