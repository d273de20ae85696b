// tests/plugins/ward_test.cpp: Ward's model: exact values of its variants.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendWard : public BsdfTest {
protected:
    static double gloss(const char *name, const Vector3 &wi, const Vector3 &wo) {
        Ref<BSDF> bsdf = make(fmt::format("<bsdf type='ward'><string name='variant' value='{}'/>"
                                          "<float name='alpha_u' value='.2'/><float "
                                          "name='alpha_v' value='.5'/></bsdf>",
                                          name));
        BSDFContext ctx{ .component = 0 };
        return read_floats(unpolarized(bsdf->eval(ctx, hit_from(wi), wo, true))[0] / wo.z)[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendWard)

TEST_P(BackendWard, VariantsAgreeAlongTheNormal) {
    Vector3 up(0, 0, 1);
    for (const char *name : { "ward", "ward-duer", "balanced" })
        EXPECT_NEAR(gloss(name, up, up), 0.2 / (4 * Pi * 0.1), 1e-5);
}

// In the mirror direction, where all depends on cosines.
TEST_P(BackendWard, VariantsDifferInTheirNorm) {
    Vector3 wi(0.8, 0, 0.6), mirror(-0.8, 0, 0.6);
    double peak = 0.2 / (4 * Pi * 0.1);
    EXPECT_NEAR(gloss("ward", wi, mirror), peak / 0.6, 1e-4);
    EXPECT_NEAR(gloss("ward-duer", wi, mirror), peak / 0.36, 1e-4);
    EXPECT_NEAR(gloss("balanced", wi, mirror), peak / 0.36, 1e-4);
}

// Off it, as the formulas have it: h is 0.1 along u, and |wi + wo|^2 tells the balanced one.
TEST_P(BackendWard, FallsOffAlongItsAxes) {
    Vector3 up(0, 0, 1);
    double x = 0.28, z = 0.96, h2 = x * x + (1 + z) * (1 + z); // of the sum of both
    double e = std::exp(-std::pow(x / 0.2 / (1 + z), 2));
    Vector3 wo(x, 0, z);
    EXPECT_NEAR(gloss("ward", up, wo), 0.2 * e / (4 * Pi * 0.1 * std::sqrt(z)), 1e-5);
    EXPECT_NEAR(gloss("balanced", up, wo), 0.2 * e * h2 / (Pi * 0.1 * std::pow(1 + z, 4)), 1e-5);
    EXPECT_GT(gloss("ward", up, Vector3(0, x, z)), gloss("ward", up, wo));
}

TEST_P(BackendWard, AlphaStandsForBothRoughnesses) {
    auto value = [](const char *more) {
        Ref<BSDF> bsdf = make(fmt::format("<bsdf type='ward'>{}</bsdf>", more));
        return read_floats(unpolarized(
            bsdf->eval({}, hit_from(Vector3(0, 0, 1)), Vector3(0.28, 0, 0.96), true))[0])[0];
    };
    EXPECT_EQ(value("<float name='alpha' value='.3'/>"),
              value("<float name='alpha_u' value='.3'/><float name='alpha_v' value='.3'/>"));
}

TEST(Ward, RefusesUnknownVariants) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='ward'><string name='variant' "
                   "value='balance'/></bsdf></shape>",
                   { "variant", "balance", "balanced" });
}

} // namespace umbel
