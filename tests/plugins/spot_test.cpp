// tests/plugins/spot_test.cpp: light from a point in a cone.
#include "core/host_array.h"
#include "core/traverse.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendSpot : public VariantTest {
protected:
    // What arrives at distance 2 in a direction so many degrees off the axis, towards +x.
    static double at(const Emitter &lamp, double degrees) {
        double a = degrees * Pi / 180;
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.p = { opaque_float(2 * std::sin(a)), Float(0), opaque_float(2 * std::cos(a)) };
        Spectrum light = lamp.sample_direction(si, { Float(0.3), Float(0.7) }, true).second;
        return read_floats(unpolarized(light)[0])[0];
    }
    static Properties lamp() {
        return Properties("emitter", "spot")
            .set("intensity", SpectrumData::from_rgb({ 4, 4, 4 }))
            .set("cutoff_angle", 40.0);
    }
};
UMBEL_VARIANTS(BackendSpot, "interp_mono_double", "llvm_rgb", "llvm_rgb_polarized")

TEST_P(BackendSpot, FallsOffBetweenItsAngles) {
    auto narrow = make_object<Emitter>(lamp().set("beam_width", 10.0));
    for (auto [degrees, want] : { std::pair(0.0, 1.0),
                                  { 9.9, 1.0 },
                                  { 25.0, 0.5 },
                                  { 34.0, 0.2 },
                                  { 40.1, 0.0 },
                                  { 90.0, 0.0 },
                                  { 180.0, 0.0 } })
        EXPECT_NEAR(at(*narrow, degrees), want, 1e-5) << degrees;
    auto usual = make_object<Emitter>(lamp());
    EXPECT_NEAR(at(*usual, 29.9), 1, 1e-5);
    EXPECT_NEAR(at(*usual, 35), 0.5, 1e-5);
    auto sharp = make_object<Emitter>(lamp().set("beam_width", 40.0));
    EXPECT_NEAR(at(*sharp, 39.9), 1, 1e-5);
    EXPECT_NEAR(at(*sharp, 40.1), 0, 1e-5);
}

TEST_P(BackendSpot, ThrowsItsTexture) {
    // Dark in the half of +x
    auto lit = make_object<Emitter>(
        lamp().set("texture", Properties("texture", "checkerboard")
                                  .set("color0", SpectrumData::uniform(0.25))
                                  .set("color1", SpectrumData::uniform(0.5))
                                  .set("to_uv", TransformData::scale({ 1, 0.001, 1 }))));
    EXPECT_NEAR(at(*lit, 20) / at(*lit, -20), 2, 1e-4);
    EXPECT_TRUE(lit->has(EndpointFlags::SpatiallyVarying));
}

// A new angle is that of a lamp that was loaded with it; the other one stays.
TEST_P(BackendSpot, TakesNewAngles) {
    auto changed = make_object<Emitter>(lamp());
    SceneParameters params(changed);
    auto angle = [&](const char *key) -> Float & {
        return *std::get<Float *>(params.at(key).param.slot);
    };
    EXPECT_EQ(read_floats(angle("beam_width"))[0], 30);
    angle("cutoff_angle") = opaque_float(60);
    params.update({ "cutoff_angle" });
    EXPECT_EQ(read_floats(angle("beam_width"))[0], 30);
    EXPECT_NEAR(at(*changed, 45), 0.5, 1e-5);
    angle("beam_width") = opaque_float(50);
    params.update({ "beam_width" });
    auto fresh = make_object<Emitter>(lamp().set("cutoff_angle", 60.0).set("beam_width", 50.0));
    for (double degrees : { 49.0, 52.5, 57.0, 61.0 })
        EXPECT_EQ(at(*changed, degrees), at(*fresh, degrees)) << degrees;
    EXPECT_EQ(changed->directions().cos_emission, fresh->directions().cos_emission);
    angle("beam_width") = opaque_float(70);
    std::string m = user_error([&] { params.update({ "beam_width" }); });
    EXPECT_NE(m.find("cutoff_angle is 60 and beam_width 70"), m.npos) << m;
}

TEST(Spot, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<emitter type='spot'><float name='cutoff_angle' value='20'/>"
                   "<float name='beam_width' value='30'/></emitter>",
                   { "cutoff_angle is 20 and beam_width 30" });
    expect_refused("<emitter type='spot'><float name='cutoff_angle' value='0'/></emitter>",
                   { "must be positive" });
    expect_refused("<emitter type='spot'><float name='cutoff_angle' value='120'/></emitter>",
                   { "cutoff_angle", "120" });
}

} // namespace umbel
