// tests/plugins/pplastic_test.cpp: what plastic polarizes.
#include "support/bsdf_fixture.h"
#include "support/scattering.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendPolarizedPlastic : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendPolarizedPlastic)

TEST_P(BackendPolarizedPlastic, ValuesAreThoseOfTheModel) {
    Ref<BSDF> bsdf = make("<bsdf type='pplastic'><float name='int_ior' value='1.5'/><float "
                          "name='ext_ior' value='1'/><float name='alpha' value='.2'/></bsdf>");
    Vector3 up(0, 0, 1);
    double highlight = 0.04 * InvPi / (0.2 * 0.2) / 4, base = 0.96 * 0.96 * 0.5 * InvPi;
    double got = read_floats(unpolarized(bsdf->eval({}, hit_from(up), up, true))[0])[0];
    EXPECT_NEAR(got, highlight + base, 1e-5);
}

// Under Brewster's angle, what is reflected is polarized altogether, and what comes out of the base the other way.
TEST(PolarizedPlastic, PolarizesAcrossAndAlongThePlane) {
    VariantScope scope(find_variant("llvm_mono_polarized_double"));
    auto degree = [](uint32_t component, double angle) {
        Properties root = parse_scene_string(
            "<scene version='3.0.0'><bsdf type='pplastic'><float name='int_ior' value='1.5'/>"
            "<float name='ext_ior' value='1'/></bsdf></scene>");
        Loader loader;
        Ref<BSDF> bsdf = loader.load_as<BSDF>(root.objects("bsdf")[0]);
        Vector3 wi(std::sin(angle), 0, std::cos(angle)), wo(-std::sin(angle), 0, std::cos(angle));
        Spectrum m = bsdf->eval({ .component = component }, hit_from(wi), wo, true);
        auto entry = [&](int row) { return read_floats(m.entry(row, 0)[0])[0]; };
        return std::hypot(entry(1), entry(2)) / entry(0);
    };
    double brewster = std::atan(1.5);
    EXPECT_NEAR(degree(0, brewster), 1, 1e-9);
    EXPECT_GT(degree(1, brewster), 0.05);
    EXPECT_LT(degree(1, brewster), 0.2);
    EXPECT_NEAR(degree(1, 1e-3), 0, 1e-6);
}

// One index in place of two, and a roughness that varies.
TEST_P(BackendPolarizedPlastic, TakesARelativeIndexAndTextures) {
    Vector3 wi(0.6, 0, 0.8), wo(-0.1, 0.3, 0.9);
    auto value = [&](const std::string &inside, double u) {
        Ref<BSDF> bsdf = make("<bsdf type='pplastic'>" + inside + "</bsdf>");
        SurfaceInteraction si = hit_from(wi);
        si.uv = { Float(u), Float(0.1) };
        return read_floats(unpolarized(bsdf->eval({}, si, normalize(wo), true))[0])[0];
    };
    std::string two = "<float name='int_ior' value='1.8'/><float name='ext_ior' value='1.2'/>",
                one = "<float name='eta' value='1.5'/>";
    EXPECT_NEAR(value(two, 0), value(one, 0), 1e-6);
    EXPECT_GT(std::abs(value(one, 0) - value("<float name='eta' value='1.9'/>", 0)), 1e-4);
    std::string checks = "<texture type='checkerboard' name='alpha'><float name='color0' "
                         "value='.2'/><float name='color1' value='.5'/></texture>";
    auto rough = [&](const char *alpha) {
        return value(one + "<float name='alpha' value='" + alpha + "'/>", 0);
    };
    EXPECT_NEAR(value(one + checks, 0.1), rough(".2"), 1e-6);
    EXPECT_NEAR(value(one + checks, 0.6), rough(".5"), 1e-6);
}

TEST(PolarizedPlastic, RefusesHalfOfARoughness) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refused = [](const std::string &inside, std::initializer_list<const char *> parts) {
        expect_refused("<shape type='sphere'><bsdf type='pplastic'>" + inside + "</bsdf></shape>",
                       parts);
    };
    refused("<float name='alpha_u' value='.1'/>", { "alpha_u and alpha_v go together" });
    refused("<float name='alpha' value='-1'/>", { "alpha", "-1" });
    refused("<float name='eta' value='1.5'/><float name='int_ior' value='1.5'/>",
            { "either eta, or int_ior" });
}

} // namespace umbel
