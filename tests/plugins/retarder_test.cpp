// tests/plugins/retarder_test.cpp: a quarter of a wave.
#include "support/plates.h"

namespace umbel {
using namespace test;

class Retarders : public PolarizedTest {};
UMBEL_POLARIZED_VARIANTS(Retarders)

TEST_P(Retarders, AQuarterWavePlateMakesLightCircular) {
    // Circular light passes any polarizer by half
    for (double angle : { 0.0, 45.0, 90.0 })
        EXPECT_NEAR(
            channel_mean(
                seen_through({ polarizer(angle),
                               "<bsdf type='retarder'><float name='theta' value='45'/></bsdf>",
                               polarizer(0) }),
                0)
                .mean,
            0.25, 0.01)
            << angle;
}

} // namespace umbel
