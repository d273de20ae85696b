// tests/plugins/rawconstant_test.cpp: numbers that are no colours.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendRawConstant : public VariantTest {};
UMBEL_VARIANTS(BackendRawConstant, "interp_rgb_double", "llvm_rgb", "llvm_spectral", "llvm_mono")

TEST_P(BackendRawConstant, HoldsOneNumberOrThree) {
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    auto one = make_object<Texture>(Properties("texture", "rawconstant").set("value", -2.5));
    EXPECT_EQ(read_floats(one->eval_1(si, true))[0], -2.5);
    EXPECT_EQ(read_floats(one->eval_3(si, true).z)[0], -2.5);
    for (const Float &v : one->eval(si, true).c)
        EXPECT_EQ(read_floats(v)[0], -2.5);
    auto three = make_object<Texture>(
        Properties("texture", "rawconstant").set("value", VectorData{ 0.5, -2, 3 }));
    EXPECT_EQ(read_floats(three->eval_3(si, true).y)[0], -2);
    EXPECT_EQ(three->max_value(), 3);
    EXPECT_EQ(read_floats(three->mean_value())[0], 0.5);
    EXPECT_THROW(three->eval_1(si, true), UserError);
    if (variant().colour == Colour::Rgb)
        EXPECT_EQ(read_floats(three->eval(si, true)[2])[0], 3);
    else
        EXPECT_THROW(three->eval(si, true), UserError);
    EXPECT_NE(user_error([&] {
                  make_object<Texture>(Properties("texture", "rawconstant"));
              }).find("needs a value"),
              std::string::npos);
}

} // namespace umbel
