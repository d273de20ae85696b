// tests/plugins/sphere_test.cpp: where spheres are, and what they must stay.
#include "support/surface.h"
#include "support/warnings.h"

namespace umbel {
using namespace test;

TEST(Sphere, IsMetFromOutsideAndFromInside) {
    VariantScope scope(find_variant("interp_rgb_double"));
    const char *Ball = "<shape type='sphere'><point name='center' x='1' y='2' z='3'/><float "
                       "name='radius' value='0.5'/></shape>";
    SurfacePoint front = seen_along(Ball, { 1, 2, 10 }, { 0, 0, -1 });
    EXPECT_NEAR(front.t, 6.5, 1e-12);
    expect_vector(front.n, { 0, 0, 1 });
    EXPECT_NEAR(seen_along(Ball, { 1, 2, 3 }, { 1, 0, 0 }).t, 0.5, 1e-12);
    EXPECT_FALSE(seen_along(Ball, { 1, 2.51, 10 }, { 0, 0, -1 }).is_hit);
}

// u goes around the z axis, v from the north pole to the south pole.
TEST(Sphere, HasPolarTextureCoordinates) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint east = seen_along("<shape type='sphere'/>", { 0, 5, 0 }, { 0, -1, 0 });
    EXPECT_NEAR(east.uv[0], 0.25, 1e-12);
    EXPECT_NEAR(east.uv[1], 0.5, 1e-12);
    SurfacePoint north = seen_along("<shape type='sphere'/>", { 0.6, 0, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(north.uv[1], std::acos(0.8) / Pi, 1e-12);
}

TEST(Sphere, GrowsWithItsTransform) {
    VariantScope scope(find_variant("interp_rgb"));
    auto ball = make_object<Shape>(Properties("shape", "sphere")
                                       .set("radius", 2.0)
                                       .set("to_world", TransformData::scale({ 3, 3, 3 })));
    EXPECT_NEAR(ball->area(), 4 * Pi * 36, 1e-9);
    EXPECT_EQ(ball->bounds().max, (std::array<double, 3>{ 6, 6, 6 }));
}

TEST(Sphere, MustStayASphere) {
    VariantScope scope(find_variant("interp_rgb"));
    Warnings warnings;
    TransformData uneven = TransformData::rotate({ 0, 0, 1 }, 30) *
                           TransformData::scale({ 2, 1, 3 }) *
                           TransformData::rotate({ 1, 0, 0 }, 20);
    auto ball = make_object<Shape>(Properties("shape", "sphere").set("to_world", uneven));
    EXPECT_TRUE(warnings.tell("scales by 2 and")) << warnings.text;
    EXPECT_NEAR(ball->area(), 4 * Pi * 4, 1e-9) << "as large as along x";
    EXPECT_NEAR(ball->bounds().max[2], 2, 1e-12);
    // Textures lie on it as on any sphere: u and v are perpendicular
    Ref<Scene> scene =
        scene_from(scene_xml("<shape type='sphere'><transform name='to_world'><scale x='2' y='1' "
                             "z='3'/><rotate x='1' angle='20'/></transform></shape>",
                             4, 1));
    Ray ray{ Vector3(1, 0.5, 9), Vector3(0, 0, -1), Float(1e9), Float(0), {} };
    SurfaceInteraction si = scene->ray_intersect(ray, true);
    compute(si);
    EXPECT_NEAR(read_floats(dot(si.dp_du, si.dp_dv))[0], 0, 1e-4);
    expect_refused("<shape type='sphere'><float name='radius' value='0'/></shape>",
                   { "radius is 0", "positive" });
}

} // namespace umbel
