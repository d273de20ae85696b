// tests/core/parametric_table_test.cpp: tables that depend on parameters: mixtures, and sampling as its own inverse.
#include "core/host_array.h"
#include "core/parametric_table.h"
#include "support/chi2.h"
#include "support/variant_fixture.h"

namespace umbel {
using namespace test;

class BackendParametricTables : public VariantTest {
protected:
    static std::vector<double> noise(size_t n) {
        std::vector<double> v = uniform_numbers(5, n);
        for (double &x : v)
            x += 0.1;
        return v;
    }
};
UMBEL_VARIANTS(BackendParametricTables, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendParametricTables, AreLinearBetweenValues) {
    ParametricTable tables({ { 1, 2, 4 }, { 7 }, { 0, 1 } });
    ASSERT_EQ(tables.count(), 6u);
    std::vector<double> numbers; // 10 a + b of index 1 of tables of two
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 2; ++b)
            numbers.insert(numbers.end(), { -1.0, 10.0 * a + b });
    Float data = float_array(numbers);
    auto at = [&](double x, double z) {
        std::array<Float, 3> p{ opaque_float(x), opaque_float(0), opaque_float(z) };
        return read_floats(tables.fetch(data, 2, tables.locate(p, true), UInt32(1u), true))[0];
    };
    EXPECT_NEAR(at(1, 0), 0, 1e-5);
    EXPECT_NEAR(at(1.5, 0.25), 5.25, 1e-5);
    EXPECT_NEAR(at(3, 1), 16, 1e-5);
    EXPECT_NEAR(at(0, 0), 0, 1e-5) << "before the first";
    EXPECT_NEAR(at(9, 5), 21, 1e-5) << "beyond the last";
}

TEST_P(BackendParametricTables, SamplesFollowTheDensityBetweenTables) {
    ParametricGrid2D grid(noise(6 * 4 * 5), 4, 5, { { 0, 1, 2 }, { -1, 1 } }, true);
    std::array<Float, 2> p{ opaque_float(1.3), opaque_float(0.2) };
    expect_chi2(
        "mixed grid", [&](const Vector2 &u) { return grid.sample(u, p, true).p; },
        [&](const Vector2 &x) { return grid.eval(x, p, true); }, {});
    // And back again
    Vector2 u{ make(uniform_numbers(8, 500)), make(uniform_numbers(9, 500)) };
    ParametricGrid2D::Sample there = grid.sample(u, p, true), back = grid.invert(there.p, p, true);
    std::vector<double> off_x = read_floats(back.p.x - u.x), off_y = read_floats(back.p.y - u.y),
                        off = read_floats(there.pdf - back.pdf);
    double most = variant().double_precision ? 1e-12 : 2e-5;
    for (size_t i = 0; i < 500; ++i) {
        ASSERT_NEAR(off_x[i], 0, most);
        ASSERT_NEAR(off_y[i], 0, most);
        ASSERT_NEAR(off[i], 0, 10 * most);
    }
}

TEST(ParametricTables, RefuseWhatCannotBeSampled) {
    VariantScope scope(find_variant("interp_rgb"));
    std::vector<double> zero(8), few(7, 1.0);
    EXPECT_THROW(ParametricGrid2D(zero, 2, 2, { { 0, 1 } }, true), UserError);
    EXPECT_THROW(ParametricGrid2D(few, 2, 2, { { 0, 1 } }, false), UserError);
    EXPECT_NO_THROW(ParametricGrid2D(zero, 2, 2, { { 0, 1 } }, false));
}

} // namespace umbel
