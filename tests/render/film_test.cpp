// tests/render/film_test.cpp: how samples become pixels.
#include "core/colour.h"
#include "render/film_buffer.h"
#include "support/scenes.h"
#include <cstdlib>
#include <limits>

namespace umbel {
using namespace test;

namespace {

/// A scene whose film has this filter and these parameters.
std::string film_xml(const std::string &body, int size, int spp, const std::string &filter,
                     const std::string &parameters = "") {
    std::string xml = scene_xml(body, size, spp), box = "<rfilter type='box'/>";
    return xml.replace(xml.find(box), box.size(),
                       fmt::format("<rfilter type='{}'/>{}", filter, parameters));
}

const char *Splat = "<boolean name='splat' value='true'/>";
const char *White = "<emitter type='constant'/>";
const char *Ball = "<shape type='sphere'><bsdf type='diffuse'/></shape><emitter type='constant'/>";

void expect_near(const Image &a, const Image &b, double tolerance) {
    for (size_t y = 0; y < b.height(); ++y)
        for (size_t x = 0; x < b.width(); ++x)
            for (size_t c = 0; c < b.channel_count(); ++c)
                EXPECT_NEAR(a.get(x, y, c), b.get(x, y, c), tolerance) << x << ", " << y;
}

} // namespace

class BackendFilm : public VariantTest {};
UMBEL_VARIANTS(BackendFilm, "interp_rgb", "llvm_rgb", "llvm_rgb_double", "llvm_mono")

TEST_P(BackendFilm, WhatIsTooLargeIsRefusedBeforeMemoryIsTaken) {
    for (uint32_t side : { 1u << 20, 1u << 15 })
        EXPECT_NE(user_error([&] { FilmBuffer(side, side, 4); }).find("too large"),
                  std::string::npos)
            << side;
    EXPECT_EQ(FilmBuffer((1u << 15) - 4, 1u << 15, 3).slots(), ((1u << 15) - 4) << 15);
}

// Around the pixels at the border as elsewhere, samples are drawn from what there is of the filter.
TEST_P(BackendFilm, AConstantImageIsConstant) {
    for (const char *filter : { "box", "tent", "gaussian" })
        for (const char *parameters : { "", Splat }) {
            Image image = render_image(*scene_from(film_xml(White, 9, 16, filter, parameters)));
            for (size_t y = 0; y < 9; ++y)
                for (size_t x = 0; x < 9; ++x)
                    EXPECT_NEAR(image.get(x, y, 0), 1, 1e-6)
                        << filter << parameters << " at " << x << ", " << y;
        }
}

// Offsets have the density of the filter where the image is, whatever the pixel; weights make up for negative lobes.
TEST_P(BackendFilm, OffsetsFollowWhatIsLeftOfTheFilter) {
    const uint32_t n = 200000, bins = 20;
    for (const char *plugin : { "box", "tent", "gaussian", "mitchell" }) {
        Ref<Filter> filter = make_object<Filter>(Properties("rfilter", plugin));
        for (int size : { 1, 3, 12 })
            for (int pixel : { 0, size / 2, size - 1 }) {
                FilterAxis axis(*filter, size, true);
                UInt32 lane(jit::lane_index(n));
                Float u = (Float(lane) + 0.5) * (1.0 / n);
                auto [x, w] =
                    axis.sample(u, jit::opaque(uint32_t(pixel)) + lane * UInt32(0u), Mask(true));
                std::vector<double> xs = read_floats(x), ws = read_floats(w);
                double r = filter->radius(), from = std::max(-r, -pixel - 0.5),
                       to = std::min(r, size - pixel - 0.5), width = (to - from) / bins;
                std::vector<double> got(bins, 0), want(bins, 0);
                double total = 0;
                for (uint32_t i = 0; i < n; ++i) {
                    ASSERT_GE(xs[i], from - 1e-5);
                    ASSERT_LE(xs[i], to + 1e-5);
                    size_t bin = size_t(std::clamp((xs[i] - from) / width, 0.0, bins - 1.0));
                    got[bin] += (ws.size() == 1 ? ws[0] : ws[i]) / n;
                }
                for (uint32_t i = 0; i < 100 * bins; ++i) {
                    double f = filter->eval(from + (i + 0.5) * width / 100);
                    want[i / 100] += f;
                    total += f;
                }
                // The profile is a polygon of 256 sides in both; numbers are evenly spaced, so noise is small
                for (uint32_t i = 0; i < bins; ++i)
                    EXPECT_NEAR(got[i], want[i] / total, 1e-3)
                        << plugin << ", pixel " << pixel << " of " << size << ", bin " << i;
            }
    }
}

TEST_P(BackendFilm, SplattedImagesDoNotDependOnLaunches) {
    Ref<Scene> scene = scene_from(film_xml(Ball, 23, 20, "gaussian", Splat));
    Image whole = render_image(*scene);
    for (uint32_t pixels : { 16u, 48u, 200u })
        EXPECT_TRUE(same_pixels(whole, render_image(*scene, { .launch_pixels = pixels })));
    Render first(*scene, { .launch_pixels = 48 }), second(*scene, { .launch_pixels = 48 });
    for (int i = 0; i < 5; ++i)
        first.step();
    second.restore(first.save());
    second.run();
    EXPECT_TRUE(same_pixels(whole, second.image()));
}

TEST_P(BackendFilm, TwoRendersOfOneSceneDoNotDisturbEachOther) {
    std::string xml = scene_xml(Ball, 12, 16), independent = "type='independent'";
    xml.replace(xml.find(independent), independent.size(), "type='stratified'");
    Ref<Scene> scene = scene_from(xml);
    Image alone = render_image(*scene);
    Render a(*scene), b(*scene, { .spp = 64 });
    EXPECT_EQ(scene->sensors()[0]->sampler().sample_count(), 16);
    while (!a.done() || !b.done()) {
        b.step();
        a.step();
    }
    EXPECT_TRUE(same_pixels(alone, a.image()));
    EXPECT_TRUE(same_pixels(render_image(*scene, { .spp = 64 }), b.image()));
}

TEST_P(BackendFilm, PixelFormatsAreDevelopedFromTheSameSamples) {
    auto image_of = [](const char *format) {
        return render_image(*scene_from(film_xml(
            Ball, 6, 4, "box", fmt::format("<string name='pixel_format' value='{}'/>", format))));
    };
    bool is_mono = variant().colour == Colour::Mono;
    using Names = std::vector<std::string>;
    Image rgb = image_of("rgb"), xyza = image_of("xyza"), y = image_of("luminance");
    EXPECT_EQ(xyza.channels(), is_mono ? Names({ "Y", "A" }) : Names({ "X", "Y", "Z", "A" }));
    EXPECT_EQ(y.channels(), Names({ "Y" }));
    for (size_t i = 0; i < 6; ++i) {
        Colour3 c{ rgb.get(i, i, 0), is_mono ? 0 : rgb.get(i, i, 1),
                   is_mono ? 0 : rgb.get(i, i, 2) };
        if (!is_mono) {
            Colour3 want = srgb_to_xyz(c);
            for (size_t k = 0; k < 3; ++k)
                EXPECT_NEAR(xyza.get(i, i, k), want[k], 1e-5);
            EXPECT_NEAR(y.get(i, i, 0), want[1], 1e-5);
        } else
            EXPECT_EQ(y.get(i, i, 0), c[0]);
    }
}

// The buffer's own arithmetic, against plain loops.
TEST_P(BackendFilm, SplatsFallOnTheirPixelsInTheOrderOfLanes) {
    FilmBuffer buffer(7, 5, 2);
    std::vector<uint32_t> xs, ys;
    std::vector<double> values;
    std::vector<double> want(7 * 5 * 2, 0);
    uint32_t state = 1;
    for (int i = 0; i < 1000; ++i) {
        state = state * 1664525 + 1013904223;
        xs.push_back(state >> 29); // up to 7: beyond the image
        ys.push_back((state >> 20) % 6);
        values.push_back(double((state >> 8) % 1000));
        if (xs.back() < 7 && ys.back() < 5) {
            want[(ys.back() * 7 + xs.back()) * 2] += values.back();
            want[(ys.back() * 7 + xs.back()) * 2 + 1] += 1;
        }
    }
    buffer.splat({ float_array(values), Float(1) }, jit::copy(xs), jit::copy(ys), Mask(true));
    jit::eval();
    EXPECT_EQ(read_floats(buffer.rows(2, [](const UInt32 &) { return Float(1); })), want);
}

// What a launch records, of light that is splatted and of samples of pixels, with any number of pixels and launches around it.
TEST_P(BackendFilm, RecordingALaunchDoesNotDependOnTheImagesSize) {
    auto recorded = [](const char *integrator, int width, int height) {
        Ref<Scene> scene = scene_from(scene_xml(Ball, 8, 1, integrator));
        scene->sensors()[0]->film().set_size(width, height);
        scene->sensors()[0]->child_changed();
        Render render(*scene, { .launch_pixels = 1024 });
        jit::Graph &graph = jit::Context::current().graph;
        uint64_t before = graph.sequence();
        render.step();
        return graph.sequence() - before;
    };
    for (const char *integrator : { "ptracer", "volpath", "path" }) {
        uint64_t small = recorded(integrator, 64, 32);
        EXPECT_GT(small, 100u);
        EXPECT_EQ(recorded(integrator, 3840, 2160), small) << integrator;
    }
}

// Terms that are lost when they are added one by one.
// A splatted sample is recorded once, however many pixels its filter reaches.
TEST_P(BackendFilm, RecordingASplatDoesNotDependOnTheFilter) {
    auto recorded = [](int radius) {
        std::string xml = scene_xml(Ball, 8, 1),
                    film = fmt::format("<film type='hdrfilm'><boolean name='splat' "
                                       "value='true'/><rfilter type='tent'><float "
                                       "name='radius' value='{}'/></rfilter>",
                                       radius);
        size_t begin = xml.find("<film "), end = xml.find("</film>");
        Ref<Scene> scene = scene_from(xml.replace(begin, end - begin, film));
        Render render(*scene, { .launch_pixels = 1024 });
        jit::Graph &graph = jit::Context::current().graph;
        uint64_t before = graph.sequence();
        render.step();
        return graph.sequence() - before;
    };
    EXPECT_EQ(recorded(5), recorded(1));
}

TEST_P(BackendFilm, CompensatedSumsKeepWhatIsSmall) {
    double small = variant().float_type() == jit::Type::F64 ? 0x1p-54 : 0x1p-25;
    for (bool compensate : { false, true }) {
        FilmBuffer buffer(4, 4, 2, compensate);
        auto add = [&](double a, double b) {
            buffer.add(0, buffer.slots(), { Float(a), Float(b) });
        };
        add(1, 2);
        for (int i = 0; i < 64; ++i)
            add(small, -small);
        std::vector<double> sums =
            read_floats(buffer.rows(2, [](const UInt32 &) { return Float(1); }));
        ASSERT_EQ(sums.size(), 32u);
        double kept = compensate ? 64 * small : 0;
        EXPECT_EQ(sums[0], 1 + kept);
        EXPECT_EQ(sums[31], 2 - kept);
    }
}

TEST_P(BackendFilm, CompensatedImagesAreThoseOfPlainSums) {
    const char *compensate = "<boolean name='compensate' value='true'/>";
    for (std::string splat : { "", Splat }) {
        Image plain = render_image(*scene_from(film_xml(Ball, 8, 64, "tent", splat)));
        Image image = render_image(*scene_from(film_xml(Ball, 8, 64, "tent", splat + compensate)));
        expect_near(image, plain, 1e-6);
    }
}

TEST_P(BackendFilm, PassesOfFewSamplesComputeTheSameSamples) {
    std::string xml = film_xml(Ball, 8, 32, "tent"), path = "<integrator type='path'/>", few = xml;
    ASSERT_NE(few.find(path), std::string::npos);
    few.replace(
        few.find(path), path.size(),
        "<integrator type='path'><integer name='samples_per_pass' value='5'/></integrator>");
    expect_near(render_image(*scene_from(few)), render_image(*scene_from(xml)), 1e-5);
}

// An offset and a size whose sum did not fit into its type passed as a window of the image.
TEST(Film, PartsThatDoNotLieInTheImageAreRefused) {
    VariantScope scope(find_variant("interp_rgb"));
    Ref<Scene> scene = scene_from(scene_xml(Ball, 8, 1));
    Film &film = scene->sensors()[0]->film();
    constexpr int Most = std::numeric_limits<int>::max(), Least = std::numeric_limits<int>::min();
    for (Film::Crop c :
         { Film::Crop{ 1, 0, Most, 8 }, Film::Crop{ 0, 1, 8, Most }, Film::Crop{ Most, 0, 8, 8 },
           Film::Crop{ Most, Most, Most, Most }, Film::Crop{ Least, 0, 8, 8 },
           Film::Crop{ -1, 0, 8, 8 }, Film::Crop{ 0, 0, Least, 8 }, Film::Crop{ 0, 0, 0, 8 },
           Film::Crop{ 8, 0, 1, 8 }, Film::Crop{ 0, 0, 9, 8 } }) {
        for (const std::string &said : { user_error([&] { film.set_crop(c); }), user_error([&] {
                                             Render render(*scene, { .window = c });
                                         }) })
            EXPECT_NE(said.find("does not lie in the image of 8 x 8; its offset"),
                      std::string::npos)
                << c.x << " " << c.y << " " << c.width << " " << c.height << ": " << said;
        EXPECT_EQ(film.crop().width, 8);
    }
    film.set_crop({ 7, 7, 1, 1 });
    std::string large = user_error([&] { film.set_size(Most, 8); });
    EXPECT_NE(large.find("an image cannot have 2147483647 x 8 pixels"), std::string::npos);
}

} // namespace umbel
