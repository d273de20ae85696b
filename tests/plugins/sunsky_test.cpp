// tests/plugins/sunsky_test.cpp: the sun and the sky.
#include "core/daylight.h"
#include "core/hosek_wilkie.h"
#include "core/spectra.h"
#include "core/warp.h"
#include "render/emitter.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

// ---- the model

// At the solstices, noon of the meridian: the height follows from the axis of the earth.
TEST(Daylight, SunStandsWhereItShould) {
    ObserverTime t{ 2010, 6, 21, 12, 0, 0, 52, 0, 0 };
    SunAngles a = sun_angles(t);
    EXPECT_NEAR(a.zenith * 180 / Pi, 52 - 23.44, 0.1);
    EXPECT_NEAR(std::abs(a.azimuth) * 180 / Pi, 180, 1.5);
    t.month = 12;
    EXPECT_NEAR(sun_angles(t).zenith * 180 / Pi, 52 + 23.44, 0.1);
    t.hour = 8.5;
    EXPECT_GT(std::sin(sun_angles(t).azimuth), 0) << "mornings, in the east";
    // Local time: the same moment in another zone
    ObserverTime tokyo, greenwich;
    greenwich.timezone = 0, greenwich.hour -= 9;
    EXPECT_NEAR(sun_angles(tokyo).zenith, sun_angles(greenwich).zenith, 1e-9);
}

// D65 is daylight of its own chromaticity.
TEST(Daylight, BasisMakesD65) {
    double m1 = -0.296, m2 = -0.688; // as CIE rounds them
    auto s = [&](size_t i) {
        return DaylightBasis[i][0] + m1 * DaylightBasis[i][1] + m2 * DaylightBasis[i][2];
    };
    for (size_t i = 0; i < DaylightCount; ++i)
        EXPECT_NEAR(s(i) / s(20), d65(360 + 10 * double(i)) / d65(560), 0.0005) << 360 + 10 * i;
}

// About 1.9 W / (m^2 nm) at 500 nm outside of the air, of which three quarters arrive on a clear noon.
TEST(Daylight, SunIsAsBrightAsItIs) {
    double solid = Pi * std::pow(0.5 * 0.5358 * Pi / 180, 2);
    double above = sun_radiance(500, 0, 2) * solid;
    EXPECT_GT(above, 1.3);
    EXPECT_LT(above, 1.6);
    EXPECT_LT(sun_radiance(450, 1.5, 3) / sun_radiance(650, 1.5, 3), 0.1) << "sunsets are red";
    EXPECT_EQ(sun_radiance(800, 0, 2), 0);
}

// ---- the model of Hosek and Wilkie

// Fitted apart from each other: the colours of the spectra and the colours. Tables in a wrong order would be far off.
TEST(HosekWilkie, ColoursAreThoseOfSpectra) {
    for (double turbidity : { 1.0, 3.5, 8.0 })
        for (double height : { 0.3, 0.7, 0.95 })
            for (double albedo : { 0.0, 0.6 })
                for (double z : { 0.15, 0.6, 0.95 })
                    for (double gamma : { 0.2, 0.8, 1.5 }) {
                        if (std::abs(std::acos(z) - hosek_zenith(height)) > gamma)
                            continue; // there is no such direction
                        Colour3 xyz{}, rgb;
                        for (size_t i = 0; i < HosekWavelengths; ++i) {
                            HosekNumbers n = hosek_sky_spectral(i, height, turbidity, albedo);
                            double v = hosek_radiance(n.data(), z, gamma, std::cos(gamma));
                            for (size_t c = 0; c < 3; ++c)
                                xyz[c] += v * hosek_xyz()[i][c];
                        }
                        for (size_t c = 0; c < 3; ++c) {
                            HosekNumbers n = hosek_sky_rgb(c, height, turbidity, albedo);
                            rgb[c] = hosek_radiance(n.data(), z, gamma, std::cos(gamma));
                        }
                        Colour3 want = xyz_to_srgb(xyz);
                        double largest = *std::max_element(want.begin(), want.end());
                        for (size_t c = 0; c < 3; ++c)
                            EXPECT_NEAR(rgb[c], want[c], 0.06 * largest)
                                << turbidity << " " << height << " " << albedo << " " << z << " "
                                << gamma << " " << c;
                    }
}

// Segments meet, light falls with haze and towards the horizon, and numbers are linear in turbidity and albedo.
TEST(HosekWilkie, SunIsSmoothAndDimsWithTheAir) {
    for (size_t w = 0; w < HosekWavelengths; ++w) {
        for (size_t segment = 1; segment < HosekSegments; ++segment) {
            double height = double(segment) / HosekSegments,
                   below = hosek_sun(w, height - 1e-9, 3.3),
                   above = hosek_sun(w, height + 1e-9, 3.3);
            EXPECT_NEAR(below, above, 1e-5 * above + 1e-3) << w << " " << segment;
            EXPECT_GE(hosek_sun(w, height + 1.0 / HosekSegments, 3.3), above - 0.01);
            EXPECT_GE(above, hosek_sun(w, height, 4));
        }
        EXPECT_NEAR(hosek_sun(w, 0.7, 3.25),
                    0.75 * hosek_sun(w, 0.7, 3) + 0.25 * hosek_sun(w, 0.7, 4),
                    1e-6 * hosek_sun(w, 0.7, 3));
        // High up, the disk's mean is what its limb leaves: at 720 nm more than at 320 nm
        double mean = hosek_sun_mean(w, 0.5, 3) / hosek_sun(w, hosek_height(0.5), 3);
        EXPECT_GT(mean, 0.65);
        EXPECT_LT(mean, 0.9);
    }
    HosekNumbers dark = hosek_sky_rgb(1, 0.5, 2, 0), bright = hosek_sky_rgb(1, 0.5, 2, 1),
                 grey = hosek_sky_rgb(1, 0.5, 2, 0.5);
    for (size_t i = 0; i < grey.size(); ++i)
        EXPECT_NEAR(grey[i], 0.5 * (dark[i] + bright[i]), 1e-9);
    EXPECT_NEAR(hosek_zenith(hosek_height(1.1)), 1.1, 1e-12);
}

// ---- the light

class BackendSunSky : public VariantTest {
protected:
    static Ref<Emitter> make(const Properties &p) { return make_object<Emitter>(p); }
    static Float numbers(uint64_t seed, size_t n) { return test::make(uniform_numbers(seed, n)); }
    // What falls on a plane that faces upwards, of all directions alike or as the light would have it; luminance.
    static Estimate on_ground(const Emitter &e, const Vector3 &up, bool sampled,
                              size_t n = 100000) {
        Interaction it;
        it.p = Vector3(Float(0));
        it.n = Vector3(Float(0));
        it.t = it.time = Float(0);
        it.wavelengths = sample_wavelengths(numbers(9, n)).first;
        Spectrum weight = sample_wavelengths(numbers(9, n)).second;
        Vector2 u{ numbers(1, n), numbers(2, n) };
        Spectrum light;
        Vector3 d;
        if (sampled) {
            auto [ds, value] = e.sample_direction(it, u, true);
            light = unpolarized(value), d = ds.d;
        } else {
            d = square_to_uniform_sphere(u);
            DirectionSample ds{};
            ds.d = d;
            light = unpolarized(e.eval_direction(it, ds, true)) * (4 * Pi);
        }
        if (variant().colour == Colour::Spectral)
            light = light * weight;
        std::vector<Float> rgb = to_rgb(light, it.wavelengths);
        Float y = rgb.size() == 3 ? rgb[0] * 0.2126 + rgb[1] * 0.7152 + rgb[2] * 0.0722 : rgb[0];
        std::vector<double> v = read_floats(y * max(dot(d, up), 0) + u.x * 0);
        double sum = 0, squares = 0;
        for (double x : v)
            sum += x, squares += x * x;
        double mean = sum / double(n);
        return { mean, std::sqrt((squares / double(n) - mean * mean) / double(n)) };
    }
    static Spectrum seen(const Emitter &e, const std::array<double, 3> &d) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wi = { opaque_float(-d[0]), opaque_float(-d[1]), opaque_float(-d[2]) };
        return e.eval(si, true);
    }
    // Light of a moment between two days is that of `sunsky` then.
    static void expect_days(const char *model) {
        auto with_model = [&](const char *type) {
            return Properties("emitter", type).set("sky_model", model).set("sun_model", model);
        };
        auto timed = make(with_model("timed_sunsky")
                              .set("start_year", int64_t(2010))
                              .set("start_month", int64_t(7))
                              .set("start_day", int64_t(9))
                              .set("end_year", int64_t(2010))
                              .set("end_month", int64_t(7))
                              .set("end_day", int64_t(11))
                              .set("window_start_time", 9.0)
                              .set("window_end_time", 15.0)
                              .set("shutter_close", 2.0));
        // Two days of six hours: noon of the second one
        auto fixed = make(with_model("sunsky").set("hour", 12.0));
        auto at = [&](const Emitter &e, const Vector3 &d) {
            SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
            si.wi = -d;
            si.time = opaque_float(1.5);
            return read_floats(unpolarized(e.eval(si, true))[0])[0];
        };
        for (const std::array<double, 3> &d :
             { std::array{ 0.6, 0.0, 0.8 }, { -0.3, 0.8, 0.52 } }) {
            Vector3 w =
                normalize(Vector3(opaque_float(d[0]), opaque_float(d[1]), opaque_float(d[2])));
            double want = at(*fixed, w);
            EXPECT_NEAR(at(*timed, w), want, 2e-3 * want);
        }
        ObserverTime noon;
        noon.hour = 12;
        SunAngles a = sun_angles(noon);
        double s = std::sin(a.zenith);
        Vector3 sun(opaque_float(-std::cos(a.azimuth) * s), opaque_float(-std::sin(a.azimuth) * s),
                    opaque_float(std::cos(a.zenith)));
        double disk = at(*fixed, sun);
        EXPECT_GT(disk, 100 * at(*fixed, Vector3(Float(0), Float(0), Float(1))));
        EXPECT_NEAR(at(*timed, sun), disk, 5e-3 * disk);
    }
    // Luminance in a direction.
    static double brightness(const Emitter &e, const Vector3 &d) {
        const size_t n = variant().colour == Colour::Spectral ? 100000 : 1;
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wi = -d;
        auto [w, weight] = sample_wavelengths(numbers(4, n));
        si.wavelengths = w;
        Spectrum light = unpolarized(e.eval(si, true));
        if (n > 1)
            light = light * weight;
        std::vector<Float> rgb = to_rgb(light, w);
        Float y = rgb.size() == 3 ? rgb[0] * 0.2126 + rgb[1] * 0.7152 + rgb[2] * 0.0722 : rgb[0];
        double sum = 0;
        for (double v : read_floats(y))
            sum += v / double(n);
        return sum;
    }
    static Properties sunsky() {
        return Properties("emitter", "sunsky").set("sun_direction", VectorData{ 0.6, 0, 0.8 });
    }
    static Properties preetham() {
        return sunsky().set("sky_model", "preetham").set("sun_model", "preetham");
    }
};
UMBEL_VARIANTS(BackendSunSky, "interp_rgb_double", "llvm_rgb", "llvm_spectral", "llvm_mono")

TEST_P(BackendSunSky, SamplesBringTheSameLightAsDirectionsOfAllKinds) {
    Vector3 up(0, 0, 1);
    auto wide = make(sunsky().set("sun_aperture", 20.0));
    Estimate a = on_ground(*wide, up, true), b = on_ground(*wide, up, false);
    EXPECT_NEAR(a.mean, b.mean, 4 * (a.error + b.error));
    // However large the sun is, as long as its disk is flat
    auto real = make(sunsky().set("sky_scale", 0.0)),
         larger = make(sunsky().set("sky_scale", 0.0).set("sun_aperture", 3.0));
    Estimate c = on_ground(*real, up, true), d = on_ground(*larger, up, true);
    EXPECT_NEAR(c.mean, d.mean, 4 * (c.error + d.error) + 1e-3 * c.mean);
    // The sun alone: its radiance, averaged for the eye, times solid angle and cosine
    double solid = 4 * Pi * std::pow(std::sin(0.25 * 0.5358 * Pi / 180), 2), mean = 0;
    for (size_t i = 0; i < HosekWavelengths; ++i)
        mean += hosek_sun_mean(i, std::acos(0.8), 3) * hosek_xyz()[i][1];
    EXPECT_NEAR(c.mean, mean * solid * 0.8, 4 * c.error + 0.01 * c.mean);
    EXPECT_LT(c.error, 0.02 * c.mean);
    auto older = make(preetham().set("sky_scale", 0.0));
    Colour3 xyz = spectrum_to_xyz([](double w) { return sun_radiance(w, std::acos(0.8), 3); });
    Estimate old = on_ground(*older, up, true);
    EXPECT_NEAR(old.mean, xyz[1] * solid * 0.8, 4 * old.error + 0.01 * old.mean);
    auto hazy = make(preetham().set("sun_aperture", 20.0));
    a = on_ground(*hazy, up, true), b = on_ground(*hazy, up, false);
    EXPECT_NEAR(a.mean, b.mean, 4 * (a.error + b.error));
}

// A limb takes no light away, also where the sun is near the horizon and its disk not all alike.
TEST_P(BackendSunSky, LimbIsDarkerAndTheSunAsBright) {
    for (double z : { 0.002, 0.05, 0.8 }) { // at first, it has begun to set
        Properties p = Properties("emitter", "sunsky")
                           .set("sun_direction", VectorData{ std::sqrt(1 - z * z), 0, z })
                           .set("sky_scale", 0.0);
        auto plain = make(p), detailed = make(Properties(p).set("complex_sun", true));
        Vector3 axis(std::sqrt(1 - z * z), 0, z), side(0, 1, 0);
        Estimate a = on_ground(*plain, axis, true), b = on_ground(*detailed, axis, true);
        double sum_rule = z < 0.01 ? 0.05 : 2e-3; // what the mean over the disk is found by
        EXPECT_NEAR(b.mean, a.mean, 4 * (a.error + b.error) + sum_rule * a.mean) << z;
        double middle = brightness(*detailed, axis),
               limb = brightness(*detailed, normalize(axis + side * 0.00465));
        EXPECT_LT(limb, 0.6 * middle);
        EXPECT_GT(limb, 0.2 * middle);
        EXPECT_NEAR(brightness(*plain, normalize(axis + side * 0.0046)), brightness(*plain, axis),
                    1e-3 * middle);
    }
    EXPECT_NE(user_error([&] { make(preetham().set("complex_sun", true)); }).find("hosek"),
              std::string::npos);
}

// The luminance is the model's, in colours and in spectra.
TEST_P(BackendSunSky, SkyIsTheModels) {
    for (double albedo : { 0.0, 0.8 }) {
        auto sky = make(sunsky().set("albedo", albedo).set("sun_scale", 0.0).set("turbidity", 2.3));
        double height = hosek_height(std::acos(0.8));
        for (std::array<double, 3> d : { std::array{ 0.0, 0.0, 1.0 }, { 0.8, 0.0, 0.6 } }) {
            double cosine = 0.6 * d[0] + 0.8 * d[2], gamma = std::acos(cosine), want = 0;
            if (variant().colour == Colour::Spectral)
                for (size_t i = 0; i < HosekWavelengths; ++i) {
                    HosekNumbers n = hosek_sky_spectral(i, height, 2.3, albedo);
                    want += hosek_radiance(n.data(), d[2], gamma, cosine) * hosek_xyz()[i][1];
                }
            else
                for (size_t c = 0; c < 3; ++c) {
                    HosekNumbers n = hosek_sky_rgb(c, height, 2.3, albedo);
                    want +=
                        hosek_radiance(n.data(), d[2], gamma, cosine) * srgb_to_xyz_matrix()[1][c];
                }
            double tolerance = variant().colour == Colour::Spectral ? 0.01 : 1e-4;
            EXPECT_NEAR(brightness(*sky, Vector3(d[0], d[1], d[2])), want, tolerance * want);
        }
    }
}

// Each channel has the albedo of its own.
TEST_P(BackendSunSky, ColouredGroundColoursTheSky) {
    if (variant().colour != Colour::Rgb)
        GTEST_SKIP() << "has no colours of its own";
    auto sky = [&](double r, double g, double b) {
        Properties rgb("texture", "rgb");
        rgb.set("value", VectorData{ r, g, b });
        auto e = make(sunsky().set("albedo", rgb).set("sun_scale", 0.0));
        Spectrum s = unpolarized(seen(*e, { 0.28, 0, 0.96 }));
        return std::array{ read_floats(s[0])[0], read_floats(s[1])[0], read_floats(s[2])[0] };
    };
    auto coloured = sky(0.9, 0.5, 0.1), bright = sky(0.9, 0.9, 0.9), dark = sky(0.1, 0.1, 0.1);
    EXPECT_NEAR(coloured[0], bright[0], 1e-5 * bright[0]);
    EXPECT_NEAR(coloured[2], dark[2], 1e-5 * dark[2]);
    EXPECT_GT(bright[1], 1.02 * dark[1]);
    EXPECT_GT(coloured[1], dark[1]);
    EXPECT_LT(coloured[1], bright[1]);
}

// The luminance at the zenith is the model's; the ground adds a little to it.
TEST_P(BackendSunSky, ZenithIsPreethams) {
    auto sky = make(preetham().set("albedo", 0.0).set("sun_scale", 0.0));
    double theta = std::acos(0.8), t = 3, chi = (4.0 / 9 - t / 120) * (Pi - 2 * theta);
    double kcd = (4.0453 * t - 4.9710) * std::tan(chi) - 0.2155 * t + 2.4192;
    double want = kcd * 1000 / (683.002 * cie_y_integral());
    double tolerance = variant().colour == Colour::Spectral ? 0.01 : 1e-4;
    EXPECT_NEAR(brightness(*sky, Vector3(0, 0, 1)), want, tolerance * want);
    auto brighter = make(preetham().set("albedo", 0.9).set("sun_scale", 0.0));
    double more = read_floats(seen(*brighter, { 0, 0, 1 })[0])[0],
           less = read_floats(seen(*sky, { 0, 0, 1 })[0])[0];
    EXPECT_GT(more, 1.02 * less);
    EXPECT_LT(more, 2 * less);
}

TEST_P(BackendSunSky, IsWhereMitsubaHasIt) {
    // Mitsuba 3 at its default time: 0.0513851, 0.691748, 0.720308
    auto sun = make(Properties("emitter", "sunsky").set("sky_scale", 0.0));
    EXPECT_GT(read_floats(seen(*sun, { 0.0513851, 0.691748, 0.720308 })[0])[0], 0);
    EXPECT_EQ(read_floats(seen(*sun, { -0.0513851, 0.691748, 0.720308 })[0])[0], 0);
    EXPECT_EQ(read_floats(seen(*sun, { 0.691748, 0.0513851, 0.720308 })[0])[0], 0);
    // 0.5: the zenith is +y, east +x, south +z
    auto old = make(Properties("emitter", "sun"));
    EXPECT_GT(read_floats(seen(*old, { -0.691748, 0.720308, 0.0513851 })[0])[0], 0);
    // Below the horizon there is nothing, unless the sky is stretched
    auto sky = make(Properties("emitter", "sky"));
    EXPECT_GT(read_floats(seen(*sky, { 0.6, 0.8, 0 })[0])[0], 0);
    EXPECT_EQ(read_floats(seen(*sky, { 0.6, -0.8, 0 })[0])[0], 0);
    auto stretched = make(Properties("emitter", "sky").set("stretch", 2.0));
    EXPECT_GT(read_floats(seen(*stretched, { 0.6, -0.8, 0 })[0])[0], 0);
}

TEST_P(BackendSunSky, PassesThroughDays) {
    for (const char *model : { "hosek", "preetham" })
        expect_days(model);
    EXPECT_NE(user_error([&] {
                  make(Properties("emitter", "timed_sunsky").set("end_year", int64_t(2020)));
              }).find("days"),
              std::string::npos);
}

// Files of 0.5 mean the same sun by `sunsky` as by `sun`.
TEST_P(BackendSunSky, OldFilesHaveTheZenithAboveThem) {
    auto light = [&](const char *type) {
        return load_scene(parse_scene_string(
            fmt::format("<scene version='0.5.0'><emitter type='{}'/></scene>", type)));
    };
    Ref<Scene> first = light("sunsky"), second = light("sun");
    const Emitter *both = first->emitters().objects()[0], *sun = second->emitters().objects()[0];
    std::array<double, 3> d{ -0.691748, 0.720308, 0.0513851 };
    double disk = read_floats(seen(*sun, d)[0])[0];
    EXPECT_GT(disk, 0);
    EXPECT_GT(read_floats(seen(*both, d)[0])[0], disk);
}

TEST_P(BackendSunSky, RefusesWhatCannotBe) {
    auto message = [&](Properties p) { return user_error([&] { make(p); }); };
    Properties p("emitter", "sunsky");
    EXPECT_NE(message(Properties(p).set("hour", 23.0)).find("below the horizon"),
              std::string::npos);
    EXPECT_NE(message(Properties(p).set("turbidity", 11.0)).find("turbidity"), std::string::npos);
    EXPECT_NE(message(Properties(p).set("turbidity", 0.5)).find("turbidity"), std::string::npos);
    EXPECT_NE(message(Properties(p).set("albedo", 1.5)).find("albedo"), std::string::npos);
    EXPECT_NE(message(Properties(p).set("sky_model", "hosk")).find("hosek"), std::string::npos);
    EXPECT_NE(message(sunsky().set("hour", 12.0)).find("remove one"), std::string::npos);
    EXPECT_NE(message(Properties(p).set("sun_aperture", 0.0)).find("aperture"), std::string::npos);
    EXPECT_NE(
        message(Properties(p).set("to_world", TransformData::scale({ 1, 2, 1 }))).find("stretches"),
        std::string::npos);
    EXPECT_NE(
        message(Properties(p).set("albedo", Properties("texture", "checkerboard"))).find("albedo"),
        std::string::npos);
}

} // namespace umbel
