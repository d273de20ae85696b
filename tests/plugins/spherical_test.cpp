// tests/plugins/spherical_test.cpp: maps of all directions.
#include "core/image_io.h"
#include "support/scenes.h"
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendSpherical : public VariantTest {};
UMBEL_VARIANTS(BackendSpherical, "interp_rgb", "llvm_rgb_double")

// An image of an environment map is that map, up to the interpolation between its pixels: its first and last row are the
// poles, as in Mitsuba 3, so rows of the image lie in between.
TEST_P(BackendSpherical, ShowsEnvironmentMapsAsTheyAre) {
    auto file = std::filesystem::temp_directory_path() / fmt::format("umbel_sky_{}.exr", getpid());
    Image sky(16, 8, { "R", "G", "B" }, Component::F32);
    auto value = [](size_t x, double y, double amplitude) {
        return 1 + amplitude * std::cos(TwoPi * (double(x) + 0.5) / 16 + 1) + y / 8;
    };
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 16; ++x)
            for (size_t c = 0; c < 3; ++c)
                sky.set(x, y, c, value(x, double(y), 0.5));
    write_image(file, sky);
    std::string turn = "<transform name='to_world'><rotate x='1' y='2' angle='70'/></transform>";
    for (const std::string &to_world : { std::string(), turn }) {
        Image image = render_image(
            *scene_from(
                "<scene version='3.0.0'><integrator type='path'/><sensor type='spherical'>" +
                to_world +
                "<film type='hdrfilm'><integer name='width' value='16'/><integer "
                "name='height' value='8'/><rfilter type='box'/></film></sensor>"
                "<emitter type='envmap'><string name='filename' value='" +
                file.string() + "'/>" + to_world + "</emitter></scene>"),
            { .spp = 256 });
        // Of linear interpolation, a pixel's mean is 1/8, 3/4 and 1/8 of the values around it
        double left = 0.75 + 0.25 * std::cos(TwoPi / 16);
        for (size_t y = 0; y < 8; ++y)
            for (size_t x = 0; x < 16; ++x)
                EXPECT_NEAR(image.get(x, y, 0), value(x, (double(y) + 0.5) * 7 / 8, 0.5 * left),
                            0.03)
                    << x << ", " << y;
    }
    std::filesystem::remove(file);
}

TEST_P(BackendSpherical, LooksAlongZInTheMiddleAndUpAtTheTop) {
    Ref<Sensor> s = make_object<Sensor>(Properties("sensor", "spherical"));
    auto direction = [&](double x, double y) {
        Ray r = s->sample_ray(Float(0), Float(0.5), { opaque_float(x), opaque_float(y) },
                              { Float(0.5), Float(0.5) }, true)
                    .first;
        return std::array{ read_floats(r.d.x)[0], read_floats(r.d.y)[0], read_floats(r.d.z)[0] };
    };
    auto expect = [&](double x, double y, std::array<double, 3> want) {
        for (size_t k = 0; k < 3; ++k)
            EXPECT_NEAR(direction(x, y)[k], want[k], 1e-6) << x << ", " << y;
    };
    expect(0.5, 0.5, { 0, 0, 1 });
    expect(0.25, 0.5, { 1, 0, 0 });
    expect(0.3, 0, { 0, 1, 0 });
}

} // namespace umbel
