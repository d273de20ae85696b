// tests/core/distribution_test.cpp: tables are sampled with the density that they state.
#include "ad/ad.h"
#include "core/alias_table.h"
#include "core/distribution.h"
#include "support/variant_fixture.h"
#include <cmath>
#include <numeric>

namespace umbel {
namespace {

using namespace test;

class BackendDistribution : public VariantTest {
protected:
    double eps() const { return variant().double_precision ? 1e-12 : 2e-6; }
};
UMBEL_VARIANTS(BackendDistribution, "interp_rgb", "interp_rgb_double", "llvm_rgb",
               "llvm_rgb_double")

std::vector<uint32_t> read(const UInt32 &v) { return v.read(); }

/// Numbers with zeros at the start, in the middle and at the end.
std::vector<double> bumpy(size_t n, uint64_t seed) {
    std::vector<double> v = uniform_numbers(seed, n);
    for (size_t i = 0; i < n; ++i)
        v[i] = i < 2 || i + 3 > n || i % 5 == 0 ? 0 : v[i] * v[i];
    return v;
}

TEST_P(BackendDistribution, DiscreteIndicesHaveTheirProbabilities) {
    for (size_t n : { 1, 2, 3, 100, 1000 }) {
        std::vector<double> w = n < 10 ? std::vector<double>(n, 0.5) : bumpy(n, n);
        if (n == 3)
            w = { 0, 2, 0 };
        DiscreteDistribution d(w);
        const size_t samples = 400000;
        Float u = make(uniform_numbers(7, samples));
        DiscreteDistribution::Reused r = d.sample_reuse(u);
        std::vector<uint32_t> index = read(r.index);
        EXPECT_EQ(index, read(d.sample(u)));
        index.resize(samples,
                     index[0]); // a single index needs no random number, nor more than one lane
        std::vector<double> observed(n, 0), expected(n), pmf = values(r.pmf), rest = values(r.u);
        pmf.resize(samples, pmf[0]);
        double sum = 0, total = values(d.sum())[0];
        for (size_t i = 0; i < n; ++i)
            expected[i] = w[i] / total * double(samples);
        for (size_t i = 0; i < samples; ++i) {
            ASSERT_LT(index[i], n);
            observed[index[i]] += 1;
            ASSERT_NEAR(pmf[i], w[index[i]] / total, eps());
            ASSERT_TRUE(rest[i] >= 0 && rest[i] < 1);
            sum += rest[i];
        }
        expect_p_value("discrete", chi2_p_value(observed, expected), 20);
        EXPECT_NEAR(sum / double(samples), 0.5, 4 / std::sqrt(12.0 * double(samples)) + 1e-3);
    }
}

TEST_P(BackendDistribution, DiscreteEndsAreNeverImpossibleIndices) {
    DiscreteDistribution d(std::vector<double>{ 0, 0, 1, 3, 0 });
    std::vector<uint32_t> i = read(d.sample(make({ 0, 0.2499999, 0.25, 0.9999999, 1, 1.5 })));
    EXPECT_EQ(i, (std::vector<uint32_t>{ 2, 2, 3, 3, 3, 3 }));
    UInt32 all = jit::copy(std::vector<uint32_t>{ 0, 2, 3, 4 });
    EXPECT_EQ(values(d.eval_pmf_normalized(all)), (std::vector<double>{ 0, 0.25, 0.75, 0 }));
    EXPECT_EQ(values(d.eval_cdf_normalized(all)), (std::vector<double>{ 0, 0.25, 1, 1 }));
    EXPECT_EQ(read(d.sample(make({ 0.5, 0.7 }), Mask(false)))[0], 0u);
}

TEST_P(BackendDistribution, RegularSamplesFollowTheirDensity) {
    for (size_t n : { 2, 3, 50 }) {
        std::vector<double> v = n == 2   ? std::vector<double>{ 0, 3 }
                                : n == 3 ? std::vector<double>{ 1, 0, 0 }
                                         : bumpy(n, 3);
        ContinuousDistribution d(-2, 3, v);
        expect_chi2_1d(
            fmt::format("regular {}", n), [&](const Float &u) { return d.sample(u).x; },
            [&](const Float &x) { return d.eval_pdf_normalized(x); }, -2, 3);
    }
}

TEST_P(BackendDistribution, IrregularSamplesFollowTheirDensity) {
    std::vector<double> nodes = { 1, 1.125, 2, 4.5, 4.75, 8 }, v = { 0, 4, 0, 0, 2, 0.5 };
    ContinuousDistribution d(nodes, v);
    EXPECT_NEAR(values(d.integral())[0], 0.25 + 1.75 + 0.25 + 4.0625, 1e-12);
    expect_chi2_1d(
        "irregular", [&](const Float &u) { return d.sample(u).x; },
        [&](const Float &x) { return d.eval_pdf_normalized(x); }, 1, 8);
    std::vector<double> at = values(d.eval_pdf(make({ 0.9, 1, 1.0625, 3, 4.625, 8, 8.1 })));
    const double want[] = { 0, 0, 2, 0, 1, 0.5, 0 };
    for (size_t i = 0; i < at.size(); ++i)
        EXPECT_NEAR(at[i], want[i], 10 * eps()) << i;
}

TEST_P(BackendDistribution, SamplingInvertsTheCumulativeDistribution) {
    std::vector<double> v = bumpy(40, 8), nodes;
    for (size_t i = 0; i < 40; ++i)
        nodes.push_back(std::sqrt(double(i)));
    std::vector<double> u = uniform_numbers(9, 1000);
    for (const ContinuousDistribution &d :
         { ContinuousDistribution(0, 2, v), ContinuousDistribution(nodes, v) }) {
        ContinuousDistribution::Sample s = d.sample(make(u));
        std::vector<double> back = values(d.eval_cdf_normalized(s.x)), pdf = values(s.pdf),
                            pdf2 = values(d.eval_pdf_normalized(s.x));
        for (size_t i = 0; i < u.size(); ++i) {
            EXPECT_NEAR(back[i], u[i], 20 * eps());
            EXPECT_NEAR(pdf[i], pdf2[i], 200 * eps() * (1 + pdf[i]));
        }
        std::vector<double> ends = values(d.eval_cdf_normalized(make({ -1, 100 })));
        EXPECT_EQ(ends[0], 0);
        EXPECT_EQ(ends[1], 1);
    }
}

TEST_P(BackendDistribution, DerivativesFollowTheTables) {
    auto expect = [&](const Float &v, const std::vector<double> &want) {
        std::vector<double> got = values(Float(ad::grad(v)));
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i)
            EXPECT_NEAR(got[i], want[i], 10 * eps()) << i;
    };
    Float weights = make({ 1, 0, 3 }), nodes = make({ 0, 1, 3 }), pdf = make({ 1, 2, 0 });
    for (Float *v : { &weights, &nodes, &pdf })
        ad::enable_grad(*v);
    Float second = DiscreteDistribution(weights).eval_cdf_normalized(UInt32(1u));
    ad::backward(second);
    expect(weights, { 0.1875, 0.1875, -0.0625 });
    Float integral = ContinuousDistribution(nodes, pdf).integral();
    ad::backward(integral);
    expect(nodes, { -1.5, 0.5, 1 });
    expect(pdf, { 0.5, 1.5, 1 });
}

TEST_P(BackendDistribution, MarginalSamplesFollowTheirDensity) {
    for (auto [w, h] : { std::pair<size_t, size_t>{ 2, 2 }, { 9, 5 }, { 24, 30 } }) {
        std::vector<double> v = w == 2 ? std::vector<double>{ 0, 1, 4, 0 } : bumpy(w * h, 4);
        MarginalDistribution2D d(v, w, h);
        expect_chi2(
            fmt::format("marginal {} x {}", w, h), [&](const Vector2 &u) { return d.sample(u).p; },
            [&](const Vector2 &p) { return d.pdf(p); }, {});
        Vector2 u{ make(uniform_numbers(1, 1000)), make(uniform_numbers(2, 1000)) };
        auto s = d.sample(u);
        std::vector<double> a = values(s.pdf), b = values(d.pdf(s.p));
        for (size_t i = 0; i < a.size(); ++i)
            EXPECT_NEAR(a[i], b[i], 500 * eps() * (1 + a[i]));
    }
}

TEST_P(BackendDistribution, AliasIndicesHaveTheirProbabilities) {
    for (size_t n : { 2, 100, 1000 }) {
        std::vector<double> w = n == 2 ? std::vector<double>{ 0, 3 } : bumpy(n, n);
        AliasTable d(w);
        const size_t samples = 400000;
        auto [index, rest] = d.sample_reuse(make(uniform_numbers(7, samples)), true);
        std::vector<double> observed(n, 0), expected(n), u = values(rest), parts(30, 0);
        for (size_t i = 0; i < n; ++i)
            expected[i] = w[i] / d.sums()[0] * double(samples);
        std::vector<uint32_t> at = read(index);
        for (size_t i = 0; i < samples; ++i) {
            ASSERT_LT(at[i], n);
            ASSERT_TRUE(u[i] >= 0 && u[i] < 1) << u[i];
            observed[at[i]] += 1;
            parts[size_t(30 * u[i])] += 1;
        }
        expect_p_value("alias", chi2_p_value(observed, expected), 40);
        expect_p_value("what is left of u",
                       chi2_p_value(parts, std::vector<double>(30, samples / 30.0)), 40);
    }
}

TEST_P(BackendDistribution, AliasGridsDrawTheirCells) {
    for (auto [w, h] : { std::pair<size_t, size_t>{ 1, 1 }, { 3, 2 }, { 24, 12 }, { 12, 24 } }) {
        std::vector<double> v = w == 1   ? std::vector<double>{ 2 }
                                : w == 3 ? std::vector<double>{ 0, 0, 0, 1, 0, 5 }
                                         : bumpy(w * h, 6);
        AliasGrid d(w, h, [&, w = w](size_t row, std::span<double> weights) {
            std::copy_n(v.begin() + ptrdiff_t(row * w), w, weights.begin());
        });
        EXPECT_NEAR(d.sum(), std::accumulate(v.begin(), v.end(), 0.0), 1e-12 * d.sum());
        // The place in a cell is what is left of the numbers
        auto place = [&, w = w, h = h](const Vector2 &u) {
            auto c = d.sample(u, true);
            return Vector2((Float(c.column) + c.rest.x) / double(w),
                           (Float(c.row) + c.rest.y) / double(h));
        };
        Float table = make(v);
        expect_chi2(fmt::format("alias {} x {}", w, h), place,
                    [&, w = w, h = h](const Vector2 &p) {
                        UInt32 x = min(to_uint(p.x * double(w)), UInt32(uint32_t(w - 1))),
                               y = min(to_uint(p.y * double(h)), UInt32(uint32_t(h - 1)));
                        return Float(jit::gather(table, y * UInt32(uint32_t(w)) + x, Mask(true))) *
                               (double(w * h) / d.sum());
                    },
                    {});
    }
}

TEST_P(BackendDistribution, BadTablesAreErrors) {
    using V = std::vector<double>;
    EXPECT_EQ(user_error([] { DiscreteDistribution(V{ 1, -2 }); }),
              "discrete distribution: value 1 is -2; it must be finite and not negative");
    EXPECT_EQ(user_error([] { DiscreteDistribution(V{ 0, 0 }); }),
              "discrete distribution: 2 values with a sum of 0; it must be positive and finite");
    EXPECT_EQ(user_error([] { ContinuousDistribution(0, 1, V{ 1 }); }),
              "continuous distribution: 1 positions and 1 values; it needs at least two of each");
    EXPECT_EQ(user_error([] { ContinuousDistribution(V{ 1, 1 }, V{ 1, 1 }); }),
              "continuous distribution: position 1 is 1 after 1; they must increase");
    EXPECT_EQ(user_error([] { MarginalDistribution2D(V{ 1, 1 }, 2, 1); }),
              "2D distribution: 2 values for 2 x 1; sides must be at least 2");
    for (double bad : { double(NAN), 0.0, -1.0 })
        EXPECT_NE(user_error([&] {
                      AliasGrid(1, 1, [&](size_t, std::span<double> w) { w[0] = bad; });
                  }).find("discrete distribution"),
                  std::string::npos);
}

TEST_P(BackendDistribution, OtherNumbersCompileNothing) {
    if (variant().backend != "llvm")
        GTEST_SKIP() << "the interpreter compiles nothing anyway";
    jit::Context &c = variant().context();
    auto run = [&](uint64_t seed) {
        ContinuousDistribution d(0, 1, bumpy(33, seed));
        MarginalDistribution2D m(bumpy(64, seed), 8, 8);
        AliasTable a(bumpy(64, seed));
        Float u = make(uniform_numbers(seed, 64));
        values(d.sample(u).x + m.sample({ u, u }).p.x + a.sample_reuse(u, true).second);
    };
    run(1);
    c.set(jit::Flag::History, true);
    run(2);
    c.set(jit::Flag::History, false);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.memory_hit) << k.name;
}

} // namespace
} // namespace umbel
