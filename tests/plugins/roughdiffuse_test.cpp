// tests/plugins/roughdiffuse_test.cpp: rough diffuse surfaces: limits and a value by hand.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendRoughDiffuse : public BsdfTest {
protected:
    static double pi_f(double alpha, bool fast, const Vector3 &wi, const Vector3 &wo) {
        Ref<BSDF> bsdf =
            make(fmt::format("<bsdf type='roughdiffuse'><float name='alpha' value='{}'/><boolean "
                             "name='use_fast_approx' value='{}'/></bsdf>",
                             alpha, fast));
        Spectrum f = bsdf->eval({}, hit_from(wi), wo, true);
        return read_floats(unpolarized(f)[0] / wo.z)[0] * Pi;
    }
};
UMBEL_BSDF_VARIANTS(BackendRoughDiffuse)

TEST_P(BackendRoughDiffuse, IsDiffuseWithoutRoughness) {
    for (bool fast : { false, true })
        EXPECT_NEAR(pi_f(0, fast, Vector3(0.6, 0, 0.8), Vector3(0, 0.8, 0.6)), 0.5, 1e-6);
}

// By the approximation's formula: variance 0.08, both directions at 0.8 and in one plane.
TEST_P(BackendRoughDiffuse, HasTheApproximationsValue) {
    double c1 = 1 - 0.5 * 0.08 / 0.41, c2 = 0.45 * 0.08 / 0.17, tilt = 0.6 * 0.75;
    Vector3 right(0.6, 0, 0.8), left(-0.6, 0, 0.8);
    EXPECT_NEAR(pi_f(0.4, true, right, right), 0.5 * (c1 + c2 * tilt), 1e-6);
    EXPECT_NEAR(pi_f(0.4, true, right, left), 0.5 * c1, 1e-6);
}

// Along the normal, where nothing shadows: C1 and the light between facets.
TEST_P(BackendRoughDiffuse, HasTheFullModelsValueAtTheNormal) {
    Vector3 up(0, 0, 1);
    double c1 = 1 - 0.5 * 0.08 / 0.41, c4 = 0.17 * 0.08 / 0.21;
    EXPECT_NEAR(pi_f(0.4, false, up, up), 0.5 * c1 + 0.25 * c4, 1e-6);
}

// Rough surfaces look flat: they throw more light back to where it came from.
TEST_P(BackendRoughDiffuse, ReflectsBackwards) {
    Vector3 right(0.8, 0, 0.6), left(-0.8, 0, 0.6);
    EXPECT_GT(pi_f(0.5, false, right, right), 1.3 * pi_f(0.5, false, right, left));
}

} // namespace umbel
