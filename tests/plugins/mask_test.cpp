// tests/plugins/mask_test.cpp: surfaces with holes.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendMask : public BsdfTest {
protected:
    static Ref<BSDF> masked(double opacity, const char *inside = "<bsdf type='diffuse'/>") {
        return make(fmt::format("<bsdf type='mask'><float name='opacity' value='{}'/>{}</bsdf>",
                                opacity, inside));
    }
    static double first(const Spectrum &s) { return read_floats(unpolarized(s)[0])[0]; }
};
UMBEL_BSDF_VARIANTS(BackendMask)

TEST_P(BackendMask, ScalesWhatIsInside) {
    Vector3 up(0, 0, 1);
    SurfaceInteraction si = hit_from(up);
    EXPECT_NEAR(first(masked(0.25)->eval({}, si, up, true)), 0.25 * 0.5 * InvPi, 1e-6);
    EXPECT_NEAR(first(masked(0.25)->eval_null_transmission(si, true)), 0.75, 1e-6);
}

TEST_P(BackendMask, LetsLightPassInItsLastComponent) {
    Ref<BSDF> bsdf = masked(0.25);
    ASSERT_EQ(bsdf->components().size(), 2u);
    SurfaceInteraction si = hit_from(Vector3(0.6, 0, -0.8));
    BSDFSample s = bsdf->sample({}, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
    EXPECT_EQ(jit::item(s.sampled_component), 1u);
    EXPECT_EQ(jit::item(s.sampled_type), uint32_t(BSDFFlags::Null));
    EXPECT_NEAR(read_floats(s.pdf)[0], 0.75, 1e-6);
    EXPECT_NEAR(read_floats(s.wo.z)[0], 0.8, 1e-6);
}

TEST_P(BackendMask, EndsAreAllAndNothing) {
    Vector3 up(0, 0, 1);
    SurfaceInteraction si = hit_from(up);
    EXPECT_EQ(first(masked(1)->eval_null_transmission(si, true)), 0);
    EXPECT_EQ(first(masked(0)->eval(BSDFContext(), si, up, true)), 0);
    EXPECT_EQ(first(masked(0)->eval_null_transmission(si, true)), 1);
}

// What passes both is the rest of the one, and what the other lets through of that.
TEST_P(BackendMask, HolesInHolesAdd) {
    Ref<BSDF> bsdf = masked(
        0.5, "<bsdf type='mask'><float name='opacity' value='.25'/><bsdf type='diffuse'/></bsdf>");
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    EXPECT_NEAR(first(bsdf->eval_null_transmission(si, true)), 0.5 + 0.5 * 0.75, 1e-6);
}

// Behind a mask that lets everything through, nothing else is seen.
TEST_P(BackendMask, IsNotSeenWhereItIsTransparent) {
    std::string body = "<emitter type='constant'><rgb name='radiance' value='1,2,3'/></emitter>";
    Image a = render_image(*scene_from(scene_xml(body, 8, 4))),
          b = render_image(*scene_from(
              scene_xml(body + "<shape type='cube'><bsdf type='mask'><float name='opacity' "
                               "value='0'/><bsdf type='diffuse'/></bsdf></shape>",
                        8, 4)));
    for (size_t c = 0; c < a.channel_count(); ++c)
        EXPECT_NEAR(channel_mean(a, c).mean, channel_mean(b, c).mean, 1e-5);
}

TEST(Mask, NeedsABsdf) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><bsdf type='mask'/></shape>", { "mask", "needs a BSDF" });
}

} // namespace umbel
