// tests/plugins/thindielectric_test.cpp: panes: both surfaces together.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendThinDielectric : public BsdfTest {
protected:
    static BSDFSample sample(double eta, const Vector3 &wi, uint32_t component) {
        Ref<BSDF> bsdf = make(fmt::format("<bsdf type='thindielectric'><float name='int_ior' "
                                          "value='{}'/><float name='ext_ior' value='1'/></bsdf>",
                                          eta));
        return bsdf->sample({ .component = component }, hit_from(wi), Float(0.5),
                            { Float(0.3), Float(0.7) }, true);
    }
    static double intensity(const BSDFSample &s) {
        return read_floats(unpolarized(s.weight)[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendThinDielectric)

// 4 percent at each surface, and what goes to and fro: 2 r / (1 + r).
TEST_P(BackendThinDielectric, BothSurfacesReflect) {
    for (double side : { 1.0, -1.0 }) {
        Vector3 wi(0, 0, side);
        EXPECT_NEAR(intensity(sample(1.5, wi, 0)), 0.08 / 1.04, 1e-6);
        EXPECT_NEAR(intensity(sample(1.5, wi, 1)), 0.96 / 1.04, 1e-6);
    }
}

TEST_P(BackendThinDielectric, LightGoesStraightThrough) {
    BSDFSample s = sample(1.5, Vector3(0.6, 0, 0.8), 1);
    EXPECT_NEAR(read_floats(s.wo.x)[0], -0.6, 1e-7);
    EXPECT_NEAR(read_floats(s.wo.z)[0], -0.8, 1e-7);
    EXPECT_EQ(read_floats(s.eta)[0], 1);
    EXPECT_EQ(jit::item(s.sampled_type), uint32_t(BSDFFlags::Null));
}

TEST_P(BackendThinDielectric, IsNotThereBetweenEqualMaterials) {
    EXPECT_NEAR(intensity(sample(1, Vector3(0.6, 0, 0.8), 1)), 1, 1e-6);
}

TEST(ThinDielectric, RefusesUnknownMaterials) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='thindielectric'><string name='int_ior' "
                   "value='watr'/></bsdf></shape>",
                   { "watr", "water" });
}

} // namespace umbel
