// tests/plugins/gaussian_test.cpp: a Gaussian, lowered so that it ends at zero.
#include "support/filters.h"
#include <cmath>

namespace umbel {
using namespace test;

TEST(Gaussian, HasAStandardDeviationOfHalfAPixelAndEndsAtZero) {
    auto at = [](double x) { return filter_value("gaussian", x); };
    EXPECT_NEAR((at(0) - at(1)) / (at(0) - at(0.5)), (1 - std::exp(-2)) / (1 - std::exp(-0.5)),
                1e-12);
    EXPECT_NEAR(at(1.999999) / at(0), 0, 1e-6);
    EXPECT_EQ(at(2.01), 0);
}

} // namespace umbel
