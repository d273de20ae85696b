// tests/plugins/instance_test.cpp: instances look like the shapes that they stand for.
#include "core/traverse.h"
#include "support/compare.h"

namespace umbel {
using namespace test;

namespace {

const char *Light = "<emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>";
const char *Floor = "<shape type='rectangle'><transform name='to_world'><scale value='3'/>"
                    "<translate z='-1'/></transform></shape>";
const std::vector<std::string> Placements = {
    "<scale value='0.5'/><translate x='-0.8'/>",
    "<scale x='0.3' y='0.6' z='0.4'/><rotate y='1' x='0.3' angle='35'/><translate x='0.7' "
    "y='0.2'/>",
    "<scale x='-0.3' y='0.3' z='0.3'/><rotate z='1' angle='20'/><translate y='-0.8' z='0.3'/>"
};

std::string cube(const std::string &transform) {
    return "<shape type='cube'><transform name='to_world'>" + transform +
           "</transform><bsdf type='diffuse'><rgb name='reflectance' value='.8, .4, .2'/></bsdf>"
           "</shape>";
}
std::string ball(const std::string &transform) {
    return "<shape type='sphere'><float name='radius' value='0.5'/><point name='center' x='0' "
           "y='1.2' z='0'/><transform name='to_world'>" +
           transform + "</transform><bsdf type='conductor'/></shape>";
}
std::string placed(const std::string &transform, const char *group = "g") {
    return fmt::format("<shape type='instance'><ref id='{}'/><transform "
                       "name='to_world'>{}</transform></shape>",
                       group, transform);
}
std::string group(const std::string &shapes, const char *id = "g") {
    return fmt::format("<shape type='shapegroup' id='{}'>{}</shape>", id, shapes);
}

} // namespace

class BackendInstances : public VariantTest {};
UMBEL_VARIANTS(BackendInstances, "interp_rgb", "llvm_rgb", "llvm_spectral", "llvm_rgb_double",
               "interp_mono_double", "llvm_rgb_polarized")

TEST_P(BackendInstances, ShowWhatCopiesOfTheShapesWouldShow) {
    std::string flat = Floor, instanced = Floor + group(cube(""));
    for (const std::string &p : Placements) {
        flat += cube(p);
        instanced += placed(p);
    }
    for (const char *kind : { "depth", "path" }) {
        Image a = render_image(*scene_from(scene_xml(flat + Light, 24, 64, kind)));
        Image b =
            render_image(*scene_from(scene_xml(instanced + Light, 24, 64, kind)), { .seed = 1 });
        expect_same_estimate(a, b);
    }
}

TEST_P(BackendInstances, MeetTheSameSurfacesSampleBySample) {
    // No noise but that of the sample positions, which are the same.
    std::string flat = Floor, instanced = Floor + group(cube("") + ball(""));
    for (size_t i : { 0u, 2u }) { // a sphere must stay one to be compared
        std::string p =
            i ? "<rotate z='1' angle='20'/><scale value='0.3'/><translate y='-0.8' z='0.3'/>"
              : Placements[0];
        flat += cube(p) + ball(p);
        instanced += placed(p);
    }
    Image a = render_image(*scene_from(scene_xml(flat, 24, 4, "depth")));
    Image b = render_image(*scene_from(scene_xml(instanced, 24, 4, "depth")));
    EXPECT_LE(differences(a, b), 6u); // edges may fall to either side
    EXPECT_GT(channel_mean(a, 0).mean, 0.5);
}

TEST_P(BackendInstances, OfSeveralGroupsKeepTheirOwnMaterials) {
    auto wall = [](const char *colour) {
        return fmt::format("<shape type='rectangle'><bsdf type='diffuse'><rgb name='reflectance' "
                           "value='{}'/></bsdf></shape>",
                           colour);
    };
    Ref<Scene> scene =
        scene_from(scene_xml(group(ball(""), "unused") + group(wall("0.8, 0.8, 0.8"), "light") +
                                 group(wall("0.2, 0.2, 0.2"), "dark") +
                                 placed("<scale x='4' y='20'/><translate x='-4'/>", "light") +
                                 placed("<scale x='4' y='20'/><translate x='4'/>", "dark") + Light,
                             8, 256));
    EXPECT_EQ(scene->surfaces().size(), 2u); // of groups that are placed
    Image image = render_image(*scene);
    double mean[2] = {};
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 8; ++x)
            mean[x / 4] += image.get(x, y, 0) / 32;
    EXPECT_NEAR(mean[0], 0.8, 0.02);
    EXPECT_NEAR(mean[1], 0.2, 0.005);
}

TEST_P(BackendInstances, CanBeMovedWithoutCompiling) {
    auto scene_at = [](const std::string &transform) {
        return scene_from(
            scene_xml(group(cube("") + ball("")) + placed(transform), 16, 8, "depth"));
    };
    Ref<Scene> scene = scene_at("<scale value='0.3'/>");
    render_image(*scene);
    SceneParameters params(scene);
    *std::get<TransformSlot>(params.at("instance.to_world").param.slot).host =
        TransformData::translate({ 0.5, 0, 0 }) * TransformData::scale({ 0.4, 0.4, 0.4 });
    params.update({ "instance.to_world" });
    jit::Context &context = variant().context();
    context.set(jit::Flag::History, true);
    context.take_history();
    Image moved = render_image(*scene);
    for (const jit::KernelRecord &r : context.take_history())
        EXPECT_EQ(r.backend_seconds, 0) << r.name;
    context.set(jit::Flag::History, false);
    EXPECT_TRUE(
        same_pixels(moved, render_image(*scene_at("<scale value='0.4'/><translate x='0.5'/>"))));
}

TEST_P(BackendInstances, AThousandOfThemCompileWhatTwoDo) {
    auto grid = [](int n) {
        std::string s = group(cube("") + ball(""));
        for (int i = 0; i < n; ++i)
            s += placed(fmt::format("<scale value='0.02'/><translate x='{}' y='{}'/>",
                                    0.1 * (i % 32) - 1.6, 0.1 * (i / 32) - 1.6));
        return scene_from(scene_xml(s + Light, 16, 4));
    };
    render_image(*grid(2));
    jit::Context &context = variant().context();
    context.set(jit::Flag::History, true);
    context.take_history();
    render_image(*grid(1000));
    for (const jit::KernelRecord &r : context.take_history())
        EXPECT_EQ(r.backend_seconds, 0) << r.name;
    context.set(jit::Flag::History, false);
}

// A node of the compiler takes as much memory as all numbers of a transform, and one used to be made of each.
TEST_P(BackendInstances, AreNoNodesOfTheCompiler) {
    auto nodes = [](int n) {
        std::string s = group(cube(""));
        for (int i = 0; i < n; ++i)
            s += placed(fmt::format("<scale value='0.02'/><translate x='{}'/>", 0.01 * i));
        Ref<Scene> scene = scene_from(scene_xml(s + Light, 4, 1));
        EXPECT_EQ(scene->instance_count(), size_t(n));
        return variant().context().graph.live_nodes();
    };
    nodes(1);
    size_t few = nodes(2);
    EXPECT_LT(nodes(102), few + 50);
}

TEST(Instances, CannotContainLightsGroupsOrInstances) {
    VariantScope scope(find_variant("interp_rgb"));
    auto message = [](const std::string &body) {
        return user_error([&] { scene_from(scene_xml(body, 4, 1)); });
    };
    auto says = [&](const std::string &body, const char *text) {
        std::string m = message(body);
        EXPECT_NE(m.find(text), std::string::npos) << m;
    };
    says(group("<shape type='sphere'><emitter type='area'/></shape>"),
         "Instancing of emitters is not supported");
    says(group(group(cube(""), "inner")), "Nested ShapeGroup is not permitted");
    says(group(cube(""), "h") + group(placed("", "h")), "Nested instancing is not permitted");
    says("<shape type='shapegroup'/>", "the group is empty");
    says("<shape type='instance'/>", "which shapegroup?");
    says("<shape type='instance'><shape type='sphere'/></shape>", "\"sphere\" is no shapegroup");
    says(group(cube("")) + placed("<scale x='0'/>"), "singular");
    says(group(cube("")) + placed("<matrix value='1 0 0 0 0 1 0 0 0 0 1 0 0 0 1 1'/>"), "affine");
    says(group(cube("")) + "<shape type='instance'><ref id='g'/>" +
             animation("", "<scale x='-1'/>") + "</shape>",
         "handedness");
}

} // namespace umbel
