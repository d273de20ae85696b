// tests/plugins/roughconductor_test.cpp: samples of rough metals.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendRoughConductor : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendRoughConductor)

TEST_P(BackendRoughConductor, SamplesFollowTheirDensity) {
    for (const char *d : { "beckmann", "ggx" })
        for (const char *visible : { "true", "false" })
            expect_samples(
                fmt::format("<bsdf type='roughconductor'><string name='distribution' value='{}'/>"
                            "<boolean name='sample_visible' value='{}'/><float name='alpha' "
                            "value='{}'/></bsdf>",
                            d, visible, d[0] == 'g' ? 0.1 : 0.3),
                { 0.1, 0.05, 1 });
}

TEST_P(BackendRoughConductor, AnisotropicSamplesFollowTheirDensity) {
    expect_samples("<bsdf type='roughconductor'><string name='distribution' value='ggx'/>"
                   "<float name='alpha_u' value='0.05'/><float name='alpha_v' value='0.2'/></bsdf>",
                   { 0.1, 0.05, 1 });
}

// The distribution of Ashikhmin and Shirley by its own formula, along both axes and between them.
TEST_P(BackendRoughConductor, PhongIsAshikhminsAndShirleys) {
    for (const char *name : { "phong", "as" }) {
        Ref<BSDF> bsdf = make(fmt::format(
            "<bsdf type='roughconductor'><string name='distribution' value='{}'/>"
            "<float name='alpha_u' value='.2'/><float name='alpha_v' value='.5'/></bsdf>",
            name));
        double nu = 2 / 0.04 - 2, nv = 2 / 0.25 - 2;
        for (std::array<double, 2> h :
             { std::array{ 0.0, 0.0 }, { 0.2, 0.0 }, { 0.0, 0.3 }, { 0.15, -0.2 } }) {
            double s2 = h[0] * h[0] + h[1] * h[1], z = std::sqrt(1 - s2);
            double n = s2 > 0 ? (nu * h[0] * h[0] + nv * h[1] * h[1]) / s2 : 0;
            double d = std::sqrt((nu + 2) * (nv + 2)) / (2 * Pi) * std::pow(z, n);
            // Along the normal, nothing is masked; wo may be
            Vector3 up(0, 0, 1), wo(2 * z * h[0], 2 * z * h[1], 2 * z * z - 1);
            double slope = std::hypot(0.2 * 2 * z * h[0], 0.5 * 2 * z * h[1]) / (2 * z * z - 1),
                   a = 1 / slope,
                   g = slope > 0 ? 2 / (1 + std::erf(a) + std::exp(-a * a) / (a * std::sqrt(Pi)))
                                 : 1;
            auto [value, pdf] = bsdf->eval_pdf({}, hit_from(up), wo, true);
            EXPECT_NEAR(read_floats(unpolarized(value)[0])[0], d * g / 4, 2e-6 * d) << name;
            EXPECT_NEAR(read_floats(pdf)[0], d * z / (4 * z), 2e-6 * d) << name;
        }
    }
}

// Only the quotient of both indices matters.
TEST_P(BackendRoughConductor, IndicesAreRelativeToWhatIsAbove) {
    auto value = [](const char *more) {
        Ref<BSDF> bsdf = make(fmt::format("<bsdf type='roughconductor'>{}</bsdf>", more));
        Vector3 wi = normalize({ Float(0.3), Float(0.2), Float(0.8) });
        return read_floats(
            unpolarized(bsdf->eval({}, hit_from(wi), Vector3(-wi.x, -wi.y, wi.z), true))[0])[0];
    };
    double want = value("<spectrum name='eta' value='.5'/><spectrum name='k' value='2'/>");
    EXPECT_NEAR(value("<spectrum name='eta' value='.665'/><spectrum name='k' value='2.66'/>"
                      "<float name='ext_eta' value='1.33'/>"),
                want, 1e-5 * want);
    EXPECT_NEAR(value("<spectrum name='eta' value='.6665'/><spectrum name='k' value='2.666'/>"
                      "<string name='ext_eta' value='water'/>"),
                want, 1e-5 * want);
}

} // namespace umbel
