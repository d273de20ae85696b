// tests/plugins/hair_test.cpp: fibers: what is seen of them in even light, and where highlights lie.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendHair : public BsdfTest {
protected:
    // What is reflected of even light from all sides.
    static double brightness(const std::string &inside, const std::array<double, 3> &wi) {
        const size_t n = 40000;
        Ref<BSDF> hair = make("<bsdf type='hair'>" + inside + "</bsdf>");
        Numbers u = many_numbers(3, n);
        BSDFSample s = hair->sample({}, hit_from(opaque_direction(wi)), u.u1, u.u2, true);
        double sum = 0;
        for (double v : all_numbers(unpolarized(s.weight), n))
            sum += v / double(n * unpolarized(s.weight).channels());
        return sum;
    }
};
UMBEL_BSDF_VARIANTS(BackendHair)

// Each crossing leaves some of the light in the fiber; all of it together comes out again.
TEST_P(BackendHair, AClearFiberLosesNothing) {
    for (const std::array<double, 3> &wi : { std::array{ 0.1, 0.2, 1.0 }, { 0.8, -0.5, 0.3 } }) {
        EXPECT_NEAR(brightness("<float name='sigma_a' value='0'/>", wi), 1, 2e-3);
        EXPECT_LT(brightness("<float name='eumelanin' value='8'/>", wi), 0.4);
    }
}

// Tilted scales shift the first highlight towards the root and the second one towards the tip.
TEST_P(BackendHair, ScalesShiftHighlights) {
    auto peak = [&](double tilt, double toward) {
        Ref<BSDF> hair = make(
            fmt::format("<bsdf type='hair'><float name='longitudinal_roughness' value='.1'/><float "
                        "name='sigma_a' value='0'/><float name='scale_tilt' value='{}'/></bsdf>",
                        tilt));
        std::vector<double> y, z;
        for (int i = -300; i <= 300; ++i) {
            double angle = i / 300.0;
            y.push_back(std::sin(angle));
            z.push_back(toward * std::cos(angle));
        }
        Vector3 wo(Float(0), test::make(y), test::make(z));
        std::vector<double> v =
            all_numbers(unpolarized(hair->eval({}, hit_from(Vector3(0, 0, 1)), wo, true)), 601);
        v.resize(601);
        return (double(std::max_element(v.begin(), v.end()) - v.begin()) - 300) / 300;
    };
    EXPECT_NEAR(peak(0, 1), 0, 0.01);
    EXPECT_NEAR(peak(3, 1), 2 * 3 * Pi / 180, 0.015) << "reflected";
    EXPECT_NEAR(peak(3, -1), -3 * Pi / 180, 0.015) << "let through";
}

TEST(Hair, RefusesWhatMakesNoSense) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refused = [](const std::string &inside, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'><bsdf type='hair'>" + inside + "</bsdf></shape>",
                       parts);
    };
    refused("<float name='longitudinal_roughness' value='1.5'/>",
            { "longitudinal_roughness", "1.5" });
    refused("<float name='azimuthal_roughness' value='-.5'/>", { "azimuthal_roughness", "-0.5" });
    refused("<float name='sigma_a' value='1'/><float name='eumelanin' value='1'/>",
            { "sigma_a", "pigments" });
    refused("<float name='int_ior' value='1.3'/><float name='ext_ior' value='1.3'/>",
            { "int_ior", "1.3" });
}

} // namespace umbel
