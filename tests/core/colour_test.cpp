// tests/core/colour_test.cpp: colour spaces, CIE's tables, black bodies, presets; host and traced agree.
#include "core/colour.h"
#include "core/spectra.h"
#include "support/variant_fixture.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

namespace umbel {
namespace {

void expect_near(const Colour3 &a, const Colour3 &b, double tolerance) {
    for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Colour, ConversionsInvert) {
    for (double r : { 0.0, 0.01, 0.3, 1.0, 4.0 })
        for (double g : { 0.0, 0.002, 0.5 })
            for (double b : { 0.0, 0.7 }) {
                Colour3 c = { r, g, b }, xyz = srgb_to_xyz(c);
                expect_near(xyz_to_srgb(xyz), c, 1e-14);
                expect_near(xyy_to_xyz(xyz_to_xyy(xyz)), xyz, 1e-14);
                expect_near(lab_to_xyz(xyz_to_lab(xyz)), xyz, 1e-13);
                for (double v : c)
                    EXPECT_NEAR(srgb_decode(srgb_encode(v)), v, 1e-8);
            }
    EXPECT_EQ(srgb_encode(-0.5), -srgb_encode(0.5));
}

TEST(Colour, EveryCodeOfEightAndSixteenBitsComesBack) {
    for (int bits : { 8, 16 }) {
        double top = (1 << bits) - 1;
        for (int code = 0; code <= top; ++code)
            ASSERT_EQ(std::lround(srgb_encode(float(srgb_decode(code / top))) * top), code);
    }
}

TEST(Colour, LuminanceIsYOfXyz) {
    for (const Colour3 &c : { Colour3{ 1, 0, 0 }, { 0, 1, 0 }, { 0.2, 0.5, 7 } })
        EXPECT_NEAR(luminance(c), srgb_to_xyz(c)[1], 1e-15 * 8);
}

TEST(Colour, AgreesWithPublishedFigures) {
    // [IEC 61966-2-1] prints the matrix to four digits
    const ColourMatrix &m = srgb_to_xyz_matrix();
    const double want[3][3] = { { 0.4124, 0.3576, 0.1805 },
                                { 0.2126, 0.7152, 0.0722 },
                                { 0.0193, 0.1192, 0.9505 } };
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j)
            EXPECT_NEAR(m[i][j], want[i][j], 6e-5);
    EXPECT_NEAR(luminance({ 1, 1, 1 }), 1, 1e-14);
    expect_near(xyz_to_lab(white_xyz()), { 100, 0, 0 }, 1e-12);
    EXPECT_NEAR(srgb_encode(0.5), 0.735357, 1e-6);
    EXPECT_NEAR(xyz_to_lab(srgb_to_xyz({ 1, 0, 0 }))[0], 53.24, 0.01);
}

TEST(Spectra, CieTablesHaveTheirKnownIntegralsAndWhite) {
    EXPECT_NEAR(cie_y_integral(), 106.857, 2e-3);
    Colour3 e = spectrum_to_xyz([](double) { return 1.0; });
    expect_near(e, { 1, 1, 1 }, 4e-4); // the equal-energy white; z's integral is 0.033 % larger
    EXPECT_NEAR(e[1], 1, 1e-13);
    Colour3 w = xyz_to_xyy(d65_xyz());
    expect_near(w, { 0.31272, 0.32903, 1 }, 5e-5);
    EXPECT_EQ(cie1931_xyz(359.9)[1], 0);
    EXPECT_EQ(cie1931_xyz(830.1)[1], 0);
    EXPECT_NEAR(cie1931_xyz(555)[1] * cie_y_integral(), 1, 1e-12);
    EXPECT_NEAR(d65(560) / d65(460), 100 / 117.812, 1e-12);
}

TEST(Spectra, BlackBodiesObeyTheLawsOfWienAndStefanBoltzmann) {
    double peak = 0, at = 0, total = 0;
    for (double l = 50; l < 200000; l *= 1.0001) {
        double v = blackbody(l, 5000);
        total += v * l * std::log(1.0001);
        if (v > peak)
            peak = v, at = l;
    }
    EXPECT_NEAR(at, 2897771.955 / 5000, 0.1);
    EXPECT_NEAR(total * Pi, 5.670374419e-8 * std::pow(5000.0, 4), 1e-3 * total * Pi);
    EXPECT_NEAR(xyz_to_xyy(spectrum_to_xyz([](double l) { return blackbody(l, 2856); }))[0], 0.4476,
                2e-4); // illuminant A
}

TEST(Spectra, PresetsAreFoundAndTheirTablesAreSound) {
    EXPECT_EQ(dielectric_ior("bk7"), 1.5046);
    EXPECT_EQ(dielectric_ior("water_ice"), 1.31);
    EXPECT_EQ(test::user_error([] { dielectric_ior("watter"); }),
              "no dielectric is called \"watter\"; did you mean \"water\"?");
    EXPECT_EQ(&conductor_preset("Hg_palik"), &conductor_preset("Hg"));
    EXPECT_NE(&conductor_preset("Cu_palik"), &conductor_preset("Cu"));
    EXPECT_NE(
        test::user_error([] { conductor_preset("Xy"); }).find("no conductor is called \"Xy\""),
        std::string::npos);
    ConductorSample gold = conductor_preset("Au").at(590.400818);
    EXPECT_NEAR(gold.eta, 0.236, 1e-3);
    std::vector<std::string> names = conductor_names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    for (size_t i = 0; i < ConductorCount; ++i) {
        const ConductorData &c = Conductors[i];
        ASSERT_GE(c.samples.size(), 5u) << c.name;
        for (size_t k = 1; k < c.samples.size(); ++k)
            EXPECT_GT(c.samples[k].wavelength, c.samples[k - 1].wavelength) << c.name;
        for (const ConductorSample &s : c.samples) {
            EXPECT_TRUE(s.eta > 0 && s.eta < 10 && s.k >= 0 && s.k < 15) << c.name;
        }
        EXPECT_EQ(c.at(100).eta, c.samples.front().eta);
        EXPECT_EQ(c.at(2000).k, c.samples.back().k);
    }
}

// Tables 3 and 4 of the manual of 0.5.
TEST(Spectra, EveryMaterialOfOldScenesIsThere) {
    for (const char *name :
         { "a-C",        "Ag",       "Al",        "AlAs",     "AlAs_palik", "AlSb",
           "AlSb_palik", "Au",       "Be",        "Be_palik", "Cr",         "CsI",
           "CsI_palik",  "Cu",       "Cu_palik",  "Cu2O",     "Cu2O_palik", "CuO",
           "CuO_palik",  "d-C",      "d-C_palik", "Hg",       "Hg_palik",   "HgTe",
           "HgTe_palik", "Ir",       "Ir_palik",  "K",        "K_palik",    "Li",
           "Li_palik",   "MgO",      "MgO_palik", "Mo",       "Mo_palik",   "Na_palik",
           "Nb",         "Nb_palik", "Ni_palik",  "Rh",       "Rh_palik",   "Se",
           "Se_palik",   "SiC",      "SiC_palik", "SnTe",     "SnTe_palik", "Ta",
           "Ta_palik",   "Te",       "Te_palik",  "ThF4",     "ThF4_palik", "TiC",
           "TiC_palik",  "TiN",      "TiN_palik", "TiO2",     "TiO2_palik", "VC",
           "VC_palik",   "V_palik",  "VN",        "VN_palik", "W" })
        EXPECT_NO_THROW(conductor_preset(name)) << name;
    const std::pair<const char *, double> dielectrics[] = {
        { "vacuum", 1.0 },      { "helium", 1.000036 },        { "hydrogen", 1.000132 },
        { "air", 1.000277 },    { "carbon dioxide", 1.00045 }, { "water", 1.3330 },
        { "acetone", 1.36 },    { "ethanol", 1.361 },          { "carbon tetrachloride", 1.461 },
        { "glycerol", 1.4729 }, { "benzene", 1.501 },          { "silicone oil", 1.52045 },
        { "bromine", 1.661 },   { "water ice", 1.31 },         { "fused quartz", 1.458 },
        { "pyrex", 1.470 },     { "acrylic glass", 1.49 },     { "polypropylene", 1.49 },
        { "bk7", 1.5046 },      { "sodium chloride", 1.544 },  { "amber", 1.55 },
        { "pet", 1.575 },       { "diamond", 2.419 },
    };
    for (auto [name, ior] : dielectrics)
        EXPECT_EQ(dielectric_ior(name), ior) << name;
}

TEST(Spectra, MetalsHaveTheirColours) {
    expect_near(reflectance_to_srgb([](double) { return 0.25; }), { 0.25, 0.25, 0.25 }, 1e-12);
    auto colour = [](const char *name) {
        const ConductorData &c = conductor_preset(name);
        return reflectance_to_srgb([&](double l) { // Fresnel at normal incidence
            ConductorSample s = c.at(l);
            return ((s.eta - 1) * (s.eta - 1) + s.k * s.k) /
                   ((s.eta + 1) * (s.eta + 1) + s.k * s.k);
        });
    };
    expect_near(colour("Au"), { 1.0, 0.77, 0.34 }, 0.06);
    expect_near(colour("Ag"), { 0.97, 0.96, 0.92 }, 0.03);
    expect_near(colour("Al"), { 0.91, 0.92, 0.92 }, 0.02);
    expect_near(colour("Cu"), { 0.95, 0.64, 0.54 }, 0.05);
}

class BackendSpectra : public test::VariantTest {};
UMBEL_VARIANTS(BackendSpectra, "interp_spectral", "llvm_spectral", "llvm_spectral_double")

TEST_P(BackendSpectra, TracedTablesAgreeWithTheHost) {
    std::vector<double> at = { 300, 360, 361.25, 400, 555, 557.5, 600.1, 829.9, 830, 831 };
    Float l = test::make(at);
    Vector3 xyz = cie1931_xyz(l);
    std::vector<double> x = test::values(xyz.x), y = test::values(xyz.y), z = test::values(xyz.z);
    std::vector<double> d = test::values(d65(l)), b = test::values(blackbody(l, 3000));
    double eps = variant().double_precision ? 1e-12 : 2e-6;
    for (size_t i = 0; i < at.size(); ++i) {
        Colour3 want = cie1931_xyz(at[i]);
        expect_near({ x[i], y[i], z[i] }, want, eps * 0.02);
        EXPECT_NEAR(d[i], d65(at[i]), eps * 2);
        EXPECT_NEAR(b[i] / blackbody(at[i], 3000), 1, eps * 10) << at[i];
    }
}

TEST_P(BackendSpectra, TablesCanBeReadInsideALoop) {
    struct State {
        UInt32 i;
        Float sum;
        UMBEL_STRUCT(i, sum)
    };
    State s = jit::loop(
        State{ 0u, test::make({ 0 }) }, [](const State &s) { return s.i < 470u; },
        [](State &s) {
            s.sum += cie1931_xyz(360.5 + Float(s.i)).y;
            s.i += 1u;
        });
    EXPECT_NEAR(test::values(s.sum)[0], 1, 1e-3);
}

TEST_P(BackendSpectra, WavelengthSamplesFollowTheirDensity) {
    test::expect_chi2_1d(
        "sample_wavelength", [](const Float &u) { return sample_wavelength(u); },
        [](const Float &l) { return sample_wavelength_pdf(l); }, WavelengthMin, WavelengthMax);
}

} // namespace
} // namespace umbel
