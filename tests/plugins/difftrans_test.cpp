// tests/plugins/difftrans_test.cpp: diffuse transmission: exact values.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendDiffTrans : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendDiffTrans)

TEST_P(BackendDiffTrans, ScattersEvenlyOnTheOtherSideOnly) {
    Ref<BSDF> bsdf =
        make("<bsdf type='difftrans'><float name='transmittance' value='.25'/></bsdf>");
    for (double side : { 1.0, -1.0 }) {
        SurfaceInteraction si = hit_from(Vector3(Float(0.6), Float(0), Float(0.8 * side)));
        auto value = [&](const Vector3 &wo) {
            return read_floats(unpolarized(bsdf->eval({}, si, wo, true))[0])[0];
        };
        EXPECT_NEAR(value(Vector3(Float(0.8), Float(0), Float(-0.6 * side))), 0.25 * 0.6 / Pi,
                    1e-6);
        EXPECT_EQ(value(Vector3(Float(0.8), Float(0), Float(0.6 * side))), 0);
    }
}

TEST(DiffTrans, RefusesTransmittanceAboveOne) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='difftrans'><rgb name='transmittance' "
                   "value='1.5,1,1'/></bsdf></shape>",
                   { "1.5", "between 0 and 1" });
}

} // namespace umbel
