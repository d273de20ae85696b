// tests/plugins/rectangle_test.cpp: squares and parallelograms.
#include "support/surface.h"

namespace umbel {
using namespace test;

TEST(Rectangle, FillsTheSquareAroundTheOrigin) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint p = seen_along("<shape type='rectangle'/>", { 0.5, -0.9, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(p.t, 5, 1e-12);
    EXPECT_NEAR(p.uv[0], 0.75, 1e-12);
    EXPECT_NEAR(p.uv[1], 0.05, 1e-12);
    expect_vector(p.n, { 0, 0, 1 });
    EXPECT_FALSE(seen_along("<shape type='rectangle'/>", { 1.01, 0, 5 }, { 0, 0, -1 }).is_hit);
    expect_vector(seen_along("<shape type='rectangle'><boolean name='flip_normals' value='true'/>"
                             "</shape>",
                             { 0, 0.1, 5 }, { 0, 0, -1 })
                      .n,
                  { 0, 0, -1 });
}

TEST(Rectangle, HasTheAreaOfAParallelogram) {
    VariantScope scope(find_variant("interp_rgb"));
    TransformData sheared;
    sheared(0, 1) = 1; // y pulls along x
    auto shape = make_object<Shape>(Properties("shape", "rectangle").set("to_world", sheared));
    EXPECT_NEAR(shape->area(), 4, 1e-9);
    EXPECT_EQ(shape->bounds().max, (std::array<double, 3>{ 2, 1, 0 }));
}

} // namespace umbel
