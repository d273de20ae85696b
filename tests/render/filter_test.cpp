// tests/render/filter_test.cpp: reconstruction filters: the same on the host and in recorded code.
#include "render/filter.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

class BackendFilters : public ExampleTest {
protected:
    BackendFilters() : ExampleTest("interp_rgb_double") {}
};
UMBEL_EXAMPLES(BackendFilters, "rfilter")

TEST_P(BackendFilters, IsTheSameInRecordedCode) {
    auto filter = load_example<Filter>(GetParam());
    std::vector<double> x;
    for (int i = -500; i <= 500; ++i)
        x.push_back((i + 0.5) / 450 * filter->radius());
    std::vector<double> exact = read_floats(filter->eval(make(x))),
                        table = read_floats(filter->profile(make(x)));
    double integral = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(exact[i], filter->eval(x[i]), 5e-3) << x[i]; // perhaps from a table, too
        ASSERT_NEAR(table[i], filter->eval(x[i]), 5e-3) << x[i];
        ASSERT_NEAR(filter->eval(x[i]), filter->eval(-x[i]), 1e-12) << "is not symmetric";
        if (std::abs(x[i]) > filter->radius()) {
            ASSERT_EQ(filter->eval(x[i]), 0) << "beyond its radius";
        }
        integral += filter->eval(x[i]);
    }
    EXPECT_GT(integral, 0);
}

// So that points which cover the unit interval evenly cover the filter evenly; and their weighted sums are its integrals.
TEST_P(BackendFilters, IsDrawnInOrder) {
    auto filter = load_example<Filter>(GetParam());
    constexpr int Size = 7, Count = 20000;
    FilterAxis axis(*filter, Size, true);
    std::vector<double> u;
    for (int i = 0; i < Count; ++i)
        u.push_back((i + 0.5) / Count);
    for (uint32_t pixel : { 0u, 1u, 3u, 6u }) {
        auto [offset, weight] = axis.sample(make(u), UInt32(pixel), Mask(true));
        std::vector<double> x = read_floats(offset), w = read_floats(weight + 0 * make(u));
        double from = std::max(-filter->radius(), -0.5 - pixel),
               to = std::min(filter->radius(), Size - 0.5 - pixel), step = (to - from) / Count;
        auto value = [&](int i) { return filter->eval(from + (i + 0.5) * step); };
        double integral = 0, exact = 0, drawn = 0;
        for (int i = 0; i < Count; ++i)
            integral += value(i);
        for (int i = 0, next = 0; i < Count; ++i) { // both integrals, up to each point
            ASSERT_TRUE(i == 0 || x[i - 1] <= x[i]) << pixel << ", " << u[i];
            ASSERT_TRUE(from <= x[i] && x[i] <= to);
            while (next < Count && from + (next + 1) * step <= x[i])
                exact += value(next++) / integral;
            ASSERT_NEAR(drawn, exact, 1e-3) << pixel << ", " << x[i];
            drawn += w[i] / Count;
        }
        EXPECT_NEAR(drawn, 1, 1e-4) << pixel;
    }
}

} // namespace umbel
