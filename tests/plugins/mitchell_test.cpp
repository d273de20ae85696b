// tests/plugins/mitchell_test.cpp: the cubic of [Mitchell 1988].
#include "support/filters.h"

namespace umbel {
using namespace test;

TEST(Mitchell, HasItsValuesAtPixels) {
    // B = C = 1/3
    EXPECT_NEAR(filter_value("mitchell", 0), 8.0 / 9, 1e-12);
    EXPECT_NEAR(filter_value("mitchell", 1), 1.0 / 18, 1e-12);
    EXPECT_LT(filter_value("mitchell", 1.5), 0);
    for (double x : { 0.0, 0.2, 0.5, 0.9 })
        EXPECT_NEAR(filter_sum("mitchell", x), 1, 1e-12) << x;
}

} // namespace umbel
