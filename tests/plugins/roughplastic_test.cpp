// tests/plugins/roughplastic_test.cpp: a rough coating on a diffuse base: its limits, and the table behind it.
#include "render/rough_coating.h"
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendRoughPlastic : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendRoughPlastic)

// Off the highlight, a coating that is nearly smooth shows the base as a smooth one does.
TEST_P(BackendRoughPlastic, IsPlasticWithoutRoughness) {
    Ref<BSDF> rough = make("<bsdf type='roughplastic'><float name='alpha' value='.002'/></bsdf>"),
              smooth = make("<bsdf type='plastic'/>");
    Vector3 wo = normalize({ Float(0.5), Float(0.1), Float(0.8) });
    auto value = [&](const Ref<BSDF> &b) {
        return read_floats(unpolarized(b->eval({}, hit_from(Vector3(0, 0, 1)), wo, true))[0])[0];
    };
    EXPECT_NEAR(value(rough), value(smooth), 0.03 * value(smooth));
}

TEST(RoughPlastic, TableIsFresnelsWithoutRoughness) {
    for (auto type : { Microfacet::Type::Beckmann, Microfacet::Type::Ggx })
        for (double eta : { 1.3, 1.5 })
            for (double cosine : { 1.0, 0.7, 0.4 }) {
                double t = std::sqrt(1 - (1 - cosine * cosine) / (eta * eta)),
                       s = (cosine - eta * t) / (cosine + eta * t),
                       p = (eta * cosine - t) / (eta * cosine + t);
                EXPECT_NEAR(rough_transmittance(type, 1e-3, eta, cosine), 1 - (s * s + p * p) / 2,
                            1e-3)
                    << eta << " " << cosine;
            }
}

// Nothing is lost where nothing is reflected and nothing is masked; roughness only loses.
TEST(RoughPlastic, TableLosesWithRoughness) {
    for (auto type : { Microfacet::Type::Beckmann, Microfacet::Type::Ggx }) {
        double before = 1;
        for (double alpha : { 0.01, 0.2, 0.5, 1.0 }) {
            double t = rough_transmittance(type, alpha, 1.5, 1);
            EXPECT_LT(t, before + 1e-9);
            EXPECT_GT(t, 0.5);
            before = t;
        }
    }
}

TEST(RoughPlastic, RefusesNegativeRoughness) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='roughplastic'><float name='alpha' "
                   "value='-.1'/></bsdf></shape>",
                   { "alpha", "-0.1" });
    expect_refused("<shape type='sphere'><bsdf type='roughplastic'><string name='distribution' "
                   "value='gxx'/></bsdf></shape>",
                   { "distribution", "gxx", "ggx" });
}

// A texture that is the same everywhere is that number, up to the tables' steps. So is a part of one that varies.
TEST_P(BackendRoughPlastic, TakesTexturesForItsRoughness) {
    auto plastic = [&](const std::string &alpha) {
        return make("<bsdf type='roughplastic'><boolean name='nonlinear' value='true'/>" + alpha +
                    "</bsdf>");
    };
    auto coating = [&](const std::string &alpha) {
        return make("<bsdf type='roughcoating'>" + alpha + "<bsdf type='diffuse'/></bsdf>");
    };
    Vector3 wi = normalize({ Float(0.5), Float(0.1), Float(0.6) }),
            wo = normalize({ Float(-0.2), Float(0.3), Float(0.8) });
    auto value = [&](const Ref<BSDF> &b) {
        SurfaceInteraction si = hit_from(wi);
        si.uv = { Float(0.25), Float(0.25) };
        return read_floats(unpolarized(b->eval({}, si, wo, true))[0])[0];
    };
    for (double alpha : { 0.03, 0.237, 0.71 }) {
        std::string number = fmt::format("<float name='alpha' value='{}'/>", alpha);
        std::string texture = fmt::format("<texture type='checkerboard' name='alpha'><float "
                                          "name='color0' value='{}'/></texture>",
                                          alpha);
        EXPECT_NEAR(value(plastic(texture)), value(plastic(number)), 1e-3 * value(plastic(number)))
            << alpha;
        EXPECT_NEAR(value(coating(texture)), value(coating(number)), 1e-3 * value(coating(number)))
            << alpha;
    }
}

} // namespace umbel
