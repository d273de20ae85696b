// tests/plugins/d65_test.cpp: daylight.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

TEST(D65, IsWhite) {
    VariantScope scope(find_variant("interp_rgb_double"));
    auto t = make_object<Texture>(Properties("texture", "d65").set("scale", 2.0));
    for (const Float &c : t->eval(hit_from(Vector3(0, 0, 1)), true).c)
        EXPECT_EQ(read_floats(c)[0], 2);
    EXPECT_EQ(t->max_value(), 2);
}

// CIE's table is 100 at 560 nm, 117.812 at 460 nm and 71.6091 at 700 nm.
TEST(D65, HasTheSpectrumOfCiesTable) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = make_object<Texture>(Properties("texture", "d65"));
    auto at = [&](double nm) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wavelengths = Spectrum(opaque_float(nm));
        return read_floats(t->eval(si, true)[0])[0];
    };
    EXPECT_NEAR(at(460) / at(560), 1.17812, 2e-5);
    EXPECT_NEAR(at(700) / at(560), 0.716091, 2e-5);
}

TEST(D65, TakesTheColourThatItIsGiven) {
    VariantScope scope(find_variant("interp_rgb_double"));
    auto t = make_object<Texture>(
        Properties("texture", "d65")
            .set("scale", 2.0)
            .set("color",
                 SpectrumData::from_rgb({ 0.25, 0.5, 0.75 }, SpectrumData::Intent::Illuminant)));
    Spectrum v = t->eval(hit_from(Vector3(0, 0, 1)), true);
    for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(read_floats(v[c])[0], 0.5 * double(c + 1), 1e-12);
}

} // namespace umbel
