// tests/core/image_test.cpp: component types, encodings, channels, alpha; operations on whole images.
#include "core/image.h"
#include "core/image_ops.h"
#include "jit/value.h"
#include "support/image_samples.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

namespace umbel {
namespace {

using test::random_image;
using test::user_error;

TEST(Image, EightBitSrgbCodesSurviveLinearFloats) {
    Image codes(256, 1, { "Y" }, Component::U8, true);
    for (size_t i = 0; i < 256; ++i)
        codes.bytes()[i] = uint8_t(i);
    for (Component c : { Component::F16, Component::F32, Component::F64 }) {
        Image linear = convert(codes, c, false), back = convert(linear, Component::U8, true);
        EXPECT_NEAR(linear.get(188, 0, 0), 0.5028865, 1e-3);
        for (size_t i = 0; i < 256; ++i)
            EXPECT_EQ(back.bytes()[i], i) << name(c);
    }
}

TEST(Image, SixteenBitCodesSurviveFloatsAndEightBitCodesSurviveSixteen) {
    Image a(65536, 1, { "Y" }, Component::U16, true);
    for (size_t i = 0; i < 65536; ++i)
        a.data<uint16_t>()[i] = uint16_t(i);
    Image b = convert(convert(a, Component::F32, false), Component::U16, true);
    EXPECT_TRUE(std::equal(a.bytes(), a.bytes() + a.byte_count(), b.bytes()));
    Image c(256, 1, { "Y" }, Component::U8, true);
    for (size_t i = 0; i < 256; ++i)
        c.bytes()[i] = uint8_t(i);
    Image d = convert(c, Component::U16, true);
    EXPECT_EQ(d.data<uint16_t>()[255], 65535);
    Image e = convert(d, Component::U8, true);
    EXPECT_TRUE(std::equal(c.bytes(), c.bytes() + 256, e.bytes()));
}

TEST(Image, HalvesBecomeTheFloatsThatKernelsMakeOfThem) {
    Image a(65536, 1, { "Y" }, Component::F16);
    for (size_t i = 0; i < 65536; ++i)
        a.data<jit::half>()[i] = jit::half{ uint16_t(i) };
    Image b = convert(a, Component::F32, false);
    for (size_t i = 0; i < 65536; ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(b.data<float>()[i]),
                  std::bit_cast<uint32_t>(jit::half_to_float(uint16_t(i))))
            << i;
}

TEST(Image, LackOfMemoryIsToldWithTheSize) {
    auto complaint = [](auto &&make) -> std::string {
        try {
            make();
        } catch (const DeviceError &e) {
            return e.what();
        }
        return "nothing";
    };
    std::string said = complaint([] { Image(size_t(1) << 22, 1 << 22, { "R", "G", "B" }); });
    EXPECT_EQ(said.find("an image of 4194304 x 4194304 pixels with 3 channels"), 0u) << said;
    EXPECT_NE(said.find("192.0 TiB"), std::string::npos) << said;
    // Its number of bytes is none of 64 bits
    said = complaint([] { Image(size_t(1) << 40, size_t(1) << 40, { "Y" }); });
    EXPECT_EQ(said.find("an image of "), 0u) << said;
    Image small(2, 2, { "Y" });
    said = complaint([&] { resample(small, 1 << 20, 1 << 20, tent_filter()); });
    EXPECT_NE(said.find("an image of 1048576 x 1048576 pixels"), std::string::npos) << said;
}

TEST(Image, AlphaIsNeverEncoded) {
    Image a(1, 1, { "R", "G", "B", "A" }, Component::F32);
    for (size_t c = 0; c < 4; ++c)
        a.set(0, 0, c, 0.5);
    Image b = convert(a, Component::U8);
    EXPECT_EQ(b.bytes()[0], 188);
    EXPECT_EQ(b.bytes()[3], 128);
}

TEST(Image, IntegersClampAndTurnNansIntoZero) {
    Image a(5, 1, { "Y" }, Component::F32);
    const double values[] = { -1, 0.5, 7, NAN, INFINITY };
    for (size_t i = 0; i < 5; ++i)
        a.set(i, 0, 0, values[i]);
    Image b = convert(a, Component::U16, false);
    const uint16_t want[] = { 0, 32768, 65535, 0, 65535 };
    for (size_t i = 0; i < 5; ++i)
        EXPECT_EQ(b.data<uint16_t>()[i], want[i]) << i;
}

TEST(Image, WrongTypesAndDoubleNamesAreErrors) {
    Image a(1, 1, { "Y" }, Component::U8);
    EXPECT_EQ(user_error([&] { a.data<float>(); }), "the image holds u8, not f32; use convert()");
    EXPECT_EQ(user_error([] { Image(1, 1, { "R", "R" }); }),
              "an image cannot have two channels called \"R\"");
}

TEST(Image, ChannelsAreChosenByNameAndByLayer) {
    Image a = random_image(1, 3, 2, { "R", "G", "B", "normal.X", "normal.Y", "normal.Z", "id" },
                           Component::F32);
    Image b = select_channels(a, { "B", "id", "R" });
    EXPECT_EQ(b.channels(), (std::vector<std::string>{ "B", "id", "R" }));
    EXPECT_EQ(b.get(2, 1, 1), a.get(2, 1, 6));
    EXPECT_EQ(layers(a), (std::vector<std::string>{ "", "normal" }));
    Image n = select_layer(a, "normal");
    EXPECT_EQ(n.channels(), (std::vector<std::string>{ "X", "Y", "Z" }));
    EXPECT_EQ(n.get(1, 1, 2), a.get(1, 1, 5));
    EXPECT_EQ(user_error([&] { select_channels(n, { "Q" }); }),
              "the image has no channel \"Q\"; it has \"X\", \"Y\", \"Z\"");
    EXPECT_EQ(user_error([&] { select_layer(a, "depth"); }),
              "the image has no layer \"depth\"; it has \"\", \"normal\"");
}

TEST(Image, ColourModelsInvert) {
    Image a = random_image(2, 4, 4, { "R", "G", "B" }, Component::F64);
    Image b = to_model(to_model(a, ColourModel::Xyz, true), ColourModel::Rgb, false);
    EXPECT_LT(compare_images(a, b).maximum, 1e-12);
    Image y = to_model(a, ColourModel::Y, false), z = to_model(a, ColourModel::Xyz, false);
    EXPECT_NEAR(y.get(1, 2, 0), z.get(1, 2, 1), 1e-14);
    Image grey = to_model(y, ColourModel::Rgb, true);
    EXPECT_EQ(grey.get(3, 1, 2), y.get(3, 1, 0));
    EXPECT_EQ(grey.get(3, 1, 3), 1);
    Image odd = random_image(3, 1, 1, { "depth" }, Component::F32);
    EXPECT_NE(user_error([&] { colour_model(odd); }).find("\"depth\" is not a picture"),
              std::string::npos);
}

TEST(Image, PremultiplicationInverts) {
    Image a = random_image(4, 5, 5, { "R", "A", "x.Y", "x.A" }, Component::F64);
    Image p = premultiply(a);
    EXPECT_EQ(p.get(2, 3, 0), a.get(2, 3, 0) * a.get(2, 3, 1));
    EXPECT_EQ(p.get(2, 3, 2), a.get(2, 3, 2) * a.get(2, 3, 3));
    EXPECT_EQ(p.get(2, 3, 3), a.get(2, 3, 3));
    EXPECT_LT(compare_images(a, unpremultiply(p)).maximum, 1e-14);
}

TEST(Resample, KeepsConstantsUnderEveryFilterAndBoundary) {
    Image a(7, 5, { "R", "G" }, Component::F64);
    for (size_t i = 0; i < 35; ++i) {
        a.data<double>()[2 * i] = 1;
        a.data<double>()[2 * i + 1] = 0.25;
    }
    FilterFunction gauss{ 2, [](double x) { return std::exp(-2 * x * x); } };
    for (const FilterFunction &f : { box_filter(), tent_filter(), lanczos_filter(), gauss })
        for (Boundary b : { Boundary::Clamp, Boundary::Repeat, Boundary::Mirror })
            for (auto [w, h] : { std::pair{ 3, 2 }, { 7, 5 }, { 20, 11 }, { 1, 1 } }) {
                Image r = resample(a, size_t(w), size_t(h), f, b, b);
                for (size_t i = 0; i < r.pixels(); ++i) {
                    EXPECT_NEAR(r.data<double>()[2 * i], 1, 1e-12);
                    EXPECT_NEAR(r.data<double>()[2 * i + 1], 0.25, 1e-12);
                }
            }
    Image one = resample(a, 14, 10, tent_filter(), Boundary::One, Boundary::One);
    EXPECT_NEAR(one.get(0, 0, 0), 1, 1e-12);
    EXPECT_GT(one.get(0, 0, 1), 0.25);
    EXPECT_LT(resample(a, 14, 10, tent_filter(), Boundary::Zero, Boundary::Zero).get(0, 0, 0), 1);
}

TEST(Resample, BoxAveragesBlocksAndTheSameSizeChangesNothing) {
    Image a = random_image(5, 8, 6, { "R", "G", "B" }, Component::F64);
    Image half = resample(a, 4, 3, box_filter());
    double want = (a.get(2, 2, 1) + a.get(3, 2, 1) + a.get(2, 3, 1) + a.get(3, 3, 1)) / 4;
    EXPECT_NEAR(half.get(1, 1, 1), want, 1e-14);
    EXPECT_LT(compare_images(a, resample(a, 8, 6, lanczos_filter())).maximum, 1e-14);
}

TEST(Resample, TentReproducesStraightLines) {
    Image a(10, 1, { "Y" }, Component::F64);
    for (size_t i = 0; i < 10; ++i)
        a.set(i, 0, 0, double(i) + 0.5);
    Image b = resample(a, 30, 1, tent_filter());
    for (size_t i = 3; i < 27; ++i)
        EXPECT_NEAR(b.get(i, 0, 0), (double(i) + 0.5) / 3, 1e-12);
}

TEST(Resample, AveragesLightNotCodes) {
    Image a(2, 1, { "Y" }, Component::U8, true);
    a.bytes()[1] = 255;
    EXPECT_EQ(resample(a, 1, 1, box_filter()).bytes()[0], 188);
}

TEST(Crop, TakesARectangleAndRefusesOneThatSticksOut) {
    Image a = random_image(6, 8, 6, { "R", "G" }, Component::F16);
    Image b = crop(a, 3, 1, 4, 5);
    EXPECT_EQ(b.get(2, 3, 1), a.get(5, 4, 1));
    EXPECT_NE(user_error([&] { crop(a, 5, 1, 4, 5); }).find("not inside an image of 8 x 6"),
              std::string::npos);
}

TEST(Tonemap, AppliesExposureBalanceAndGamma) {
    Image a(1, 1, { "R", "G", "B", "A" }, Component::F32);
    for (size_t c = 0; c < 4; ++c)
        a.set(0, 0, c, 0.25);
    Image b = tonemap(a, { .exposure = 1, .balance = { 1, 0.5, 0 } });
    EXPECT_EQ(b.bytes()[0], 188); // 0.5
    EXPECT_EQ(b.bytes()[1], 137); // 0.25
    EXPECT_EQ(b.bytes()[2], 0);
    EXPECT_EQ(b.bytes()[3], 64);
    Image c = tonemap(a, { .multiplier = 2, .gamma = 2 });
    EXPECT_EQ(c.bytes()[0], 180); // sqrt(0.5)
}

TEST(Tonemap, ReinhardMapsTheMaximumToWhiteAndTheAverageToTheKey) {
    Image a(100, 1, { "R", "G", "B" }, Component::F32);
    for (size_t x = 0; x < 100; ++x)
        for (size_t c = 0; c < 3; ++c)
            a.set(x, 0, c, x == 0 ? 1000.0 : 1.0);
    Image b = tonemap(a, { .reinhard = Reinhard{} });
    EXPECT_EQ(b.bytes()[0], 255);
    LuminanceStatistics s = luminance_statistics(a);
    double lp = 0.18 / s.log_average, white = 1000 * lp,
           y = lp * (1 + lp / (white * white)) / (1 + lp);
    EXPECT_EQ(b.bytes()[3], uint8_t(srgb_encode(y) * 255 + 0.5));
    EXPECT_NE(user_error([&] { tonemap(a, { .reinhard = Reinhard{ .key = 2 } }); }).find("key 2"),
              std::string::npos);
}

TEST(Compare, MeasuresKnownDifferences) {
    Image a(2, 2, { "R", "G" }, Component::F32), b = a.with_channels({ "G", "R" });
    for (size_t i = 0; i < 4; ++i)
        b.set(i % 2, i / 2, 1, 1);
    b.set(1, 0, 1, 3);
    ImageDifference d = compare_images(a, b); // channel R differs by 1, 3, 1, 1; G by nothing
    EXPECT_NEAR(d.mse, (1 + 9 + 1 + 1) / 8.0, 1e-12);
    EXPECT_NEAR(d.rmse, std::sqrt(1.5), 1e-12);
    EXPECT_NEAR(d.relative_mse, (3 / 1.01 + 9 / 9.01) / 8, 1e-12);
    EXPECT_EQ(d.maximum, 3);
    EXPECT_EQ(d.x, 1u);
    EXPECT_EQ(d.y, 0u);
    EXPECT_EQ(d.channel, "R");
    EXPECT_EQ(d.not_finite, 0u);
    b.set(0, 0, 0, NAN);
    EXPECT_EQ(compare_images(a, b).not_finite, 1u);
    EXPECT_NE(user_error([&] { compare_images(a, Image(2, 3, { "R", "G" })); }).find("same size"),
              std::string::npos);
}

} // namespace
} // namespace umbel
