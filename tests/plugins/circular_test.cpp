// tests/plugins/circular_test.cpp: what passes circular polarizers, one and two.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"

namespace umbel {
using namespace test;

class BackendCircular : public BsdfTest {
protected:
    static Spectrum passed(bool left) {
        return make(fmt::format("<bsdf type='circular'><boolean name='left_handed' value='{}'/>"
                                "<float name='transmittance' value='.8'/></bsdf>",
                                left))
            ->eval_null_transmission(hit_from(opaque_direction({ 0.3, -0.2, 0.7 })), true);
    }
    static double intensity(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
};
UMBEL_BSDF_VARIANTS(BackendCircular)

TEST_P(BackendCircular, HalfPassesAndThenAllOrNothing) {
    EXPECT_NEAR(intensity(passed(false)), 0.4, 1e-6);
    if (!variant().polarized)
        return;
    EXPECT_NEAR(intensity(passed(true) * passed(true)), 0.32, 1e-6);
    EXPECT_NEAR(intensity(passed(true) * passed(false)), 0, 1e-6);
    EXPECT_NEAR(read_floats(passed(false).entry(3, 0)[0])[0], 0.4, 1e-6) << "turns to the right";
}

} // namespace umbel
