// tests/plugins/roughcoating_test.cpp: rough layers: their limits, and what they are made of.
#include "render/rough_coating.h"
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendRoughCoating : public BsdfTest {
protected:
    static double number(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
};
UMBEL_BSDF_VARIANTS(BackendRoughCoating)

// Off the highlight, a layer that is nearly smooth shows what is inside as a smooth one does.
TEST_P(BackendRoughCoating, IsCoatingWithoutRoughness) {
    const char *inside = "<rgb name='sigma_a' value='.2,.3,.4'/><bsdf type='diffuse'/>";
    Ref<BSDF> rough = make(fmt::format(
                  "<bsdf type='roughcoating'><float name='alpha' value='.002'/>{}</bsdf>", inside)),
              smooth = make(fmt::format("<bsdf type='coating'>{}</bsdf>", inside));
    Vector3 wo = normalize({ Float(0.5), Float(0.1), Float(0.8) });
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    double a = number(rough->eval({}, si, wo, true)), b = number(smooth->eval({}, si, wo, true));
    EXPECT_NEAR(a, b, 2e-3 * b);
}

// The surface is that of roughplastic.
TEST_P(BackendRoughCoating, HasTheHighlightOfPlastic) {
    for (const char *name : { "beckmann", "ggx", "phong" }) {
        std::string common =
            fmt::format("<string name='distribution' value='{}'/><float name='int_ior' "
                        "value='1.5'/><float name='alpha' value='.2'/>",
                        name);
        Ref<BSDF> coating = make("<bsdf type='roughcoating'>" + common +
                                 "<bsdf type='diffuse'><float name='reflectance' value='0'/>"
                                 "</bsdf></bsdf>"),
                  plastic = make("<bsdf type='roughplastic'>" + common +
                                 "<float name='diffuse_reflectance' value='0'/></bsdf>");
        Vector3 wi = normalize({ Float(0.5), Float(0.1), Float(0.8) }),
                wo = normalize({ Float(-0.4), Float(0.05), Float(0.8) });
        double a = number(coating->eval({}, hit_from(wi), wo, true)),
               b = number(plastic->eval({}, hit_from(wi), wo, true));
        EXPECT_GT(b, 0) << name;
        EXPECT_NEAR(a, b, 1e-5 * b) << name;
    }
}

TEST(RoughCoatingPlugin, RefusesBadRoughness) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='roughcoating'><float name='alpha' "
                   "value='-.1'/><bsdf type='diffuse'/></bsdf></shape>",
                   { "alpha", "-0.1" });
    expect_refused("<shape type='sphere'><bsdf type='roughcoating'/></shape>", { "inside" });
}

} // namespace umbel
