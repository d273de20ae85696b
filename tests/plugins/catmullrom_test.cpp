// tests/plugins/catmullrom_test.cpp: the cubic that interpolates.
#include "support/filters.h"

namespace umbel {
using namespace test;

TEST(CatmullRom, Interpolates) {
    EXPECT_NEAR(filter_value("catmullrom", 0), 1, 1e-12);
    for (double x : { 1.0, 2.0 })
        EXPECT_NEAR(filter_value("catmullrom", x), 0, 1e-12) << x;
    EXPECT_LT(filter_value("catmullrom", 1.4), 0);
    for (double x : { 0.0, 0.2, 0.5, 0.9 })
        EXPECT_NEAR(filter_sum("catmullrom", x), 1, 1e-12) << x;
}

} // namespace umbel
