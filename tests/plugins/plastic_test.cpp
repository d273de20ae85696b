// tests/plugins/plastic_test.cpp: a smooth coating on a diffuse base: exact values and limits.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendPlastic : public BsdfTest {
protected:
    static Ref<BSDF> plastic(double eta, double rho, bool nonlinear = false) {
        return make(fmt::format(
            "<bsdf type='plastic'><float name='int_ior' value='{}'/><float name='ext_ior' "
            "value='1'/><spectrum name='diffuse_reflectance' value='{}'/><boolean "
            "name='nonlinear' value='{}'/></bsdf>",
            eta, rho, nonlinear));
    }
    // pi f along the normal.
    static double base(const Ref<BSDF> &bsdf) {
        Vector3 up(0, 0, 1);
        return Pi * read_floats(unpolarized(bsdf->eval({}, hit_from(up), up, true))[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendPlastic)

TEST_P(BackendPlastic, ReflectsFourPercentLikeAMirror) {
    Ref<BSDF> bsdf = plastic(1.5, 0.5);
    BSDFSample s = bsdf->sample({ .component = 0 }, hit_from(Vector3(0, 0, 1)), Float(0.5),
                                { Float(0.3), Float(0.7) }, true);
    EXPECT_NEAR(read_floats(unpolarized(s.weight)[0])[0], 0.04, 1e-6);
    EXPECT_EQ(read_floats(s.pdf)[0], 1);
}

// Of diffuse light inside glass, the surface throws back 59.6 percent; see, say, Egan 1973.
TEST_P(BackendPlastic, BaseIsSeenThroughTheCoating) {
    double t = 0.96 * 0.96 / (1.5 * 1.5), r = 0.0636 * 1.5 + 0.6681 + 0.7099 / 1.5 - 1.4399 / 2.25;
    EXPECT_NEAR(r, 0.596, 2e-3);
    EXPECT_NEAR(base(plastic(1.5, 0.5)), 0.5 / (1 - r) * t, 1e-5);
    EXPECT_NEAR(base(plastic(1.5, 0.5, true)), 0.5 / (1 - 0.5 * r) * t, 1e-5);
}

TEST_P(BackendPlastic, IsDiffuseWithoutACoating) {
    EXPECT_NEAR(base(plastic(1.0001, 0.5)), 0.5, 5e-3);
    EXPECT_NEAR(base(plastic(1.0001, 0.5, true)), 0.5, 5e-3);
}

TEST_P(BackendPlastic, IsBlackFromBehind) {
    Vector3 down(0, 0, -1);
    Ref<BSDF> bsdf = plastic(1.5, 0.5);
    EXPECT_EQ(read_floats(unpolarized(bsdf->eval({}, hit_from(down), down, true))[0])[0], 0);
    BSDFSample s = bsdf->sample({}, hit_from(down), Float(0.001), { Float(0.3), Float(0.7) }, true);
    EXPECT_EQ(read_floats(s.pdf)[0], 0);
}

TEST(Plastic, TakesNamesOfOldScenes) {
    VariantScope scope(find_variant("interp_rgb"));
    Properties p("bsdf", "plastic");
    p.set("intIOR", std::string("water")).set("diffuseReflectance", 0.25);
    upgrade(p, "0.5.0");
    auto bsdf = make_object<BSDF>(p);
    EXPECT_NEAR(read_floats(bsdf->eval_diffuse_reflectance(hit_from(Vector3(0, 0, 1)), true)[0])[0],
                0.25, 1e-6);
}

TEST(Plastic, RefusesWhatItDoesNotKnow) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='plastic'><float name='int_ior' "
                   "value='-1'/></bsdf></shape>",
                   { "int_ior", "positive" });
    expect_refused("<shape type='sphere'><bsdf type='plastic'><rgb name='diffuse_reflectanc' "
                   "value='1'/></bsdf></shape>",
                   { "diffuse_reflectanc", "did you mean \"diffuse_reflectance\"" });
}

} // namespace umbel
