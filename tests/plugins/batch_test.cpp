// tests/plugins/batch_test.cpp: several sensors, one film.
#include "support/surface.h"

namespace umbel {
using namespace test;

namespace {
const std::string A = "<sensor type='perspective'><float name='fov' value='40'/><transform "
                      "name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/>"
                      "</transform>",
                  B = "<sensor type='thinlens'><float name='fov' value='50'/><float "
                      "name='focus_distance' value='3'/><transform name='to_world'><lookat "
                      "origin='3,1,2' target='0,.2,0' up='0,1,0'/></transform>";
std::string film(int width) {
    return fmt::format("<film type='hdrfilm'><integer name='width' value='{}'/><integer "
                       "name='height' value='6'/><rfilter type='box'/></film><sampler "
                       "type='independent'><integer name='sample_count' value='64'/></sampler>",
                       width);
}
std::string scene(const std::string &sensor, const char *integrator = "path") {
    return fmt::format("<scene version='3.0.0'><integrator type='{}'/>{}<shape type='sphere'>"
                       "<bsdf type='diffuse'/></shape><shape type='rectangle'><transform "
                       "name='to_world'><scale value='2'/><rotate x='1' angle='120'/><translate "
                       "y='3' z='3'/></transform><emitter type='area'><rgb name='radiance' "
                       "value='3,2,1'/></emitter></shape></scene>",
                       integrator, sensor);
}
const std::string Both =
    "<sensor type='batch'>" + A + "</sensor>" + B + "</sensor>" + film(12) + "</sensor>";
} // namespace

class BackendBatch : public VariantTest {};
UMBEL_VARIANTS(BackendBatch, "interp_rgb", "llvm_rgb", "llvm_spectral_double")

TEST_P(BackendBatch, ImagesStandSideBySide) {
    Ref<Scene> both = scene_from(scene(Both));
    ASSERT_EQ(both->sensors().size(), 1u);
    const std::string inner[] = { A, B };
    for (size_t i = 0; i < 2; ++i) {
        Ref<Scene> alone = scene_from(scene(inner[i] + film(6) + "</sensor>"));
        for (auto [u, v] : { std::pair(0.1, 0.2), { 0.6, 0.9 } }) {
            Vector2 aperture{ opaque_float(0.2), opaque_float(0.7) };
            auto ray = [&, v = v](const Scene &s, double x) {
                Ray r = s.sensors()[0]
                            ->sample_ray(Float(0), opaque_float(0.4),
                                         { opaque_float(x), opaque_float(v) }, aperture, true)
                            .first;
                return std::array{ read_floats(r.o.x)[0], read_floats(r.o.y)[0],
                                   read_floats(r.o.z)[0], read_floats(r.d.x)[0],
                                   read_floats(r.d.y)[0], read_floats(r.d.z)[0],
                                   read_floats(r.maxt)[0] };
            };
            auto want = ray(*alone, u), got = ray(*both, (u + double(i)) / 2);
            for (size_t k = 0; k < want.size(); ++k)
                EXPECT_NEAR(got[k], want[k], 1e-5 * (1 + std::abs(want[k])));
        }
    }
}

// Light that is followed from its source arrives at both, in a part of the film as well.
TEST_P(BackendBatch, LightFromItsSourceGivesTheSameImages) {
    bool is_slow = variant().name.starts_with("interp");
    int spp = is_slow ? 1024 : 16384; // of which the error is a fourth
    for (const char *crop : { "", "<integer name='crop_offset_x' value='3'/><integer "
                                  "name='crop_width' value='7'/><integer name='crop_height' "
                                  "value='4'/>" }) {
        std::string sensor = Both;
        sensor.insert(sensor.find("<rfilter"), crop);
        Image there = render_image(*scene_from(scene(sensor)), { .spp = spp }),
              back = render_image(*scene_from(scene(sensor, "ptracer")), { .spp = spp });
        for (size_t half = 0; half < 2; ++half) {
            double a = 0, b = 0;
            size_t n = there.width();
            for (size_t x = half * n / 2; x < (half + 1) * n / 2; ++x)
                for (size_t y = 0; y < there.height(); ++y)
                    a += there.get(x, y, 0), b += back.get(x, y, 0);
            EXPECT_GT(a, 0.1);
            EXPECT_NEAR(b / a, 1, is_slow ? 0.2 : 0.05) << "half " << half << crop;
        }
    }
}

// Cameras without an aperture need no random numbers but to be chosen.
TEST(BackendBatchOfPinholes, LightFromItsSourceArrivesAtBoth) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string sensor = Both, lens = "<sensor type='thinlens'>",
                focus = "<float name='focus_distance' value='3'/>";
    sensor.replace(sensor.find(lens), lens.size(), "<sensor type='perspective'>");
    sensor.erase(sensor.find(focus), focus.size());
    Image there = render_image(*scene_from(scene(sensor)), { .spp = 4096 }),
          back = render_image(*scene_from(scene(sensor, "ptracer")), { .spp = 4096 });
    for (size_t half = 0; half < 2; ++half) {
        double a = 0, b = 0;
        for (size_t x = 6 * half; x < 6 * half + 6; ++x)
            for (size_t y = 0; y < 6; ++y)
                a += there.get(x, y, 0), b += back.get(x, y, 0);
        EXPECT_GT(a, 0.1);
        EXPECT_NEAR(b / a, 1, 0.1) << "half " << half; // four times the noise
    }
}

TEST(Batch, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    auto expect = [](const std::string &inside, std::initializer_list<const char *> parts) {
        std::string message =
            user_error([&] { scene_from(scene("<sensor type='batch'>" + inside + "</sensor>")); });
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    expect(film(12), { "no sensors" });
    expect(A + "</sensor>" + B + "</sensor>" + film(13), { "13 pixels", "divisible" });
}

} // namespace umbel
