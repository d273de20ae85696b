// tests/plugins/blendbsdf_test.cpp: between two BSDFs.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendBlendBsdf : public BsdfTest {
protected:
    static constexpr const char *Two =
        "<bsdf type='diffuse'><spectrum name='reflectance' value='.8'/></bsdf><bsdf "
        "type='diffuse'><spectrum name='reflectance' value='.2'/></bsdf>";
    static Ref<BSDF> blend(double weight, const char *inside = Two) {
        return make(fmt::format("<bsdf type='blendbsdf'><float name='weight' value='{}'/>{}</bsdf>",
                                weight, inside));
    }
    static double albedo(const Ref<BSDF> &bsdf, const BSDFContext &ctx = {}) {
        Vector3 up(0, 0, 1);
        return Pi * read_floats(unpolarized(bsdf->eval(ctx, hit_from(up), up, true))[0])[0];
    }
};
UMBEL_BSDF_VARIANTS(BackendBlendBsdf)

TEST_P(BackendBlendBsdf, InterpolatesBetweenBoth) {
    EXPECT_NEAR(albedo(blend(0)), 0.8, 1e-6);
    EXPECT_NEAR(albedo(blend(0.25)), 0.65, 1e-6);
    EXPECT_NEAR(albedo(blend(1)), 0.2, 1e-6);
    EXPECT_NEAR(albedo(blend(7)), 0.2, 1e-6) << "weights lie between 0 and 1";
}

TEST_P(BackendBlendBsdf, NumbersComponentsOfBoth) {
    Ref<BSDF> bsdf = blend(0.25, "<bsdf type='dielectric'/><bsdf type='diffuse'/>");
    ASSERT_EQ(bsdf->components().size(), 3u);
    EXPECT_NEAR(albedo(bsdf, { .component = 2 }), 0.125, 1e-6);
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    for (uint32_t i = 0; i < 3; ++i) {
        BSDFSample s =
            bsdf->sample({ .component = i }, si, Float(0.5), { Float(0.3), Float(0.4) }, true);
        EXPECT_EQ(jit::item(s.sampled_component), i);
    }
    // The number that chooses reaches the second one beyond 0.75
    BSDFSample s = bsdf->sample({}, si, Float(0.8), { Float(0.3), Float(0.4) }, true);
    EXPECT_EQ(jit::item(s.sampled_component), 2u);
}

TEST_P(BackendBlendBsdf, WhatPassesIsBlended) {
    Ref<BSDF> bsdf = blend(0.25, "<bsdf type='null'/><bsdf type='diffuse'/>");
    Spectrum t = bsdf->eval_null_transmission(hit_from(Vector3(0, 0, 1)), true);
    EXPECT_NEAR(read_floats(unpolarized(t)[0])[0], 0.75, 1e-6);
}

TEST(BlendBsdf, NeedsTwo) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused(
        "<shape type='sphere'><bsdf type='blendbsdf'><bsdf type='diffuse'/></bsdf></shape>",
        { "blendbsdf", "two BSDFs", "has 1" });
}

} // namespace umbel
