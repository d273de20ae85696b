// tests/plugins/ldrfilm_test.cpp: pictures of 8 bits.
#include "core/image_ops.h"
#include "core/load_warnings.h"
#include "support/film_files.h"

namespace umbel {
using namespace test;

class LdrFilmFiles : public FilmFileTest {
protected:
    /// The first channel of pixel (0, 0), whose radiance is 1/8, 1/4, 3/8, as a number from 0 to 255.
    double first(const Properties &p, const std::string &name = "a") {
        Ref<Film> film = make_object<Film>(p);
        written = read_image(film->write(folder / name, image_for(*film, { "R", "G", "B" })));
        return std::round(255 * written.get(0, 0, 0));
    }
    Image written;
};

TEST_F(LdrFilmFiles, EncodesExposedRadiance) {
    Properties plain("film", "ldrfilm");
    EXPECT_EQ(first(plain), std::round(255 * srgb_encode(0.125)));
    EXPECT_EQ(written.component(), Component::U8);
    EXPECT_TRUE(std::filesystem::exists(folder / "a.png"));
    Properties bright = plain;
    bright.set("exposure", 2.0);
    EXPECT_EQ(first(bright), std::round(255 * srgb_encode(0.5)));
    bright.set("gamma", 2.2);
    EXPECT_EQ(first(bright), std::round(255 * std::pow(0.5, 1 / 2.2)));
}

TEST_F(LdrFilmFiles, MapsAllLuminancesWithReinhardsOperator) {
    Properties p("film", "ldrfilm");
    p.set("tonemap_method", std::string("reinhard")).set("key", 0.4).set("burn", 0.2);
    Ref<Film> film = make_object<Film>(p);
    Image image = image_for(*film, { "R", "G", "B" });
    Image want = tonemap(image, { .reinhard = Reinhard{ .key = 0.4, .burn = 0.2 } }),
          got = read_image(film->write(folder / "r", image));
    for (size_t c = 0; c < 3; ++c)
        EXPECT_EQ(got.get(1, 2, c), want.get(1, 2, c));
    EXPECT_NE(first(p), first(Properties("film", "ldrfilm")));
}

TEST_F(LdrFilmFiles, WritesTheChannelsAndFormatsThatItIsToldTo) {
    Ref<Film> film = make_object<Film>(
        Properties("film", "ldrfilm").set("pixel_format", std::string("luminance_alpha")));
    Image image = image_for(*film, { "R", "G", "B", "A", "d.T" }),
          got = read_image(film->write(folder / "y", image));
    EXPECT_EQ(got.channel_count(), 2u);
    EXPECT_NEAR(255 * got.get(0, 0, 0), 255 * srgb_encode(image.get(0, 0, 0)), 0.51);
    EXPECT_NEAR(got.get(0, 0, 1), 0.5, 0.003);
    EXPECT_NEAR(first(Properties("film", "ldrfilm").set("file_format", std::string("jpeg")), "j"),
                255 * srgb_encode(0.125), 30);
    EXPECT_TRUE(std::filesystem::exists(folder / "j.jpg"));
}

TEST_F(LdrFilmFiles, SaysWhatIsWrong) {
    auto expect = [](const Properties &p, const char *part) {
        std::string m = user_error([&] { make_object<Film>(p); });
        EXPECT_NE(m.find(part), std::string::npos) << m;
    };
    Properties p("film", "ldrfilm");
    expect(Properties(p).set("gamma", 0.0), "gamma is 0");
    expect(Properties(p).set("key", 0.0), "key");
    expect(Properties(p).set("burn", 2.0), "burn");
    expect(Properties(p)
               .set("file_format", std::string("jpeg"))
               .set("pixel_format", std::string("rgba")),
           "no alpha");
    testing::internal::CaptureStderr();
    make_object<Film>(Properties(p).set("banner", true));
    EXPECT_NE(testing::internal::GetCapturedStderr().find("banner"), std::string::npos);
    testing::internal::CaptureStderr();
    {
        LoadWarnings remarks; // which the command line can make errors of
        make_object<Film>(Properties(p).set("banner", true));
        ASSERT_EQ(remarks.texts.size(), 1u);
        EXPECT_NE(remarks.texts[0].find("banner"), std::string::npos);
    }
    make_object<Film>(p);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace umbel
