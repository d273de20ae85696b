// tests/plugins/tabphase_test.cpp: scattering by a table of cosines.
#include "support/phases.h"

namespace umbel {
using namespace test;

static std::string table(const std::string &values, const std::string &nodes = "") {
    return "<phase type='tabphase'><string name='values' value='" + values + "'/>" +
           (nodes.empty() ? "" : "<string name='nodes' value='" + nodes + "'/>") + "</phase>";
}

class BackendTabphase : public VariantTest {};
UMBEL_VARIANTS(BackendTabphase, "llvm_rgb", "interp_spectral_double")

TEST_P(BackendTabphase, InterpolatesAndIsNormalized) {
    auto phase = phase_from(table("1, 3"));
    for (double c : { -1.0, -0.5, 0.0, 0.25, 1.0 }) // their integral over the cosine is 4
        EXPECT_NEAR(phase_value(*phase, c), (2 + c) / 4 / (2 * Pi), 1e-6) << c;
    phase = phase_from(table("0 0 6", "-1 0.5 1")); // forward only: 1.5 over the cosine
    EXPECT_NEAR(phase_value(*phase, 0.3), 0, 1e-7);
    EXPECT_NEAR(phase_value(*phase, 0.75), 3 / 1.5 / (2 * Pi), 1e-6);
    for (double c : read_floats(sampled_cosines(*phase, 1000)))
        ASSERT_GE(c, 0.5 - 1e-6);
}

TEST(Tabphase, RefusesWhatIsNoTable) {
    VariantScope scope(find_variant("llvm_rgb"));
    auto message = [](const std::string &xml) -> std::string {
        try {
            phase_from(xml);
        } catch (const UserError &e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_NE(message(table("1")).find("at least two"), std::string::npos);
    EXPECT_NE(message(table("1, x")).find("\"x\" is not a number"), std::string::npos);
    EXPECT_NE(message(table("1 2", "-1 0 1")).find("3 nodes for 2 values"), std::string::npos);
    EXPECT_NE(message(table("1 2", "-1 0.5")).find("from -1 to 1"), std::string::npos);
    EXPECT_NE(message(table("1 2 3", "-1 1 1")), "accepted");
    EXPECT_NE(message(table("1 -2")), "accepted");
    EXPECT_NE(message(table("0 0")), "accepted");
}

} // namespace umbel
