// tests/plugins/blendphase_test.cpp: mixtures of phase functions, `blendphase` and `mixturephase`.
#include "support/phases.h"

namespace umbel {
using namespace test;

static const char *Two =
    "<phase type='isotropic'/><phase type='hg'><float name='g' value='.5'/></phase>";

class BackendBlendphase : public VariantTest {};
UMBEL_VARIANTS(BackendBlendphase, "llvm_rgb", "interp_spectral_double", "llvm_mono_polarized")

TEST_P(BackendBlendphase, IsTheMeanOfItsParts) {
    auto blend = phase_from(std::string("<phase type='blendphase'>") + Two +
                            "<float name='weight' value='0.25'/></phase>");
    auto mixture = phase_from(std::string("<phase type='mixturephase'>") + Two +
                              "<string name='weights' value='0.6, 0.2'/></phase>");
    auto hg = phase_from("<phase type='hg'><float name='g' value='.5'/></phase>");
    for (double c : { -0.9, 0.0, 0.8 }) {
        double want = 0.75 / (4 * Pi) + 0.25 * phase_value(*hg, c);
        EXPECT_NEAR(phase_value(*blend, c), want, 1e-6);
        EXPECT_NEAR(phase_value(*mixture, c), 0.8 * want, 1e-6) << "what is left is absorbed";
    }
    Estimate e = estimate(sampled_cosines(*blend, 1 << 16));
    EXPECT_LT(std::abs(e.mean - 0.25 * 0.5), 4 * e.error);
    EXPECT_EQ(blend->components().size(), 2u);
}

// The same part of all light is, flakes or not, however little they cover.
TEST_P(BackendBlendphase, WeightsBelowOneAbsorb) {
    for (const char *other : { "hg", "microflake", "kkay" }) {
        auto mixture = [&](const char *weights) {
            return phase_from(fmt::format(
                "<phase type='mixturephase'><phase type='isotropic'/><phase type='{}'/><string "
                "name='weights' value='{}'/></phase>",
                other, weights));
        };
        auto all = mixture("0.75, 0.25"), half = mixture("0.375, 0.125");
        EXPECT_EQ(all->loses_energy(), other == std::string("kkay"));
        EXPECT_TRUE(half->loses_energy());
        for (double c : { -0.9, 0.0, 0.8 })
            EXPECT_NEAR(phase_value(*half, c), 0.5 * phase_value(*all, c), 1e-6) << other;
        MediumInteraction mei = collision_along_z();
        EXPECT_NEAR(read_floats(half->projected_area(mei, true))[0],
                    read_floats(all->projected_area(mei, true))[0], 1e-6);
        const size_t n = 1 << 14;
        Vector2 u{ make(uniform_numbers(5, n)), make(uniform_numbers(6, n)) };
        auto weight = [&](const PhaseFunction &phase) {
            auto s = phase.sample({}, mei, make(uniform_numbers(7, n)), u, true);
            return unpolarized(s.weight)[0] + u.x * 0;
        };
        expect_estimate(weight(*half) - 0.5 * weight(*all), 0, other);
    }
}

// Flakes that are seen edge-on cover less, and scatter less of the light.
TEST(Blendphase, CountsFlakesByWhatTheyCover) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    std::string flakes =
        "<phase type='sggx'><string name='matrix' value='1, 1, 0.04, 0, 0, 0'/></phase>";
    auto blend =
        phase_from("<phase type='blendphase'><phase type='isotropic'/>" + flakes + "</phase>");
    auto alone = phase_from(flakes);
    MediumInteraction mei = collision_along_z();
    EXPECT_NEAR(read_floats(alone->projected_area(mei, true))[0], 0.2, 1e-12);
    EXPECT_NEAR(read_floats(blend->projected_area(mei, true))[0], 0.6, 1e-12);
    for (double c : { -0.9, 0.0, 0.8 })
        EXPECT_NEAR(phase_value(*blend, c), (1 / (4 * Pi) + 0.2 * phase_value(*alone, c)) / 1.2,
                    1e-12);
}

TEST(Blendphase, RefusesOtherNumbersOfParts) {
    VariantScope scope(find_variant("llvm_rgb"));
    EXPECT_THROW(phase_from("<phase type='blendphase'><phase type='hg'/></phase>"), UserError);
    EXPECT_THROW(phase_from(std::string("<phase type='mixturephase'>") + Two +
                            "<string name='weights' value='1'/></phase>"),
                 UserError);
    EXPECT_THROW(phase_from(std::string("<phase type='mixturephase'>") + Two +
                            "<string name='weights' value='0.9, 0.2'/></phase>"),
                 UserError);
}

} // namespace umbel
