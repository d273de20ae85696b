// tests/plugins/lanczos_test.cpp: a windowed sinc.
#include "support/filters.h"

namespace umbel {
using namespace test;

TEST(Lanczos, InterpolatesAndHasLobesOfBothSigns) {
    EXPECT_NEAR(filter_value("lanczos", 0), 1, 1e-12);
    for (double x : { 1.0, 2.0 })
        EXPECT_NEAR(filter_value("lanczos", x), 0, 1e-12) << x;
    EXPECT_LT(filter_value("lanczos", 1.4), 0);
    EXPECT_GT(filter_value("lanczos", 2.4), 0);
    EXPECT_EQ(filter_value("lanczos", 3.1), 0);
}

} // namespace umbel
