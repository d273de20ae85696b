// tests/plugins/uniform_test.cpp: one value at every wavelength.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendUniform : public VariantTest {};
UMBEL_VARIANTS(BackendUniform, "interp_rgb_double", "llvm_spectral", "llvm_mono")

TEST_P(BackendUniform, IsItsValue) {
    auto t = make_object<Texture>(Properties("texture", "uniform").set("value", 0.25));
    for (const Float &c : t->eval(hit_from(Vector3(0, 0, 1)), true).c)
        EXPECT_EQ(read_floats(c)[0], 0.25);
    EXPECT_EQ(read_floats(t->eval_1(hit_from(Vector3(0, 0, 1)), true))[0], 0.25);
    EXPECT_FALSE(t->is_spatially_varying());
}

// As light, equal energy at all wavelengths: X = Y = Z = 1, which is 1.205, 0.948, 0.909 in sRGB's primaries.
TEST(Uniform, IsRedderThanWhiteAsLight) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SpectrumData data = SpectrumData::uniform(2, SpectrumData::Intent::Illuminant);
    auto t = make_object<Texture>(Properties("texture", "uniform").set("value", data));
    Spectrum v = t->eval(hit_from(Vector3(0, 0, 1)), true);
    const double want[] = { 1.2048, 0.9484, 0.9087 };
    for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(read_floats(v[c])[0], 2 * want[c], 2e-3);
}

} // namespace umbel
