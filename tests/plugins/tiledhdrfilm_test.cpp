// tests/plugins/tiledhdrfilm_test.cpp: images that are written while they are rendered.
#include "render/strips.h"
#include "support/film_files.h"

namespace umbel {
using namespace test;

class TiledFilmFiles : public FilmFileTest {
protected:
    static std::string xml(const char *film, int width, int height, const std::string &more = "") {
        return fmt::format(
            "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><transform "
            "name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform><film "
            "type='{}'><integer name='width' value='{}'/><integer name='height' value='{}'/>"
            "<string name='component_format' value='float32'/>{}<rfilter type='gaussian'/></film>"
            "<sampler type='independent'><integer name='sample_count' value='2'/></sampler>"
            "</sensor><shape type='sphere'/><emitter type='constant'/></scene>",
            film, width, height, more);
    }
    static Image pixels(const Image &image) {
        return select_channels(convert(image, Component::F32, false), { "R", "G", "B" });
    }
    VariantScope inner{ find_variant("llvm_rgb") };
};

// Of several strips, and of a window that ends inside of tiles.
TEST_F(TiledFilmFiles, StripsAreThePixelsOfTheWholeImage) {
    const std::string window = "<integer name='crop_offset_x' value='11'/><integer "
                               "name='crop_offset_y' value='5'/><integer name='crop_width' "
                               "value='9000'/><integer name='crop_height' value='300'/>";
    for (const std::string &more : { std::string(), window }) {
        Ref<Scene> tiled = scene_from(xml("tiledhdrfilm", 9100, 310, more)),
                   whole = scene_from(xml("hdrfilm", 9100, 310, more));
        ASSERT_LT(tiled->sensors()[0]->film().strip_rows(), 300);
        double last = 0;
        std::filesystem::path file = render_strips(*tiled, {}, folder / "t", [&](double done) {
            EXPECT_GE(done, last);
            last = done;
            EXPECT_EQ(tiled->sensors()[0]->film().crop().height,
                      whole->sensors()[0]->film().crop().height);
            return true;
        });
        EXPECT_EQ(file, folder / "t.exr");
        EXPECT_EQ(last, 1);
        EXPECT_TRUE(same_pixels(pixels(read_image(file)), pixels(render_image(*whole))));
    }
}

TEST_F(TiledFilmFiles, WhatIsStoppedLeavesNoFile) {
    Ref<Scene> scene = scene_from(xml("tiledhdrfilm", 9100, 310));
    EXPECT_EQ(render_strips(*scene, {}, folder / "t", [](double done) { return done < 0.5; }),
              std::filesystem::path());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(TiledFilmFiles, RefusesLightFromItsSourceAndFoldersThatAreNone) {
    std::string text = xml("tiledhdrfilm", 64, 64), path = "type='path'";
    std::string m = user_error([&] {
        render_strips(*scene_from(text), {}, folder / "none" / "t", [](double) { return true; });
    });
    EXPECT_NE(m.find("cannot be written"), std::string::npos) << m;
    text.replace(text.find(path), path.size(), "type='ptracer'");
    m = user_error(
        [&] { render_strips(*scene_from(text), {}, folder / "t", [](double) { return true; }); });
    EXPECT_NE(m.find("hdrfilm"), std::string::npos) << m;
}

} // namespace umbel
