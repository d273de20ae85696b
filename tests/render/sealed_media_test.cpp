// tests/render/sealed_media_test.cpp: where rays towards lights are of no use.
#include "core/traverse.h"
#include "support/media.h"

namespace umbel {
using namespace test;

namespace {

const std::string Filling = "<medium type='homogeneous' id='filling'><float name='sigma_t' "
                            "value='2'/><float name='albedo' value='1'/></medium>",
                  Inside = "<ref name='interior' id='filling'/></shape>",
                  Outside = "<ref name='exterior' id='filling'/></shape>";

std::string ball(const char *bsdf, double radius = 1) {
    return fmt::format("<shape type='sphere'><float name='radius' value='{}'/><bsdf type='{}'/>",
                       radius, bsdf);
}
std::string lamp(const char *z) {
    return fmt::format("<emitter type='point'><point name='position' value='0,0,{}'/></emitter>",
                       z);
}
Ref<Scene> scene(const std::string &shapes, const std::string &lights = Sky) {
    return scene_from(scene_xml(Filling + shapes + lights, 8, 64, "volpath"));
}
/// Whether paths that collide in the first medium connect to no light.
bool is_sealed(const Scene &scene) {
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    SampleStream stream = sample_stream(*sampler, 16);
    MediumSample s = scene.sample_medium(UInt32(1u), ray_from(0, 1e9), stream, true);
    return !jit::any(s.samples_emitters | (stream.next_1d() > 1));
}

} // namespace

class BackendSealedMedia : public VariantTest {};
UMBEL_VARIANTS(BackendSealedMedia, "llvm_rgb", "interp_mono_double")

TEST_P(BackendSealedMedia, AreClosedInByWhatRefractsOrStopsLight) {
    std::string cube = "<shape type='cube'><bsdf type='roughdielectric'/>" + Inside,
                plate = "<shape type='rectangle'><bsdf type='dielectric'/>" + Inside,
                tube = "<shape type='cylinder'><bsdf type='dielectric'/>" + Inside,
                glass = ball("dielectric") + Inside;
    EXPECT_TRUE(is_sealed(*scene(glass)));
    EXPECT_TRUE(is_sealed(*scene(cube)));
    EXPECT_TRUE(is_sealed(*scene(glass + ball("dielectric", 0.5) + Outside)));
    EXPECT_FALSE(is_sealed(*scene(ball("null") + Inside)));
    EXPECT_FALSE(is_sealed(*scene(ball("thindielectric") + Inside))) << "light passes straight";
    EXPECT_FALSE(is_sealed(*scene(glass + ball("null", 0.5) + Outside))) << "a bubble";
    EXPECT_FALSE(is_sealed(*scene(glass + ball("null", 3) + Inside))) << "elsewhere";
    EXPECT_FALSE(is_sealed(*scene(plate)));
    EXPECT_FALSE(is_sealed(*scene(tube)));
    EXPECT_FALSE(is_sealed(*scene(ball("dielectric") + Outside))) << "without end";
    std::string group = "<shape type='shapegroup' id='group'>" + glass +
                        "</shape><shape type='instance'><ref id='group'/></shape>";
    EXPECT_FALSE(is_sealed(*scene(group)));
}

TEST_P(BackendSealedMedia, HaveNoLightsInside) {
    std::string glass = ball("dielectric") + Inside,
                bulb = "<shape type='sphere'><float name='radius' value='.2'/><emitter "
                       "type='area'/></shape>";
    EXPECT_TRUE(is_sealed(*scene(glass, lamp("2"))));
    EXPECT_FALSE(is_sealed(*scene(glass, lamp(".5"))));
    EXPECT_FALSE(is_sealed(*scene(glass, bulb)));
    EXPECT_FALSE(
        is_sealed(*scene(glass, "<emitter type='point'><point name='position' value='0,0,5'/><ref "
                                "id='filling'/></emitter>")))
        << "the medium is there, too";
    // Also where scripts put them
    Ref<Scene> moved = scene(glass, lamp("2"));
    EXPECT_TRUE(is_sealed(*moved));
    SceneParameters params(moved);
    for (const SceneParameter &p : params.all())
        if (p.key.ends_with(".position")) {
            *std::get<std::array<double *, 3>>(p.param.slot)[2] = 0.5;
            params.update({ p.key });
        }
    EXPECT_FALSE(is_sealed(*moved));
}

TEST_P(BackendSealedMedia, OfAlbedoOneAreInvisible) {
    Image image = render_image(*scene(ball("dielectric") + Inside));
    EXPECT_GT(channel_mean(image, 0).error, 0);
    expect_mean(image, 1);
}

} // namespace umbel
