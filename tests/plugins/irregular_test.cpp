// tests/plugins/irregular_test.cpp: spectra given by tables.
#include "render/texture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

Ref<Texture> table(const char *wavelengths, const char *values) {
    return make_object<Texture>(Properties("texture", "irregular")
                                    .set("wavelengths", std::string(wavelengths))
                                    .set("values", std::string(values)));
}
std::vector<double> at(const Texture &texture, const std::vector<double> &wavelengths) {
    std::vector<double> out;
    for (double w : wavelengths) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wavelengths = Spectrum(opaque_float(w));
        out.push_back(read_floats(texture.eval(si, true)[0])[0]);
    }
    return out;
}

} // namespace

TEST(Irregular, IsLinearBetweenItsValuesAndZeroBeyond) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = table("400, 500 700", "1, 3, 2");
    std::vector<double> got = at(*t, { 399, 400, 450, 500, 600, 700, 701 }),
                        want{ 0, 1, 2, 3, 2.5, 2, 0 };
    for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-12);
    EXPECT_EQ(t->max_value(), 3);
    EXPECT_EQ(t->spectral_resolution(), 100);
    EXPECT_NEAR(read_floats(t->mean_value())[0], (2 * 100 + 2.5 * 200) / 300, 1e-12);
}

TEST(Regular, SpreadsItsValuesEvenly) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = make_object<Texture>(Properties("texture", "regular")
                                      .set("wavelength_min", 400.0)
                                      .set("wavelength_max", 600.0)
                                      .set("values", std::string("1, 3, 2")));
    std::vector<double> got = at(*t, { 400, 450, 500, 550, 600 }), want{ 1, 2, 3, 2.5, 2 };
    for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-12);
}

// Under D65, which is white; as light, it is redder.
TEST(Irregular, OfEqualValuesIsGreyWhereItReflects) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SpectrumData flat;
    flat.kind = SpectrumData::Kind::Tabulated;
    flat.wavelengths = { 300, 900 };
    flat.values = { 0.5, 0.5 };
    auto colour = [&](SpectrumData::Intent intent) {
        flat.intent = intent;
        auto t = make_object<Texture>(Properties("texture", "irregular").set("value", flat));
        std::vector<double> out;
        for (const Float &c : t->eval(hit_from(Vector3(0, 0, 1)), true).c)
            out.push_back(read_floats(c)[0]);
        return out;
    };
    for (double c : colour(SpectrumData::Intent::Reflectance))
        EXPECT_NEAR(c, 0.5, 2e-3);
    std::vector<double> light = colour(SpectrumData::Intent::Illuminant);
    EXPECT_NEAR(light[0], 0.6024, 2e-3);
    EXPECT_NEAR(light[1], 0.4742, 2e-3);
    EXPECT_NEAR(light[2], 0.4543, 2e-3);
}

TEST(Irregular, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_spectral"));
    auto refuse = [](const char *wavelengths, const char *values, const char *part) {
        std::string m = user_error([&] { table(wavelengths, values); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    refuse("500, 400", "1, 2", "increas");
    refuse("400, 500", "1", "2");
    refuse("400, x", "1, 2", "separated by commas");
    refuse("400, 1e308", "1, 2", "between 0 and 1000000"); // a table of all in between has no end
    refuse("-1, 500", "1, 2", "-1 nm");
}

} // namespace umbel
