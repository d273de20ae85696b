// tests/plugins/blackbody_test.cpp: light of glowing bodies.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {

Ref<Texture> body(double temperature, double scale = 1) {
    return make_object<Texture>(
        Properties("texture", "blackbody").set("temperature", temperature).set("scale", scale));
}
SurfaceInteraction at(double wavelength) {
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    si.wavelengths = Spectrum(opaque_float(wavelength));
    return si;
}

} // namespace

// B = 2 h c^2 / lambda^5 / (exp(h c / (lambda k T)) - 1), per nanometre.
TEST(Blackbody, FollowsPlancksLaw) {
    VariantScope scope(find_variant("interp_spectral_double"));
    const double h = 6.62607015e-34, c = 299792458, k = 1.380649e-23; // exact since 2019
    for (double t : { 2700.0, 6500.0 })
        for (double nm : { 420.0, 560.0, 700.0 }) {
            double w = nm * 1e-9;
            double planck = 2 * h * c * c / std::pow(w, 5) / std::expm1(h * c / (w * k * t)) * 1e-9;
            double got = read_floats(body(t, 3)->eval(at(nm), true)[0])[0];
            EXPECT_NEAR(got, 3 * planck, 1e-6 * got) << t << " K, " << nm << " nm";
        }
    EXPECT_EQ(read_floats(body(5000)->eval(at(900), true)[0])[0], 0) << "beyond what is rendered";
}

// Wien: the peak of 5000 K lies at 2.8978e6 / 5000 = 580 nm.
TEST(Blackbody, IsLargestWhereWienSays) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = body(5000);
    double peak = read_floats(t->eval(at(579.554), true)[0])[0];
    EXPECT_NEAR(t->max_value(), peak, 1e-9 * peak);
    for (double nm : { 570.0, 590.0 })
        EXPECT_LT(read_floats(t->eval(at(nm), true)[0])[0], peak);
}

TEST(Blackbody, IsRedderTheColderItIs) {
    VariantScope scope(find_variant("interp_rgb_double"));
    double before = 0;
    for (double t : { 10000.0, 6500.0, 4000.0, 2500.0 }) {
        Vector3 c{ body(t)->eval(at(0), true)[0], Float(0), body(t)->eval(at(0), true)[2] };
        double ratio = read_floats(c.x)[0] / read_floats(c.z)[0];
        EXPECT_GT(ratio, before) << t;
        before = ratio;
    }
}

TEST(Blackbody, IsDarkBeyondItsWavelengths) {
    VariantScope scope(find_variant("interp_spectral_double"));
    auto t = make_object<Texture>(Properties("texture", "blackbody")
                                      .set("wavelength_min", 450.0)
                                      .set("wavelength_max", 600.0));
    for (double nm : { 449.0, 451.0, 599.0, 601.0 })
        EXPECT_EQ(read_floats(t->eval(at(nm), true)[0])[0] > 0, nm > 450 && nm < 600) << nm;
}

} // namespace umbel
