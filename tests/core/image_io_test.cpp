// tests/core/image_io_test.cpp: every format returns what was written, within what it can hold.
#include "core/image_io.h"
#include "core/image_ops.h"
#include "support/image_samples.h"
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace umbel {
namespace {

namespace fs = std::filesystem;
using test::random_image;
using test::user_error;

Image through(const char *extension, const Image &image, const ImageWriteOptions &o = {}) {
    std::string bytes = encode_image(extension, image, o);
    return read_image(bytes.data(), bytes.size(), std::string("memory.") + extension);
}

void expect_same(const Image &a, const Image &b, const std::string &what) {
    ASSERT_EQ(a.channels(), b.channels()) << what;
    ASSERT_EQ(a.component(), b.component()) << what;
    ASSERT_EQ(a.srgb(), b.srgb()) << what;
    ASSERT_EQ(a.byte_count(), b.byte_count()) << what;
    EXPECT_TRUE(std::equal(a.bytes(), a.bytes() + a.byte_count(), b.bytes())) << what;
}

/// Flat areas among noise, so that run-length encoders do both.
Image patchy(std::vector<std::string> channels, Component c, bool srgb, size_t width = 300) {
    Image a = random_image(11, width, 9, std::move(channels), c, srgb);
    for (size_t y = 0; y < a.height(); ++y)
        for (size_t x = 0; x < a.width(); ++x)
            if ((x / 7 + y) % 3 == 0 || y == 4)
                for (size_t k = 0; k < a.channel_count(); ++k)
                    a.set(x, y, k, double(k) / 4);
    return a;
}

const std::vector<std::string> Y{ "Y" }, YA{ "Y", "A" }, RGB{ "R", "G", "B" },
    RGBA{ "R", "G", "B", "A" };

TEST(ImageFormats, EightBitPicturesComeBackBitByBit) {
    struct Row {
        const char *extension;
        std::vector<std::vector<std::string>> channels;
    };
    for (const Row &r : { Row{ "png", { Y, YA, RGB, RGBA } }, Row{ "tga", { Y, RGB, RGBA } },
                          Row{ "bmp", { RGB, RGBA } }, Row{ "ppm", { RGB } }, Row{ "pgm", { Y } } })
        for (const auto &channels : r.channels)
            for (size_t width : { 1, 3, 300 }) {
                Image a = patchy(channels, Component::U8, true, width);
                expect_same(a, through(r.extension, a), r.extension);
            }
}

TEST(ImageFormats, SixteenBitPicturesComeBackBitByBit) {
    for (const auto &channels : { Y, YA, RGB, RGBA }) {
        Image a = patchy(channels, Component::U16, true);
        expect_same(a, through("png", a), "png");
        a.set_srgb(false);
        expect_same(a, through("png", a), "linear png");
    }
    for (const auto &channels : { Y, RGB }) {
        Image a = patchy(channels, Component::U16, true);
        expect_same(a, through("ppm", a), "ppm");
    }
}

TEST(ImageFormats, FloatPicturesComeBackBitByBit) {
    for (const auto &channels : { Y, RGB }) {
        Image a = random_image(12, 13, 7, channels, Component::F32, false, -100, 100);
        expect_same(a, through("pfm", a), "pfm");
    }
}

TEST(ImageFormats, ExrKeepsEveryTypeLayoutAndLosslessCompression) {
    std::vector<std::string> many = {
        "R", "G", "B", "A", "albedo.R", "albedo.G", "albedo.B", "z.id"
    };
    for (Component c : { Component::F16, Component::F32, Component::U32 })
        for (const char *compression : { "none", "rle", "zips", "zip", "piz" })
            for (size_t tile : { 0, 16 }) {
                Image a = random_image(13, 37, 41, many, c, false, -100, 100000);
                expect_same(a, through("exr", a, { .compression = compression, .tile = tile }),
                            fmt::format("{} {} {}", name(c), compression, tile));
            }
    for (const char *compression : { "pxr24", "b44", "b44a", "dwaa", "dwab" }) {
        Image a(64, 64, RGB, Component::F16);
        for (size_t i = 0; i < a.pixels() * 3; ++i)
            a.set(i / 3 % 64, i / 192, i % 3, double(i / 192) / 64);
        EXPECT_LT(compare_images(a, through("exr", a, { .compression = compression })).maximum,
                  0.02)
            << compression;
    }
    EXPECT_NE(user_error([] {
                  through("exr", Image(1, 1, RGB), { .compression = "lzw" });
              }).find("no compression is called \"lzw\"; use one of none, rle"),
              std::string::npos);
}

TEST(ImageFormats, ExrKeepsMetadataOfEveryKind) {
    Image a = random_image(14, 3, 3, RGB, Component::F32);
    TransformData t = TransformData::translate({ 1, 2, 3 }) * TransformData::scale({ 1, 2, 0.1 });
    a.metadata["comment"] = std::string("a scene");
    a.metadata["spp"] = 64.0;
    a.metadata["seconds"] = 0.1;
    a.metadata["to_world"] = t;
    EXPECT_EQ(through("exr", a).metadata, a.metadata);
    Image b = through("png", convert(a, Component::U8));
    EXPECT_EQ(std::get<std::string>(b.metadata.at("comment")), "a scene");
}

TEST(ImageFormats, RadianceHasRelativePrecisionOfAByte) {
    for (size_t width : { 1, 7, 8, 300 }) {
        Image a = patchy(RGB, Component::F32, false, width);
        for (size_t i = 0; i < a.pixels() * 3; ++i)
            a.data<float>()[i] *= std::pow(10.f, float(i / 3 % 60) - 30);
        Image b = through("hdr", a);
        ASSERT_EQ(b.channels(), RGB);
        for (size_t i = 0; i < a.pixels(); ++i) {
            const float *p = a.data<float>() + 3 * i, *q = b.data<float>() + 3 * i;
            float top = std::max({ p[0], p[1], p[2] });
            for (size_t c = 0; c < 3; ++c)
                EXPECT_NEAR(p[c], q[c], top / 255) << i;
        }
    }
    Image one(8, 1, RGB, Component::F32);
    std::fill_n(one.data<float>(), 24, 1.f);
    EXPECT_EQ(through("hdr", one).get(3, 0, 1), 1);
}

TEST(ImageFormats, RadianceReadsOldRunsExposureAndEveryUprightOrientation) {
    std::string head = "#?RADIANCE\n# made by hand\nEXPOSURE=2\nFORMAT=32-bit_rle_rgbe\n\n";
    std::string pixels("\x80\x40\x20\x81"
                       "\x01\x01\x01\x02"
                       "\x00\x80\x00\x82",
                       12);
    std::string upright = head + "-Y 1 +X 4\n" + pixels, mirrored = head + "+Y 1 -X 4\n" + pixels;
    Image a = read_image(upright.data(), upright.size(), "a.hdr");
    Image b = read_image(mirrored.data(), mirrored.size(), "b.hdr");
    for (size_t x = 0; x < 3; ++x)
        EXPECT_EQ(a.get(x, 0, 0), 0.5) << x; // 1 before division by the exposure
    EXPECT_EQ(a.get(3, 0, 1), 1);
    EXPECT_EQ(b.get(0, 0, 1), 1);
}

TEST(ImageFormats, JpegIsCloseToSmoothPictures) {
    for (const auto &channels : { Y, RGB }) {
        Image a(64, 48, channels, Component::U8, true);
        for (size_t y = 0; y < 48; ++y)
            for (size_t x = 0; x < 64; ++x)
                for (size_t c = 0; c < channels.size(); ++c)
                    a.set(x, y, c, (double(x) * double(c + 1) / 3 + double(y)) / 112);
        Image b = through("jpg", a);
        EXPECT_EQ(b.channels(), channels);
        a.set_srgb(false);
        b.set_srgb(false);
        EXPECT_LT(compare_images(a, b).maximum, 3 / 255.0);
    }
}

TEST(ImageFormats, FloatsBecomeSrgbAndColoursBecomeRgbWhereAFormatNeedsIt) {
    Image a(1, 1, { "X", "Y", "Z", "A" }, Component::F32);
    Colour3 white = white_xyz();
    for (size_t c = 0; c < 3; ++c)
        a.set(0, 0, c, 0.5 * white[c]);
    a.set(0, 0, 3, 1);
    for (const char *e : { "png", "jpg", "tga", "bmp", "ppm" }) {
        Image b = through(e, a);
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(b.bytes()[c], 188, 1) << e;
    }
    Image deep = through("png", a, { .component = Component::U16 });
    EXPECT_EQ(deep.component(), Component::U16);
    EXPECT_NEAR(deep.get(0, 0, 0), srgb_encode(0.5), 1e-4);
}

TEST(ImageFormats, TextAndBitmapsOfTheAnymapFamilyAreRead) {
    struct Case {
        std::string file;
        std::vector<int> want;
    };
    for (const Case &c :
         { Case{ "P1\n# bits\n3 2\n101\n0 1 0", { 0, 255, 0, 255, 0, 255 } },
           Case{ "P2 2 1 15 0 15", { 0, 255 } }, Case{ "P3\n1 1\n255\n1 2 # x\n3\n", { 1, 2, 3 } },
           Case{ std::string("P4\n3 2\n\xa0\x40", 9), { 0, 255, 0, 255, 0, 255 } } }) {
        Image a = read_image(c.file.data(), c.file.size(), "x.ppm");
        for (size_t i = 0; i < c.want.size(); ++i)
            EXPECT_EQ(a.bytes()[i], c.want[i]) << c.file << " " << i;
    }
}

TEST(ImageFormats, BitmapsWithPalettesAndRunsAreRead) {
    auto file = [](int bits, int compression, int width, int height, const std::string &pixels) {
        std::string f(54, '\0'), palette("\x00\x00\xff\x00"
                                         "\x00\xff\x00\x00"
                                         "\xff\x00\x00\x00",
                                         12);
        auto put = [&](size_t at, uint32_t v) { std::memcpy(&f[at], &v, 4); };
        f[0] = 'B', f[1] = 'M';
        put(10, 66), put(14, 40), put(18, uint32_t(width)), put(22, uint32_t(height));
        put(26, uint32_t(1 | bits << 16)), put(30, uint32_t(compression)), put(46, 3);
        return f + palette + pixels;
    };
    // Two rows of four: red green blue red, then (above it) four times green
    const std::vector<int> bottom = { 0, 1, 2, 0 }, top = { 1, 1, 1, 1 };
    std::string flat8("\0\1\2\0\1\1\1\1", 8), flat4("\x01\x20\0\0\x11\x11\0\0", 8);
    std::string rle8("\0\4\0\1\2\0\0\0\4\1\0\1", 12), rle4("\0\4\x01\x20\0\0\4\x11\0\1", 10);
    for (const std::string &f : { file(8, 0, 4, 2, flat8), file(4, 0, 4, 2, flat4),
                                  file(8, 1, 4, 2, rle8), file(4, 2, 4, 2, rle4) }) {
        Image a = read_image(f.data(), f.size(), "x.bmp");
        for (size_t x = 0; x < 4; ++x)
            for (size_t c = 0; c < 3; ++c) {
                EXPECT_EQ(a.get(x, 1, c), bottom[x] == int(c)) << x << " " << c;
                EXPECT_EQ(a.get(x, 0, c), top[x] == int(c)) << x << " " << c;
            }
    }
}

class ImageFiles : public testing::Test {
protected:
    fs::path folder = fs::path(testing::TempDir()) / fmt::format("umbel-images-{}", getpid());
    void SetUp() override { fs::create_directories(folder); }
    void TearDown() override { fs::remove_all(folder); }
};

TEST_F(ImageFiles, AreRecognizedByTheirContent) {
    Image a = random_image(15, 4, 4, RGB, Component::U8, true);
    for (const std::string &e : image_extensions()) {
        write_image(folder / ("a." + e), a);
        fs::path other =
            folder / (e == "tga" ? "b.tga" : "b.dat"); // TGA has no signature at its start
        fs::copy_file(folder / ("a." + e), other, fs::copy_options::overwrite_existing);
        EXPECT_EQ(read_image(other).width(), 4u) << e;
    }
}

TEST_F(ImageFiles, AreReplacedWholeAndLeaveNothingBehind) {
    Image a = random_image(16, 4, 4, RGB, Component::F32);
    write_image(folder / "a.exr", Image(1, 1, RGB));
    write_image(folder / "a.exr", a);
    expect_same(a, read_image(folder / "a.exr"), "a.exr");
    EXPECT_THROW(write_image(folder / "a.exr", Image(0, 0, RGB)), UserError);
    expect_same(a, read_image(folder / "a.exr"), "a.exr");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
    EXPECT_NE(
        user_error([&] { write_image(folder / "none" / "a.exr", a); }).find("cannot be written"),
        std::string::npos);
}

TEST_F(ImageFiles, ErrorsNameTheFileAndARemedy) {
    auto error_of = [&](const std::string &name, const std::string &content) {
        std::ofstream(folder / name, std::ios::binary) << content;
        return user_error([&] { read_image(folder / name); }).substr(folder.string().size() + 1);
    };
    EXPECT_EQ(error_of("a.png", ""), "a.png: the file is empty; get a complete copy");
    EXPECT_EQ(
        error_of("b.exr", "hello world"),
        "b.exr: not an image of a known format; convert it to one of EXR, PNG, JPEG, PFM, HDR, "
        "PPM, BMP, TGA");
    EXPECT_EQ(error_of("c.pfm", "PF\n2 2\n-1\nabc"),
              "c.pfm: PFM: the file ends too early, after 13 bytes; get a complete copy");
    EXPECT_EQ(error_of("d.ppm", "P6 2000000 2 255\n"),
              "d.ppm: PPM: 2000000 x 2 pixels; sides of up to 1048576 are allowed: scale it down");
    EXPECT_EQ(error_of("e.ppm", "P6 60000 60000 255\n"),
              "e.ppm: PPM: 60000 x 60000 pixels of 3 channels take 10.1 GiB; up to 8.0 GiB are "
              "allowed: scale it down, or raise the limit with --max-image or UMBEL_MAX_IMAGE");
    EXPECT_EQ(error_of("f.ppm", "P6 6000 6000 255\n"),
              "f.ppm: PPM: 17 bytes cannot hold 6000 x 6000 pixels; get a complete copy");
    EXPECT_NE(
        user_error([&] { read_image(folder / "none.png"); }).find("cannot be read: No such file"),
        std::string::npos);
    EXPECT_NE(user_error([&] { read_image(folder); }).find("is a folder"), std::string::npos);
    EXPECT_NE(user_error([&] {
                  write_image(folder / "x.gif", Image(1, 1, RGB));
              }).find("no image format has the extension \"gif\"; use one of .exr, .png"),
              std::string::npos);
}

} // namespace
} // namespace umbel
