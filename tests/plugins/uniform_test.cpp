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

// Zero beyond its wavelengths, and sampled among them alone.
TEST(Uniform, EndsAtItsWavelengths) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = make_object<Texture>(Properties("texture", "uniform")
                                      .set("value", 0.5)
                                      .set("wavelength_min", 450.0)
                                      .set("wavelength_max", 600.0));
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    for (double nm : { 449.0, 451.0, 599.0, 601.0 }) {
        bool is_inside = nm > 450 && nm < 600;
        si.wavelengths = Spectrum(opaque_float(nm));
        EXPECT_EQ(read_floats(t->eval(si, true)[0])[0], is_inside ? 0.5 : 0) << nm;
        EXPECT_EQ(read_floats(t->pdf_spectrum(si, true)[0])[0], is_inside ? 1.0 / 150 : 0) << nm;
    }
    auto [w, weight] = t->sample_spectrum(si, Spectrum(opaque_float(0.25)), true);
    EXPECT_EQ(read_floats(w[0])[0], 487.5);
    EXPECT_EQ(read_floats(weight[0])[0], 75); // 0.5 over 150 nm
    EXPECT_EQ(t->wavelength_range(), (std::array{ 450.0, 600.0 }));
    EXPECT_THROW(make_object<Texture>(Properties("texture", "uniform")
                                          .set("wavelength_min", 600.0)
                                          .set("wavelength_max", 450.0)),
                 UserError);
}

} // namespace umbel
