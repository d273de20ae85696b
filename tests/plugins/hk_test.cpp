// tests/plugins/hk_test.cpp: layers of scattering media: exact values, limits, messages.
#include "core/medium_presets.h"
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendHk : public BsdfTest {
protected:
    static double number(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
    static Vector3 direction(double x, double z) { return { Float(x), Float(0), Float(z) }; }
    static constexpr const char *Layer =
        "<bsdf type='hk'><spectrum name='sigma_s' value='2'/><spectrum name='sigma_a' value='.5'/>"
        "<float name='thickness' value='.3'/></bsdf>";
};
UMBEL_BSDF_VARIANTS(BackendHk)

// One scattering event at depth z, integrated over z by a fine sum.
TEST_P(BackendHk, IsSingleScattering) {
    Ref<BSDF> bsdf = make(Layer);
    double t = 0.3, sigma = 2.5, albedo = 0.8, p = 1 / (4 * Pi);
    for (double b : { 0.6, -0.6, -0.8, -0.28 }) {
        double a = 0.8, sum = 0;
        int n = 20000;
        for (int i = 0; i < n; ++i) {
            double z = (i + 0.5) / n * t, out = b > 0 ? z : t - z;
            sum += std::exp(-sigma * (z / a + out / std::abs(b))) * sigma * t / n;
        }
        // f cos(theta_o): source times 1 / (a |b|) times |b|
        double want = albedo * p * sum / a;
        Vector3 wo = direction(std::sqrt(1 - b * b), b);
        EXPECT_NEAR(number(bsdf->eval({}, hit_from(direction(0.6, a)), wo, true)), want,
                    1e-5 * want)
            << b;
    }
}

TEST_P(BackendHk, LetsTheRestPass) {
    Ref<BSDF> bsdf = make(Layer);
    SurfaceInteraction si = hit_from(direction(0.6, 0.8));
    double want = std::exp(-0.75 / 0.8);
    EXPECT_NEAR(number(bsdf->eval_null_transmission(si, true)), want, 1e-6);
    BSDFSample s = bsdf->sample({ .component = 2 }, si, Float(0.5), { Float(0), Float(0) }, true);
    EXPECT_NEAR(number(s.weight), want, 1e-6);
    EXPECT_NEAR(read_floats(s.wo.z)[0], -0.8, 1e-6);
}

TEST_P(BackendHk, IsInvisibleWithoutThickness) {
    Ref<BSDF> bsdf = make("<bsdf type='hk'><float name='thickness' value='0'/></bsdf>");
    SurfaceInteraction si = hit_from(direction(0.6, 0.8));
    EXPECT_EQ(number(bsdf->eval_null_transmission(si, true)), 1);
    EXPECT_EQ(number(bsdf->eval({}, si, direction(0.8, 0.6), true)), 0);
    EXPECT_EQ(number(bsdf->eval({}, si, direction(0.8, -0.6), true)), 0);
}

TEST_P(BackendHk, MayBeEndless) {
    Ref<BSDF> bsdf = make("<bsdf type='hk'><float name='thickness' value='inf'/>"
                          "<spectrum name='sigma_t' value='3'/><spectrum name='albedo' "
                          "value='.5'/></bsdf>");
    SurfaceInteraction si = hit_from(direction(0.6, 0.8));
    EXPECT_NEAR(number(bsdf->eval({}, si, direction(0.8, 0.6), true)), 0.5 / (4 * Pi) * 0.6 / 1.4,
                1e-6);
    EXPECT_EQ(number(bsdf->eval({}, si, direction(0.8, -0.6), true)), 0);
}

TEST(Hk, PresetsAreFoundInAnyCase) {
    EXPECT_EQ(&medium_preset("skin1"), &medium_preset("Skin1"));
    EXPECT_EQ(medium_preset("Ketchup").sigma_a[2], 1.45);
    EXPECT_EQ(medium_preset("head & shoulders shampoo").eta, 1.33);
    EXPECT_EQ(medium_preset_names().size(), 47u); // the manual of 0.5, table 5, and two more
}

TEST(Hk, RefusesContradictions) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refused = [](const std::string &body, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'><bsdf type='hk'>" + body + "</bsdf></shape>", parts);
    };
    refused("<float name='sigma_s' value='1'/><float name='albedo' value='1'/>",
            { "sigma_s", "albedo" });
    refused("<float name='sigma_t' value='1'/>", { "albedo", "missing" });
    refused("<string name='material' value='skin'/>", { "skin", "skin1" });
    refused("<float name='thickness' value='-1'/>", { "thickness", "-1" });
}

} // namespace umbel
