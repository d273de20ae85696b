// tests/plugins/disk_test.cpp: disks and ellipses.
#include "support/surface.h"

namespace umbel {
using namespace test;

TEST(Disk, EndsAtItsRim) {
    VariantScope scope(find_variant("interp_rgb_double"));
    const char *Ellipse = "<shape type='disk'><transform name='to_world'><scale x='2'/><translate "
                          "z='1'/></transform></shape>";
    for (double x : { 0.0, 1.99, -1.99 })
        EXPECT_NEAR(seen_along(Ellipse, { x, 0, 5 }, { 0, 0, -1 }).t, 4, 1e-12) << x;
    EXPECT_FALSE(seen_along(Ellipse, { 2.01, 0, 5 }, { 0, 0, -1 }).is_hit);
    EXPECT_FALSE(seen_along(Ellipse, { 0, 1.01, 5 }, { 0, 0, -1 }).is_hit);
}

// u is the distance from the centre, v the angle.
TEST(Disk, HasPolarTextureCoordinates) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint p = seen_along("<shape type='disk'/>", { 0, 0.5, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(p.uv[0], 0.5, 1e-12);
    EXPECT_NEAR(p.uv[1], 0.25, 1e-12);
    expect_vector(p.n, { 0, 0, 1 });
    SurfacePoint flipped = seen_along("<shape type='disk'><boolean name='flip_normals' "
                                      "value='true'/></shape>",
                                      { 0, 0.5, 5 }, { 0, 0, -1 });
    expect_vector(flipped.n, { 0, 0, -1 });
}

TEST(Disk, HasTheAreaOfAnEllipse) {
    VariantScope scope(find_variant("interp_rgb"));
    auto disk = make_object<Shape>(
        Properties("shape", "disk").set("to_world", TransformData::scale({ 2, 3, 1 })));
    EXPECT_NEAR(disk->area(), 6 * Pi, 1e-9);
    EXPECT_EQ(disk->bounds().max, (std::array<double, 3>{ 2, 3, 0 }));
    expect_refused("<shape type='disk'><transform name='to_world'><scale x='0'/></transform>"
                   "</shape>",
                   { "singular" });
}

} // namespace umbel
