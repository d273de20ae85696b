// tests/plugins/ao_test.cpp: how open places are.
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {
/// A floor that is seen from above, with a ceiling at the height h that spans as far as one may see.
Image room(double h, const std::string &parameters) {
    std::string xml = scene_xml(
        fmt::format("<shape type='rectangle'><transform name='to_world'><scale value='50'/>"
                    "</transform></shape><shape type='disk'><transform name='to_world'><scale "
                    "value='2'/><translate z='{}'/></transform></shape>",
                    h),
        5, 256, "ao", "<lookat origin='0,0,.5' target='0,0,0' up='0,1,0'/>");
    std::string tag = "<integrator type='ao'/>";
    return render_image(*scene_from(xml.replace(
        xml.find(tag), tag.size(), "<integrator type='ao'>" + parameters + "</integrator>")));
}
} // namespace

class BackendAo : public VariantTest {};
UMBEL_VARIANTS(BackendAo, "interp_rgb", "llvm_mono_double", "llvm_spectral_polarized")

// Of a disk of radius 2 at the height 1, in the middle: the cosines' part is sin^2 of its angle, 4 / 5.
TEST_P(BackendAo, IsThePartOfTheSkyThatIsSeen) {
    for (const char *samples : { "1", "4" }) {
        Image image = room(1, fmt::format("<float name='ray_length' value='10'/><integer "
                                          "name='shading_samples' value='{}'/>",
                                          samples));
        for (size_t c = 0; c < image.channel_count(); ++c)
            EXPECT_NEAR(image.get(2, 2, c), 0.2, 0.1) << samples;
        EXPECT_NEAR(channel_mean(image, 0).mean, 0.2, 0.03);
    }
}

TEST_P(BackendAo, SeesNoFartherThanItsRays) {
    EXPECT_NEAR(channel_mean(room(1, "<float name='ray_length' value='.9'/>"), 0).mean, 1, 0.02);
    // Rays of length sqrt(2) meet the disk within 45 degrees
    Image image = room(1, "<float name='ray_length' value='1.41421'/>");
    EXPECT_NEAR(channel_mean(image, 0).mean, 0.5, 0.04);
    // By default, half of the radius around the scene: more than 35
    EXPECT_NEAR(channel_mean(room(1, ""), 0).mean, 0.2, 0.03);
}

TEST(Ao, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    std::string m = user_error([] { room(1, "<float name='ray_length' value='0'/>"); });
    EXPECT_NE(m.find("ray_length is 0"), std::string::npos) << m;
}

} // namespace umbel
