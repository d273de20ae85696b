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

} // namespace umbel
