// tests/plugins/motion_test.cpp: vectors of motion: of shapes of all kinds, of cameras, and of what mirrors and glass show.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendMotion : public VariantTest {
protected:
    /// Seen by a camera at (0, 0, 5) with a view of 40 degrees, in 9 x 9 pixels.
    static Image
    vectors(const std::string &body, const std::string &integrator,
            const std::string &camera = "<lookat origin='0,0,5' target='0,0,0' up='0,1,0'/>") {
        std::string xml = fmt::format(
            "<scene version='3.0.0'><integrator type='motion'><float name='time' value='1'/>{}"
            "</integrator><sensor type='perspective'><float name='fov' value='40'/>{}"
            "<film type='hdrfilm'><integer name='width' value='9'/><integer name='height' "
            "value='9'/><string name='pixel_format' value='rgb'/><rfilter type='box'/></film>"
            "<sampler type='independent'/></sensor>{}</scene>",
            integrator,
            camera.starts_with("<animation")
                ? camera
                : "<transform name='to_world'>" + camera + "</transform>",
            body);
        return render_image(*scene_from(xml), { .spp = 1 });
    }
    static std::string moving(const std::string &last, const std::string &first = "") {
        return "<animation name='to_world'><transform time='0'>" + first +
               "</transform><transform time='1'>" + last + "</transform></animation>";
    }
    /// Pixels for a length across the image, at a distance.
    static double pixels(double length, double distance) {
        return length / distance / std::tan(20 * Pi / 180) * 4.5;
    }
    static void expect_pixel(const Image &image, size_t x, size_t y, double right, double down,
                             double farther, double tolerance = 2e-3) {
        double want[] = { right, down, farther };
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(image.get(x, y, c), want[c], tolerance) << "channel " << c;
    }
};
UMBEL_VARIANTS(BackendMotion, "llvm_rgb", "llvm_rgb_double", "interp_rgb")

TEST_P(BackendMotion, ShapesMoveInPixels) {
    // x goes to the right and y upwards
    std::string way = moving("<translate x='.5' y='.25'/>");
    for (const char *type : { "rectangle", "cube" }) {
        double z = std::string(type) == "cube" ? 4 : 5;
        Image image = vectors(fmt::format("<shape type='{}'>{}</shape>", type, way), "");
        double at = image.get(4, 4, 2); // from the middle, farther away then
        expect_pixel(image, 4, 4, pixels(.5, z), -pixels(.25, z), at);
        EXPECT_GT(at, 0);
    }
    // By its own formula, in a group, and towards the camera
    std::string ball = "<shape type='sphere'>" + way + "</shape>",
                group = "<shape type='shapegroup' id='g'><shape type='sphere'/></shape>"
                        "<shape type='instance'><ref id='g'/>" +
                        way + "</shape>";
    for (const std::string &body : { ball, group }) {
        Image image = vectors(body, "");
        EXPECT_NEAR(image.get(4, 4, 0), pixels(.5, 4), 0.02);
        EXPECT_NEAR(image.get(4, 4, 1), -pixels(.25, 4), 0.02);
    }
    Image nearer =
        vectors("<shape type='rectangle'>" + moving("<translate z='2'/>") + "</shape>", "");
    EXPECT_NEAR(nearer.get(4, 4, 2), -2, 1e-2);
    EXPECT_GT(nearer.get(5, 4, 0), 0) << "away from the middle";
}

TEST_P(BackendMotion, CamerasMoveWhatStands) {
    std::string camera =
        "<animation name='to_world'><transform time='0'><lookat origin='0,0,5' target='0,0,0' "
        "up='0,1,0'/></transform><transform time='1'><lookat origin='.5,0,5' target='.5,0,0' "
        "up='0,1,0'/></transform></animation>";
    Image image = vectors("<shape type='rectangle'/>", "", camera);
    EXPECT_NEAR(image.get(4, 4, 0), -pixels(.5, 5), 2e-3);
    EXPECT_NEAR(image.get(4, 4, 1), 0, 2e-3);
    EXPECT_NEAR(image.get(0, 0, 0), 0, 2e-3) << "infinitely far away";
    EXPECT_EQ(image.get(0, 0, 2), 0);
    // What comes to lie behind it has no place
    std::string through =
        "<animation name='to_world'><transform time='0'><lookat origin='0,0,5' target='0,0,0' "
        "up='0,1,0'/></transform><transform time='1'><lookat origin='0,0,-5' target='0,0,-10' "
        "up='0,1,0'/></transform></animation>";
    EXPECT_TRUE(std::isinf(vectors("<shape type='rectangle'/>", "", through).get(4, 4, 0)));
}

TEST_P(BackendMotion, WhatStandsDoesNotMove) {
    Image image = vectors("<shape type='sphere'/>", "");
    for (size_t i = 0; i < 81; ++i)
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(image.get(i % 9, i / 9, c), 0, 1e-3);
}

// A plane mirror shows what is behind it: the image of a thing moves as if it were there.
TEST_P(BackendMotion, MirrorsShowMotion) {
    std::string mirror = "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                         "</transform><bsdf type='conductor'/></shape>",
                thing = "<shape type='rectangle'>" +
                        moving("<rotate y='1' angle='180'/><translate x='.5' z='7'/>",
                               "<rotate y='1' angle='180'/><translate z='7'/>") +
                        "<bsdf type='twosided'><bsdf type='diffuse'/></bsdf></shape>";
    Image image = vectors(mirror + thing, "<string name='config' value='rd'/>");
    EXPECT_NEAR(image.get(4, 4, 0), pixels(.5, 5 + 7), 0.02);
    EXPECT_NEAR(image.get(4, 4, 1), 0, 0.02);
    EXPECT_EQ(image.get(0, 0, 0), 0) << "nothing there";
    // One step is enough for what is straight
    Image once = vectors(mirror + thing, "<string name='config' value='rd'/><boolean "
                                         "name='derivatives_only' value='true'/>");
    EXPECT_NEAR(once.get(4, 4, 0), pixels(.5, 5 + 7), 0.05);
    // And no mirror is no mirror
    EXPECT_EQ(vectors("<shape type='rectangle'>" + moving("<translate x='1'/>") + "</shape>",
                      "<string name='config' value='rd'/>")
                  .get(4, 4, 0),
              0);
}

TEST_P(BackendMotion, GlassShowsMotion) {
    std::string glass = "<shape type='cube'><transform name='to_world'><scale x='3' y='3' "
                        "z='.5'/></transform><bsdf type='dielectric'/></shape>",
                thing = "<shape type='rectangle'>" +
                        moving("<scale value='3'/><translate x='.4' z='-3'/>",
                               "<scale value='3'/><translate z='-3'/>") +
                        "</shape>";
    Image image = vectors(glass + thing, "<string name='config' value='ttd'/>");
    // Glass of thickness 1 brings things nearer, near the axis by 1 - 1 / n
    double n = 1.5046 / 1.000277;
    EXPECT_NEAR(image.get(4, 4, 0), pixels(.4, 8 - (1 - 1 / n)), 0.03);
    EXPECT_NEAR(image.get(4, 4, 2), 0, 0.1) << "the first surface stands";
}

// Where the mirror was, there is nothing at the other time: it is found by way of times in between.
TEST_P(BackendMotion, LongWaysAreGoneInSteps) {
    std::string ball = "<shape type='sphere'>" + moving("<translate x='.9'/>") +
                       "<bsdf type='conductor'/></shape>",
                wall = "<shape type='rectangle'><transform name='to_world'><scale value='40'/>"
                       "<rotate y='1' angle='180'/><translate z='9'/></transform></shape>",
                config = "<string name='config' value='rd'/>";
    EXPECT_TRUE(std::isinf(vectors(ball + wall, config + "<integer name='max_time_steps' "
                                                         "value='1'/>")
                               .get(4, 4, 0)));
    // The middle of the ball shows (0, 0, 9); later, that is seen where the normal halves the angle between it and the camera:
    // 2.342 pixels to the right, and up to 2.365 for other places of the pixel
    Image image = vectors(ball + wall, config);
    EXPECT_NEAR(image.get(4, 4, 0), 2.35, 0.03) << "anywhere in the pixel";
}

TEST_P(BackendMotion, RefusesOtherConfigurations) {
    for (const char *config : { "", "r", "dd", "xd" }) {
        std::string message = user_error([&] {
            vectors("<shape type='sphere'/>",
                    fmt::format("<string name='config' value='{}'/>", config));
        });
        EXPECT_NE(message.find("config"), std::string::npos) << message;
    }
}

TEST_P(BackendMotion, RefusesSeveralCameras) {
    std::string xml = scene_xml("<shape type='sphere'/>", 4, 1, "motion"),
                sensor = xml.substr(xml.find("<sensor"),
                                    xml.find("</sensor>") + 9 - xml.find("<sensor"));
    Ref<Scene> scene = scene_from(
        xml.replace(xml.find(sensor), sensor.size(),
                    "<sensor type='batch'>" + sensor + sensor + "<film type='hdrfilm'/></sensor>"));
    EXPECT_NE(user_error([&] { render_image(*scene); }).find("several"), std::string::npos);
}

} // namespace umbel
