// tests/plugins/multichannel_test.cpp: several integrators, one image.
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {
const char *Ball = "<shape type='sphere'><bsdf type='diffuse'><rgb name='reflectance' "
                   "value='.2,.4,.6'/></bsdf></shape><emitter type='constant'/>";
Image image_by(const std::string &inside, int spp = 64) {
    std::string xml = scene_xml(Ball, 7, spp, "multichannel"),
                tag = "<integrator type='multichannel'/>";
    return render_image(*scene_from(xml.replace(
        xml.find(tag), tag.size(), "<integrator type='multichannel'>" + inside + "</integrator>")));
}
size_t channel(const Image &image, const char *name) {
    EXPECT_GE(image.find_channel(name), 0) << name;
    return size_t(std::max(0, image.find_channel(name)));
}
} // namespace

class BackendMultiChannel : public VariantTest {};
UMBEL_VARIANTS(BackendMultiChannel, "interp_rgb", "llvm_mono", "llvm_spectral", "llvm_rgb_double")

TEST_P(BackendMultiChannel, TheFirstGivesTheImageAndTheOthersFurtherChannels) {
    Image image = image_by("<integrator type='path'/><integrator type='path' name='again'/>"
                           "<integrator type='aov'><string name='aovs' value='d:depth'/>"
                           "</integrator>"),
          alone = render_image(*scene_from(scene_xml(Ball, 7, 64, "path")));
    bool is_mono = variant().colour == Colour::Mono;
    size_t colours = is_mono ? 1 : 3;
    ASSERT_EQ(image.channel_count(), 3 * colours + 1);
    for (size_t c = 0; c < colours; ++c) {
        std::string name = std::string("again.") + (is_mono ? 'Y' : "RGB"[c]);
        double sum = 0, mean = 0;
        for (size_t y = 0; y < 7; ++y)
            for (size_t x = 0; x < 7; ++x) {
                EXPECT_EQ(image.get(x, y, c), alone.get(x, y, c));
                sum += image.get(x, y, channel(image, name.c_str()));
                mean += image.get(x, y, c);
            }
        EXPECT_NEAR(sum / mean, 1, 0.05) << name;
    }
    EXPECT_NEAR(image.get(3, 3, channel(image, "image3.d.T")), 3, 0.2);
}

TEST(MultiChannel, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto expect = [](const char *inside, const char *part) {
        std::string m = user_error([&] { image_by(inside); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    expect("", "no integrators");
    expect("<integrator type='path'/><integrator type='ptracer'/>", "camera's rays");
}

} // namespace umbel
