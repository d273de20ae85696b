// tests/plugins/mixturebsdf_test.cpp: sums of BSDFs.
#include "core/traverse.h"
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

std::string mixture(const std::string &weights) {
    return "<bsdf type='mixturebsdf'><string name='weights' value='" + weights +
           "'/><bsdf type='diffuse'><spectrum name='reflectance' value='.8'/></bsdf><bsdf "
           "type='diffuse'><spectrum name='reflectance' value='.2'/></bsdf><bsdf "
           "type='diffuse'><spectrum name='reflectance' value='1'/></bsdf></bsdf>";
}

} // namespace

class BackendMixtureBsdf : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendMixtureBsdf)

TEST_P(BackendMixtureBsdf, SumsWhatIsInside) {
    Vector3 up(0, 0, 1);
    for (const char *weights : { "0.5, 0.25, 0.125", ".5 .25 .125", "0.5;0.25 ,0.125" }) {
        Ref<BSDF> bsdf = make(mixture(weights));
        Spectrum f = bsdf->eval({}, hit_from(up), up, true);
        EXPECT_NEAR(read_floats(unpolarized(f)[0])[0] * Pi, 0.4 + 0.05 + 0.125, 1e-6);
        // What the weights leave out is absorbed, not sampled
        EXPECT_NEAR(read_floats(bsdf->pdf({}, hit_from(up), up, true))[0], InvPi, 1e-6);
    }
}

TEST(MixtureBsdf, WeightsAreParameters) {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='sphere'>" + mixture("0.5, 0.25, 0.125") + "</shape>", 4, 1));
    SceneParameters params(scene);
    size_t count = 0;
    for (const SceneParameter &p : params.all())
        count += p.param.name.starts_with("weight_");
    EXPECT_EQ(count, 3u);
}

TEST(MixtureBsdf, RefusesBadWeights) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refuse = [](const char *weights, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'>" + mixture(weights) + "</shape>", parts);
    };
    refuse("0.5, 0.5", { "2 weights", "3 BSDFs" });
    refuse("0.5, 0.5, x", { "weights", "\"x\"", "not a number" });
    refuse("0.5, -0.5, 0", { "-0.5", "negative" });
    refuse("0.5, 0.5, 0.5", { "1.5", "scale them down" });
    refuse("", { "0 weights" });
}

} // namespace umbel
