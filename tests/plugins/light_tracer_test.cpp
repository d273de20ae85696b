// tests/plugins/light_tracer_test.cpp: images made from the lights' side are those made from the camera's.
#include "support/scenes.h"
#include <tbb/global_control.h>

namespace umbel {
using namespace test;

namespace {

const char *Room =
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.6,.5'/></bsdf>"
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>"
    "<ref id='white'/></shape>"
    "<shape type='cube'><transform name='to_world'><scale value='0.3'/><translate x='-.5' "
    "z='0.4'/></transform><ref id='white'/></shape>"
    "<shape type='sphere'><float name='radius' value='0.4'/><point name='center' x='.5' z='.5'/>";
const char *Glass = "<bsdf type='roughdielectric'><float name='alpha' value='.3'/></bsdf></shape>";
const char *Metal = "<bsdf type='roughconductor'><float name='alpha' value='.3'/></bsdf></shape>";
const char *Lamp = "<shape type='rectangle'><transform name='to_world'><scale value='.6'/><rotate "
                   "x='1' angle='160'/><translate x='1.6' z='2'/></transform>"
                   "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>";
const char *Bulb = "<emitter type='point'><point name='position' x='1' y='1' z='2'/>"
                   "<rgb name='intensity' value='3,4,5'/></emitter>";
const char *Sky = "<emitter type='constant'><rgb name='radiance' value='.2,.3,.4'/></emitter>";

// Of images of several seeds: each channel of 4 x 4 blocks of pixels, then the mean of everything.
std::vector<std::vector<double>> block_means(const std::string &xml) {
    Ref<Scene> scene = scene_from(xml);
    std::vector<std::vector<double>> out;
    for (uint32_t seed = 0; seed < 24; ++seed) {
        Image image = render_image(*scene, { .seed = seed });
        size_t across = (image.width() + 3) / 4, down = (image.height() + 3) / 4,
               channels = image.channel_count();
        std::vector<double> means(across * down * channels + 1, 0);
        for (size_t y = 0; y < image.height(); ++y)
            for (size_t x = 0; x < image.width(); ++x)
                for (size_t c = 0; c < channels; ++c) {
                    means[(y / 4 * across + x / 4) * channels + c] += image.get(x, y, c);
                    means.back() += image.get(x, y, c);
                }
        out.push_back(means);
    }
    return out;
}

// Student's t of each: with 23 degrees of freedom a side, 5 is passed once in some 40,000 numbers.
void expect_same_image(const std::string &a_xml, const std::string &b_xml) {
    auto a = block_means(a_xml), b = block_means(b_xml);
    double n = double(a.size()), sum_t2 = 0, cells = 0;
    for (size_t i = 0; i < a[0].size(); ++i) {
        auto moments = [&](auto &images) {
            double sum = 0, squares = 0;
            for (auto &image : images)
                sum += image[i], squares += image[i] * image[i];
            return std::pair(sum / n, std::max(0.0, squares / n - sum / n * sum / n) / (n - 1));
        };
        auto [mean_a, error_a] = moments(a);
        auto [mean_b, error_b] = moments(b);
        ASSERT_GT(mean_a, 0);
        double t = (mean_b - mean_a) / std::sqrt(error_a + error_b);
        EXPECT_LT(std::abs(t), 5) << "number " << i << ": " << mean_a << " and " << mean_b;
        sum_t2 += t * t;
        ++cells;
    }
    EXPECT_LT(sum_t2 / cells, 2) << "channels of a block are related; else 1.1 would be the mean";
}

std::string with_filter(std::string xml, const std::string &filter) {
    std::string box = "<rfilter type='box'/>";
    return xml.replace(xml.find(box), box.size(), filter);
}

} // namespace

class BackendLightTracer : public VariantTest {};
UMBEL_VARIANTS(BackendLightTracer, "llvm_rgb", "llvm_spectral", "llvm_rgb_double")

TEST_P(BackendLightTracer, AgreesWithPathsFromTheCamera) {
    for (const char *lights : { Lamp, Bulb, Sky }) {
        std::string body = std::string(Room) + (lights == Bulb ? Glass : Metal) + lights;
        auto xml = [&](const char *integrator) { return scene_xml(body, 16, 64, integrator); };
        SCOPED_TRACE(lights);
        expect_same_image(xml("path"), xml("ptracer"));
    }
}

TEST_P(BackendLightTracer, ChoosesAmongAllLights) {
    std::string body = std::string(Room) + Metal + Lamp + Bulb + Sky;
    expect_same_image(scene_xml(body, 16, 64, "path"), scene_xml(body, 16, 64, "ptracer"));
}

TEST(BackendLightTracerFilter, DrawsFromTheFilter) {
    VariantScope scope(find_variant("llvm_rgb")); // a filter knows no colours
    std::string body = std::string(Room) + Metal + Lamp;
    for (const char *filter :
         { "<rfilter type='gaussian'/>", "<rfilter type='mitchell'/>",
           "<rfilter type='gaussian'/><boolean name='sample_border' value='true'/>",
           "<rfilter type='tent'/><integer name='crop_offset_x' value='5'/><integer "
           "name='crop_offset_y' value='3'/><integer name='crop_width' value='7'/><integer "
           "name='crop_height' value='9'/>" }) {
        SCOPED_TRACE(filter);
        auto xml = [&](const char *integrator) {
            return with_filter(scene_xml(body, 16, 64, integrator), filter);
        };
        expect_same_image(xml("path"), xml("ptracer"));
    }
}

TEST_P(BackendLightTracer, HasTheSameBitsForAnyNumberOfThreadsAndWhenResumed) {
    Ref<Scene> scene = scene_from(scene_xml(std::string(Room) + Metal + Lamp, 24, 40, "ptracer"));
    Image reference = render_image(*scene);
    for (size_t threads : { 1, 7 }) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        EXPECT_TRUE(same_pixels(reference, render_image(*scene))) << threads << " threads";
    }
    RenderOptions small{ .launch_pixels = 128 };
    Render first(*scene, small), second(*scene, small);
    for (int i = 0; i < 4; ++i)
        first.step();
    Image halfway =
        first.image(); // some pixels' lanes have run, others' have not: paths count all the same
    second.restore(first.save());
    first.run();
    second.run();
    EXPECT_TRUE(same_pixels(first.image(), second.image()));
    EXPECT_NEAR(channel_mean(halfway, 0).mean, channel_mean(reference, 0).mean,
                0.1 * channel_mean(reference, 0).mean);
}

TEST(LightTracer, SaysWhatItCannotDo) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    Ref<Scene> scene = scene_from(scene_xml(std::string(Room) + Metal + Lamp, 4, 1, "ptracer"));
    EXPECT_THROW(Render(*scene).backward(Float(jit::full(variant().float_type(), 1, 48))),
                 UserError);
    EXPECT_THROW(Render(*scene, { .estimate_error = true }), UserError);
    std::string nested = scene_xml(std::string(Room) + Metal + Lamp, 4, 1, "aov");
    std::string plain = "<integrator type='aov'/>";
    nested.replace(nested.find(plain), plain.size(),
                   "<integrator type='aov'><integrator type='ptracer'/></integrator>");
    EXPECT_THROW(render_image(*scene_from(nested)), UserError);
}

} // namespace umbel
