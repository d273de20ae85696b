// tests/plugins/conductor_test.cpp: smooth metals.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendConductor : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendConductor)

// At normal incidence, R = ((eta - 1)^2 + k^2) / ((eta + 1)^2 + k^2).
TEST_P(BackendConductor, ReflectsWhatItsIndexSays) {
    Ref<BSDF> bsdf = make("<bsdf type='conductor'><float name='eta' value='0.5'/><float name='k' "
                          "value='2'/></bsdf>");
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    BSDFSample s = bsdf->sample({}, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    for (const Float &r : unpolarized(s.weight).c)
        EXPECT_NEAR(read_floats(r)[0], (0.25 + 4) / (2.25 + 4), 1e-6);
    EXPECT_EQ(read_floats(s.pdf)[0], 1);
    EXPECT_EQ(read_floats(bsdf->pdf({}, si, s.wo, true))[0], 0) << "no density elsewhere";
}

TEST_P(BackendConductor, IsAMirrorFromTheFront) {
    Ref<BSDF> bsdf = make("<bsdf type='conductor'/>");
    SurfaceInteraction si = hit_from(Vector3(0.6, 0, 0.8));
    BSDFSample s = bsdf->sample({}, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    EXPECT_NEAR(read_floats(s.wo.x)[0], -0.6, 1e-7);
    EXPECT_NEAR(read_floats(s.wo.z)[0], 0.8, 1e-7);
    for (const Float &r : unpolarized(s.weight).c)
        EXPECT_NEAR(read_floats(r)[0], 1, 1e-6) << "without a material, it reflects everything";
    si = hit_from(Vector3(0.6, 0, -0.8));
    s = bsdf->sample({}, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    EXPECT_EQ(read_floats(s.pdf)[0], 0) << "from behind";
}

// What is not given is the material's, and a perfect mirror has eta = 0 and k = 1.
TEST_P(BackendConductor, HalfAnIndexLeavesTheOtherToTheMaterial) {
    auto reflected = [&](const std::string &inside) {
        BSDFSample s = make(fmt::format("<bsdf type='conductor'>{}</bsdf>", inside))
                           ->sample({}, hit_from(Vector3(0, 0, 1)), Float(0.5),
                                    { Float(0.3), Float(0.7) }, true);
        return read_floats(unpolarized(s.weight).c[0])[0];
    };
    EXPECT_NEAR(reflected("<float name='eta' value='2'/>"), (1 + 1.) / (9 + 1), 1e-6);
    EXPECT_NEAR(reflected("<float name='k' value='3'/>"), 1, 1e-6) << "nothing is absorbed";
    const char *au = "<string name='material' value='Au'/>";
    // At all visible wavelengths, gold has a k above 1.5, and an eta above 0.1.
    EXPECT_GT(reflected(fmt::format("{}<float name='eta' value='2'/>", au)), 0.25);
    EXPECT_LT(reflected(fmt::format("{}<float name='k' value='1'/>", au)), 0.9);
}

TEST(Conductor, GoldIsYellow) {
    VariantScope scope(find_variant("interp_rgb"));
    auto bsdf =
        make_object<BSDF>(Properties("bsdf", "conductor").set("material", std::string("Au")));
    BSDFSample s =
        bsdf->sample({}, hit_from(Vector3(0, 0, 1)), Float(0.5), { Float(0.3), Float(0.7) }, true);
    double r = read_floats(s.weight[0])[0], g = read_floats(s.weight[1])[0],
           b = read_floats(s.weight[2])[0];
    EXPECT_GT(r, 0.9);
    EXPECT_GT(r, g);
    EXPECT_GT(g, 2 * b);
}

TEST(Conductor, SaysWhatIsMissing) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refuse = [](const char *inside, std::initializer_list<const char *> parts) {
        expect_refused(
            fmt::format("<shape type='sphere'><bsdf type='conductor'>{}</bsdf></shape>", inside),
            parts);
    };
    refuse("<float name='eta' value='1'/><float name='k' value='2'/><string name='material' "
           "value='Au'/>",
           { "scene:1", "material has no effect beside eta and k", "remove" });
    refuse("<string name='material' value='Aux'/>", { "Aux", "Au" });
}

TEST(Conductor, NamesTheLineOfUnknownMaterials) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='conductor'><string name='material' "
                   "value='Auu'/></bsdf></shape>",
                   { "scene:1", "conductor", "\"Auu\"", "Au" });
    expect_refused("<shape type='sphere'><bsdf type='conductor'><string name='ext_eta' "
                   "value='watter'/></bsdf></shape>",
                   { "scene:1", "watter", "water" });
    expect_refused("<shape type='sphere'><bsdf type='conductor'><float name='ext_eta' "
                   "value='-1'/></bsdf></shape>",
                   { "ext_eta", "-1", "positive" });
}

// Crystals with an axis have two indices each.
TEST(Conductor, KnowsExtraordinaryRays) {
    VariantScope scope(find_variant("interp_rgb"));
    for (const char *name : { "Se-e", "Te-e_palik", "TiO2-e" }) {
        auto bsdf =
            make_object<BSDF>(Properties("bsdf", "conductor").set("material", std::string(name)));
        BSDFSample s = bsdf->sample({}, hit_from(Vector3(0, 0, 1)), Float(0.5),
                                    { Float(0.3), Float(0.7) }, true);
        double r = read_floats(s.weight[1])[0];
        EXPECT_GT(r, 0.15) << name;
        EXPECT_LT(r, 0.7) << name;
    }
}

} // namespace umbel
