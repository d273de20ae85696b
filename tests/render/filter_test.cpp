// tests/render/filter_test.cpp: reconstruction filters: the same on the host and in recorded code, and what each of them is.
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

namespace {
double at(const char *name, double x) {
    return make_object<Filter>(Properties("rfilter", name))->eval(x);
}
} // namespace

TEST(Filters, HaveTheirValuesAtPixels) {
    VariantScope scope(find_variant("interp_rgb"));
    // Interpolating ones are 1 at their pixel and 0 at all others
    for (const char *name : { "catmullrom", "lanczos" }) {
        EXPECT_NEAR(at(name, 0), 1, 1e-12) << name;
        for (double x : { 1.0, 2.0 })
            EXPECT_NEAR(at(name, x), 0, 1e-12) << name;
        EXPECT_LT(at(name, 1.4), 0) << name;
    }
    // [Mitchell 1988]: B = C = 1/3 gives 8/9 and 1/18
    EXPECT_NEAR(at("mitchell", 0), 8.0 / 9, 1e-12);
    EXPECT_NEAR(at("mitchell", 1), 1.0 / 18, 1e-12);
    EXPECT_NEAR(at("tent", 0.5) / at("tent", 0), 0.5, 1e-12);
    EXPECT_EQ(at("box", 0.49), at("box", 0));
    EXPECT_EQ(at("box", 0.51), 0);
    EXPECT_GT(at("gaussian", 0), at("gaussian", 1));
}

TEST(Filters, OfCubicsSumToOneOverPixels) {
    VariantScope scope(find_variant("interp_rgb"));
    for (const char *name : { "mitchell", "catmullrom", "tent" })
        for (double x : { 0.0, 0.2, 0.5, 0.9 }) {
            double sum = 0;
            for (int i = -4; i <= 4; ++i)
                sum += at(name, x + i);
            EXPECT_NEAR(sum, 1, 1e-12) << name << " at " << x;
        }
}

} // namespace umbel
