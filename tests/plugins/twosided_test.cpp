// tests/plugins/twosided_test.cpp: both sides of a surface, and how components are numbered.
#include "support/bsdf_fixture.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendTwoSided : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendTwoSided)

TEST_P(BackendTwoSided, ReflectsFromBehind) {
    expect_samples("<bsdf type='twosided'><bsdf type='diffuse'/></bsdf>", { 0.3, -0.2, -0.8 });
}

TEST_P(BackendTwoSided, NumbersItsComponents) {
    for (const char *back : { "<bsdf type='diffuse'/>", "" }) {
        Ref<BSDF> bsdf =
            make(fmt::format("<bsdf type='twosided'><bsdf type='roughconductor'/>{}</bsdf>", back));
        ASSERT_EQ(bsdf->components().size(), 2u);
        for (double side : { 1.0, -1.0 })
            for (uint32_t component : { ~0u, 0u, 1u }) {
                BSDFContext ctx;
                ctx.component = component;
                SurfaceInteraction si = hit_from(normalize(Vector3(0.1, 0.05, side)));
                uint32_t here = side > 0 ? 0 : 1;
                Vector3 wo(Float(0), Float(0.1), Float(side));
                double value = read_floats(unpolarized(bsdf->eval(ctx, si, wo, true))[0])[0];
                BSDFSample s = bsdf->sample(ctx, si, Float(0.5), { Float(0.3), Float(0.4) }, true);
                bool wanted = component == ~0u || component == here;
                EXPECT_EQ(value > 0, wanted) << back << side << " " << component;
                EXPECT_EQ(read_floats(s.pdf)[0] > 0, wanted) << back << side << " " << component;
                if (wanted) {
                    EXPECT_EQ(jit::item(s.sampled_component), here);
                }
            }
    }
}

TEST_P(BackendTwoSided, TransmitsWhereThatIsAllowed) {
    const char *inside = "<bsdf type='roughdielectric'><float name='alpha' value='.3'/></bsdf>";
    Ref<BSDF> bsdf = make(fmt::format("<bsdf type='twosided'><boolean name='allow_transmission' "
                                      "value='true'/>{}</bsdf>",
                                      inside)),
              alone = make(inside);
    auto through = [](const BSDF &b, double side) {
        SurfaceInteraction si = hit_from(normalize(Vector3(0.2, 0.1, side)));
        Vector3 wo = normalize(Vector3(-0.1, 0, -side));
        return read_floats(unpolarized(b.eval({}, si, wo, true))[0])[0];
    };
    double front = through(*alone, 1);
    EXPECT_GT(front, 0);
    EXPECT_NE(through(*alone, -1), front) << "it leaves glass there";
    for (double side : { 1.0, -1.0 })
        EXPECT_NEAR(through(*bsdf, side), front, 1e-6 * front) << side;
    expect_refused(
        fmt::format("<shape type='sphere'><bsdf type='twosided'>{}</bsdf></shape>", inside),
        { "roughdielectric", "allow_transmission" });
}

} // namespace umbel
