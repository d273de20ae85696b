// tests/plugins/curvature_test.cpp: how surfaces are bent.
#include "render/texture.h"
#include "support/scenes.h"
#include <fstream>

namespace umbel {
using namespace test;

class BackendCurvature : public VariantTest {
protected:
    // Positive minus negative, at a point near the z axis.
    static double seen(const std::string &shape, const char *which, double scale = 1) {
        Ref<Scene> scene = scene_from(scene_xml(shape, 4, 1));
        Ray ray{ { opaque_float(0.001), opaque_float(0.001), Float(5) },
                 { Float(0), Float(0), Float(-1) },
                 Float(std::numeric_limits<double>::infinity()),
                 Float(0),
                 {} };
        auto t = make_object<Texture>(
            Properties("texture", "curvature").set("curvature", which).set("scale", scale));
        Vector3 c = t->eval_3(scene->ray_intersect(ray, true), true);
        EXPECT_EQ(read_floats(c.y)[0], 0);
        return read_floats(c.x - c.z)[0];
    }
};
UMBEL_VARIANTS(BackendCurvature, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendCurvature, OfBallsAndTubes) {
    std::string ball = "<shape type='sphere'><float name='radius' value='2'/>";
    EXPECT_NEAR(seen(ball + "</shape>", "mean"), -0.5, 1e-6);
    EXPECT_NEAR(seen(ball + "</shape>", "gaussian"), 0.25, 1e-6);
    EXPECT_NEAR(seen(ball + "<boolean name='flip_normals' value='true'/></shape>", "mean"), 0.5,
                1e-6);
    EXPECT_NEAR(seen(ball + "</shape>", "gaussian", 0.5), 0.125, 1e-6);
    EXPECT_EQ(seen(ball + "</shape>", "mean", 100), -1);
    std::string tube = "<shape type='cylinder'><point name='p0' x='0' y='-1' z='0'/><point "
                       "name='p1' x='0' y='1' z='0'/><float name='radius' value='2'/></shape>";
    EXPECT_NEAR(seen(tube, "mean"), -0.25, 1e-6);
    EXPECT_EQ(seen(tube, "gaussian"), 0);
    EXPECT_EQ(seen("<shape type='rectangle'/>", "mean"), 0);
}

// An ellipse of half axes a and b, at the end of b, is as bent as a circle of radius a^2 / b.
TEST_P(BackendCurvature, OfEllipticTubes) {
    auto tube = [](const char *more) {
        return fmt::format("<shape type='cylinder'><transform name='to_world'>{}<rotate x='1' "
                           "angle='-90'/></transform></shape>",
                           more);
    };
    std::string flat = tube("<scale x='3' y='2' z='4'/>"),
                tall = tube("<scale x='2' y='3' z='4'/>");
    EXPECT_NEAR(seen(flat, "mean"), -0.5 * 2 / 9, 1e-5);
    EXPECT_NEAR(seen(tall, "mean"), -0.5 * 3 / 4, 1e-5);
    EXPECT_EQ(seen(flat, "gaussian"), 0);
    EXPECT_NEAR(seen(tube("<scale value='2'/>"), "mean"), -0.25, 1e-5);
    // Sheared along the axis: the same surface, cut off obliquely
    EXPECT_NEAR(
        seen(tube("<scale value='2'/><matrix value='1 0 0 0  0 1 0 0  .5 0 1 0  0 0 0 1'/>"),
             "mean"),
        -0.25, 1e-5);
    Ref<Scene> scene = scene_from(scene_xml(flat, 4, 1));
    auto t = make_object<Texture>(Properties("texture", "curvature"));
    std::string message = user_error([&] { t->eval_1_grad({}, true); });
    EXPECT_NE(message.find("not round"), std::string::npos) << message;
}

// A small triangle on a unit ball, and one on a saddle.
TEST_P(BackendCurvature, OfMeshes) {
    auto path = std::filesystem::temp_directory_path() /
                fmt::format("umbel-curvature-{}-{}.obj", getpid(), GetParam());
    auto shape = [&](bool flip) {
        return fmt::format("<shape type='obj'><string name='filename' value='{}'/><boolean "
                           "name='flip_normals' value='{}'/></shape>",
                           path.string(), flip);
    };
    std::ofstream(path) << "v -.01 -.01 1\nv .02 -.01 1\nv -.01 .02 1\nvn -.01 -.01 1\n"
                           "vn .02 -.01 1\nvn -.01 .02 1\nf 1//1 2//2 3//3\n";
    EXPECT_NEAR(seen(shape(false), "mean", 0.5), -0.5, 1e-3);
    EXPECT_NEAR(seen(shape(false), "gaussian", 0.5), 0.5, 1e-3);
    EXPECT_NEAR(seen(shape(true), "mean", 0.5), 0.5, 1e-3);
    // Normals lean outwards along x, by twice the place, and inwards along y
    std::ofstream(path) << "v -.01 -.01 1\nv .02 -.01 1\nv -.01 .02 1\nvn -.02 .01 1\n"
                           "vn .04 .01 1\nvn -.02 -.02 1\nf 1//1 2//2 3//3\n";
    EXPECT_NEAR(seen(shape(false), "mean", 0.25), -0.125, 1e-3);
    EXPECT_NEAR(seen(shape(false), "gaussian", 0.25), -0.5, 1e-3);
    std::filesystem::remove(path);
}

} // namespace umbel
