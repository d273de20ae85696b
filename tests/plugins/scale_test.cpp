// tests/plugins/scale_test.cpp: textures times a number.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendScale : public VariantTest {};
UMBEL_VARIANTS(BackendScale, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendScale, MultipliesWhatIsInside) {
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1)); // at 0.3, 0.6: an odd square
    auto t = make_object<Texture>(
        Properties("texture", "scale")
            .set("scale", 3.0)
            .set("", Properties("texture", "checkerboard").set("color0", 0.5).set("color1", 0.25)));
    EXPECT_EQ(read_floats(t->eval_1(si, true))[0], 0.75);
    EXPECT_EQ(read_floats(t->eval(si, true)[0])[0], 0.75);
    EXPECT_EQ(read_floats(t->eval_3(si, true).y)[0], 0.75);
    EXPECT_EQ(read_floats(t->mean_value())[0], 1.125);
    EXPECT_EQ(t->max_value(), 1.5);
    EXPECT_TRUE(t->is_spatially_varying());
}

TEST_P(BackendScale, TakesNumbersAndNamedTextures) {
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    auto number =
        make_object<Texture>(Properties("texture", "scale").set("scale", -2.0).set("value", 4.0));
    EXPECT_EQ(read_floats(number->eval_1(si, true))[0], -8);
    auto named =
        make_object<Texture>(Properties("texture", "scale")
                                 .set("value", Properties("texture", "uniform").set("value", 0.5)));
    EXPECT_EQ(read_floats(named->eval_1(si, true))[0], 0.5);
    EXPECT_NE(user_error([&] {
                  make_object<Texture>(Properties("texture", "scale"));
              }).find("nothing to scale"),
              std::string::npos);
}

} // namespace umbel
