// tests/plugins/normalmap_test.cpp: BSDFs around the normals of a texture.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendNormalMap : public BsdfTest {
protected:
    static Ref<BSDF> mapped(const char *colour, const char *inside, bool flips = true,
                            bool shadows = true) {
        return make(fmt::format("<bsdf type='normalmap'><rgb name='normalmap' value='{}'/>{}"
                                "<boolean name='flip_invalid_normals' value='{}'/><boolean "
                                "name='use_shadowing_function' value='{}'/></bsdf>",
                                colour, inside, flips, shadows));
    }
    static double value(const Ref<BSDF> &bsdf, const Vector3 &wi, const Vector3 &wo) {
        return read_floats(unpolarized(bsdf->eval({}, hit_from(wi), wo, true))[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendNormalMap)

TEST_P(BackendNormalMap, DoesNothingWhereNormalsAreTheSurfaces) {
    const char *inside = "<bsdf type='roughconductor'><float name='alpha' value='.3'/></bsdf>";
    Vector3 wi = normalize({ Float(0.3), Float(-0.2), Float(0.8) }),
            wo = normalize({ Float(-0.4), Float(0.1), Float(0.7) });
    EXPECT_NEAR(value(mapped("0.5,0.5,1", inside), wi, wo), value(make(inside), wi, wo), 1e-5);
}

// (0.9, 0.5, 0.8) is the normal (0.8, 0, 0.6).
TEST_P(BackendNormalMap, CosineIsThatOfTheNormal) {
    Ref<BSDF> bsdf = mapped("0.9,0.5,0.8", "<bsdf type='diffuse'/>", true, false);
    Vector3 up(0, 0, 1);
    EXPECT_NEAR(value(bsdf, up, up), 0.5 * InvPi * 0.6, 1e-6);
}

// With alpha^2 = tan^2 / 8 of the normal and a light whose tangent is 3/4.
TEST_P(BackendNormalMap, ShadowsDim) {
    Vector3 up(0, 0, 1), wo(0.6, 0, 0.8);
    double plain = value(mapped("0.9,0.5,0.8", "<bsdf type='diffuse'/>", true, false), up, wo),
           dimmed = value(mapped("0.9,0.5,0.8", "<bsdf type='diffuse'/>", true, true), up, wo);
    double alpha2 = 0.125 * 16 / 9;
    EXPECT_NEAR(dimmed / plain, 2 / (1 + std::sqrt(1 + alpha2 * 9 / 16)), 1e-5);
}

// From the left, the normal is hidden; mirrored it is (-0.8, 0, 0.6).
TEST_P(BackendNormalMap, HiddenNormalsAreMirroredOrBlack) {
    Vector3 wi(-0.8, 0, 0.6), up(0, 0, 1);
    auto f = [&](bool flips) {
        return value(mapped("0.9,0.5,0.8", "<bsdf type='diffuse'/>", flips, false), wi, up);
    };
    EXPECT_EQ(f(false), 0);
    EXPECT_NEAR(f(true), 0.5 * InvPi * 0.6, 1e-6);
}

TEST_P(BackendNormalMap, MirrorsReflectAroundTheNormal) {
    Ref<BSDF> bsdf = mapped("0.8,0.5,0.9", "<bsdf type='conductor'/>"); // (0.6, 0, 0.8)
    BSDFSample s =
        bsdf->sample({}, hit_from(Vector3(0, 0, 1)), Float(0.5), { Float(0.3), Float(0.7) }, true);
    EXPECT_NEAR(read_floats(s.wo.x)[0], 2 * 0.8 * 0.6, 1e-6);
    EXPECT_NEAR(read_floats(s.wo.z)[0], 2 * 0.8 * 0.8 - 1, 1e-6);
}

TEST(NormalMap, NeedsBothOfItsParts) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused(
        "<shape type='sphere'><bsdf type='normalmap'><bsdf type='diffuse'/></bsdf></shape>",
        { "normalmap", "needs a texture" });
    expect_refused("<shape type='sphere'><bsdf type='normalmap'><rgb name='normalmap' "
                   "value='.5,.5,1'/></bsdf></shape>",
                   { "normalmap", "needs a BSDF" });
}

} // namespace umbel
