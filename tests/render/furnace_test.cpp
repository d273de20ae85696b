// tests/render/furnace_test.cpp: energy: scenes whose radiance is known, in every variant.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class Furnace : public VariantTest {};

std::vector<const char *> plain_variants() { // AD changes defaults only
    std::vector<const char *> names;
    for (const Variant &v : all_variants())
        if (!v.ad)
            names.push_back(v.name.c_str());
    return names;
}
INSTANTIATE_TEST_SUITE_P(Variants, Furnace, testing::ValuesIn(plain_variants()),
                         [](auto &info) { return std::string(info.param); });

// Inside a sphere that emits 1 and reflects half: 1 + 1/2 + 1/4 + ... = 2
TEST_P(Furnace, AnIntegratingSphereAddsUpAllBounces) {
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='sphere'><float name='radius' value='10'/>"
                  "<boolean name='flip_normals' value='true'/>"
                  "<bsdf type='diffuse'/>"
                  "<emitter type='area'><rgb name='radiance' value='1, 1, 1'/></emitter></shape>",
                  12, 64));
    expect_mean(render_image(*scene), 2);
}

// The same with triangles
TEST_P(Furnace, AnIntegratingCubeAddsUpAllBounces) {
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='cube'><transform name='to_world'><scale value='9'/></transform>"
                  "<boolean name='flip_normals' value='true'/>"
                  "<bsdf type='diffuse'/>"
                  "<emitter type='area'><rgb name='radiance' value='1, 1, 1'/></emitter></shape>",
                  12, 64));
    expect_mean(render_image(*scene), 2);
}

class FurnaceOfAll : public VariantTest {};
std::vector<const char *> every_variant() {
    std::vector<const char *> names;
    for (const Variant &v : all_variants())
        names.push_back(v.name.c_str());
    return names;
}
INSTANTIATE_TEST_SUITE_P(Variants, FurnaceOfAll, testing::ValuesIn(every_variant()),
                         [](auto &info) { return std::string(info.param); });

// Half emitted, half reflected: 1/2 + 1/4 + 1/8 + ... = 1
TEST_P(FurnaceOfAll, AnIntegratingSphereIsOneWithinThreeStandardErrors) {
    Ref<Scene> scene = scene_from(scene_xml(
        "<shape type='sphere'><float name='radius' value='10'/>"
        "<boolean name='flip_normals' value='true'/><bsdf type='diffuse'/>"
        "<emitter type='area'><rgb name='radiance' value='.5, .5, .5'/></emitter></shape>",
        12, 64));
    Image image = render_image(*scene);
    for (size_t c = 0; c < image.channel_count(); ++c) {
        Estimate e = channel_mean(image, c);
        EXPECT_GT(e.error, 0);
        EXPECT_LT(e.error, 0.02);
        EXPECT_LT(std::abs(e.mean - 1), 3 * e.error)
            << image.channels()[c] << ": " << e.mean << " +- " << e.error << ", " << variant().name;
    }
}

class WhiteFurnace : public VariantTest {
protected:
    // A sphere that absorbs nothing cannot be told from the uniform light around it.
    void expect_invisible(const std::string &bsdf) {
        Ref<Scene> scene = scene_from(scene_xml(
            "<shape type='sphere'>" + bsdf +
                "</shape><emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>",
            16, 64));
        expect_mean(render_image(*scene), 1);
    }
};
UMBEL_VARIANTS(WhiteFurnace, "llvm_rgb", "llvm_spectral", "llvm_rgb_double", "interp_mono",
               "llvm_rgb_polarized")

TEST_P(WhiteFurnace, ADiffuseSphereOfAlbedoOneIsInvisible) {
    expect_invisible("<bsdf type='diffuse'><rgb name='reflectance' value='1, 1, 1'/></bsdf>");
}
TEST_P(WhiteFurnace, AMirrorIsInvisible) { expect_invisible("<bsdf type='conductor'/>"); }
TEST_P(WhiteFurnace, AGlassSphereIsInvisible) { expect_invisible("<bsdf type='dielectric'/>"); }
TEST_P(WhiteFurnace, ASmoothRoughGlassSphereIsNearlyInvisible) {
    expect_invisible("<bsdf type='roughdielectric'><float name='alpha' value='0.02'/></bsdf>");
}

} // namespace umbel
