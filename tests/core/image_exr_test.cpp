// tests/core/image_exr_test.cpp: EXR files of kinds that we do not write ourselves, made with OpenEXR 3.1.
#include "core/image_io.h"
#include "support/image_samples.h"
#include <gtest/gtest.h>

namespace umbel {
namespace {

std::string from_hex(const std::string &hex) {
    std::string out;
    for (size_t i = 0; i < hex.size(); i += 2)
        out += char(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
}

Image read(const std::string &hex) {
    std::string bytes = from_hex(hex);
    return read_image(bytes.data(), bytes.size(), "x.exr");
}

// Two parts of 2 x 1 pixels: "first" with Y = 1.5, -2, "second" with Z
const char *const TwoParts =
    "762f3101021000006368616e6e656c730063686c697374001300000059000200000000000000010000000100"
    "0000006368756e6b436f756e7400696e74000400000001000000636f6d7072657373696f6e00636f6d707265"
    "7373696f6e0001000000006461746157696e646f7700626f7832690010000000000000000000000001000000"
    "00000000646973706c617957696e646f7700626f783269001000000000000000000000000100000000000000"
    "6c696e654f72646572006c696e654f726465720001000000006e616d6500737472696e670005000000666972"
    "7374706978656c417370656374526174696f00666c6f617400040000000000803f73637265656e57696e646f"
    "7743656e746572007632660008000000000000000000000073637265656e57696e646f77576964746800666c"
    "6f617400040000000000803f7479706500737472696e67000d0000007363616e6c696e65696d616765006368"
    "616e6e656c730063686c69737400130000005a0002000000000000000100000001000000006368756e6b436f"
    "756e7400696e74000400000001000000636f6d7072657373696f6e00636f6d7072657373696f6e0001000000"
    "006461746157696e646f7700626f783269001000000000000000000000000100000000000000646973706c61"
    "7957696e646f7700626f7832690010000000000000000000000001000000000000006c696e654f7264657200"
    "6c696e654f726465720001000000006e616d6500737472696e6700060000007365636f6e64706978656c4173"
    "70656374526174696f00666c6f617400040000000000803f73637265656e57696e646f7743656e7465720076"
    "32660008000000000000000000000073637265656e57696e646f77576964746800666c6f6174000400000000"
    "00803f7479706500737472696e67000d0000007363616e6c696e65696d6167650000c602000000000000da02"
    "0000000000000000000000000000080000000000c03f000000c00100000000000000080000000000e0400000"
    "0041";

// A data window from (-3, 5) to (-2, 5) in a display window of 10 x 10: Y = 1.5, -2
const char *const Offset =
    "762f3101020000006368616e6e656c730063686c697374001300000059000200000000000000010000000100"
    "000000636f6d7072657373696f6e00636f6d7072657373696f6e0001000000006461746157696e646f770062"
    "6f7832690010000000fdffffff05000000feffffff05000000646973706c617957696e646f7700626f783269"
    "0010000000000000000000000009000000090000006c696e654f72646572006c696e654f7264657200010000"
    "0000706978656c417370656374526174696f00666c6f617400040000000000803f73637265656e57696e646f"
    "7743656e746572007632660008000000000000000000000073637265656e57696e646f77576964746800666c"
    "6f617400040000000000803f001d0100000000000005000000080000000000c03f000000c0";

// 2 x 2 pixels, chroma BY at half the resolution
const char *const Subsampled =
    "762f3101020000006368616e6e656c730063686c697374002600000042590002000000000000000200000002"
    "00000059000200000000000000010000000100000000636f6d7072657373696f6e00636f6d7072657373696f"
    "6e0001000000006461746157696e646f7700626f783269001000000000000000000000000100000001000000"
    "646973706c617957696e646f7700626f7832690010000000000000000000000001000000010000006c696e65"
    "4f72646572006c696e654f72646572000100000000706978656c417370656374526174696f00666c6f617400"
    "040000000000803f73637265656e57696e646f7743656e746572007632660008000000000000000000000073"
    "637265656e57696e646f77576964746800666c6f617400040000000000803f0038010000000000004c010000"
    "00000000000000000c0000000000a0400000803f0000004001000000080000000000404000008040";

// 4 x 4 pixels of the colour (0.5, 0.25, 1), twice that in the first row: luminance, and chroma RY and BY at half the resolution
const char *const Chroma =
    "762f3101020000006368616e6e656c730063686c697374003900000042590001000000010000000200000002"
    "0000005259000100000001000000020000000200000059000100000000000000010000000100000000636f6d"
    "7072657373696f6e00636f6d7072657373696f6e0001000000006461746157696e646f7700626f7832690010"
    "00000000000000000000000300000003000000646973706c617957696e646f7700626f783269001000000000"
    "0000000000000003000000030000006c696e654f72646572006c696e654f7264657200010000000070697865"
    "6c417370656374526174696f00666c6f617400040000000000803f73637265656e57696e646f7743656e7465"
    "72007632660008000000000000000000000073637265656e57696e646f77576964746800666c6f6174000400"
    "00000000803f005b01000000000000730100000000000083010000000000009b010000000000000000000010"
    "000000403f403f60366036b839b839b839b8390100000008000000b835b835b835b835020000001000000040"
    "3f403f60366036b835b835b835b8350300000008000000b835b835b835b835";

// One pixel with one sample of depth
const char *const Deep =
    "762f3101020800006368616e6e656c730063686c697374001300000059000200000000000000010000000100"
    "0000006368756e6b436f756e7400696e74000400000001000000636f6d7072657373696f6e00636f6d707265"
    "7373696f6e0001000000006461746157696e646f7700626f7832690010000000000000000000000000000000"
    "00000000646973706c617957696e646f7700626f783269001000000000000000000000000000000000000000"
    "6c696e654f72646572006c696e654f72646572000100000000706978656c417370656374526174696f00666c"
    "6f617400040000000000803f73637265656e57696e646f7743656e7465720076326600080000000000000000"
    "00000073637265656e57696e646f77576964746800666c6f617400040000000000803f747970650073747269"
    "6e67000c000000646565707363616e6c696e6576657273696f6e00696e740004000000010000000064010000"
    "0000000000000000040000000000000004000000000000000400000000000000010000000000c03f";

TEST(ImageExr, TheFirstOfSeveralPartsIsRead) {
    Image a = read(TwoParts);
    ASSERT_EQ(a.channels(), std::vector<std::string>{ "Y" });
    ASSERT_EQ(a.width(), 2u);
    EXPECT_EQ(a.get(0, 0, 0), 1.5);
    EXPECT_EQ(a.get(1, 0, 0), -2);
}

TEST(ImageExr, TheDataWindowMayLieAnywhere) {
    Image a = read(Offset);
    ASSERT_EQ(a.pixels(), 2u);
    EXPECT_EQ(a.get(0, 0, 0), 1.5);
    EXPECT_EQ(a.get(1, 0, 0), -2);
}

TEST(ImageExr, ChannelsOfLessResolutionAreRepeated) {
    Image a = read(Subsampled);
    int coarse = a.find_channel("BY"), fine = a.find_channel("Y");
    ASSERT_GE(coarse, 0);
    ASSERT_GE(fine, 0);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(a.get(i % 2, i / 2, size_t(fine)), double(i + 1));
        EXPECT_EQ(a.get(i % 2, i / 2, size_t(coarse)), 5);
    }
}

TEST(ImageExr, LuminanceAndChromaAreReadAsColours) {
    Image a = read(Chroma);
    ASSERT_EQ(a.channels(), (std::vector<std::string>{ "R", "G", "B" }));
    const double colour[] = { 0.5, 0.25, 1 };
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 4; ++x)
            for (size_t c = 0; c < 3; ++c) { // luminance has 7 bits
                double expected = colour[c] * (y == 0 ? 2 : 1);
                EXPECT_NEAR(a.get(x, y, c), expected, 0.01 * expected) << x << y << c;
            }
}

TEST(ImageExr, NumbersInNamesOfChannelsAreOrderedByValue) {
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i)
        names.push_back(fmt::format("{}", i));
    for (int i = 0; i < 12; ++i)
        names.push_back(fmt::format("layer.ch{}", i));
    Image image(2, 1, names);
    for (size_t c = 0; c < names.size(); ++c)
        image.set(1, 0, c, double(c));
    std::string bytes = encode_image("exr", image);
    Image back = read_image(bytes.data(), bytes.size(), "x.exr");
    ASSERT_EQ(back.channels(), names);
    for (size_t c = 0; c < names.size(); ++c)
        EXPECT_EQ(back.get(1, 0, c), double(c));
}

TEST(ImageExr, WhatCannotBeReadSaysWhy) {
    EXPECT_EQ(test::user_error([] { read(Deep); }),
              "x.exr: EXR: it has deep pixels only; flatten it");
}

TEST(ImageExr, EveryCutGivesAnError) {
    for (const char *hex : { Offset, Subsampled, Chroma, Deep })
        for (size_t n = 8; n < std::string(hex).size(); n += 2)
            EXPECT_NE(test::user_error([&] { read(std::string(hex).substr(0, n)); }), "") << n;
}

TEST(ImageExr, ACutGoesUnnoticedOnlyInPartsThatAreNotRead) {
    std::string all = TwoParts;
    const size_t second =
        2 * 16; // hex digits of the second part's pixels and their head, at the end
    for (size_t n = 8; n < all.size(); n += 2)
        try {
            EXPECT_EQ(read(all.substr(0, n)).get(0, 0, 0), 1.5);
            EXPECT_GE(n, all.size() - second - 2 * 4);
        } catch (const UserError &) {
        }
}

// The limit on what a small file may claim to hold leaves room for every compression at its best.
TEST(ImageExr, FlatImagesAreReadWhateverTheirCompression) {
    for (const char *c :
         { "none", "rle", "zips", "zip", "piz", "pxr24", "b44", "b44a", "dwaa", "dwab" })
        for (Component type : { Component::F16, Component::F32 }) {
            Image flat(4096, 64, { "R", "G", "B", "A" }, type);
            std::string bytes = encode_image("exr", flat, { .compression = c });
            Image back = read_image(bytes.data(), bytes.size(), "flat.exr");
            EXPECT_EQ(back.get(4095, 63, 3), 0) << c;
        }
}

// ZIP's blocks of 16 rows are our own; the library reads them. Noise grows when it is deflated, and is stored as it is.
TEST(ImageExr, WhatWeDeflateTheLibraryReads) {
    for (Component type : { Component::F16, Component::F32, Component::U32 })
        for (size_t height : { 1, 15, 16, 17, 50 })
            for (size_t width : { 1, 7, 64 })
                for (bool noisy : { false, true }) {
                    Image a(width, height, { "R", "G", "B", "A", "depth.Z", "B2" }, type);
                    uint32_t state = 1;
                    for (size_t i = 0; i < a.pixels() * a.channel_count(); ++i) {
                        state = state * 747796405u + 2891336453u;
                        double v = noisy ? double(state >> 8) : double(i % 5);
                        a.set(i / 6 % width, i / 6 / width, i % 6,
                              type == Component::F16 ? v / 1000 : v);
                    }
                    std::string bytes = encode_image("exr", a, { .compression = "zip" });
                    Image b = read_image(bytes.data(), bytes.size(), "x.exr");
                    ASSERT_EQ(b.component(), type);
                    for (size_t c = 0; c < 6; ++c) {
                        int from = b.find_channel(a.channels()[c]);
                        ASSERT_GE(from, 0);
                        for (size_t y = 0; y < height; ++y)
                            for (size_t x = 0; x < width; ++x)
                                ASSERT_EQ(a.get(x, y, c), b.get(x, y, size_t(from)))
                                    << width << " x " << height << " at " << x << ", " << y;
                    }
                    size_t raw = a.row_bytes() * height;
                    EXPECT_LT(bytes.size(), raw + 1000);
                    if (!noisy && raw > 10000) {
                        EXPECT_LT(bytes.size(), raw / 4);
                    }
                }
}

} // namespace
} // namespace umbel
