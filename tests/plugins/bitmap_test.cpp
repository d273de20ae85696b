// tests/plugins/bitmap_test.cpp: textures keep the numbers of their files, in the memory that these need.
#include "core/colour.h"
#include "core/image_io.h"
#include "jit/buffer.h"
#include "support/image_samples.h"
#include "support/scenes.h"

namespace umbel {
namespace {

using namespace test;

class BackendBitmap : public VariantTest {
protected:
    BackendBitmap() {
        folder = std::filesystem::temp_directory_path() /
                 fmt::format("umbel-bitmap-{}-{}", getpid(), GetParam());
        std::filesystem::create_directories(folder);
    }
    ~BackendBitmap() override { std::filesystem::remove_all(folder); }

    Ref<Texture> load(const Image &image, const char *extension, bool raw = false) {
        std::string file = (folder / "t.").string() + extension;
        write_image(file, image, { .component = image.component() });
        return make_object<Texture>(Properties("texture", "bitmap")
                                        .set("filename", file)
                                        .set("filter_type", std::string("nearest"))
                                        .set("raw", raw));
    }
    /// What the texture gives at the middles of all texels, three channels each.
    static std::vector<double> texels(const Texture &t, const Image &image) {
        std::vector<double> u, v, out;
        for (size_t y = 0; y < image.height(); ++y)
            for (size_t x = 0; x < image.width(); ++x) {
                u.push_back((double(x) + 0.5) / double(image.width()));
                v.push_back((double(y) + 0.5) / double(image.height()));
            }
        SurfaceInteraction si;
        si.uv = { make(u), make(v) };
        Spectrum c = t.eval(si, true); // of grey images, three times the same
        std::vector<double> r = values(c[0]), g = values(c[1]), b = values(c[2]);
        for (size_t i = 0; i < u.size(); ++i)
            out.insert(out.end(), { r[i], g[i], b[i] });
        return out;
    }

    std::filesystem::path folder;
};
UMBEL_VARIANTS(BackendBitmap, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

// Bytes of the program's memory that loading `image` takes.
template <class Load> uint64_t bytes_taken(Ref<Texture> &texture, const Load &load) {
    jit::synchronize();
    uint64_t before = jit::memory_stats().in_use;
    texture = load();
    jit::synchronize();
    return jit::memory_stats().in_use - before;
}

TEST_P(BackendBitmap, EveryFormatGivesItsNumbersExactly) {
    struct Case {
        const char *extension;
        std::vector<std::string> channels;
        Component component;
        bool srgb;
    };
    std::vector<std::string> rgb = { "R", "G", "B" }, rgba = { "R", "G", "B", "A" }, y = { "Y" };
    for (const Case &c :
         { Case{ "png", rgb, Component::U8, true }, Case{ "png", rgba, Component::U8, true },
           Case{ "png", y, Component::U8, true }, Case{ "png", rgb, Component::U16, true },
           Case{ "exr", rgb, Component::F16, false }, Case{ "exr", rgba, Component::F16, false },
           Case{ "exr", y, Component::F16, false }, Case{ "exr", rgb, Component::F32, false },
           Case{ "exr", y, Component::F32, false } })
        for (bool raw : { false, true }) {
            Image image = random_image(3, 23, 17, c.channels, c.component, c.srgb);
            Ref<Texture> texture = load(image, c.extension, raw);
            if (raw)
                image.set_srgb(false);
            Image want = to_model(convert(image, Component::F32, false), ColourModel::Rgb, false);
            std::vector<double> got = texels(*texture, image);
            double sum = 0;
            for (size_t i = 0; i < got.size(); ++i)
                ASSERT_EQ(float(got[i]), want.data<float>()[i])
                    << c.extension << " of " << name(c.component) << ", " << c.channels.size()
                    << " channels, raw " << raw << ", number " << i;
            for (size_t i = 0; i < want.pixels(); ++i) {
                const float *p = want.data<float>() + 3 * i;
                sum += luminance({ p[0], p[1], p[2] });
            }
        }
}

TEST_P(BackendBitmap, TexelsTakeTheMemoryOfTheirFiles) {
    constexpr size_t side = 512, pixels = side * side;
    struct Case {
        const char *extension;
        std::vector<std::string> channels;
        Component component;
        uint64_t bytes; // a texel
    };
    std::vector<std::string> rgb = { "R", "G", "B" }, y = { "Y" };
    for (const Case &c :
         { Case{ "png", rgb, Component::U8, 4 }, Case{ "png", y, Component::U8, 1 },
           Case{ "exr", rgb, Component::F16, 8 }, Case{ "exr", y, Component::F16, 2 },
           Case{ "exr", rgb, Component::F32, 16 }, Case{ "exr", y, Component::F32, 4 } }) {
        Image image(side, side, c.channels, c.component, c.component == Component::U8);
        Ref<Texture> texture;
        uint64_t taken = bytes_taken(texture, [&] { return load(image, c.extension); });
        // The allocator rounds up; transforms and tables take a few blocks of their own
        EXPECT_GE(taken, c.bytes * pixels) << name(c.component);
        EXPECT_LE(taken, c.bytes * pixels * 5 / 4 + 65536)
            << name(c.component) << ", " << c.channels.size() << " channels";
    }
}

TEST_P(BackendBitmap, ShowsItsImageAndBlendsBetweenTexels) {
    Image image(2, 2, { "R", "G", "B" }, Component::F32);
    for (size_t c = 0; c < 3; ++c) {
        image.set(0, 0, c, 0.1);
        image.set(1, 0, c, 0.3);
        image.set(0, 1, c, 0.5);
        image.set(1, 1, c, 0.9);
    }
    std::string file = (folder / "t.exr").string();
    write_image(file, image);
    Ref<Texture> texture =
        make_object<Texture>(Properties("texture", "bitmap").set("filename", file));
    auto at = [&](double u, double v) {
        SurfaceInteraction si;
        si.uv = { Float(u), Float(v) };
        return read_floats(texture->eval(si, true)[1])[0];
    };
    EXPECT_NEAR(at(0.25, 0.25), 0.1, 1e-6);
    EXPECT_NEAR(at(0.75, 0.25), 0.3, 1e-6);
    EXPECT_NEAR(at(0.75, 0.75), 0.9, 1e-6);
    EXPECT_NEAR(at(0.5, 0.5), 0.45, 1e-6);
    EXPECT_NEAR(at(1.25, 0.25), 0.1, 1e-6) << "repeats";
    EXPECT_NEAR(at(0.0, 0.25), 0.2, 1e-6) << "blends across the seam";
    EXPECT_NEAR(read_floats(texture->mean_value())[0], 0.45, 1e-6);
}

// Old scenes have opacities of colours
TEST(Bitmap, NumbersOfColoursAreLuminancesWhereColoursAreSpectra) {
    VariantScope scope(find_variant("interp_spectral"));
    Image image(1, 1, { "R", "G", "B" }, Component::F32);
    Colour3 colour{ 0.2, 0.4, 0.8 };
    for (size_t c = 0; c < 3; ++c)
        image.set(0, 0, c, colour[c]);
    Ref<Texture> texture = make_object<Texture>(
        Properties("texture", "bitmap")
            .set("bitmap", std::shared_ptr<const Image>(std::make_shared<Image>(image))));
    SurfaceInteraction si;
    si.uv = { Float(0.5), Float(0.5) };
    EXPECT_NEAR(read_floats(texture->eval_1(si, true))[0], luminance(colour), 1e-6);
}

} // namespace
} // namespace umbel
