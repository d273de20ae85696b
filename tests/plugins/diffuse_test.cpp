// tests/plugins/diffuse_test.cpp: what an ideally diffuse surface reflects.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendDiffuse : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendDiffuse)

TEST_P(BackendDiffuse, SamplesFollowTheirDensity) {
    expect_samples("<bsdf type='diffuse'/>", { 0.3, -0.2, 0.8 });
}

TEST_P(BackendDiffuse, ReflectsItsAlbedoOverPi) {
    Ref<BSDF> bsdf =
        make("<bsdf type='diffuse'><spectrum name='reflectance' value='0.25'/></bsdf>");
    Vector3 wo = normalize({ Float(0.3), Float(-0.2), Float(0.8) });
    Spectrum f = bsdf->eval({}, hit_from(Vector3(0, 0, 1)), wo, true);
    double cosine = 0.8 / std::sqrt(0.3 * 0.3 + 0.2 * 0.2 + 0.8 * 0.8);
    EXPECT_NEAR(read_floats(unpolarized(f)[0])[0], 0.25 * InvPi * cosine, 1e-6);
}

} // namespace umbel
