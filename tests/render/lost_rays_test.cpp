// tests/render/lost_rays_test.cpp: rays that nobody can follow hit nothing, and do no harm.
#include "support/scenes.h"
#include "support/warnings.h"

namespace umbel {
using namespace test;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(),
                 Inf = std::numeric_limits<double>::infinity();
const char *Ball = "<shape type='sphere'/><emitter type='constant'/>";

Float numbers(std::vector<double> v) { return float_array(v); }

// Along z from (x, 0, 4), with the numbers of one lane in three replaced.
Ray rays_with(double x, double direction, double maxt) {
    Ray ray;
    ray.o = { numbers({ 0, x, 0.1 }), Float(0), Float(4) };
    ray.d = { Float(0), Float(0), numbers({ -1, direction, -1 }) };
    ray.maxt = numbers({ Inf, maxt, Inf });
    return ray;
}

} // namespace

class BackendLostRays : public VariantTest {};
// Only Embree's are: our own tree's find nothing, and say nothing of it.
bool are_counted() {
    return !variant().double_precision && !variant().context().backend().device();
}

UMBEL_VARIANTS(BackendLostRays, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendLostRays, HitNothingWhileTheirNeighboursDo) {
    Ref<Scene> scene = scene_from(scene_xml(Ball, 4, 1));
    Warnings warnings;
    struct {
        double x, direction, maxt;
    } bad[] = { { NaN, -1, Inf }, { Inf, -1, Inf }, { 1e25, -1, Inf },
                { 0, NaN, Inf },  { 0, Inf, Inf },  { 0, -1, NaN } };
    for (auto b : bad) {
        Ray ray = rays_with(b.x, b.direction, b.maxt);
        std::vector<double> t = read_floats(scene->ray_intersect(ray, true).t);
        EXPECT_NEAR(t[0], 3, 1e-5);
        EXPECT_EQ(t[1], Inf) << b.x << " " << b.direction << " " << b.maxt;
        EXPECT_LT(t[2], 4);
        UInt32 shadow(scene->ray_test(ray, true));
        EXPECT_EQ(shadow.read(), (std::vector<uint32_t>{ 1, 0, 1 }));
    }
    EXPECT_TRUE(!are_counted() || warnings.tell("not finite")) << warnings.text;
}

TEST_P(BackendLostRays, OfACameraFarAwayAreCountedAndItIsNamed) {
    Warnings warnings;
    std::string at = "<lookat origin='0,0,1e25' target='0,0,0' up='0,1,0'/>";
    Image image = render_image(
        *scene_from(scene_xml("<shape type='cube'/>" + std::string(Ball), 4, 2, "path", at)));
    expect_mean(image, 1); // of the sky
    EXPECT_TRUE(warnings.tell("sensor (perspective)")) << warnings.text;
    EXPECT_TRUE(!are_counted() || warnings.tell("32 rays")) << warnings.text;
}

TEST_P(BackendLostRays, AreTheOnesThatInstancesMagnifyTooMuch) {
    auto image = [](const std::string &scale) {
        std::string group = "<shape type='shapegroup' id='g'><shape type='cube'/></shape>"
                            "<shape type='instance'><ref id='g'/><transform name='to_world'>" +
                            scale + "</transform></shape><emitter type='constant'/>";
        return render_image(*scene_from(scene_xml(group, 4, 4)));
    };
    Warnings warnings;
    expect_mean(image("<scale value='1e-12'/>"), 1);
    EXPECT_EQ(warnings.text, "");
    expect_mean(image("<scale value='1e-25'/>"), 1);
    EXPECT_TRUE(warnings.tell("not rendered")) << warnings.text;
}

TEST_P(BackendLostRays, ShapesFarAwayAreNamed) {
    try {
        scene_from(scene_xml("<shape type='cube' id='far'><transform name='to_world'>"
                             "<translate x='1e30'/></transform></shape>",
                             4, 1));
        FAIL();
    } catch (const UserError &e) {
        EXPECT_NE(std::string(e.what()).find("\"far\""), std::string::npos) << e.what();
    }
}

TEST_P(BackendLostRays, LightsFarAwayAreNamed) {
    Warnings warnings;
    render_image(*scene_from(scene_xml("<shape type='sphere'/><emitter type='point' id='lamp'>"
                                       "<point name='position' x='1e25' y='0' z='0'/></emitter>",
                                       4, 1)));
    EXPECT_TRUE(warnings.tell("emitter \"lamp\"")) << warnings.text;
}

} // namespace umbel
