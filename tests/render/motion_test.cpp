// tests/render/motion_test.cpp: what moves while the shutter is open.
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

// ---- lamps

// A floor under lamps that turn and move: by connections to them, and by rays that leave them.
TEST_P(MovingShapes, AreLitByLampsFromWhereThoseAre) {
    struct Case {
        const char *type, *parameters, *integrator;
    };
    const Case Cases[] = {
        { "point", "<point name='position' x='.5'/>", "direct" },
        { "spot", "<float name='cutoff_angle' value='40'/>", "direct" },
        { "projector", "<float name='fov' value='60'/>", "direct" },
        { "directional", "<vector name='direction' x='.3' z='1'/>", "direct" },
        { "point", "<point name='position' x='.5'/>", "ptracer" },
        { "spot", "<float name='cutoff_angle' value='40'/>", "ptracer" },
        { "collimated", "", "ptracer" }, // which nothing can be connected to
    };
    auto at = [](double t) {
        return fmt::format("<rotate y='1' angle='{}'/><translate x='{}' z='{}'/>", 150 + 60 * t,
                           0.8 * t - 0.4, 0.3 + 0.2 * t);
    };
    for (const Case &c : Cases) {
        auto lit = [&](const std::string &to_world, int spp) {
            return scene_xml(
                shape("rectangle", transform("<scale value='4'/><translate z='-1'/>")) +
                    fmt::format("<emitter type='{}'>{}{}</emitter>", c.type, c.parameters,
                                to_world),
                8, spp, c.integrator);
        };
        Image moving =
            render_image(*scene_from(open_shutter(lit(animation(at(0), at(1)), 8 * 32))));
        Image reference = mean_over_time(8, [&](double t, int i) {
            return render_image(*scene_from(lit(transform(at(t)), 32)),
                                { .seed = uint32_t(i + 1) });
        });
        SCOPED_TRACE(fmt::format("{}, {}", c.type, c.integrator));
        expect_same_estimate(moving, reference);
        EXPECT_GT(channel_mean(moving, 0).mean, 0.002);
    }
}

TEST_P(MovingShapes, LampsHaveBoundsOfAllTheirPlaces) {
    Ref<Scene> scene = scene_from(scene_xml(
        "<emitter type='point'><point name='position' x='.5'/>" +
            animation("", "<rotate z='1' angle='180'/><translate y='4'/>") +
            "</emitter><emitter type='spot'>" +
            animation("<translate x='1'/>", "<rotate z='1' angle='90'/><translate z='3'/>") +
            "</emitter><emitter type='point'><point name='position' x='.5'/>" +
            transform("<translate y='4'/>") + "</emitter>",
        4, 1));
    auto box = [&](size_t i) { return scene->emitters().objects()[i]->bounds(); };
    EXPECT_EQ(box(0).min, (std::array{ -0.5, -0.5, -0.5 })) << "wherever it turns";
    EXPECT_EQ(box(0).max, (std::array{ 0.5, 4.5, 0.5 }));
    EXPECT_EQ(box(1).min, (std::array{ 0.0, 0.0, 0.0 }));
    EXPECT_EQ(box(1).max, (std::array{ 1.0, 0.0, 3.0 }));
    EXPECT_EQ(box(2).min, (std::array{ 0.5, 4.0, 0.0 }));
    EXPECT_EQ(box(2).max, box(2).min);
}

TEST(MovingLamps, SayWhatIsWrongWithTheirKeys) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string mirrored =
        "<emitter type='spot'>" + animation("", "<scale x='-1'/>") + "</emitter>";
    EXPECT_NE(user_error([&] { scene_from(scene_xml(mirrored, 4, 1)); }).find("handedness"),
              std::string::npos);
}

// ---- instances and the camera

namespace {

const char *Group = "<shape type='shapegroup' id='g'><shape type='cube'/></shape>";

std::string placed(const std::string &to_world) {
    return shape("instance", "<ref id='g'/>" + to_world);
}

/// Pixel by pixel: `tolerance` covers noise, and the steps of the reference.
void expect_near(const Image &a, const Image &b, double tolerance) {
    double worst = 0;
    for (size_t y = 0; y < a.height(); ++y)
        for (size_t x = 0; x < a.width(); ++x)
            worst = std::max(worst, std::abs(a.get(x, y, 0) - b.get(x, y, 0)));
    EXPECT_LT(worst, tolerance);
}

} // namespace

// What is seen directly, so that nothing but the motion is random.
class BackendMotion : public VariantTest {};
UMBEL_VARIANTS(BackendMotion, "interp_rgb", "llvm_rgb", "llvm_rgb_double", "interp_mono_double")

// The share of time that something is seen in a pixel: alpha of a path, here the hit ratio of `depth`'s picture at depth 1.
TEST_P(BackendMotion, OfAnInstanceBlursItAsManyShortExposuresWould) {
    const char *Scale = "<scale value='0.4'/>";
    auto turned = [&](double t) {
        return fmt::format("{}<rotate z='1' angle='{}'/><translate x='{}' y='0.2'/>", Scale,
                           120 * t, 1.4 * t - 0.7);
    };
    Image moving = render_image(*scene_from(open_shutter(
        scene_xml(Group + placed(animation(turned(0), turned(1))), 16, 4096, "depth"))));
    Image reference = mean_over_time(64, [&](double t, int i) {
        return render_image(
            *scene_from(scene_xml(Group + placed(transform(turned(t))), 16, 64, "depth")),
            { .seed = uint32_t(i) });
    });
    // Depths are up to 4: 4 standard errors of a ratio of 1/2 are 0.03 each.
    expect_near(moving, reference, 0.2);
    EXPECT_GT(channel_mean(moving, 0).mean, 0.3);
}

TEST_P(BackendMotion, OfTheCameraBlursTheImageAsManyShortExposuresWould) {
    auto camera = [](double t) {
        return fmt::format("<lookat origin='{},0,4' target='{},0,0' up='0,1,0'/>", t - 0.5,
                           t - 0.5);
    };
    Image moving = render_image(*scene_from(open_shutter(
        scene_xml("<shape type='cube'/>", 16, 4096, "depth"), animation(camera(0), camera(1)))));
    Image reference = mean_over_time(64, [&](double t, int i) {
        return render_image(
            *scene_from(scene_xml("<shape type='cube'/>", 16, 64, "depth", camera(t))),
            { .seed = uint32_t(i) });
    });
    expect_near(moving, reference, 0.2);
}

TEST_P(BackendMotion, OutsideOfTheKeysStandsStill) {
    std::string body = Group + placed(animation("<scale value='0.4'/><translate x='-5'/>",
                                                "<scale value='0.4'/>"));
    std::string late = open_shutter(scene_xml(body, 12, 16, "depth"));
    late.replace(late.find("<float name='shutter_close' value='1'/>"), 39,
                 "<float name='shutter_open' value='3'/><float name='shutter_close' value='4'/>");
    Image a = render_image(*scene_from(late));
    Image b = render_image(
        *scene_from(scene_xml(Group + placed(transform("<scale value='0.4'/>")), 12, 16, "depth")));
    expect_near(a, b, 1.5); // one random number more is drawn, so edges differ
    EXPECT_NEAR(channel_mean(a, 0).mean, channel_mean(b, 0).mean, 0.02);
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
}

} // namespace umbel
