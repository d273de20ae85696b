// tests/plugins/perspective_test.cpp: what a pinhole camera sees.
#include "core/traverse.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

/// A camera at the origin that looks along z, with a film twice as wide as it is high.
Ref<Scene> scene_with(const std::string &inside) {
    return scene_from("<scene version='3.0.0'><integrator type='depth'/><sensor "
                      "type='perspective'>" +
                      inside +
                      "<film type='hdrfilm'><integer name='width' value='40'/><integer "
                      "name='height' value='20'/></film></sensor></scene>");
}
Ray ray_through(const Scene &scene, double x, double y) {
    Vector2 film{ opaque_float(x), opaque_float(y) };
    return scene.sensors()[0]->sample_ray(Float(0), Float(0.5), film, film, true).first;
}
double number(const Float &v) { return read_floats(v)[0]; }

} // namespace

class PerspectiveCamera : public testing::Test {
protected:
    VariantScope scope{ find_variant("interp_rgb_double") };
};

TEST_F(PerspectiveCamera, FieldsOfViewSpanTheirAxis) {
    struct Case {
        const char *axis;
        double x, y; // a point of the film at the end of that axis
    };
    for (const Case &c : { Case{ "x", 0, 0.5 }, Case{ "y", 0.5, 0 }, Case{ "larger", 0, 0.5 },
                           Case{ "smaller", 0.5, 0 }, Case{ "diagonal", 0, 0 } }) {
        Ref<Scene> scene = scene_with(fmt::format("<float name='fov' value='70'/><string "
                                                  "name='fov_axis' value='{}'/>",
                                                  c.axis));
        Ray middle = ray_through(*scene, 0.5, 0.5), edge = ray_through(*scene, c.x, c.y);
        EXPECT_NEAR(number(middle.d.z), 1, 1e-12);
        EXPECT_NEAR(std::acos(number(dot(middle.d, edge.d))) * 180 / Pi, 35, 1e-9) << c.axis;
    }
}

// 50 mm in front of 36 mm x 24 mm, by the diagonal.
TEST_F(PerspectiveCamera, FocalLengthsAreThoseOf35mmFilm) {
    Ref<Scene> scene = scene_with("<string name='focal_length' value='50mm'/>");
    double cosine = number(dot(ray_through(*scene, 0, 0).d, ray_through(*scene, 1, 1).d));
    EXPECT_NEAR(std::acos(cosine), 2 * std::atan(std::hypot(36, 24) / 100), 1e-9);
}

TEST_F(PerspectiveCamera, UpIsUpAndXGoesRight) {
    Ref<Scene> scene = scene_with("<transform name='to_world'><lookat origin='0,0,4' "
                                  "target='0,0,0' up='0,1,0'/></transform>");
    EXPECT_GT(number(ray_through(*scene, 0.5, 0).d.y), 0.05) << "the first row";
    EXPECT_GT(number(ray_through(*scene, 1, 0.5).d.x), 0.05) << "the last column";
    EXPECT_NEAR(number(scene->sensors()[0]->up(Float(0)).y), 1, 1e-12);
}

TEST_F(PerspectiveCamera, ThePrincipalPointIsMovedInWidths) {
    Ref<Scene> plain = scene_with(""),
               moved = scene_with("<float name='principal_point_offset_x' value='0.25'/>");
    for (double x : { 0.1, 0.6 })
        EXPECT_NEAR(number(ray_through(*moved, x, 0.3).d.x),
                    number(ray_through(*plain, x + 0.25, 0.3).d.x), 1e-12);
}

TEST_F(PerspectiveCamera, SeesBetweenItsClippingPlanes) {
    Ref<Scene> scene = scene_with("<float name='near_clip' value='2'/><float name='far_clip' "
                                  "value='5'/>");
    Ray corner = ray_through(*scene, 0, 0);
    EXPECT_NEAR(number(corner.o.z), 2, 1e-9);
    EXPECT_NEAR(number(corner(corner.maxt).z), 5, 1e-9);
}

TEST_F(PerspectiveCamera, KnowsItsFieldOfViewAlongX) {
    Ref<Scene> scene =
        scene_with("<float name='fov' value='40'/><string name='fov_axis' value='y'/>");
    SceneParameters params(scene);
    std::string key = "perspective.x_fov";
    double *x_fov = std::get<double *>(params.at(key).param.slot);
    EXPECT_NEAR(std::tan(*x_fov * Pi / 360), 2 * std::tan(20 * Pi / 180), 1e-12);
    *x_fov = 90;
    params.update({ key });
    EXPECT_NEAR(number(ray_through(*scene, 0, 0.5).d.z), std::sqrt(0.5), 1e-12);
}

TEST_F(PerspectiveCamera, SaysWhatItCannotBe) {
    auto refuse = [](const char *inside, const char *part) {
        std::string m = user_error([&] { scene_with(inside); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    refuse("<float name='near_clip' value='5'/><float name='far_clip' value='2'/>", "less than");
    refuse("<float name='fov' value='180'/>", "fov");
    refuse("<string name='fov_axis' value='z'/>", "fov_axis");
    refuse("<string name='focal_length' value='long'/>", "50mm");
    refuse("<float name='shutter_open' value='1'/>", "before it opens");
}

} // namespace umbel
