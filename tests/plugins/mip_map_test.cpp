// tests/plugins/mip_map_test.cpp: images that are filtered, and other ways to read one.
#include "core/image_io.h"
#include "render/texture.h"
#include "support/scenes.h"
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendFilteredBitmap : public VariantTest {
protected:
    std::string path = std::filesystem::temp_directory_path() /
                       fmt::format("umbel_mip_{}_{}.exr", getpid(), GetParam());
    ~BackendFilteredBitmap() override { std::filesystem::remove(path); }

    Properties of(const Image &image, const char *filter) const {
        write_image(path, image);
        return Properties("texture", "bitmap")
            .set("filename", path)
            .set("filter_type", filter)
            .set("raw", true);
    }
    static Image grey(size_t width, size_t height,
                      const std::function<double(size_t, size_t)> &value) {
        Image image(width, height, { "Y" }, Component::F32);
        for (size_t y = 0; y < height; ++y)
            for (size_t x = 0; x < width; ++x)
                image.set(x, y, 0, value(x, y));
        return image;
    }
    // Seen by a pixel that covers so much.
    static double at(const Texture &t, double u, double v, std::array<double, 2> dx,
                     std::array<double, 2> dy) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        auto vector = [](double x, double y) {
            return Vector2{ opaque_float(x), opaque_float(y) };
        };
        si.uv = vector(u, v);
        si.duv_dx = vector(dx[0], dx[1]);
        si.duv_dy = vector(dy[0], dy[1]);
        return read_floats(t.eval_1(si, true))[0];
    }
};
UMBEL_VARIANTS(BackendFilteredBitmap, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendFilteredBitmap, LevelsKeepTheMean) {
    Image image = grey(13, 7, [](size_t x, size_t y) { return 0.2 + double((x * 7 + y * 3) % 5); });
    double mean = channel_mean(image, 0).mean;
    for (const char *filter : { "trilinear", "ewa" }) {
        auto t = make_object<Texture>(of(image, filter));
        EXPECT_NEAR(at(*t, 0.3, 0.6, { 30, 0 }, { 0, 30 }), mean, 0.05 * mean) << filter;
    }
}

// Where a pixel sees less than a texel, and where nothing is known of it.
TEST_P(BackendFilteredBitmap, ShowsTheImageItselfFromNearby) {
    Image image = grey(8, 8, [](size_t x, size_t y) { return double((x * 5 + y * 3) % 7); });
    auto plain = make_object<Texture>(of(image, "bilinear"));
    for (const char *filter : { "trilinear", "ewa" }) {
        auto t = make_object<Texture>(of(image, filter));
        for (auto [u, v] : { std::pair(0.31, 0.62), std::pair(0.97, 0.01) }) {
            double want = at(*plain, u, v, { 0, 0 }, { 0, 0 });
            EXPECT_NEAR(at(*t, u, v, { 0.05, 0 }, { 0, 0.05 }), want, 1e-5) << filter;
            EXPECT_NEAR(at(*t, u, v, { 0, 0 }, { 0, 0 }), want, 1e-5) << filter;
            SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
            si.uv = { opaque_float(u), opaque_float(v) };
            EXPECT_NEAR(read_floats(t->eval_1(si, true))[0], want, 1e-5) << filter;
        }
    }
}

// Rows of black and white, seen by a pixel that is long across the rows' direction, or along it.
TEST_P(BackendFilteredBitmap, EllipsesFollowTheirDirection) {
    Image rows = grey(64, 64, [](size_t, size_t y) { return y / 4 % 2 ? 1.0 : 0.0; });
    auto ewa = make_object<Texture>(of(rows, "ewa")),
         tri = make_object<Texture>(of(rows, "trilinear"));
    double middle = 6.0 / 64; // of a white row
    EXPECT_NEAR(at(*ewa, 0.5, middle, { 0.25, 0 }, { 0, 0.01 }), 1, 0.02);
    EXPECT_NEAR(at(*ewa, 0.5, middle, { 0.01, 0 }, { 0, 0.25 }), 0.5, 0.06);
    EXPECT_NEAR(at(*tri, 0.5, middle, { 0.25, 0 }, { 0, 0.01 }), 0.5, 0.06);
    // Along the diagonal of a picture of diagonals
    Image diagonals =
        grey(64, 64, [](size_t x, size_t y) { return (x + 64 - y) / 4 % 2 ? 1.0 : 0.0; });
    auto d = make_object<Texture>(of(diagonals, "ewa"));
    double u = 0.5 + 5.5 / 64;
    EXPECT_NEAR(at(*d, u, 0.5, { 0.1, 0.1 }, { 0.005, -0.005 }), 1, 0.1);
    EXPECT_NEAR(at(*d, u, 0.5, { 0.1, -0.1 }, { 0.005, 0.005 }), 0.5, 0.1);
}

// The average is no longer than allowed: it is widened for that.
TEST_P(BackendFilteredBitmap, AnisotropyIsLimited) {
    Image rows = grey(64, 64, [](size_t, size_t y) { return y / 4 % 2 ? 1.0 : 0.0; });
    auto round = make_object<Texture>(of(rows, "ewa").set("max_anisotropy", 1.0));
    EXPECT_NEAR(at(*round, 0.5, 6.0 / 64, { 0.25, 0 }, { 0, 0.01 }), 0.5, 0.06);
    EXPECT_NE(user_error([&] {
                  make_object<Texture>(of(rows, "ewa").set("max_anisotropy", 0.5));
              }).find("max_anisotropy"),
              std::string::npos);
}

TEST_P(BackendFilteredBitmap, WrapsToConstants) {
    Image two = grey(2, 2, [](size_t, size_t) { return 0.5; });
    auto t =
        make_object<Texture>(of(two, "nearest").set("wrap_mode", "one").set("wrap_mode_v", "zero"));
    auto plain = [&](double u, double v) { return at(*t, u, v, { 0, 0 }, { 0, 0 }); };
    EXPECT_EQ(plain(0.2, 0.7), 0.5);
    EXPECT_EQ(plain(1.2, 0.7), 1);
    EXPECT_EQ(plain(0.2, -0.1), 0);
    EXPECT_EQ(plain(-0.2, -0.1), 1);
    auto b = make_object<Texture>(of(two, "bilinear").set("wrap_mode_u", "zero"));
    EXPECT_EQ(at(*b, 0.0, 0.7, { 0, 0 }, { 0, 0 }), 0.25);
}

TEST_P(BackendFilteredBitmap, TakesOneChannel) {
    Image image(2, 2, { "R", "G", "A", "layer.Z" }, Component::F32);
    for (size_t c = 0; c < 4; ++c)
        for (size_t i = 0; i < 4; ++i)
            image.set(i % 2, i / 2, c, 0.125 * double(c + 1));
    for (auto [name, want] : { std::pair("r", 0.125), std::pair("G", 0.25), std::pair("a", 0.375),
                               std::pair("layer.z", 0.5), std::pair("z", 0.5) })
        EXPECT_EQ(at(*make_object<Texture>(of(image, "bilinear").set("channel", name)), 0.5, 0.5,
                     { 0, 0 }, { 0, 0 }),
                  want)
            << name;
    EXPECT_NE(user_error([&] {
                  make_object<Texture>(of(image, "bilinear").set("channel", "b"));
              }).find("has no channel \"b\"; there are"),
              std::string::npos);
}

TEST_P(BackendFilteredBitmap, DecodesGammaAndStoresHalves) {
    Image image = grey(2, 2, [](size_t, size_t) { return 0.3; });
    auto seen = [&](Properties p) {
        return at(*make_object<Texture>(p), 0.5, 0.5, { 0, 0 }, { 0, 0 });
    };
    Properties p = of(image, "bilinear").set("raw", false);
    EXPECT_NEAR(seen(p), 0.3, 1e-6);
    EXPECT_NEAR(seen(Properties(p).set("gamma", 2.0)), 0.09, 1e-6);
    EXPECT_NEAR(seen(Properties(p).set("gamma", -1.0)), 0.0732390, 1e-5);
    EXPECT_NEAR(seen(Properties(p).set("gamma", 1.0)), 0.3, 1e-6);
    if (variant().colour != Colour::Spectral) {
        double half = seen(Properties(p).set("format", "fp16"));
        EXPECT_NEAR(half, 0.3, 2e-4);
        EXPECT_NE(half, seen(Properties(p).set("format", "variant")));
    }
}

// A floor of fine stripes towards the horizon: filtered, few samples have little noise, and the mean is the same.
TEST_P(BackendFilteredBitmap, CamerasSayWhatPixelsSee) {
    Image stripes = grey(64, 64, [](size_t x, size_t) { return x % 2 ? 1.0 : 0.0; });
    write_image(path, stripes);
    auto image = [&](const char *filter, const char *integrator, int spp) {
        std::string xml = scene_xml(
            fmt::format(
                "<emitter type='constant'/><shape type='rectangle'><transform "
                "name='to_world'><scale value='40'/><rotate x='1' angle='-60'/></transform>"
                "<bsdf type='diffuse'><texture name='reflectance' type='bitmap'><string "
                "name='filename' value='{}'/><string name='filter_type' value='{}'/><boolean "
                "name='raw' value='true'/><transform name='to_uv'><scale value='200'/>"
                "</transform></texture></bsdf></shape>",
                path, filter),
            16, spp, integrator);
        return render_image(*scene_from(xml));
    };
    for (const char *integrator : { "path", "direct" }) {
        Estimate rough = channel_mean(image("bilinear", integrator, 4), 0),
                 fine = channel_mean(image("bilinear", integrator, 256), 0);
        for (const char *filter : { "trilinear", "ewa" }) {
            Estimate smooth = channel_mean(image(filter, integrator, 4), 0);
            EXPECT_LT(smooth.error, 0.5 * rough.error) << filter << " " << integrator;
            EXPECT_NEAR(smooth.mean, fine.mean, 4 * (rough.error + fine.error))
                << filter << " " << integrator;
        }
    }
}

} // namespace umbel
