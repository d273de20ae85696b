// tests/plugins/box_test.cpp: the filter that is one pixel wide.
#include "support/filters.h"

namespace umbel {
using namespace test;

TEST(Box, IsOnePixelWide) {
    EXPECT_EQ(filter_value("box", 0.49), filter_value("box", 0));
    EXPECT_EQ(filter_value("box", -0.49), filter_value("box", 0));
    EXPECT_EQ(filter_value("box", 0.51), 0);
}

} // namespace umbel
