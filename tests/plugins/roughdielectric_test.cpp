// tests/plugins/roughdielectric_test.cpp: samples of ground glass.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendRoughDielectric : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendRoughDielectric)

TEST_P(BackendRoughDielectric, SamplesFollowTheirDensityOnBothSides) {
    for (double side : { 1.0, -1.0 })
        for (uint32_t lobe : { BSDFFlags::GlossyReflection, BSDFFlags::GlossyTransmission })
            expect_samples("<bsdf type='roughdielectric'><float name='alpha' value='0.4'/></bsdf>",
                           { 0.6, 0.2, 0.75 * side }, lobe, lobe == BSDFFlags::GlossyTransmission);
}

} // namespace umbel
