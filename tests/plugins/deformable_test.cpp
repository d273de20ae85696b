// tests/plugins/deformable_test.cpp: meshes whose vertices move between keys.
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

class DeformableMeshes : public VariantTest {};
UMBEL_VARIANTS(DeformableMeshes, "interp_rgb", "llvm_rgb", "llvm_rgb_double", "interp_mono_double",
               "llvm_spectral")

TEST_P(DeformableMeshes, BendFromKeyToKey) {
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

TEST_P(DeformableMeshes, DeformThroughKeysAtAnyTimes) {
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
TEST_P(DeformableMeshes, DeformInsideOfInstancesThatMove) {
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

TEST(Deformable, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto says = [&](const std::string &body, const char *text) {
        std::string m = user_error([&] { scene_from(scene_xml(body, 4, 1)); });
        EXPECT_NE(m.find(text), std::string::npos) << m;
    };
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
