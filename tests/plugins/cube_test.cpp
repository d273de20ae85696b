// tests/plugins/cube_test.cpp: six faces, each with texture coordinates of its own.
#include "support/surface.h"

namespace umbel {
using namespace test;

TEST(Cube, HasSixFacesThatLookOutward) {
    VariantScope scope(find_variant("interp_rgb_double"));
    for (size_t axis = 0; axis < 3; ++axis)
        for (double side : { -1.0, 1.0 }) {
            std::array<double, 3> from{ 0.3, 0.2, 0.1 }, along{}, normal{};
            from[axis] = 5 * side;
            along[axis] = -side;
            normal[axis] = side;
            SurfacePoint p = seen_along("<shape type='cube'/>", from, along);
            EXPECT_NEAR(p.t, 4, 1e-12);
            expect_vector(p.n, normal);
            for (double x : p.uv) {
                EXPECT_GT(x, 0.3) << "near the middle of the face";
                EXPECT_LT(x, 0.7);
            }
        }
}

TEST(Cube, HasTheAreaOfItsFaces) {
    VariantScope scope(find_variant("interp_rgb"));
    auto cube = make_object<Shape>(
        Properties("shape", "cube").set("to_world", TransformData::scale({ 1, 2, 3 })));
    EXPECT_NEAR(cube->area(), 2 * (2 * 4 + 4 * 6 + 2 * 6), 1e-9);
}

} // namespace umbel
