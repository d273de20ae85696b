// tests/plugins/specfilm_test.cpp: images of spectral bands.
#include "support/film_files.h"

namespace umbel {
using namespace test;

namespace {
std::string scene(const std::string &film, const char *radiance = "2",
                  const char *integrator = "path") {
    return fmt::format("<scene version='3.0.0'><integrator type='{}'/><sensor type='perspective'>"
                       "<film type='specfilm'><integer name='width' value='4'/><integer "
                       "name='height' value='4'/><rfilter type='box'/>{}</film></sensor>"
                       "<emitter type='constant'><spectrum name='radiance' value='{}'/></emitter>"
                       "</scene>",
                       integrator, film, radiance);
}
const char *Bands = "<spectrum name='blue' value='400:0, 450:1, 500:0'/><spectrum name='far' "
                    "value='900:.5, 1000:.5'/>";
} // namespace

class BackendSpecFilm : public VariantTest {};
UMBEL_VARIANTS(BackendSpecFilm, "interp_spectral", "llvm_spectral_double",
               "llvm_spectral_polarized")

// The integral of sensitivity times radiance, beyond visible light, too.
TEST_P(BackendSpecFilm, BandsAreIntegrals) {
    Image image = render_image(*scene_from(scene(Bands, "300:2, 1100:2")), { .spp = 256 });
    ASSERT_EQ(image.channels(), (std::vector<std::string>{ "blue", "far" }));
    Estimate blue = channel_mean(image, 0), far = channel_mean(image, 1);
    EXPECT_NEAR(blue.mean, 2 * 50, 4 * blue.error + 1e-3);
    EXPECT_NEAR(far.mean, 2 * 50, 4 * far.error + 1e-3);
    EXPECT_LT(blue.error, 2) << "wavelengths are drawn where the bands are";
}

TEST_P(BackendSpecFilm, WeighsRadianceByWavelength) {
    // 1 above 450 nm and 0 below, but for one nm in between
    Image image =
        render_image(*scene_from(scene(Bands, "300:0, 449.5:0, 450.5:1, 1100:1")), { .spp = 1024 });
    Estimate blue = channel_mean(image, 0);
    EXPECT_NEAR(blue.mean, 25, 4 * blue.error + 0.01);
}

class SpecFilmFiles : public FilmFileTest {};

TEST_F(SpecFilmFiles, SaysWhatIsWrong) {
    auto expect = [](const std::string &film, const char *variant_name, const char *part) {
        VariantScope inner(find_variant(variant_name));
        std::string m = user_error([&] { scene_from(scene(film)); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    expect(Bands, "interp_rgb", "spectral");
    expect("", "interp_spectral", "no bands");
    expect("<spectrum name='b' value='400:-1, 500:1'/>", "interp_spectral", "negative");
    expect("<spectrum name='b' value='0'/>", "interp_spectral", "zero");
}

} // namespace umbel
