// tests/plugins/hdrfilm_test.cpp: what a film writes.
#include "core/image_io.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class FilmFiles : public testing::Test {
protected:
    FilmFiles() {
        folder = std::filesystem::temp_directory_path() / fmt::format("umbel-film-{}", getpid());
        std::filesystem::create_directories(folder);
    }
    ~FilmFiles() override { std::filesystem::remove_all(folder); }

    VariantScope scope{ find_variant("interp_rgb") };
    std::filesystem::path folder;
};

TEST_F(FilmFiles, WritesTheChannelsThatItsPixelFormatNames) {
    auto written = [&](const char *format) {
        Ref<Film> film = make_object<Film>(
            Properties("film", "hdrfilm").set("pixel_format", std::string(format)));
        std::vector<double> means = { 0.5, 0.5, 0.5, 3, 4 };
        std::vector<double> values = read_floats(film->develop(float_array(means), 5));
        Image image(1, 1, film->image_names({ "R", "G", "B", "A", "dd.T" }), Component::F32);
        for (size_t c = 0; c < values.size(); ++c)
            image.set(0, 0, c, values[c]);
        EXPECT_EQ(film->file_name(folder / format), folder / (std::string(format) + ".exr"));
        return read_image(film->write(folder / format, image));
    };
    EXPECT_EQ(written("rgba").channel_count(), 5u);
    Image y = written("luminance_alpha"), xyz = written("xyza");
    ASSERT_GE(y.find_channel("Y"), 0);
    EXPECT_EQ(y.channel_count(), 3u);
    EXPECT_NEAR(y.get(0, 0, size_t(y.find_channel("Y"))), 0.5, 1e-3);
    EXPECT_EQ(y.get(0, 0, size_t(y.find_channel("dd.T"))), 4);
    ASSERT_GE(xyz.find_channel("Z"), 0);
    EXPECT_NEAR(xyz.get(0, 0, size_t(xyz.find_channel("Z"))), 0.5 * 1.0890, 1e-3);
    EXPECT_EQ(xyz.get(0, 0, size_t(xyz.find_channel("A"))), 3);
}

} // namespace umbel
