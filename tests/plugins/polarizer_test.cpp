// tests/plugins/polarizer_test.cpp: what one and two of them let through.
#include "support/plates.h"

namespace umbel {
using namespace test;

class Polarizers : public PolarizedTest {};
UMBEL_POLARIZED_VARIANTS(Polarizers)

TEST_P(Polarizers, OnePassesHalfOfTheLight) { expect_mean(seen_through({ polarizer(20) }), 0.5); }

// The camera is narrow, but its rays are not all perpendicular to the plates: 2 % of leeway.
TEST_P(Polarizers, TwoFollowMalus) {
    for (double angle : { 0.0, 30.0, 60.0, 90.0 }) {
        double c = std::cos(angle * Pi / 180), want = 0.5 * c * c;
        Image image = seen_through({ polarizer(15), polarizer(15 + angle) });
        EXPECT_NEAR(channel_mean(image, 0).mean, want, 0.01) << angle;
    }
}

} // namespace umbel
