// tests/plugins/gridtexture_test.cpp: lines between squares.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendGridTexture : public VariantTest {
protected:
    static double at(const Texture &texture, double u, double v) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.uv = { opaque_float(u), opaque_float(v) };
        return read_floats(texture.eval_1(si, true))[0];
    }
};
UMBEL_VARIANTS(BackendGridTexture, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendGridTexture, HasLinesWhereCoordinatesAreWhole) {
    Properties p("texture", "gridtexture");
    p.set("color0", 0.25).set("color1", 0.75).set("line_width", 0.125);
    auto t = make_object<Texture>(p);
    for (auto [u, v, line] :
         { std::tuple(0.5, 0.5, false), std::tuple(0.12, 0.5, true), std::tuple(0.13, 0.5, false),
           std::tuple(0.5, 0.88, true), std::tuple(-0.1, 0.5, true), std::tuple(3.4, -2.6, false) })
        EXPECT_EQ(at(*t, u, v), line ? 0.75 : 0.25) << u << ", " << v;
    EXPECT_EQ(read_floats(t->mean_value())[0], 0.75 - 0.5 * 0.75 * 0.75);
    EXPECT_EQ(
        at(*make_object<Texture>(p.set("to_uv", TransformData::scale({ 4, 1, 1 }))), 0.26, 0.5),
        0.75);
    EXPECT_NE(
        user_error([&] { make_object<Texture>(p.set("line_width", -1.0)); }).find("line_width"),
        std::string::npos);
}

} // namespace umbel
