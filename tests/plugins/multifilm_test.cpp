// tests/plugins/multifilm_test.cpp: several files of one render.
#include "support/film_files.h"

namespace umbel {
using namespace test;

class MultiFilmFiles : public FilmFileTest {
protected:
    static Properties film(const char *type, const char *pixels = "rgb") {
        return Properties("film", type).set("pixel_format", std::string(pixels));
    }
};

TEST_F(MultiFilmFiles, EachFilmWritesWhatItWouldWriteAlone) {
    Properties p("film", "multifilm");
    Properties inner[] = { film("hdrfilm", "xyza"), film("ldrfilm"), film("hdrfilm", "luminance") };
    for (const Properties &f : inner)
        p.set("", f);
    Ref<Film> all = make_object<Film>(p);
    EXPECT_TRUE(all->has_alpha());
    std::vector<std::string> collected = { "R", "G", "B", "A", "d.T" },
                             opaque = { "R", "G", "B", "d.T" };
    Image image = image_for(*all, collected);
    EXPECT_EQ(all->write(folder / "a.exr", image), folder / "a.exr");
    const char *names[] = { "a.exr", "a.png", "a_3.exr" };
    for (size_t i = 0; i < 3; ++i) {
        Ref<Film> one = make_object<Film>(inner[i]);
        Image means = one->has_alpha() ? image : select_channels(image, opaque);
        std::vector<double> numbers(means.data<float>(),
                                    means.data<float>() + means.pixels() * means.channel_count());
        std::vector<double> v =
            read_floats(one->develop(float_array(numbers), uint32_t(means.channel_count())));
        Image alone(2, 3, one->image_names(means.channels()));
        std::copy(v.begin(), v.end(), alone.data<float>());
        std::string want = read_text_file(one->write(folder / fmt::format("alone{}", i), alone));
        EXPECT_EQ(read_text_file(folder / names[i]), want) << names[i];
    }
}

TEST_F(MultiFilmFiles, WithoutFilmsEachLayerIsAFile) {
    Ref<Film> f = make_object<Film>(film("multifilm", "rgba"));
    Image image = image_for(*f, { "R", "G", "B", "A", "n.X", "n.Y", "n.Z", "d.T" });
    EXPECT_EQ(f->write(folder / "a", image), folder / "a.exr");
    EXPECT_EQ(read_image(folder / "a.exr").channel_count(), 4u);
    EXPECT_EQ(read_image(folder / "a_n.exr").channel_count(), 3u);
    Image d = read_image(folder / "a_d.exr");
    EXPECT_EQ(d.channels(), std::vector<std::string>{ "T" });
    EXPECT_EQ(d.get(1, 2, 0), image.get(1, 2, 7));
}

TEST_F(MultiFilmFiles, RefusesFilmsThatCollectInTheirOwnWay) {
    std::string m = user_error(
        [&] { make_object<Film>(Properties("film", "multifilm").set("", film("tiledhdrfilm"))); });
    EXPECT_NE(m.find("multifilm"), std::string::npos) << m;
}

} // namespace umbel
