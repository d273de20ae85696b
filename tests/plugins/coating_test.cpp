// tests/plugins/coating_test.cpp: smooth layers: exact values, limits, messages.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendCoating : public BsdfTest {
protected:
    static double number(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
    static double reflected(double cos_i, double eta) {
        double cos_t = std::sqrt(1 - (1 - cos_i * cos_i) / (eta * eta)),
               s = (cos_i - eta * cos_t) / (cos_i + eta * cos_t),
               p = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
        return (s * s + p * p) / 2;
    }
    static constexpr const char *Tinted =
        "<bsdf type='coating'><float name='int_ior' value='1.5'/><float name='ext_ior' value='1'/>"
        "<spectrum name='sigma_a' value='.4'/><float name='thickness' value='2'/>"
        "<bsdf type='diffuse'><spectrum name='reflectance' value='.8'/></bsdf></bsdf>";
};
UMBEL_BSDF_VARIANTS(BackendCoating)

// A diffuse base: refraction changes nothing but what gets through, and how far it goes.
TEST_P(BackendCoating, DimsWhatIsInside) {
    Ref<BSDF> bsdf = make(Tinted);
    double cos_i = 0.8, cos_o = 0.6;
    Vector3 wi(Float(0.6), Float(0), Float(cos_i)), wo(Float(0), Float(0.8), Float(cos_o));
    auto below = [](double c) { return std::sqrt(1 - (1 - c * c) / 2.25); };
    double want = 0.8 / Pi * cos_o / 2.25 * (1 - reflected(cos_i, 1.5)) *
                  (1 - reflected(cos_o, 1.5)) *
                  std::exp(-0.8 * (1 / below(cos_i) + 1 / below(cos_o)));
    EXPECT_NEAR(number(bsdf->eval({}, hit_from(wi), wo, true)), want, 1e-5 * want);
}

TEST_P(BackendCoating, ReflectsByFresnel) {
    Ref<BSDF> bsdf = make(Tinted);
    BSDFContext ctx{ .component = 1 };
    for (double side : { 1.0, -1.0 }) {
        SurfaceInteraction si = hit_from(Vector3(Float(0.6), Float(0), Float(0.8 * side)));
        BSDFSample s = bsdf->sample(ctx, si, Float(0.3), { Float(0.5), Float(0.5) }, true);
        EXPECT_NEAR(number(s.weight), reflected(0.8, 1.5), 1e-6);
        EXPECT_NEAR(read_floats(s.wo.x)[0], -0.6, 1e-6);
        EXPECT_NEAR(read_floats(s.wo.z)[0], 0.8 * side, 1e-6);
        EXPECT_NEAR(number(bsdf->eval_delta(ctx, si, s, true)), reflected(0.8, 1.5), 1e-6);
    }
}

// A layer of what is around it is not there.
TEST_P(BackendCoating, WithoutAnIndexOfItsOwnChangesNothing) {
    const char *inside = "<bsdf type='roughconductor'><string name='material' value='Au'/></bsdf>";
    Ref<BSDF> coated = make(fmt::format("<bsdf type='coating'><float name='int_ior' value='1.3'/>"
                                        "<float name='ext_ior' value='1.3'/>{}</bsdf>",
                                        inside)),
              plain = make(inside);
    Vector3 wi = normalize({ Float(0.3), Float(0.1), Float(0.7) }),
            wo = normalize({ Float(-0.2), Float(-0.1), Float(0.8) });
    auto [a, pdf_a] = coated->eval_pdf({}, hit_from(wi), wo, true);
    auto [b, pdf_b] = plain->eval_pdf({}, hit_from(wi), wo, true);
    EXPECT_NEAR(number(a), number(b), 2e-5 * number(b));
    EXPECT_NEAR(read_floats(pdf_a)[0], read_floats(pdf_b)[0], 2e-5 * read_floats(pdf_b)[0]);
}

TEST(Coating, NeedsSomethingToCoat) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='coating'/></shape>", { "coating", "inside" });
    expect_refused("<shape type='sphere'><bsdf type='coating'><float name='thickness' "
                   "value='-1'/><bsdf type='diffuse'/></bsdf></shape>",
                   { "thickness", "-1" });
}

} // namespace umbel
