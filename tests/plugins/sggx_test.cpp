// tests/plugins/sggx_test.cpp: scattering by flakes whose normals are those of an ellipsoid.
#include "support/phases.h"

namespace umbel {
using namespace test;

static std::string flakes(const std::string &matrix) {
    return "<phase type='sggx'><string name='matrix' value='" + matrix + "'/></phase>";
}

class BackendSggx : public VariantTest {};
UMBEL_VARIANTS(BackendSggx, "llvm_rgb", "interp_spectral_double")

// Mirrors that are balls scatter in all directions alike.
TEST_P(BackendSggx, ABallIsIsotropic) {
    auto phase = phase_from(flakes("1, 1, 1, 0, 0, 0"));
    for (double c : { -0.9, -0.2, 0.0, 0.6, 0.95 })
        EXPECT_NEAR(phase_value(*phase, c), 1 / (4 * Pi), 1e-6) << c;
    EXPECT_NEAR(read_floats(phase->projected_area(collision_along_z(), true))[0], 1, 1e-6);
}

// Flat flakes across the way of light send it back.
TEST_P(BackendSggx, FlatFlakesAreMirrors) {
    auto phase = phase_from(flakes("0.0001, 0.0001, 1, 0, 0, 0"));
    Estimate e = estimate(sampled_cosines(*phase, 1 << 14));
    EXPECT_LT(e.mean, -0.95);
}

TEST(Sggx, RefusesWhatIsNoEllipsoid) {
    VariantScope scope(find_variant("llvm_rgb"));
    for (const char *m : { "1, 1, 1", "1 1 1 2 0 0", "-1 1 1 0 0 0", "" })
        EXPECT_THROW(phase_from(flakes(m)), UserError) << m;
}

} // namespace umbel
