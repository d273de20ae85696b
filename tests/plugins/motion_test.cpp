// tests/plugins/motion_test.cpp: shapes whose transforms or vertices change with time.
#include "support/compare.h"

namespace umbel {
using namespace test;

namespace {

const char *Sky = "<emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>";

std::string shape(const std::string &type, const std::string &inside) {
    return "<shape type='" + type + "'>" + inside + "</shape>";
}
std::string transform(const std::string &steps) {
    return "<transform name='to_world'>" + steps + "</transform>";
}
/// Turns, moves and grows; the steps at a time.
std::string moved(double t) {
    return fmt::format("<scale value='{}'/><rotate x='0.3' y='1' z='0.2' angle='{}'/>"
                       "<translate x='{}' y='{}'/>",
                       0.3 + 0.2 * t, 70 * t, 1.2 * t - 0.6, 0.4 * t);
}

} // namespace

class MovingShapes : public VariantTest {};
UMBEL_VARIANTS(MovingShapes, "interp_rgb", "llvm_rgb", "llvm_rgb_double", "interp_mono_double",
               "llvm_spectral")

TEST_P(MovingShapes, AreInstancesOfThemselves) {
    for (const char *type : { "cube", "sphere", "cylinder", "disk", "rectangle" }) {
        std::string keys = animation(moved(0), moved(1));
        Image a = render_image(
            *scene_from(open_shutter(scene_xml(shape(type, keys) + Sky, 16, 16, "path"))));
        Image b = render_image(*scene_from(
            open_shutter(scene_xml("<shape type='shapegroup' id='g'>" + shape(type, "") +
                                       "</shape>" + shape("instance", "<ref id='g'/>" + keys) + Sky,
                                   16, 16, "path"))));
        EXPECT_TRUE(same_pixels(a, b)) << type;
        EXPECT_GT(channel_mean(a, 0).mean, 0.1);
    }
}

TEST_P(MovingShapes, WithKeysThatAreAllTheSameStandStill) {
    for (const char *type : { "cube", "sphere" }) {
        Image a = render_image(
            *scene_from(scene_xml(shape(type, animation(moved(1), moved(1))) + Sky, 12, 16)));
        Image b =
            render_image(*scene_from(scene_xml(shape(type, transform(moved(1))) + Sky, 12, 16)));
        EXPECT_TRUE(same_pixels(a, b)) << type;
    }
}

// ---- lights

namespace {

/// A floor, and a light above it.
std::string lit_by(const char *type, const std::string &to_world) {
    return shape("rectangle", transform("<scale value='3'/><translate z='-1'/>")) +
           shape(type, "<emitter type='area'><rgb name='radiance' value='20, 20, 20'/></emitter>" +
                           to_world);
}

} // namespace

// A light that grows, turns and moves while the shutter is open: sampled by its points and met by chance.
TEST_P(MovingShapes, LightTheSceneFromWhereTheyAre) {
    for (const char *type : { "rectangle", "sphere", "cube" }) {
        bool round = std::string(type) == "sphere"; // which stands still as a sphere only
        auto at = [&](double t) {
            double size = 0.2 + 0.3 * t;
            return fmt::format("<scale x='{}' y='{}' z='{}'/><rotate y='1' angle='{}'/>"
                               "<translate x='{}' z='0.3'/>",
                               size, round ? size : 0.3, round ? size : 0.2, 180 + 40 * t,
                               0.8 * t - 0.4);
        };
        Image moving = render_image(*scene_from(
            open_shutter(scene_xml(lit_by(type, animation(at(0), at(1))), 12, 1024, "direct"))));
        Image reference = mean_over_time(32, [&](double t, int i) {
            return render_image(
                *scene_from(scene_xml(lit_by(type, transform(at(t))), 12, 32, "direct")),
                { .seed = uint32_t(i + 1) });
        });
        expect_same_estimate(moving, reference);
        EXPECT_GT(channel_mean(moving, 0).mean, 0.1) << type;
    }
}

// Squeezed unevenly, a moving cube's points are no longer sampled evenly; those of one that stands still are.
TEST_P(MovingShapes, LightTheSceneWhenTheyAreSqueezed) {
    std::string squeezed = "<scale x='0.8' y='0.3' z='0.1'/><rotate y='1' angle='200'/>"
                           "<translate z='0.2'/>";
    std::string moving = animation(squeezed, squeezed + "<translate x='1e-6'/>");
    Image a = render_image(*scene_from(scene_xml(lit_by("cube", moving), 12, 1024, "direct")));
    Image b = render_image(
        *scene_from(scene_xml(lit_by("cube", transform(squeezed)), 12, 1024, "direct")),
        { .seed = 3 });
    expect_same_estimate(a, b);
}

TEST_P(MovingShapes, HaveBoundsOfAllThatTheySweep) {
    Ref<Scene> scene = scene_from(scene_xml(
        shape("sphere", animation("<translate x='-2'/>", "<scale value='2'/><translate y='5'/>")),
        4, 1));
    EXPECT_NEAR(scene->bounds().min[0], -3, 1e-3);
    EXPECT_NEAR(scene->bounds().max[1], 7, 1e-3);
    EXPECT_NEAR(scene->bounds().max[2], 2, 1e-3);
    EXPECT_EQ(scene->instance_count(), 0u);
    EXPECT_EQ(scene->surfaces().size(), 1u);
}

// ---- vertices

namespace {

std::string key(const std::string &steps, const char *type = "cube") {
    return shape(type, transform(steps));
}

/// Bent from one form into another, each of which is the unit form under a transform.
std::string deformable(const std::vector<std::string> &keys, const std::string &more = "") {
    std::string out = more;
    for (const std::string &k : keys)
        out += key(k);
    return shape("deformable", out);
}
/// In between, the numbers of a matrix change linearly, as vertices do.
std::string between(double t, double x0, double x1, double s0, double s1) {
    return fmt::format("<scale x='{}' y='{}' z='0.5'/><translate x='{}'/>", s0 + t * (s1 - s0),
                       s1 + t * (s0 - s1), x0 + t * (x1 - x0));
}

} // namespace

TEST_P(MovingShapes, MayDeform) {
    auto at = [](double t) { return between(t, -0.7, 0.7, 0.2, 0.6); };
    std::string floor = shape("rectangle", transform("<scale value='3'/><translate z='-1'/>"));
    std::string light = "<emitter type='point'><point name='position' x='1' y='2' z='3'/>"
                        "<rgb name='intensity' value='9, 9, 9'/></emitter>";
    for (const char *integrator : { "depth", "path" }) {
        Image moving = render_image(*scene_from(open_shutter(
            scene_xml(floor + deformable({ at(0), at(1) }) + light, 12, 1024, integrator))));
        Image reference = mean_over_time(32, [&](double t, int i) {
            return render_image(
                *scene_from(scene_xml(floor + key(at(t)) + light, 12, 32, integrator)),
                { .seed = uint32_t(i + 1) });
        });
        expect_same_estimate(moving, reference);
    }
}

TEST_P(MovingShapes, DeformThroughKeysAtAnyTimes) {
    // Out and back, with a key that no power of two divides the interval at
    std::string there = between(1, -0.7, 0.7, 0.2, 0.6), here = between(0, -0.7, 0.7, 0.2, 0.6);
    Ref<Scene> scene = scene_from(open_shutter(
        scene_xml(deformable({ here, there, here }, "<string name='times' value='0, 0.3, 1'/>"), 12,
                  1024, "depth")));
    Image moving = render_image(*scene);
    Image reference = mean_over_time(40, [&](double t, int i) {
        double f = t < 0.3 ? t / 0.3 : (1 - t) / 0.7;
        return render_image(
            *scene_from(scene_xml(key(between(f, -0.7, 0.7, 0.2, 0.6)), 12, 32, "depth")),
            { .seed = uint32_t(i + 1) });
    });
    expect_same_estimate(moving, reference);
    EXPECT_NEAR(scene->bounds().min[0], -0.9, 1e-3);
    EXPECT_NEAR(scene->bounds().max[0], 1.3, 1e-3);
}

// Smooth normals change with the vertices; in a group, beside what stands still, and with a transform that moves as well.
TEST_P(MovingShapes, DeformInsideOfInstancesThatMove) {
    auto turned = [](double t) { return fmt::format("<translate x='{}'/>", 0.5 * t); };
    auto at = [](double t) { return between(t, -0.7, 0.2, 0.2, 0.6); };
    std::string still = key("<scale value='0.2'/><translate y='0.9'/>");
    std::string body = "<shape type='shapegroup' id='g'>" + deformable({ at(0), at(1) }) + still +
                       "</shape>" +
                       shape("instance", "<ref id='g'/>" + animation(turned(0), turned(1)));
    Image moving =
        render_image(*scene_from(open_shutter(scene_xml(body + Sky, 12, 1024, "direct"))));
    Image reference = mean_over_time(32, [&](double t, int i) {
        std::string parts = "<shape type='shapegroup' id='g'>" + key(at(t)) + still + "</shape>" +
                            shape("instance", "<ref id='g'/>" + transform(turned(t)));
        return render_image(*scene_from(scene_xml(parts + Sky, 12, 32, "direct")),
                            { .seed = uint32_t(i + 1) });
    });
    expect_same_estimate(moving, reference);
}

TEST(MotionErrors, SayWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto says = [&](const std::string &body, const char *text) {
        std::string m = user_error([&] { scene_from(scene_xml(body, 4, 1)); });
        EXPECT_NE(m.find(text), std::string::npos) << m;
    };
    std::string keys = animation("", "<translate x='1'/>");
    says("<shape type='shapegroup'>" + shape("cube", keys) + "</shape>",
         "animate the instances of the group");
    says(shape("sphere", animation("", "<scale x='-1'/>")), "handedness");
    says(shape("deformable", key("")), "two meshes or more");
    says(shape("deformable", key("") + key("", "rectangle")), "the triangles of the first key");
    says(shape("deformable", key("") + key("", "sphere")), "must be a mesh that stands still");
    says(shape("deformable", key("") + key("") + "<string name='times' value='0, 0'/>"),
         "numbers that increase");
    says(shape("deformable", key("") + key("") + "<string name='times' value='0, 1, 2'/>"),
         "3 times for 2 keys");
    says(shape("deformable", key("") + key("") + "<emitter type='area'/>"), "cannot emit light");
}

} // namespace umbel
