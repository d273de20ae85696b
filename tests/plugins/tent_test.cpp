// tests/plugins/tent_test.cpp: the filter that falls linearly.
#include "support/filters.h"

namespace umbel {
using namespace test;

TEST(Tent, FallsLinearlyToTheNextPixel) {
    EXPECT_NEAR(filter_value("tent", 0.5) / filter_value("tent", 0), 0.5, 1e-12);
    EXPECT_EQ(filter_value("tent", 1), 0);
    for (double x : { 0.0, 0.2, 0.5, 0.9 })
        EXPECT_NEAR(filter_sum("tent", x), 1, 1e-12) << x;
}

} // namespace umbel
