// tests/render/driver_test.cpp: images do not depend on how they are computed.
#include "core/colour.h"
#include "core/traverse.h"
#include "support/scenes.h"
#include <tbb/global_control.h>

namespace umbel {
using namespace test;

const char *Box =
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='.7,.6,.5'/></bsdf>"
    "<shape type='rectangle'><ref id='white'/></shape>"
    "<shape type='cube'><transform name='to_world'><scale value='0.3'/><translate "
    "z='0.4'/></transform>"
    "<ref id='white'/></shape>"
    "<shape type='sphere'><float name='radius' value='0.2'/><point name='center' x='.5' y='.5' "
    "z='.4'/>"
    "<bsdf type='dielectric'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='180'/><translate "
    "z='5'/></transform>"
    "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>";

class BackendDriver : public VariantTest {};
UMBEL_VARIANTS(BackendDriver, "interp_rgb", "llvm_rgb", "llvm_spectral", "llvm_rgb_double")

TEST_P(BackendDriver, ImagesAreTheSameForAnyNumberOfThreads) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 33, 20));
    Image reference = render_image(*scene);
    for (size_t threads : { 1, 2, 7 }) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        EXPECT_TRUE(same_pixels(reference, render_image(*scene))) << threads << " threads";
    }
}

// The reconstruction filter by splatting: the same image in expectation, and where all samples are equal, exactly.
TEST_P(BackendDriver, SplattedSamplesGiveTheImageOfDrawnOnes) {
    auto image_of = [](const std::string &body, const char *splat, int spp) {
        std::string xml = scene_xml(body, 20, spp);
        size_t at = xml.find("<rfilter type='box'/>");
        xml.replace(
            at, 21,
            fmt::format("<rfilter type='gaussian'/><boolean name='splat' value='{}'/>", splat));
        return render_image(*scene_from(xml));
    };
    Image even = image_of(
        "<emitter type='constant'><rgb name='radiance' value='1, 1, 1'/></emitter>", "true", 16);
    bool is_noisy = variant().colour == Colour::Spectral; // colours of four wavelengths
    for (size_t y = 0; y < 20; ++y)
        for (size_t x = 0; x < 20; ++x)
            EXPECT_NEAR(even.get(x, y, 1), 1, is_noisy ? 0.5 : 1e-5);
    Image a = image_of(Box, "true", 256), b = image_of(Box, "false", 256);
    double sum = 0, difference = 0;
    for (size_t y = 0; y < 20; ++y)
        for (size_t x = 0; x < 20; ++x) {
            sum += b.get(x, y, 0);
            difference += std::abs(a.get(x, y, 0) - b.get(x, y, 0));
        }
    EXPECT_LT(difference, 0.06 * sum); // noise alone: 256 samples a pixel
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_TRUE(same_pixels(a, image_of(Box, "true", 256)));
}

TEST_P(BackendDriver, ImagesAreTheSameInOneGoAndInEightPasses) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 19, 128));
    Image reference = render_image(*scene);
    std::string state;
    for (int pass = 0; pass < 8; ++pass) { // each as a program of its own would do it
        Render part(*scene);
        if (pass)
            part.restore(state);
        part.step();
        state = part.save();
        EXPECT_EQ(part.done(), pass == 7);
        if (pass == 7) {
            EXPECT_TRUE(same_pixels(reference, part.image()));
        }
    }
    for (uint32_t pixels : { 16u, 100u }) // and in many launches instead of one
        EXPECT_TRUE(same_pixels(reference, render_image(*scene, { .launch_pixels = pixels })));
    EXPECT_TRUE(same_pixels(reference, render_image(*scene, { .estimate_error = true })));
}

// Launches are cut anywhere, by the clock; the image does not know.
TEST_P(BackendDriver, ImagesAreTheSameHoweverLongLaunchesTake) {
    // More pixels than the first launch has, whatever it takes
    Ref<Scene> scene = scene_from(scene_xml(Box, 136, 32));
    Image reference = render_image(*scene);
    for (double seconds : { 1e-5, 2e-3 }) {
        Render render(*scene, { .launch_seconds = seconds });
        int launches = 0;
        for (; !render.done(); ++launches) {
            render.step();
            render.wait();
        }
        EXPECT_GT(launches, 2) << "one for each group of samples would not be cut at all";
        EXPECT_TRUE(same_pixels(reference, render.image()));
    }
}

// Meters of one pixel take a million samples: a launch for each group of them would do little but start launches.
TEST_P(BackendDriver, LaunchesOfSmallImagesHoldSeveralGroupsAndTheSameSums) {
    constexpr int Samples = 600 * 16 + 5;
    Ref<Scene> scene = scene_from(scene_xml(Box, 2, Samples));
    auto image_of = [&](RenderOptions options, int &steps) {
        options.estimate_error = true;
        Render render(*scene, options);
        for (steps = 0; !render.done(); ++steps) {
            int before = render.samples_done();
            render.step();
            EXPECT_LE(render.samples_done() - before, std::max(16, before / 8));
        }
        EXPECT_EQ(render.samples_done(), Samples);
        return std::pair(render.image(), render.relative_error());
    };
    int single, several, half;
    auto [reference, error] = image_of({ .launch_pixels = 16 }, single);
    EXPECT_EQ(single, 601);
    auto [image, same_error] = image_of({}, several);
    EXPECT_EQ(several, 64 + 56 + 1 + 3 + 1); // groups of 1, 8, 64, 8 and the last, of five samples
    EXPECT_TRUE(same_pixels(reference, image));
    EXPECT_EQ(error, same_error);
    auto [halved, half_error] = image_of({ .launch_pixels = 16 * 8 }, half);
    EXPECT_GT(half, several);
    EXPECT_TRUE(same_pixels(reference, halved));

    Render first(*scene); // and where it is interrupted in between
    for (int i = 0; i < 70; ++i)
        first.step();
    Render second(*scene);
    second.restore(first.save());
    second.run();
    EXPECT_TRUE(same_pixels(reference, second.image()));
}

TEST_P(BackendDriver, ACancelledRenderReturnsWhatItHas) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 16, 64));
    Render render(*scene);
    render.step();
    scene->integrator()->cancel();
    EXPECT_TRUE(scene->integrator()->should_stop());
    render.run();
    EXPECT_FALSE(render.done());
    EXPECT_EQ(render.samples_done(), 16);
    EXPECT_TRUE(same_pixels(render.image(), [&] {
        Render again(*scene); // takes the sign down
        again.step();
        return again.image();
    }()));
    EXPECT_FALSE(scene->integrator()->should_stop());
}

// What some launches of a derivative have added is no derivative.
TEST(RenderDerivatives, AreGivenUpWithAnErrorWhenTheyAreToStop) {
    VariantScope scope(find_variant("llvm_ad_rgb"));
    Ref<Scene> scene = scene_from(scene_xml(Box, 16, 16, "prb"));
    SceneParameters params(scene);
    for (Float *v :
         std::get<std::array<Float *, 3>>(params.at("white.reflectance.value").param.slot))
        ad::enable_grad(*v);
    params.update({ "white.reflectance.value" });
    for (bool is_forward : { false, true }) {
        int asked = 0;
        RenderOptions options{ .launch_pixels = 64, .go_on = [&] { return ++asked < 2; } };
        std::string m = user_error([&] {
            Render render(*scene, options);
            if (is_forward)
                render.forward();
            else
                render.backward(Float(jit::full(variant().float_type(), 1, 16 * 16 * 3)));
        });
        EXPECT_NE(m.find("was told to stop"), std::string::npos) << m;
        EXPECT_EQ(asked, 2) << "of four launches, before the second and the third";
    }
}

TEST_P(BackendDriver, TheSamplersSeedCounts) {
    auto seeded = [](int seed) {
        std::string xml = scene_xml(Box, 8, 16), at = "<integer name='sample_count'";
        xml.insert(xml.find(at), fmt::format("<integer name='seed' value='{}'/>", seed));
        return scene_from(xml);
    };
    Image a = render_image(*seeded(3)), b = render_image(*seeded(4));
    EXPECT_FALSE(same_pixels(a, b));
    EXPECT_TRUE(same_pixels(b, render_image(*seeded(3), { .seed = 1 })));
}

TEST_P(BackendDriver, TheEstimatedErrorIsThatOfManyRenders) {
    constexpr int Images = 24;
    Ref<Scene> scene = scene_from(scene_xml(Box, 16, 64));
    size_t n = 16 * 16;
    std::vector<double> sum(n), squares(n);
    double estimates = 0, all = 0;
    for (uint32_t i = 0; i < Images; ++i) {
        Render render(*scene, { .seed = 100 + i, .estimate_error = true });
        render.step(); // of one group nothing can be said
        EXPECT_EQ(render.relative_error(), std::numeric_limits<double>::infinity());
        EXPECT_EQ(render.median_error(), std::numeric_limits<double>::infinity());
        render.step();
        EXPECT_LT(render.relative_error(), 1);
        render.run();
        estimates += render.relative_error() / Images;
        Image image = render.image();
        for (size_t k = 0; k < n; ++k) {
            double y = image.channel_count() == 1
                           ? image.get(k % 16, k / 16, 0)
                           : luminance({ image.get(k % 16, k / 16, 0), image.get(k % 16, k / 16, 1),
                                         image.get(k % 16, k / 16, 2) });
            sum[k] += y;
            squares[k] += y * y;
            all += y / double(Images * n);
        }
    }
    double variance = 0;
    for (size_t k = 0; k < n; ++k)
        variance += (squares[k] - sum[k] * sum[k] / Images) / (Images - 1) / double(n);
    double true_error = std::sqrt(variance) / all;
    EXPECT_NEAR(estimates / true_error, 1, 0.08) << estimates << " and " << true_error;
}

TEST_P(BackendDriver, SeedsGiveOtherNoiseAroundTheSameMean) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 16, 64));
    Image a = render_image(*scene, { .seed = 1 }), b = render_image(*scene, { .seed = 2 });
    EXPECT_FALSE(same_pixels(a, b));
    Estimate ea = channel_mean(a, 0), eb = channel_mean(b, 0);
    EXPECT_NEAR(ea.mean, eb.mean, 0.05 * ea.mean);
}

TEST_P(BackendDriver, ACropWindowShowsThatPartOfTheImage) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 24, 8));
    Image whole = render_image(*scene);
    scene->sensors()[0]->film().set_crop({ 5, 9, 11, 7 });
    Image part = render_image(*scene);
    ASSERT_EQ(part.width(), 11u);
    ASSERT_EQ(part.height(), 7u);
    for (size_t y = 0; y < 7; ++y)
        for (size_t x = 0; x < 11; ++x)
            EXPECT_EQ(part.get(x, y, 0), whole.get(x + 5, y + 9, 0)) << x << ", " << y;
}

// The same without telling the film, which other renders may use at the same time.
TEST_P(BackendDriver, AWindowLeavesTheFilmAsItIs) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 24, 8));
    uint64_t before = changes();
    for (Film::Crop window : { Film::Crop{ 5, 9, 11, 7 }, { 0, 3, 24, 2 }, { 5, 9, 11, 7 } }) {
        Image part = render_image(*scene, { .window = window }), whole = render_image(*scene);
        ASSERT_EQ(whole.width(), 24u);
        ASSERT_EQ(part.width(), size_t(window.width));
        ASSERT_EQ(part.height(), size_t(window.height));
        for (size_t y = 0; y < part.height(); ++y)
            for (size_t x = 0; x < part.width(); ++x)
                EXPECT_EQ(part.get(x, y, 0),
                          whole.get(x + size_t(window.x), y + size_t(window.y), 0))
                    << x << ", " << y;
    }
    EXPECT_EQ(changes(), before);
    std::string m =
        user_error([&] { render_image(*scene, { .window = Film::Crop{ 20, 0, 5, 1 } }); });
    EXPECT_NE(m.find("the crop window of 5 x 1"), std::string::npos) << m;
}

TEST_P(BackendDriver, AnotherSeedCropOrSampleCountCompilesNothing) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 24, 16));
    render_image(*scene);
    jit::Context &context = variant().context();
    context.set(jit::Flag::History, true);
    context.take_history();
    scene->sensors()[0]->film().set_crop({ 3, 2, 13, 17 });
    render_image(*scene, { .spp = 48, .seed = 77 });
    for (const jit::KernelRecord &r : context.take_history())
        EXPECT_EQ(r.backend_seconds, 0) << r.name;
    context.set(jit::Flag::History, false);
}

TEST_P(BackendDriver, AnotherCameraOrColourCompilesNothing) {
    std::string other = Box;
    other.replace(other.find(".7,.6,.5"), 8, ".1,.8,.3");
    other.replace(other.find("4,3,2"), 5, "1,9,3");
    render_image(*scene_from(scene_xml(Box, 24, 16)));
    jit::Context &context = variant().context();
    context.set(jit::Flag::History, true);
    context.take_history();
    render_image(*scene_from(
        scene_xml(other, 24, 16, "path", "<lookat origin='1,2,5' target='0,.5,0' up='0,0,1'/>")));
    for (const jit::KernelRecord &r : context.take_history())
        EXPECT_EQ(r.backend_seconds, 0) << r.name;
    context.set(jit::Flag::History, false);
}

TEST_P(BackendDriver, AfterTheFirstUpdateChangesOfParametersCompileNothing) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 24, 16));
    Image before = render_image(*scene);
    SceneParameters params(scene);
    auto &to_world = *std::get<TransformSlot>(params.at("perspective.to_world").param.slot).host;
    auto colour = std::get<std::array<Float *, 3>>(params.at("white.reflectance.value").param.slot);
    auto change = [&](double v) {
        for (Float *c : colour)
            *c = opaque_float(v);
        to_world = *TransformData::look_at({ v, 2, 5 }, { 0, v, 0 }, { 0, 0, 1 });
        params.update({ "white.reflectance.value", "perspective.to_world" });
    };
    jit::Context &context = variant().context();
    context.set(jit::Flag::History, true);
    change(0.3);
    context.take_history(); // what is computed of a colour has a kernel of its own
    Image after = render_image(*scene);
    change(0.6);
    Image again = render_image(*scene);
    for (const jit::KernelRecord &r : context.take_history())
        EXPECT_EQ(r.backend_seconds, 0) << r.name;
    context.set(jit::Flag::History, false);
    EXPECT_FALSE(same_pixels(before, after));
    EXPECT_FALSE(same_pixels(after, again));
}

TEST_P(BackendDriver, ARestoredRenderGoesOnAsIfNothingHadHappened) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 20, 70));
    Image reference = render_image(*scene);
    std::string saved;
    {
        Render first(*scene);
        first.step();
        first.step();
        saved = first.save();
        first.step();
    }
    Render second(*scene);
    second.restore(saved);
    EXPECT_EQ(second.samples_done(), 32);
    second.run();
    EXPECT_TRUE(same_pixels(reference, second.image()));

    Render other(*scene, { .seed = 5 });
    EXPECT_NE(user_error([&] { other.restore(saved); }).find("seed 0"), std::string::npos);
    EXPECT_NE(
        user_error([&] { second.restore(saved.substr(0, saved.size() - 3)); }).find("damaged"),
        std::string::npos);
    EXPECT_NE(user_error([&] { second.restore("x"); }).find("damaged"), std::string::npos);
}

TEST_P(BackendDriver, EveryFlippedBitOfAStateIsFound) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 20, 70));
    Render render(*scene);
    render.step();
    std::string saved = render.save();
    auto flipped = [&](size_t bit) {
        std::string state = saved;
        state[bit / 8] = char(state[bit / 8] ^ (1 << bit % 8));
        return state;
    };
    size_t head = 8 * 512,
           bits = 8 * saved.size(); // signature and numbers, then many of the pixels
    ASSERT_GT(bits, head);
    for (size_t bit = 0; bit < bits; bit += bit < head ? 1 : 1009)
        EXPECT_THROW(render.restore(flipped(bit)), DamagedState) << "bit " << bit;
    for (size_t bit = bits - 64; bit < bits; ++bit) // the checksum itself
        EXPECT_THROW(render.restore(flipped(bit)), DamagedState) << "bit " << bit;
    render.restore(saved);
}

// A small lamp, seen at its edges, has most of the squared error of an image, and does not tell how noisy the rest is.
TEST_P(BackendDriver, TheMedianErrorIsNotThatOfOneBrightEdge) {
    auto errors = [](const char *radiance, uint32_t seed, int spp) {
        std::string lamp = fmt::format(
            "<shape type='rectangle'><transform name='to_world'><scale value='.1'/><translate "
            "x='.5' y='.5' z='1'/></transform><emitter type='area'><rgb name='radiance' "
            "value='{}'/></emitter></shape><shape type='rectangle'><transform name='to_world'>"
            "<scale value='9'/></transform></shape><shape type='sphere'><transform "
            "name='to_world'><scale value='.4'/></transform></shape><emitter type='constant'/>",
            radiance);
        Ref<Scene> scene = scene_from(scene_xml(lamp, 24, spp));
        Render render(*scene, { .seed = seed, .estimate_error = true });
        render.run();
        return std::pair{ render.relative_error(), render.median_error() };
    };
    auto [mean, median] = errors("0", 1, 64);
    auto [bright_mean, bright_median] = errors("300", 1, 64);
    EXPECT_GT(bright_mean, 3 * mean);
    EXPECT_LT(bright_median, 3 * median);
    // It falls like the square root, from the second group on: what few groups underestimate is made up for
    auto [mean_32, median_32] = errors("0", 2, 32);
    auto [mean_512, median_512] = errors("0", 3, 512);
    EXPECT_NEAR(median_32 / median_512, 4, 1);
    EXPECT_NEAR(mean_32 / mean_512, 4, 1);
}

// Of 40 samples, the last 8 make no full group: what was kept is the state before them.
TEST_P(BackendDriver, MoreSamplesGoOnFromAStateOfFullGroups) {
    Ref<Scene> scene = scene_from(scene_xml(Box, 20, 40));
    Image reference = render_image(*scene, { .spp = 100 });
    Render first(*scene);
    EXPECT_FALSE(first.next_group_is_small());
    first.step();
    first.step();
    EXPECT_TRUE(first.next_group_is_small());
    std::string kept = first.save();
    first.step();
    EXPECT_TRUE(first.done());
    EXPECT_FALSE(first.next_group_is_small());

    Render more(*scene, { .spp = 100 });
    more.restore(kept);
    EXPECT_EQ(more.samples_done(), 32);
    more.run();
    EXPECT_TRUE(same_pixels(reference, more.image()));

    auto refused = [&](const Scene &s, int spp, const std::string &state, const char *why) {
        Render render(s, { .spp = spp });
        std::string m = user_error([&] { render.restore(state); });
        EXPECT_NE(m.find(why), std::string::npos) << m;
    };
    refused(*scene, 100, first.save(), "the last ones were fewer");
    refused(*scene, 24, kept, "has 32 samples a pixel already");
    refused(*scene, 8, kept, "8 at a time");
    std::string xml = scene_xml(Box, 20, 64), from = "independent";
    xml.replace(xml.find(from), from.size(), "stratified");
    Ref<Scene> arranged = scene_from(xml);
    Render other(*arranged);
    other.step();
    refused(*arranged, 144, other.save(), "the sampler stratified arranges them");
}

TEST(Driver, InterpAndLlvmAgreeToTheBit) {
    Image images[2];
    for (int i = 0; i < 2; ++i) {
        VariantScope scope(find_variant(i ? "llvm_rgb" : "interp_rgb"));
        images[i] = render_image(*scene_from(scene_xml(Box, 20, 16)));
    }
    EXPECT_TRUE(same_pixels(images[0], images[1]));
}

TEST(Driver, SingleAndDoublePrecisionAgreeThroughDifferentTrees) {
    Image images[2];
    for (int i = 0; i < 2; ++i) {
        VariantScope scope(find_variant(i ? "llvm_rgb" : "llvm_rgb_double"));
        images[i] = render_image(*scene_from(scene_xml(Box, 20, 4, "depth")));
    }
    // Edges may fall to either side.
    size_t different = 0;
    for (size_t y = 0; y < 20; ++y)
        for (size_t x = 0; x < 20; ++x)
            different += std::abs(images[0].get(x, y, 0) - images[1].get(x, y, 0)) > 1e-4;
    EXPECT_LE(different, 4u);
}

TEST(Driver, TwoVariantsLiveInOneProcess) {
    const Variant &a = find_variant("llvm_rgb"), &b = find_variant("llvm_mono_double");
    Ref<Scene> first, second;
    {
        VariantScope scope(a);
        first = scene_from(scene_xml(Box, 8, 4));
    }
    {
        VariantScope scope(b);
        second = scene_from(scene_xml(Box, 8, 4));
    }
    EXPECT_EQ(render_image(*first).channel_count(), 3u);
    EXPECT_EQ(render_image(*second).channel_count(), 1u);
    EXPECT_EQ(render_image(*first).channel_count(), 3u);
    { // objects go where they were made
        VariantScope scope(a);
        first.reset();
    }
    VariantScope scope(b);
    second.reset();
}

} // namespace umbel
