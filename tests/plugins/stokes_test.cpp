// tests/plugins/stokes_test.cpp: what the integrator measures.
#include "support/plates.h"

namespace umbel {
using namespace test;

class StokesVectors : public PolarizedTest {};
UMBEL_POLARIZED_VARIANTS(StokesVectors)

TEST_P(StokesVectors, OfUnpolarizedLightAreEmpty) {
    Ref<Scene> scene = scene_from(
        scene_xml("<emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>", 6,
                  64, "stokes"));
    Image image = render_image(*scene);
    size_t n = scene->scene_variant().colour == Colour::Mono ? 1 : 3;
    ASSERT_EQ(image.channel_count(), 5 * n);
    EXPECT_NEAR(channel_mean(image, n).mean, 1, 0.1);
    for (size_t c = 2 * n; c < 5 * n; ++c)
        EXPECT_EQ(channel_mean(image, c).mean, 0) << image.channels()[c];
}

} // namespace umbel
