// tests/plugins/aov_test.cpp: quantities of the first surface.
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {

Image image_with(const std::string &aovs, const std::string &inner = "") {
    std::string xml = scene_xml(
        "<shape type='rectangle'><transform name='to_world'><scale value='9'/></transform>"
        "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.4,.6'/></bsdf></shape>"
        "<emitter type='constant'/>",
        9, 4, "aov");
    std::string tag = "<integrator type='aov'/>";
    xml.replace(xml.find(tag), tag.size(),
                "<integrator type='aov'><string name='aovs' value='" + aovs + "'/>" + inner +
                    "</integrator>");
    return render_image(*scene_from(xml));
}
double middle(const Image &image, const char *channel) {
    int c = image.find_channel(channel);
    EXPECT_GE(c, 0) << "no channel " << channel;
    return c < 0 ? 0 : image.get(4, 4, size_t(c));
}

} // namespace

class BackendAov : public VariantTest {};
UMBEL_VARIANTS(BackendAov, "interp_rgb_double", "llvm_rgb")

TEST_P(BackendAov, ShowsTheFirstSurface) {
    Image image =
        image_with("d:depth, n:geo_normal,s:sh_normal,p:position,a:albedo,t:uv,i:prim_index");
    EXPECT_NEAR(middle(image, "d.T"), 4, 0.05);
    EXPECT_NEAR(middle(image, "n.Z"), 1, 1e-6);
    EXPECT_NEAR(middle(image, "s.Z"), 1, 1e-6);
    EXPECT_NEAR(middle(image, "s.X"), 0, 1e-6);
    EXPECT_NEAR(middle(image, "p.Z"), 0, 1e-6);
    EXPECT_NEAR(middle(image, "p.X"), 0, 0.2);
    EXPECT_NEAR(middle(image, "t.U"), 0.5, 0.02);
    const char *names[] = { "a.R", "a.G", "a.B" };
    for (int c = 0; c < 3; ++c)
        EXPECT_NEAR(middle(image, names[c]), 0.2 * (c + 1), 1e-6);
}

// A plane of 18 x 18 units at the distance 4, of which 9 pixels show 40 degrees: texture coordinates between neighbouring samples.
TEST_P(BackendAov, ShowsHowTextureCoordinatesChangeBetweenSamples) {
    Image image = image_with("x:duv_dx,y:duv_dy,i:prim_index,j:shape_index");
    double step = 2 * 4 * std::tan(20 * Pi / 180) / 9 / 18 / 2; // 4 samples a pixel
    // Half of the way is that of unit vectors: of a pixel's angle a, tan(a / 2) is not tan(a) / 2, but a^2 / 4 = 1.6e-3 less
    EXPECT_NEAR(middle(image, "x.U"), step * (1 - 1.4e-3), 5e-4 * step);
    EXPECT_NEAR(middle(image, "x.V"), 0, 1e-6);
    EXPECT_NEAR(middle(image, "y.U"), 0, 1e-6);
    EXPECT_NEAR(middle(image, "y.V"), -step * (1 - 1.4e-3), 5e-4 * step);
    EXPECT_EQ(middle(image, "j.I"), 1);
    EXPECT_GE(image.find_channel("i.I"), 0);
}

// Of a rectangle the way to its edge, of a ball the cosine at which it is seen, and 1 beside it.
TEST_P(BackendAov, ShowsHowFarSurfacesAreFromTheirEnds) {
    // Samples lie up to half a pixel aside: 0.16 units of a rectangle of 18
    EXPECT_NEAR(middle(image_with("b:boundary_test,d:depth"), "b"), 0.5, 0.02);
    auto seen = [](const std::string &shape) {
        std::string xml = scene_xml(shape, 9, 16, "aov"), tag = "<integrator type='aov'/>";
        xml.replace(xml.find(tag), tag.size(),
                    "<integrator type='aov'><string name='aovs' value='b:boundary_test,u:uv'/>"
                    "</integrator>");
        return render_image(*scene_from(xml));
    };
    Image ball = seen("<shape type='sphere'/>");
    int b = ball.find_channel("b");
    ASSERT_GE(b, 0);
    EXPECT_NEAR(ball.get(4, 4, size_t(b)), 1, 0.05);
    EXPECT_NEAR(ball.get(0, 0, size_t(b)), 1, 1e-6) << "nothing is there";
    double least = 1;
    for (size_t x = 0; x < 9; ++x)
        least = std::min(least, ball.get(x, 4, size_t(b)));
    EXPECT_LT(least, 0.9) << "towards the silhouette";
    // A face has two triangles, along whose diagonal it is 0: with smooth normals they do not count
    EXPECT_NEAR(middle(seen("<shape type='cube'/>"), "b"), 1, 0.01);
    EXPECT_LT(
        middle(seen("<shape type='cube'><boolean name='face_normals' value='true'/></shape>"), "b"),
        0.3);
    Image disk = seen("<shape type='disk'><transform name='to_world'><scale value='4'/></transform>"
                      "</shape>");
    for (size_t x = 0; x < 9; ++x)
        EXPECT_NEAR(disk.get(x, 4, size_t(disk.find_channel("b"))),
                    1 - disk.get(x, 4, size_t(disk.find_channel("u.U"))), 1e-5);
}

TEST_P(BackendAov, LeavesTheImageInsideAsItIs) {
    Image image = image_with("d:depth", "<integrator type='depth'/>");
    for (size_t y = 0; y < 9; ++y)
        for (size_t x = 0; x < 9; ++x)
            EXPECT_EQ(image.get(x, y, 0), image.get(x, y, size_t(image.find_channel("d.T"))));
}

TEST_P(BackendAov, ShowsTheImagesOfAllIntegratorsInside) {
    Image image = image_with("d:depth", "<integrator type='path'/><integrator type='depth' "
                                        "name='far'/><integrator type='aov'><string name='aovs' "
                                        "value='n:sh_normal'/></integrator>");
    EXPECT_EQ(
        image.channels(),
        (std::vector<std::string>{ "R", "G", "B", "far.R", "far.G", "far.B", "image3.R", "image3.G",
                                   "image3.B", "image3.n.X", "image3.n.Y", "image3.n.Z", "d.T" }));
    EXPECT_EQ(middle(image, "far.G"), middle(image, "d.T"));
    EXPECT_NEAR(middle(image, "image3.n.Z"), 1, 1e-6);
    EXPECT_GT(middle(image, "R"), 0.1); // of white light all around
    EXPECT_NEAR(middle(image, "G"), 2 * middle(image, "R"), 1e-5);
}

TEST(Aov, SaysWhatItDoesNotKnow) {
    VariantScope scope(find_variant("interp_rgb"));
    EXPECT_NE(user_error([] {
                  make_object<Integrator>(Properties("integrator", "aov"));
              }).find("has no `aovs`"),
              std::string::npos);
    auto refuse = [](const char *aovs, const char *part) {
        std::string m = user_error([&] { image_with(aovs); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    refuse("depth", "name:kind");
    refuse("d:dept", "unknown kind \"dept\"");
}

} // namespace umbel
