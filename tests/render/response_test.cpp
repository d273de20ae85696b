// tests/render/response_test.cpp: sensors that respond to some wavelengths more than to others.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {

const char *Band = "480:0, 500:1, 540:0.5";

std::string with_response(const std::string &body, const std::string &response,
                          const std::string &integrator = "path") {
    std::string xml = scene_xml(body, 8, 256, integrator), at = "<float name='fov'";
    if (!response.empty())
        xml.insert(xml.find(at), fmt::format("<spectrum name='srf' value='{}'/>", response));
    return xml;
}
std::string sky(const std::string &spectrum) {
    return fmt::format("<emitter type='constant'><spectrum name='radiance' value='{}'/></emitter>",
                       spectrum);
}
void expect_same_means(const Image &a, const Image &b) {
    for (size_t c = 0; c < 3; ++c) {
        Estimate x = channel_mean(a, c), y = channel_mean(b, c);
        EXPECT_NEAR(x.mean, y.mean, 4 * std::hypot(x.error, y.error) + 1e-6) << "channel " << c;
        EXPECT_GT(std::abs(y.mean), 20 * y.error) << "channel " << c;
    }
}

} // namespace

class BackendResponse : public VariantTest {};
UMBEL_VARIANTS(BackendResponse, "llvm_spectral", "interp_spectral_double",
               "llvm_spectral_polarized")

// Light of a band to which all is seen alike looks as white light does to what sees that band.
TEST_P(BackendResponse, MultipliesLight) {
    expect_same_means(render_image(*scene_from(with_response(sky("1"), Band))),
                      render_image(*scene_from(with_response(sky(Band), ""))));
}

TEST_P(BackendResponse, DrawsWavelengthsWhereItResponds) {
    Image line = render_image(*scene_from(with_response(sky("1"), "549:1, 551:1")));
    Estimate green = channel_mean(line, 1);
    EXPECT_LT(green.error, 1e-3 * green.mean);
}

// Light that is followed from the lights meets the same sensor.
TEST(SlowResponse, HoldsForLightFromTheOtherEnd) {
    VariantScope scope(find_variant("llvm_spectral"));
    std::string room = "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                       "</transform></shape><emitter type='point'><point name='position' x='0' "
                       "y='0' z='2'/><spectrum name='intensity' value='9'/></emitter>";
    expect_same_means(render_image(*scene_from(with_response(room, Band, "ptracer"))),
                      render_image(*scene_from(with_response(room, Band, "direct"))));
}

TEST(Response, HoldsForAllSensorsOfABatch) {
    VariantScope scope(find_variant("llvm_spectral"));
    auto batch = [](const std::string &inside, const std::string &outside) {
        return fmt::format(
            "<scene version='3.0.0'><integrator type='path'/><sensor type='batch'>{}"
            "<sensor type='perspective'>{}</sensor><film type='hdrfilm'><integer name='width' "
            "value='8'/><integer name='height' value='8'/><rfilter type='box'/></film>"
            "<sampler type='independent'><integer name='sample_count' value='256'/></sampler>"
            "</sensor>{}</scene>",
            outside, inside, sky("1"));
    };
    std::string srf = fmt::format("<spectrum name='srf' value='{}'/>", Band);
    expect_same_means(render_image(*scene_from(batch("", srf))),
                      render_image(*scene_from(with_response(sky("1"), Band))));
    std::string message = user_error([&] { scene_from(batch(srf, "")); });
    EXPECT_NE(message.find("give it to that"), std::string::npos) << message;
}

// The film of a batch says which wavelengths matter, also beyond visible light.
TEST(Response, ABatchDrawsWavelengthsForItsFilm) {
    VariantScope scope(find_variant("llvm_spectral"));
    Image image = render_image(*scene_from(fmt::format(
        "<scene version='3.0.0'><integrator type='path'/><sensor type='batch'><sensor "
        "type='perspective'/><film type='specfilm'><integer name='width' value='4'/><integer "
        "name='height' value='4'/><rfilter type='box'/><spectrum name='far' value='900:.5, "
        "1000:.5'/></film></sensor>{}</scene>",
        sky("300:2, 1100:2"))));
    EXPECT_NEAR(channel_mean(image, 0).mean, 100, 0.1);
}

// Colours in further channels are those of a sensor that sees all: bands only change which wavelengths are drawn.
TEST_P(BackendResponse, FurtherColoursKnowHowWavelengthsAreDrawn) {
    std::string room = "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                       "</transform><bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,"
                       ".7'/></bsdf></shape>" +
                       sky("1"),
                at = "<film type='hdrfilm'>";
    std::string plain = scene_xml(room, 8, 256, "field"), field = "<integrator type='field'/>";
    plain.replace(plain.find(field), field.size(),
                  "<integrator type='field'><string name='field' value='albedo'/></integrator>");
    std::string banded = plain;
    banded.replace(banded.find(at), at.size(),
                   "<film type='specfilm'><spectrum name='all' value='360:1, 830:1'/>");
    Image a = render_image(*scene_from(banded)), b = render_image(*scene_from(plain));
    for (const char *name : { "field.R", "field.G", "field.B" }) {
        Estimate x = channel_mean(a, size_t(a.find_channel(name))),
                 y = channel_mean(b, size_t(b.find_channel(name)));
        EXPECT_NEAR(x.mean, y.mean, 4 * std::hypot(x.error, y.error) + 1e-6) << name;
    }
}

TEST(Response, SaysWhatIsWrong) {
    auto refused = [](const std::string &xml) { return user_error([&] { scene_from(xml); }); };
    {
        VariantScope scope(find_variant("interp_rgb"));
        EXPECT_NE(refused(with_response(sky("1"), Band)).find("use a spectral variant"),
                  std::string::npos);
    }
    VariantScope scope(find_variant("interp_spectral"));
    std::string xml = with_response(sky("1"), Band), film = "<film type='hdrfilm'>";
    xml.replace(xml.find(film), film.size(),
                "<film type='specfilm'><spectrum name='b' value='400:1, 500:1'/>");
    EXPECT_NE(refused(xml).find("so does its film"), std::string::npos) << refused(xml);
    std::string varies = scene_xml("", 4, 1), at = "<float name='fov'";
    varies.insert(varies.find(at), "<texture type='checkerboard' name='srf'/>");
    EXPECT_NE(refused(varies).find("varies"), std::string::npos) << refused(varies);
}

} // namespace umbel
