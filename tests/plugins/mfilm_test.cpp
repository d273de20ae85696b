// tests/plugins/mfilm_test.cpp: numbers for other programs.
#include "support/film_files.h"

namespace umbel {
using namespace test;

class MFilmFiles : public FilmFileTest {
protected:
    std::string text(Properties p) {
        Ref<Film> film = make_object<Film>(p);
        return read_text_file(film->write(folder / "a", image_for(*film, { "R", "G", "B" })));
    }
    Properties film(const char *format, const char *pixels = "rgb") {
        return Properties("film", "mfilm")
            .set("file_format", std::string(format))
            .set("pixel_format", std::string(pixels));
    }
};

TEST_F(MFilmFiles, HasOnePixelAndABoxFilterByDefault) {
    Ref<Film> film = make_object<Film>(Properties("film", "mfilm"));
    EXPECT_EQ(film->width(), 1);
    EXPECT_EQ(film->height(), 1);
    EXPECT_TRUE(film->filter().is_box());
    EXPECT_EQ(film->image_names({ "R", "G", "B" }), std::vector<std::string>{ "Y" });
}

TEST_F(MFilmFiles, WritesMatricesForMatlab) {
    EXPECT_EQ(text(film("matlab").set("digits", int64_t(2)).set("variable", std::string("x_1"))),
              "x_1(:, :, 1) = [0.12, 0.25; 0.38, 0.5; 0.62, 0.75];\n"
              "x_1(:, :, 2) = [0.25, 0.5; 0.75, 1; 1.2, 1.5];\n"
              "x_1(:, :, 3) = [0.38, 0.75; 1.1, 1.5; 1.9, 2.2];\n");
    std::string y = text(film("matlab", "luminance"));
    EXPECT_TRUE(y.starts_with("data = [0.2")) << y;
    EXPECT_EQ(std::count(y.begin(), y.end(), ';'), 3);
    EXPECT_TRUE(std::filesystem::exists(folder / "a.m"));
}

TEST_F(MFilmFiles, WritesListsForMathematica) {
    EXPECT_EQ(text(film("mathematica")), "data = {{{0.125, 0.25, 0.375}, {0.25, 0.5, 0.75}},\n"
                                         "    {{0.375, 0.75, 1.125}, {0.5, 1, 1.5}},\n"
                                         "    {{0.625, 1.25, 1.875}, {0.75, 1.5, 2.25}}};\n");
    Ref<Film> f = make_object<Film>(film("mathematica", "luminance"));
    Image tiny(1, 1, { "Y" });
    tiny.set(0, 0, 0, 2.5e-12);
    EXPECT_EQ(read_text_file(f->write(folder / "t", tiny)), "data = {{2.5*^-12}};\n");
}

TEST_F(MFilmFiles, WritesArraysForNumpy) {
    std::string bytes = text(film("numpy"));
    ASSERT_GT(bytes.size(), 128u);
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    size_t header = size_t((unsigned char)bytes[8]) + 256 * size_t((unsigned char)bytes[9]);
    EXPECT_EQ((10 + header) % 64, 0u);
    EXPECT_NE(bytes.find("'shape': (3, 2, 3)"), std::string::npos) << bytes.substr(10, header);
    ASSERT_EQ(bytes.size(), 10 + header + 18 * 4);
    float last;
    std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
    EXPECT_EQ(last, 2.25f);
}

TEST_F(MFilmFiles, RefusesNamesThatAreNone) {
    for (const char *name : { "", "1x", "a b", "a_b" }) {
        std::string m = user_error(
            [&] { make_object<Film>(film("mathematica").set("variable", std::string(name))); });
        EXPECT_NE(m.find("variable"), std::string::npos) << m;
    }
    EXPECT_NO_THROW(make_object<Film>(film("matlab").set("variable", std::string("a_b"))));
}

} // namespace umbel
