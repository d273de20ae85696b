// tests/plugins/null_test.cpp: surfaces that are not there.
#include "support/bsdf_fixture.h"

namespace umbel {
using namespace test;

class BackendNull : public BsdfTest {};
UMBEL_BSDF_VARIANTS(BackendNull)

TEST_P(BackendNull, LetsLightPassUnchanged) {
    Ref<BSDF> bsdf = make("<bsdf type='null'/>");
    for (double side : { 0.8, -0.8 }) {
        SurfaceInteraction si = hit_from(Vector3(0.6, 0, side));
        BSDFSample s = bsdf->sample({}, si, Float(0.5), { Float(0.3), Float(0.7) }, true);
        EXPECT_NEAR(read_floats(s.wo.x)[0], -0.6, 1e-7);
        EXPECT_NEAR(read_floats(s.wo.z)[0], -side, 1e-7);
        EXPECT_EQ(read_floats(s.pdf)[0], 1);
        for (const Spectrum &v : { s.weight, bsdf->eval_null_transmission(si, true) })
            for (const Float &w : unpolarized(v).c)
                EXPECT_EQ(read_floats(w)[0], 1);
        EXPECT_EQ(jit::item(s.sampled_type), uint32_t(BSDFFlags::Null));
    }
}

// Light that passes keeps its depth: a camera sees what is behind as if there were nothing in between.
TEST_P(BackendNull, IsNotSeen) {
    std::string body = "<emitter type='constant'><rgb name='radiance' value='1,2,3'/></emitter>";
    Image a = render_image(*scene_from(scene_xml(body, 8, 4))),
          b = render_image(*scene_from(
              scene_xml(body + "<shape type='cube'><bsdf type='null'/></shape>", 8, 4)));
    for (size_t c = 0; c < a.channel_count(); ++c)
        EXPECT_NEAR(channel_mean(a, c).mean, channel_mean(b, c).mean, 1e-5);
}

} // namespace umbel
