// tests/plugins/projector_test.cpp: images thrown on walls.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendProjector : public VariantTest {};
UMBEL_VARIANTS(BackendProjector, "interp_rgb", "llvm_rgb_double", "llvm_rgb_polarized")

namespace {
Properties picture() { // 4 x 2 pixels that differ
    auto image =
        std::make_shared<Image>(4, 2, std::vector<std::string>{ "R", "G", "B" }, Component::F32);
    for (size_t i = 0; i < 24; ++i)
        image->set(i / 3 % 4, i / 12, i % 3, 0.1 + double(i));
    return Properties("texture", "bitmap")
        .set("bitmap", std::shared_ptr<const Image>(image))
        .set("filter_type", std::string("nearest"))
        .set("raw", true);
}
} // namespace

// White, and at distance 1, the wall shows the image as it is: x to the right and y down as seen from the projector.
TEST_P(BackendProjector, ShowsItsImageOnAWall) {
    auto lamp = make_object<Emitter>(Properties("emitter", "projector")
                                         .set("fov", 90.0)
                                         .set("scale", 2.0)
                                         .set("irradiance", picture()));
    for (size_t y = 0; y < 2; ++y)
        for (size_t x = 0; x < 4; ++x) {
            SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
            double wall_x = 1 - (double(x) + 0.4) / 2, wall_y = 0.5 * (1 - (double(y) + 0.4));
            si.p = { opaque_float(wall_x), opaque_float(wall_y), Float(1) };
            auto [ds, light] = lamp->sample_direction(si, { Float(0.3), Float(0.7) }, true);
            double cosine = std::abs(read_floats(ds.d.z)[0]);
            for (size_t c = 0; c < 3; ++c)
                EXPECT_NEAR(read_floats(unpolarized(light)[c])[0] * cosine * InvPi,
                            2 * (0.1 + double(12 * y + 3 * x + c)), 1e-3)
                    << x << ", " << y;
        }
}

TEST_P(BackendProjector, LightsNothingBesideItsImage) {
    auto lamp = make_object<Emitter>(
        Properties("emitter", "projector").set("fov", 90.0).set("irradiance", picture()));
    for (auto [x, y, z] : { std::array{ 1.01, 0.0, 1.0 }, std::array{ 0.0, -0.51, 1.0 },
                            std::array{ 0.0, 0.0, -1.0 }, std::array{ 1.0, 0.0, 0.0 } }) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.p = { opaque_float(x), opaque_float(y), opaque_float(z) };
        auto [ds, light] = lamp->sample_direction(si, { Float(0.3), Float(0.7) }, true);
        EXPECT_EQ(read_floats(ds.pdf)[0], 0);
        EXPECT_EQ(read_floats(unpolarized(light)[0])[0], 0);
    }
}

TEST(Projector, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<emitter type='projector'><string name='focal_length' value='wide'/>"
                   "</emitter>",
                   { "focal_length is \"wide\"", "50mm" });
    expect_refused("<shape type='sphere'><emitter type='projector'/></shape>",
                   { "cannot be attached to a shape" });
}

} // namespace umbel
