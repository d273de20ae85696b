// tests/plugins/rgb_test.cpp: colours, and the spectra that they become.
#include "core/spectra.h"
#include "core/traverse.h"
#include "render/texture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
Ref<Texture> colour(const Colour3 &rgb, SpectrumData::Intent intent) {
    return make_object<Texture>(
        Properties("texture", "rgb").set("value", SpectrumData::from_rgb(rgb, intent)));
}
} // namespace

TEST(Rgb, IsItselfWhereLightHasThreeChannels) {
    VariantScope scope(find_variant("interp_rgb_double"));
    auto t = colour({ 0.2, 0.4, 0.6 }, SpectrumData::Intent::Reflectance);
    Spectrum v = t->eval(hit_from(Vector3(0, 0, 1)), true);
    Vector3 w = t->eval_3(hit_from(Vector3(0, 0, 1)), true);
    for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(read_floats(v[c])[0], 0.2 * double(c + 1), 1e-12);
    EXPECT_NEAR(read_floats(w.z)[0], 0.6, 1e-12);
}

// Scenes have a hundred thousand colours; a node of the compiler takes more memory than all else of one.
TEST(Rgb, IsNoNodeOfTheCompilerUntilItIsAParameter) {
    VariantScope scope(find_variant("interp_rgb"));
    size_t before = variant().context().graph.live_nodes();
    auto t = colour({ 0.2, 0.4, 0.6 }, SpectrumData::Intent::Reflectance);
    EXPECT_EQ(variant().context().graph.live_nodes(), before);
    EXPECT_EQ(t->max_value(), double(0.6f));
    SceneParameters params(t);
    EXPECT_EQ(variant().context().graph.live_nodes(), before + 3);
    Float v = opaque_float(0.9);
    params.assign("value", std::vector<Value>{ v, v, v });
    params.update({ "value" });
    EXPECT_EQ(read_floats(t->eval(hit_from(Vector3(0, 0, 1)), true)[1])[0], double(0.9f));
    EXPECT_EQ(t->max_value(), double(0.9f));
}

// Under D65, by CIE's observer, the spectrum has the colour again.
TEST(Rgb, BecomesASpectrumOfThatColour) {
    VariantScope scope(find_variant("interp_spectral_double"));
    const Colour3 want{ 0.2, 0.5, 0.3 };
    auto t = colour(want, SpectrumData::Intent::Reflectance);
    auto reflected = [&](double nm) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wavelengths = Spectrum(opaque_float(nm));
        double v = read_floats(t->eval(si, true)[0])[0];
        EXPECT_GE(v, 0);
        EXPECT_LE(v, 1);
        return v * d65(nm);
    };
    Colour3 got = xyz_to_srgb(spectrum_to_xyz(reflected));
    for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(got[c], want[c], 3e-3);
}

TEST(Rgb, ReflectsNoMoreThanEverything) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string m = user_error([] { colour({ 1.5, 0, 0 }, SpectrumData::Intent::Reflectance); });
    EXPECT_NE(m.find("between 0 and 1"), std::string::npos) << m;
    m = user_error([] { colour({ -1, 0, 0 }, SpectrumData::Intent::Illuminant); });
    EXPECT_NE(m.find("at 0 or above"), std::string::npos) << m;
    colour({ 1.5, 0, 0 }, SpectrumData::Intent::Illuminant); // light has no upper bound
}

} // namespace umbel
