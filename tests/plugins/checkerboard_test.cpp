// tests/plugins/checkerboard_test.cpp: squares of two colours.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendCheckerboard : public VariantTest {
protected:
    static double at(const Texture &texture, double u, double v) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.uv = { opaque_float(u), opaque_float(v) };
        return read_floats(texture.eval_1(si, true))[0];
    }
};
UMBEL_VARIANTS(BackendCheckerboard, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendCheckerboard, HasTwoByTwoSquaresInTheUnitSquare) {
    auto t = make_object<Texture>(
        Properties("texture", "checkerboard").set("color0", 0.75).set("color1", 0.25));
    for (auto [u, v, even] :
         { std::tuple(0.2, 0.3, true), std::tuple(0.7, 0.3, false), std::tuple(0.2, 0.6, false),
           std::tuple(0.9, 0.9, true), std::tuple(1.2, 0.3, true), std::tuple(-0.2, 0.3, false) })
        EXPECT_EQ(at(*t, u, v), even ? 0.75 : 0.25) << u << ", " << v;
    EXPECT_EQ(read_floats(t->mean_value())[0], 0.5);
    EXPECT_EQ(t->max_value(), 0.75);
}

TEST_P(BackendCheckerboard, FollowsItsTransform) {
    auto t = make_object<Texture>(Properties("texture", "checkerboard")
                                      .set("color0", 0.75)
                                      .set("color1", 0.25)
                                      .set("to_uv", TransformData::scale({ 4, 1, 1 })));
    EXPECT_EQ(at(*t, 0.05, 0.2), 0.75);
    EXPECT_EQ(at(*t, 0.2, 0.2), 0.25);
    EXPECT_EQ(at(*t, 0.3, 0.2), 0.75);
}

} // namespace umbel
