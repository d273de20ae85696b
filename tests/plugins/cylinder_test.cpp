// tests/plugins/cylinder_test.cpp: open tubes between two points.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
// Along x from 1 to 4.
const char *Tube = "<shape type='cylinder'><point name='p0' x='1' y='0' z='0'/><point name='p1' "
                   "x='4' y='0' z='0'/><float name='radius' value='0.5'/></shape>";
} // namespace

TEST(Cylinder, HasAWallAndNoEnds) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint wall = seen_along(Tube, { 2.5, 0, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(wall.t, 4.5, 1e-12);
    EXPECT_NEAR(wall.uv[1], 0.5, 1e-12) << "half way along the axis";
    expect_vector(wall.n, { 0, 0, 1 });
    EXPECT_FALSE(seen_along(Tube, { -5, 0.2, 0 }, { 1, 0, 0 }).is_hit) << "through the tube";
    EXPECT_FALSE(seen_along(Tube, { 4.1, 0, 5 }, { 0, 0, -1 }).is_hit) << "beside its end";
    // Through the open end onto the wall's inside
    EXPECT_NEAR(seen_along(Tube, { 0.5, 0, 0 }, { 0.8, 0.6, 0 }).t, 0.5 / 0.6, 1e-12);
}

TEST(Cylinder, HasTheAreaOfItsWall) {
    VariantScope scope(find_variant("interp_rgb"));
    auto tube = make_object<Shape>(Properties("shape", "cylinder").set("radius", 2.0));
    EXPECT_NEAR(tube->area(), 4 * Pi, 1e-9);
}

// An ellipse of half axes 2 and 1: its circumference is 9.68844822.
TEST(Cylinder, MayBeAnEllipticTube) {
    VariantScope scope(find_variant("interp_rgb_double"));
    const char *Flat = "<shape type='cylinder'><transform name='to_world'><scale x='2' z='3'/>"
                       "</transform></shape>";
    SurfacePoint broad = seen_along(Flat, { 9, 0, 1 }, { -1, 0, 0 });
    EXPECT_NEAR(broad.t, 7, 1e-12);
    expect_vector(broad.n, { 1, 0, 0 });
    SurfacePoint beside = seen_along(Flat, { 1.6, 9, 1 }, { 0, -1, 0 });
    EXPECT_NEAR(beside.t, 9 - 0.6, 1e-12);
    double length = std::hypot(1.6 / 4, 0.6);
    expect_vector(beside.n, { 0.4 / length, 0.6 / length, 0 });
    auto tube = make_object<Shape>(
        Properties("shape", "cylinder").set("to_world", TransformData::scale({ 2, 1, 3 })));
    EXPECT_NEAR(tube->area(), 3 * 9.68844822, 1e-7);
}

TEST(Cylinder, MustStayACylinder) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='cylinder'><transform name='to_world'><scale x='2'/></transform>"
                   "<emitter type='area'/></shape>",
                   { "cylinder", "across the axis", "round" });
    expect_refused("<shape type='cylinder'><point name='p1' x='0' y='0' z='0'/></shape>",
                   { "length 0", "positive" });
    // Along the axis it may be as long as it likes
    scene_from(scene_xml("<shape type='cylinder'><transform name='to_world'><scale z='2'/>"
                         "</transform></shape>",
                         4, 1));
}

} // namespace umbel
