// tests/plugins/sunsky_test.cpp: the sun and the sky.
#include "core/daylight.h"
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
    static Properties sunsky() {
        return Properties("emitter", "sunsky").set("sun_direction", VectorData{ 0.6, 0, 0.8 });
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
    Colour3 xyz = spectrum_to_xyz([](double w) { return sun_radiance(w, std::acos(0.8), 3); });
    double solid = 4 * Pi * std::pow(std::sin(0.25 * 0.5358 * Pi / 180), 2);
    EXPECT_NEAR(c.mean, xyz[1] * solid * 0.8, 4 * c.error + 0.01 * c.mean);
    EXPECT_LT(c.error, 0.02 * c.mean);
}

// The luminance at the zenith is the model's; the ground adds a little to it.
TEST_P(BackendSunSky, ZenithIsTheModels) {
    auto sky = make(sunsky().set("albedo", 0.0).set("sun_scale", 0.0));
    double theta = std::acos(0.8), t = 3, chi = (4.0 / 9 - t / 120) * (Pi - 2 * theta);
    double kcd = (4.0453 * t - 4.9710) * std::tan(chi) - 0.2155 * t + 2.4192;
    double want = kcd * 1000 / (683.002 * cie_y_integral());
    const size_t n = variant().colour == Colour::Spectral ? 100000 : 1;
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    si.wi = Vector3(Float(0), Float(0), Float(-1));
    auto [w, weight] = sample_wavelengths(numbers(4, n));
    si.wavelengths = w;
    Spectrum light = unpolarized(sky->eval(si, true));
    if (n > 1)
        light = light * weight;
    std::vector<Float> rgb = to_rgb(light, w);
    Float y = rgb.size() == 3 ? rgb[0] * 0.2126 + rgb[1] * 0.7152 + rgb[2] * 0.0722 : rgb[0];
    double sum = 0;
    for (double v : read_floats(y))
        sum += v / double(n);
    EXPECT_NEAR(sum, want, (n > 1 ? 0.01 : 1e-4) * want);
    auto brighter = make(sunsky().set("albedo", 0.9).set("sun_scale", 0.0));
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

// At the beginning of a window of no length, a day is one moment: the light is that of `sunsky` then.
TEST_P(BackendSunSky, PassesThroughDays) {
    auto timed = make(Properties("emitter", "timed_sunsky")
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
    auto fixed = make(Properties("emitter", "sunsky").set("hour", 12.0));
    auto at = [&](const Emitter &e, const Vector3 &d) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.wi = -d;
        si.time = opaque_float(1.5);
        return read_floats(unpolarized(e.eval(si, true))[0])[0];
    };
    for (const std::array<double, 3> &d : { std::array{ 0.6, 0.0, 0.8 }, { -0.3, 0.8, 0.52 } }) {
        Vector3 w = normalize(Vector3(opaque_float(d[0]), opaque_float(d[1]), opaque_float(d[2])));
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
