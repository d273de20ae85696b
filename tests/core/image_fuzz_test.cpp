// tests/core/image_fuzz_test.cpp: damaged image files give an image or a UserError, nothing else.
#include "core/image_io.h"
#include "support/image_samples.h"
#include <gtest/gtest.h>
#include <random>

namespace umbel {
namespace {

using test::random_image;

struct Sample {
    std::string name, bytes;
};

std::vector<Sample> samples() {
    std::vector<Sample> out;
    Image u8 = random_image(21, 19, 11, { "R", "G", "B", "A" }, Component::U8, true);
    for (size_t x = 3; x < 15; ++x) // something for run-length encoders
        for (size_t c = 0; c < 4; ++c)
            u8.set(x, 5, c, 0.5);
    Image f = random_image(22, 19, 11, { "R", "G", "B", "n.X" }, Component::F16);
    f.metadata["comment"] = std::string("text");
    f.metadata["matrix"] = TransformData();
    for (const char *e : { "png", "jpg", "tga", "bmp", "ppm", "pfm", "hdr" })
        out.push_back({ std::string("x.") + e, encode_image(e, u8) });
    out.push_back({ "deep.png", encode_image("png", u8, { .component = Component::U16 }) });
    for (const char *c : { "none", "rle", "zip", "piz", "pxr24", "b44", "dwaa" })
        for (size_t tile : { 0, 8 })
            out.push_back({ fmt::format("{}-{}.exr", c, tile),
                            encode_image("exr", f, { .compression = c, .tile = tile }) });
    out.push_back({ "text.ppm", "P3\n3 2\n255\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n" });
    return out;
}

/// Reads it; counts what could be read.
int try_to_read(const std::string &bytes, const std::string &name, uint64_t seed) {
    // A heap block of the exact size lets the sanitizer see any overrun
    std::vector<char> exact(bytes.begin(), bytes.end());
    try {
        read_image(exact.data(), exact.size(), name, { .max_bytes = 4 << 20 });
        return 1;
    } catch (const UserError &e) {
        EXPECT_EQ(std::string(e.what()).find(name), 0u) << e.what();
    } catch (const std::exception &e) {
        ADD_FAILURE() << name << ", seed " << seed << ": " << e.what();
    }
    return 0;
}

std::string damage(const std::string &bytes, std::mt19937_64 &rng) {
    std::string s = bytes;
    // Headers are where damage does most harm: half of it goes there
    auto position = [&] {
        return rng() % (rng() % 2 ? s.size() : std::min<size_t>(s.size(), 400));
    };
    switch (rng() % 4) {
    case 0: s.resize(rng() % s.size()); break;
    case 1:
        for (uint64_t n = 1 + rng() % 4; n > 0; --n)
            s[position()] ^= char(1 << rng() % 8);
        break;
    case 2:
        for (uint64_t n = 1 + rng() % 8; n > 0; --n)
            s[position()] = char(rng() % 3 ? rng() : rng() % 2 ? 0xff : 0);
        break;
    default: {
        size_t a = position(), n = std::min<size_t>(1 + rng() % 16, s.size() - a);
        if (rng() % 2)
            s.erase(a, n);
        else
            s.insert(a, s.substr(a, n));
    }
    }
    return s;
}

TEST(ImageFuzz, EveryCutGivesAnErrorOrAnImage) {
    for (const Sample &s : samples())
        for (size_t n = 0; n < s.bytes.size(); n += 1 + s.bytes.size() / 200)
            try_to_read(s.bytes.substr(0, n), s.name, n);
}

TEST(SlowImageFuzz, EveryDamageGivesAnErrorOrAnImage) {
    const char *rounds = std::getenv("UMBEL_FUZZ_ROUNDS");
    uint64_t n = rounds ? strtoull(rounds, nullptr, 10) : 500;
    for (const Sample &s : samples()) {
        int read = 0;
        for (uint64_t seed = 0; seed < n && !testing::Test::HasFailure(); ++seed) {
            std::mt19937_64 rng(seed);
            read += try_to_read(damage(s.bytes, rng), s.name, seed);
        }
        EXPECT_LT(read, int(n)) << s.name << ": nothing was ever found to be wrong";
    }
}

} // namespace
} // namespace umbel
