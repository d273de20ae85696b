// tests/core/random_test.cpp: low-discrepancy points and quadrature rules against their definitions.
#include "core/quadrature.h"
#include "core/random.h"
#include "support/variant_fixture.h"
#include <bit>
#include <cmath>
#include <set>

namespace umbel {
namespace {

using namespace test;

class BackendRandom : public VariantTest {};
UMBEL_VARIANTS(BackendRandom, "interp_rgb", "interp_rgb_double", "llvm_rgb", "llvm_rgb_double")

UInt32 indices(uint32_t n, uint32_t first = 0) {
    return UInt32(jit::lane_index(n)) + jit::opaque(first);
}

uint32_t mirrored(uint32_t x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; ++i)
        r |= (x >> i & 1) << (31 - i);
    return r;
}

TEST_P(BackendRandom, ReversedBitsAreReversed) {
    std::vector<uint32_t> x = { 0, 1, 2, 0x80000000u, 0xdeadbeefu, 0x12345678u, 0xffffffffu }, want;
    for (uint32_t v : x)
        want.push_back(mirrored(v));
    EXPECT_EQ(reverse_bits(jit::copy(x)).read(), want);
}

// Sobol's second dimension belongs to the polynomial x + 1: direction numbers v_(k+1) = v_k ^ (v_k >> 1).
TEST_P(BackendRandom, TheSecondSobolDimensionHasItsDirectionNumbers) {
    std::vector<uint32_t> x, want;
    for (uint32_t i = 0; i < 1000; ++i) {
        x.push_back(i * 4294967u + i);
        uint32_t sum = 0, v = 0x80000000u;
        for (int k = 0; k < 32; ++k, v ^= v >> 1)
            sum ^= x.back() >> k & 1 ? v : 0;
        want.push_back(sum);
    }
    EXPECT_EQ(reverse_bits(sobol_2_reversed(jit::copy(x))).read(), want);
}

TEST_P(BackendRandom, OwenScramblingIsNested) {
    // Points that agree in their k highest bits agree in these after scrambling, and no others do
    constexpr uint32_t n = 256;
    for (uint32_t seed : { 1u, 0xabcdef01u, 77u }) {
        UInt32 reversed = reverse_bits(indices(n) << UInt32(24u));
        std::vector<uint32_t> y =
            reverse_bits(owen_scramble_reversed(reversed, jit::opaque(seed))).read();
        for (uint32_t a = 0; a < n; ++a)
            for (uint32_t b = a + 1; b < n; ++b)
                ASSERT_EQ(std::countl_zero(y[a] ^ y[b]), std::countl_zero((a ^ b) << 24))
                    << a << " " << b;
    }
}

TEST_P(BackendRandom, RadicalInversesMirrorTheDigits) {
    RadicalInverse plain(6, RadicalInverse::None);
    double eps = variant().double_precision ? 1e-15 : 1e-6;
    for (size_t b = 0; b < plain.size(); ++b) {
        std::vector<double> got =
            values(plain.eval(b, UInt64(indices(500, 3)) * UInt64(uint64_t(1000003))));
        for (uint64_t i = 0; i < 500; ++i) {
            double want = 0, scale = 1;
            for (uint64_t rest = (i + 3) * 1000003; rest > 0; rest /= plain.base(b))
                want += double(rest % plain.base(b)) * (scale /= plain.base(b));
            ASSERT_NEAR(got[i], want, eps) << "base " << plain.base(b) << ", index " << i;
        }
    }
    EXPECT_EQ(values(radical_inverse_2(indices(4)))[3],
              variant().double_precision ? 0.75 + 0x1p-33 : 0.75);
    EXPECT_NEAR(values(sobol_2(indices(4)))[2], 0.75, 1e-9);
    EXPECT_NEAR(values(radical_inverse_2(indices(4), UInt32(0x80000000u)))[0], 0.5, 1e-9);
    EXPECT_EQ(RadicalInverse(1024, RadicalInverse::None).base(1023), 8161u);
}

TEST_P(BackendRandom, PermutedRadicalInversesKeepTheStrata) {
    for (int scramble : { RadicalInverse::Faure, 1, 2 }) {
        RadicalInverse r(8, scramble);
        for (size_t b = 0; b < r.size(); ++b) {
            std::set<uint16_t> digits(r.permutation(b).begin(), r.permutation(b).end());
            EXPECT_EQ(digits.size(), r.base(b));
            // Any base^2 consecutive numbers visit each interval of that width once
            uint32_t n = r.base(b) * r.base(b);
            std::set<int> cells;
            for (double x : values(r.eval(b, UInt64(indices(n, 5 * n))))) {
                EXPECT_TRUE(x >= 0 && x < 1) << x;
                cells.insert(int(x * n + 1e-3));
            }
            EXPECT_EQ(cells.size(), n) << "base " << r.base(b) << ", scramble " << scramble;
        }
    }
    EXPECT_EQ(faure_permutation(5), (std::vector<uint16_t>{ 0, 3, 2, 1, 4 }));
    EXPECT_EQ(faure_permutation(8), (std::vector<uint16_t>{ 0, 4, 2, 6, 1, 5, 3, 7 }));
}

TEST(RadicalInverses, TooManyBasesAreRefused) {
    VariantScope scope(find_variant("interp_rgb"));
    EXPECT_THROW(RadicalInverse(1025), UserError);
    EXPECT_THROW(RadicalInverse(0), UserError);
}

// ---- quadrature

double integral(const Quadrature &q, int degree) {
    double sum = 0;
    for (size_t i = 0; i < q.nodes.size(); ++i)
        sum += q.weights[i] * std::pow(q.nodes[i], degree);
    return sum;
}

void expect_exact(const Quadrature &q, int degree) {
    EXPECT_TRUE(std::is_sorted(q.nodes.begin(), q.nodes.end()));
    for (int d = 0; d <= degree; ++d)
        EXPECT_NEAR(integral(q, d), d % 2 ? 0 : 2.0 / (d + 1), 1e-13)
            << q.nodes.size() << " points, degree " << d;
}

TEST(Quadrature, GaussRulesAreExactToTheirDegree) {
    for (int n : { 1, 2, 3, 4, 5, 8, 17, 64, 200 }) {
        expect_exact(gauss_legendre(size_t(n)), 2 * n - 1);
        if (n > 1)
            expect_exact(gauss_lobatto(size_t(n)), 2 * n - 3);
    }
    EXPECT_GT(std::abs(integral(gauss_legendre(3), 6) - 2.0 / 7), 1e-3); // and no further
    EXPECT_GT(std::abs(integral(gauss_lobatto(4), 6) - 2.0 / 7), 1e-3);
    EXPECT_EQ(gauss_lobatto(5).nodes.front(), -1);
    EXPECT_EQ(gauss_lobatto(5).nodes.back(), 1);
}

TEST(Quadrature, CompositeRulesAreExactForCubics) {
    for (size_t n : { 3, 5, 11 })
        expect_exact(composite_simpson(n), 3);
    for (size_t n : { 4, 7, 16 })
        expect_exact(composite_simpson_38(n), 3);
    double error = 0;
    Quadrature q = composite_simpson(101);
    for (size_t i = 0; i < 101; ++i)
        error += q.weights[i] * std::exp(q.nodes[i]);
    EXPECT_NEAR(error, std::exp(1) - std::exp(-1), 1e-7);
    for (double x : chebyshev(7))
        EXPECT_NEAR(std::cos(7 * std::acos(x)), 0, 1e-13);
}

TEST(Quadrature, CountsThatDoNotFitAreRefused) {
    EXPECT_THROW(gauss_legendre(0), UserError);
    EXPECT_THROW(gauss_lobatto(1), UserError);
    EXPECT_THROW(composite_simpson(4), UserError);
    EXPECT_THROW(composite_simpson(1), UserError);
    EXPECT_THROW(composite_simpson_38(6), UserError);
}

} // namespace
} // namespace umbel
