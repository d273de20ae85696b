// tests/plugins/principled_test.cpp: the corners of Disney's material are other materials.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendPrincipled : public BsdfTest {
protected:
    static void expect_same(const std::string &a, const std::string &b, double scale = 1) {
        const size_t n = 500;
        SurfaceInteraction si = hit_from(many_directions(5, n));
        Vector3 wo = many_directions(11, n);
        auto [f, p] = make(a)->eval_pdf({}, si, wo, true);
        auto [g, q] = make(b)->eval_pdf({}, si, wo, true);
        std::vector<double> got = all_numbers(unpolarized(f), n),
                            want = all_numbers(unpolarized(g * scale), n);
        EXPECT_GT(*std::max_element(want.begin(), want.end()), 0.01);
        expect_equal(a, got, want, variant().double_precision ? 1e-9 : 1e-3);
    }
};
UMBEL_BSDF_VARIANTS(BackendPrincipled)

TEST_P(BackendPrincipled, WhiteMetalIsARoughMirror) {
    expect_same("<bsdf type='principled'><float name='base_color' value='1'/><float "
                "name='metallic' value='1'/><float name='roughness' value='.5'/></bsdf>",
                "<bsdf type='roughconductor'><string name='distribution' value='ggx'/><float "
                "name='alpha' value='.25'/></bsdf>");
}

TEST_P(BackendPrincipled, FullTransmissionIsRoughGlass) {
    expect_same("<bsdf type='principled'><float name='base_color' value='1'/><float "
                "name='spec_trans' value='1'/><float name='eta' value='1.5'/><float "
                "name='roughness' value='.7'/></bsdf>",
                "<bsdf type='roughdielectric'><string name='distribution' value='ggx'/><float "
                "name='alpha' value='.49'/><float name='int_ior' value='1.5'/><float "
                "name='ext_ior' value='1'/></bsdf>");
}

// A lobe that the scene does not mention is left out of the program; one that is nowhere must look the same.
TEST_P(BackendPrincipled, WeightsThatAreLeftOutAreZero) {
    std::string zeros;
    for (const char *name : { "anisotropic", "metallic", "spec_tint", "sheen", "sheen_tint",
                              "flatness", "clearcoat", "spec_trans" })
        zeros += fmt::format("<texture type='uniform' name='{}'><float name='value' value='0'/>"
                             "</texture>",
                             name);
    expect_same("<bsdf type='principled'/>", "<bsdf type='principled'>" + zeros + "</bsdf>");
    EXPECT_EQ(make("<bsdf type='principled'><float name='clearcoat' value='0'/></bsdf>")
                  ->components()
                  .size(),
              2u);
    EXPECT_EQ(make("<bsdf type='principled'>" + zeros + "</bsdf>")->components().size(), 4u);
}

TEST(Principled, RefusesWhatMakesNoSense) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refused = [](const std::string &inside, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'><bsdf type='principled'>" + inside + "</bsdf></shape>",
                       parts);
    };
    refused("<float name='eta' value='1.5'/><float name='specular' value='.5'/>",
            { "principled", "either specular or eta" });
    refused("<float name='roughness' value='-.1'/>", { "roughness", "-0.1", "between 0 and 1" });
    refused("<float name='clearcoat' value='nan'/>", { "clearcoat", "nan" });
    refused("<float name='metallic' value='1.5'/>", { "metallic", "1.5", "between 0 and 1" });
    refused("<float name='eta' value='0'/>", { "eta", "0.001" });
    refused("<float name='clearcoat_sampling_rate' value='-1'/>", { "clearcoat_sampling_rate" });
}

} // namespace umbel
