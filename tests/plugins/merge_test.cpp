// tests/plugins/merge_test.cpp: many meshes as one.
#include "render/outline.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

std::string cube(const std::string &inside, double x) {
    return fmt::format(
        "<shape type='cube'><transform name='to_world'><scale value='.3'/><translate "
        "x='{}'/></transform>{}</shape>",
        x, inside);
}
const char *Red = "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='.7,.1,.1'/></bsdf>";

std::string scene_with(const std::string &body) {
    return scene_xml(body + "<emitter type='constant'/>", 16, 4);
}

} // namespace

TEST(Merge, MakesOneMeshOfThoseWithOneMaterial) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string shapes = cube(Red, -1) + cube("<ref id='red'/>", 0) + cube("", 1) +
                         cube("<ref id='red'/><boolean name='flip_normals' value='true'/>", 1.5) +
                         "<shape type='sphere'><float name='radius' value='.2'/></shape>";
    Ref<Scene> apart = scene_from(scene_with(shapes)),
               merged = scene_from(scene_with("<shape type='merge'>" + shapes + "</shape>"));
    ASSERT_EQ(merged->shapes().size(), 3u) << "red ones, a grey one, and a sphere";
    auto &mesh = dynamic_cast<const Mesh &>(*merged->shapes()[0]);
    EXPECT_EQ(mesh.triangle_count(), 36u);
    EXPECT_NEAR(mesh.area(), 3 * 6 * 0.36, 1e-6);
    Image a = render_image(*apart), b = render_image(*merged);
    for (size_t i = 0; i < a.pixels() * 3; ++i)
        ASSERT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-5) << i;
}

TEST(Merge, LeavesLightsAlone) {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene = scene_from(scene_with(
        "<shape type='merge'>" + cube("<emitter type='area'/>", 0) + cube("", 1) + "</shape>"));
    EXPECT_EQ(scene->shapes().size(), 2u);
    EXPECT_EQ(scene->emitters().objects().size(), 2u);
}

TEST(Merge, LeavesAloneWhatWeighsItsSilhouettes) {
    VariantScope scope(find_variant("interp_rgb"));
    const char *weight = "<ref id='red'/><float name='silhouette_sampling_weight' value='3'/>";
    Ref<Scene> scene =
        scene_from(scene_with("<shape type='merge'>" + cube(Red, -1) + cube("<ref id='red'/>", 0) +
                              cube(weight, 1) + "</shape>"));
    ASSERT_EQ(scene->shapes().size(), 2u);
    EXPECT_EQ(silhouette_sampling_weight(*scene->shapes()[0]), 1);
    EXPECT_EQ(silhouette_sampling_weight(*scene->shapes()[1]), 3);
}

TEST(Merge, LeavesAloneWhatHasTexturesAsAttributes) {
    VariantScope scope(find_variant("interp_rgb"));
    const char *tint = "<ref id='red'/><texture type='checkerboard' name='vertex_tint'/>";
    Ref<Scene> scene =
        scene_from(scene_with("<shape type='merge'>" + cube(Red, -1) + cube("<ref id='red'/>", 0) +
                              cube(tint, 1) + "</shape>"));
    ASSERT_EQ(scene->shapes().size(), 2u);
    EXPECT_FALSE(scene->shapes()[0]->has_attribute("vertex_tint"));
    EXPECT_TRUE(scene->shapes()[1]->has_attribute("vertex_tint"));
}

TEST(Merge, IsPartOfGroups) {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene =
        scene_from(scene_with("<shape type='shapegroup' id='g'><shape type='merge'>" +
                              cube(Red, -1) + cube("<ref id='red'/>", 1) +
                              "</shape></shape><shape type='instance'><ref id='g'/></shape>"));
    EXPECT_EQ(scene->surfaces().size(), 1u);
}

} // namespace umbel
