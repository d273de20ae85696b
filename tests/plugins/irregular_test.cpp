// tests/plugins/irregular_test.cpp: spectra given by tables.
#include "core/host_array.h"
#include "core/traverse.h"
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

// A table with other wavelengths is that which was made with them; what will not do leaves it alone.
TEST(Irregular, TakesOtherWavelengths) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = table("400, 500 700", "1, 3, 2");
    SceneParameters params(t);
    auto set = [&](const char *key, const std::vector<double> &numbers) {
        params.assign(key, std::array<Value, 1>{ float_array(numbers) });
        params.update({ key });
    };
    set("wavelengths", { 450, 500, 600 });
    std::vector<double> places{ 449, 450, 475, 500, 550, 600, 601 }, want{ 0, 1, 2, 3, 2.5, 2, 0 };
    auto expect = [&](double times) {
        std::vector<double> got = at(*t, places);
        for (size_t i = 0; i < got.size(); ++i)
            EXPECT_NEAR(got[i], times * want[i], 1e-12) << places[i];
    };
    expect(1);
    EXPECT_EQ(t->wavelength_range(), (std::array<double, 2>{ 450, 600 }));
    EXPECT_EQ(t->spectral_resolution(), 50);
    EXPECT_NEAR(read_floats(t->mean_value())[0], (2 * 50 + 2.5 * 100) / 150, 1e-12);
    for (auto &[wrong, part] : std::map<std::vector<double>, const char *>{
             { { 500, 400, 600 }, "400 follows 500" },
             { { 400, 500 }, "2 wavelengths and 3 values" },
             { { -1, 500, 600 }, "-1 nm" } }) {
        std::string m = user_error([&] { set("wavelengths", wrong); });
        EXPECT_NE(m.find(part), m.npos) << m;
        expect(1);
        auto seen = std::get<BufferSlot>(params.at("wavelengths").param.slot).read();
        EXPECT_EQ(read_floats(Float(seen)), (std::vector<double>{ 450, 500, 600 }));
    }
    set("values", { 2, 6, 4 });
    expect(2);
}

TEST(Regular, TakesAnotherRange) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = make_object<Texture>(Properties("texture", "regular")
                                      .set("wavelength_min", 400.0)
                                      .set("wavelength_max", 600.0)
                                      .set("values", std::string("1, 3, 2")));
    SceneParameters params(t);
    auto range = std::get<std::array<double *, 2>>(params.at("range").param.slot);
    EXPECT_EQ(*range[0], 400);
    EXPECT_EQ(*range[1], 600);
    auto set = [&](double low, double high) {
        *range[0] = low, *range[1] = high;
        params.update({ "range" });
    };
    for (int i = 0; i < 2; ++i) {
        set(500, 540);
        std::vector<double> got = at(*t, { 499, 500, 510, 520, 530, 540, 541 }),
                            want{ 0, 1, 2, 3, 2.5, 2, 0 };
        for (size_t k = 0; k < got.size(); ++k)
            EXPECT_NEAR(got[k], want[k], 1e-12);
        EXPECT_EQ(t->wavelength_range(), (std::array<double, 2>{ 500, 540 }));
        std::string m = user_error([&] { set(600, 500); });
        EXPECT_NE(m.find("must increase"), m.npos) << m;
        EXPECT_EQ(*range[0], 500);
        EXPECT_EQ(*range[1], 540);
    }
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
