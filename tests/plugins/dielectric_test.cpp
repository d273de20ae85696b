// tests/plugins/dielectric_test.cpp: smooth interfaces: the limits of Fresnel's and Snell's laws.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendDielectric : public BsdfTest {
protected:
    static Ref<BSDF> glass(double inside, double outside = 1) {
        return make(fmt::format("<bsdf type='dielectric'><float name='int_ior' value='{}'/><float "
                                "name='ext_ior' value='{}'/></bsdf>",
                                inside, outside));
    }
    // Of component 0, what is reflected; of component 1, what is refracted.
    static BSDFSample sample(const Ref<BSDF> &bsdf, const std::array<double, 3> &w,
                             uint32_t component,
                             BSDFContext::Mode mode = BSDFContext::Mode::Importance) {
        BSDFContext ctx{ .mode = mode, .component = component };
        SurfaceInteraction si =
            hit_from({ opaque_float(w[0]), opaque_float(w[1]), opaque_float(w[2]) });
        return bsdf->sample(ctx, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    }
    static double intensity(const BSDFSample &s) {
        return read_floats(unpolarized(s.weight)[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendDielectric)

TEST_P(BackendDielectric, ReflectsAFewPercentFromTheFront) {
    Ref<BSDF> bsdf = glass(1.5);
    for (double side : { 1.0, -1.0 }) {
        EXPECT_NEAR(intensity(sample(bsdf, { 0, 0, side }, 0)), 0.04, 1e-6);
        EXPECT_NEAR(intensity(sample(bsdf, { 0, 0, side }, 1)), 0.96, 1e-6);
    }
}

TEST_P(BackendDielectric, RefractsAsSnellSays) {
    BSDFSample in = sample(glass(1.5), { 0.6, 0, 0.8 }, 1);
    EXPECT_NEAR(read_floats(in.wo.x)[0], -0.6 / 1.5, 1e-6);
    EXPECT_NEAR(read_floats(in.wo.z)[0], -std::sqrt(1 - 0.16), 1e-6);
    EXPECT_NEAR(read_floats(in.eta)[0], 1.5, 1e-6);
}

TEST_P(BackendDielectric, ReflectsEverythingBeyondTheCriticalAngle) {
    Ref<BSDF> bsdf = glass(1.5);
    double sine = 0.7; // above 1 / 1.5
    std::array<double, 3> inside{ sine, 0, -std::sqrt(1 - sine * sine) };
    EXPECT_NEAR(intensity(sample(bsdf, inside, 0)), 1, 1e-5);
    EXPECT_NEAR(intensity(sample(bsdf, inside, 1)), 0, 1e-5);
}

TEST_P(BackendDielectric, IsNotThereBetweenEqualMaterials) {
    BSDFSample s = sample(glass(1.33, 1.33), { 0.6, 0, 0.8 }, 1);
    EXPECT_NEAR(intensity(s), 1, 1e-6);
    EXPECT_NEAR(read_floats(s.wo.x)[0], -0.6, 1e-6);
    EXPECT_NEAR(read_floats(s.wo.z)[0], -0.8, 1e-6);
}

// Radiance is compressed into a smaller solid angle where it enters.
TEST_P(BackendDielectric, RadianceIsScaledBySquaredIndices) {
    Ref<BSDF> bsdf = glass(1.5);
    double energy = intensity(sample(bsdf, { 0.6, 0, 0.8 }, 1)),
           radiance = intensity(sample(bsdf, { 0.6, 0, 0.8 }, 1, BSDFContext::Mode::Radiance));
    EXPECT_NEAR(radiance, energy / (1.5 * 1.5), 1e-6);
}

// At Brewster's angle, what is reflected oscillates in one direction.
TEST(Dielectric, PolarizesAtBrewstersAngle) {
    VariantScope scope(find_variant("interp_mono_polarized_double"));
    auto bsdf =
        make_object<BSDF>(Properties("bsdf", "dielectric").set("int_ior", 1.5).set("ext_ior", 1.0));
    double angle = std::atan(1.5);
    BSDFContext ctx{ .component = 0 };
    SurfaceInteraction si = hit_from(Vector3(std::sin(angle), 0, std::cos(angle)));
    BSDFSample s = bsdf->sample(ctx, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    auto entry = [&](int row) { return read_floats(s.weight.entry(row, 0)[0])[0]; };
    EXPECT_NEAR(std::hypot(entry(1), entry(2), entry(3)), entry(0), 1e-12);
    EXPECT_GT(entry(0), 0.05);
}

TEST(Dielectric, KnowsMaterialsByName) {
    VariantScope scope(find_variant("interp_rgb_double"));
    auto water =
        make_object<BSDF>(Properties("bsdf", "dielectric").set("int_ior", std::string("water")));
    BSDFContext ctx{ .component = 0 };
    BSDFSample s = water->sample(ctx, hit_from(Vector3(0, 0, 1)), Float(0.5),
                                 { Float(0.3), Float(0.7) }, true);
    EXPECT_NEAR(read_floats(s.weight[0])[0], std::pow(0.333 / 2.333, 2), 1e-4);
    auto refuse = [](const char *inside, std::initializer_list<const char *> parts) {
        expect_refused(
            fmt::format("<shape type='sphere'><bsdf type='dielectric'>{}</bsdf></shape>", inside),
            parts);
    };
    refuse("<string name='int_ior' value='watr'/>", { "watr", "water" });
    refuse("<float name='ext_ior' value='0'/>", { "ext_ior", "positive" });
}

} // namespace umbel
