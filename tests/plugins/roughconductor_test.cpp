// tests/plugins/roughconductor_test.cpp: samples of rough metals.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendRoughConductor : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendRoughConductor)

TEST_P(BackendRoughConductor, SamplesFollowTheirDensity) {
    for (const char *d : { "beckmann", "ggx" })
        for (const char *visible : { "true", "false" })
            expect_samples(
                fmt::format("<bsdf type='roughconductor'><string name='distribution' value='{}'/>"
                            "<boolean name='sample_visible' value='{}'/><float name='alpha' "
                            "value='{}'/></bsdf>",
                            d, visible, d[0] == 'g' ? 0.1 : 0.3),
                { 0.1, 0.05, 1 });
}

TEST_P(BackendRoughConductor, AnisotropicSamplesFollowTheirDensity) {
    expect_samples("<bsdf type='roughconductor'><string name='distribution' value='ggx'/>"
                   "<float name='alpha_u' value='0.05'/><float name='alpha_v' value='0.2'/></bsdf>",
                   { 0.1, 0.05, 1 });
}

} // namespace umbel
