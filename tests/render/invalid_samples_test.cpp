// tests/render/invalid_samples_test.cpp: samples that are NaN or infinite are told, and left out where asked.
#include "jit/launch_log.h"
#include "render/invalid_samples.h"
#include "render/render_image.h"
#include "support/scenes.h"
#include "support/warnings.h"
#include <cmath>

namespace umbel {
using namespace test;

namespace {

// Right below the light, what arrives is infinite in single precision.
std::string too_bright() {
    return scene_xml(
        "<shape type='rectangle'/><emitter type='point'><point name='position' x='0.2' "
        "y='0.1' z='0.02'/><rgb name='intensity' value='1e37'/></emitter>",
        8, 4, "direct");
}

size_t invalid_numbers(const Image &image) {
    size_t n = 0;
    for (size_t y = 0; y < image.height(); ++y)
        for (size_t x = 0; x < image.width(); ++x)
            for (size_t c = 0; c < image.channel_count(); ++c)
                n += !std::isfinite(image.get(x, y, c));
    return n;
}

} // namespace

class BackendInvalidSamples : public VariantTest {};
UMBEL_VARIANTS(BackendInvalidSamples, "interp_rgb", "llvm_rgb")

TEST_P(BackendInvalidSamples, AreCountedAndLeftOutWhereAsked) {
    Ref<Scene> scene = scene_from(too_bright());
    Warnings spoilt;
    EXPECT_GT(invalid_numbers(render_image(*scene)), 0u);
    EXPECT_TRUE(spoilt.tell("samples were NaN or infinite and are part")) << spoilt.text;
    EXPECT_TRUE(spoilt.tell("of the image's numbers")) << spoilt.text;

    Warnings skipped; // the same launches, with other data
    EXPECT_EQ(invalid_numbers(render_image(*scene, { .skip_invalid = true })), 0u);
    EXPECT_TRUE(skipped.tell("left out")) << skipped.text;
    EXPECT_FALSE(skipped.tell("of the image's numbers")) << skipped.text;
}

TEST_P(BackendInvalidSamples, CanBeSeenAgain) {
    Ref<Scene> scene = scene_from(too_bright());
    Warnings all;
    render_image(*scene, { .seed = 5 });
    int n, sample, x, y, crop_x, crop_y, seed;
    size_t at = all.text.find(" samples were NaN");
    ASSERT_NE(at, std::string::npos) << all.text;
    at = all.text.rfind('\n', at) + 1;
    ASSERT_EQ(
        std::sscanf(all.text.c_str() + at,
                    "%d samples were NaN or infinite and are part of the image "
                    "(`--skip-invalid` leaves them out); the first is sample %d of pixel (%d, "
                    "%d): a render of `--crop %d,%d,1,1 --seed %d`",
                    &n, &sample, &x, &y, &crop_x, &crop_y, &seed),
        7)
        << all.text;
    EXPECT_EQ(seed, 5);
    scene->sensors()[0]->film().set_crop({ crop_x, crop_y, 1, 1 });
    Warnings again;
    render_image(*scene, { .seed = 5 });
    EXPECT_TRUE(again.tell(fmt::format("sample {} of pixel ({}, {})", sample, x, y))) << again.text;
}

// Whoever asks for arrays sees no report at the end of a render.
TEST_P(BackendInvalidSamples, OfEachSceneAreToldWhereNobodyReports) {
    Warnings told;
    for (int i = 1; i < 4; ++i) {
        Ref<Scene> scene = scene_from(too_bright());
        for (int k = 0; k < 2; ++k)
            read_floats(umbel::render_image(scene, nullptr, {}, {}));
        EXPECT_EQ(occurrences(told.text, "is NaN or infinite"), i) << told.text;
    }
}

// Renders may take turns: each is told of its own.
TEST_P(BackendInvalidSamples, BelongToTheirRender) {
    Ref<Scene> scene = scene_from(too_bright());
    Render first(*scene, { .seed = 1, .tally = number_for_invalid_samples() }),
        fine(*scene, { .window = Film::Crop{ 0, 0, 1, 1 } }), second(*scene, { .seed = 2 });
    for (Render *r : { &first, &fine, &second })
        r->run();
    for (Render *r : { &second, &fine, &first }) {
        Warnings told;
        r->image();
        EXPECT_EQ(occurrences(told.text, "samples were NaN or infinite"), r == &fine ? 0 : 1)
            << told.text;
        EXPECT_TRUE(r == &fine || told.tell(r == &first ? "--seed 1`" : "--seed 2`")) << told.text;
        Warnings again;
        r->image();
        EXPECT_FALSE(again.tell("samples were NaN or infinite")) << again.text;
    }
}

// Light that is followed from its source spoils the pixels that it falls on, whichever path it came along.
TEST_P(BackendInvalidSamples, OfLightTracingAreCountedAndLeftOutWhereAsked) {
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='rectangle'/><emitter type='point'><point name='position' "
                  "x='0.2' y='0.1' z='1'/><rgb name='intensity' value='3e38'/></emitter>",
                  8, 4, "ptracer"));
    Warnings spoilt;
    EXPECT_GT(invalid_numbers(render_image(*scene)), 0u);
    EXPECT_TRUE(spoilt.tell("samples were NaN or infinite and are part")) << spoilt.text;
    EXPECT_TRUE(spoilt.tell("the first is light that falls on pixel (")) << spoilt.text;

    Warnings skipped;
    EXPECT_EQ(invalid_numbers(render_image(*scene, { .skip_invalid = true })), 0u);
    EXPECT_TRUE(skipped.tell("left out")) << skipped.text;
}

// Its paths went on for ever: a root of NaN never ended them
TEST_P(BackendInvalidSamples, OfLightTracingEndInClosedRooms) {
    Ref<Scene> scene = scene_from(scene_xml(
        "<shape type='sphere'><float name='radius' value='9'/><boolean name='flip_normals' "
        "value='true'/><bsdf type='diffuse'><rgb name='reflectance' value='1, 0, "
        "0'/></bsdf></shape>"
        "<emitter type='point'><rgb name='intensity' value='3e38'/></emitter>",
        4, 4, "ptracer"));
    Warnings told;
    EXPECT_EQ(invalid_numbers(render_image(*scene, { .skip_invalid = true })), 0u);
}

TEST_P(BackendInvalidSamples, OrdinaryImagesAreNotWarnedOf) {
    Warnings warnings;
    render_image(*scene_from(scene_xml("<shape type='sphere'/><emitter type='constant'/>", 8, 4)));
    EXPECT_EQ(warnings.text, "");
}

// As where a GPU has found more of them than its log has room for.
TEST_P(BackendInvalidSamples, AreCountedWhereTheirPlacesAreNotKnown) {
    std::vector<jit::ExternSite> sites(1);
    sites[0].text = "invalid samples";
    jit::CollectingLog log(sites);
    uint32_t render = number_for_invalid_samples();
    auto note = [&](uint32_t x) {
        note_invalid_samples(UInt32(jit::opaque(render)), UInt32(jit::opaque(x)),
                             UInt32(jit::opaque(2u)), UInt32(jit::opaque(1u)),
                             Mask(jit::opaque(true)));
        jit::eval();
        jit::synchronize();
    };
    note(3); // who may be missed is known from now on
    Warnings told;
    report_invalid_samples(render, 5, true);
    told.text.clear();
    log.missed(0, 1000);
    log.finish();
    report_invalid_samples(render, 5, true);
    EXPECT_EQ(told.text, "1000 samples were NaN or infinite, and left out\n");
    told.text.clear();
    log.missed(0, 1'000'000);
    note(3);
    told.text.clear();
    report_invalid_samples(render, 5, true);
    EXPECT_EQ(told.text, "1000001 samples were NaN or infinite, and left out; one of them is "
                         "sample 1 of pixel (3, 2): a render of `--crop 3,2,1,1 --seed 5` meets it "
                         "again\n");
}

class BackendInvalidDerivatives : public VariantTest {};
UMBEL_VARIANTS(BackendInvalidDerivatives, "interp_ad_rgb", "llvm_ad_rgb")

// What is not finite is told, and has no part in an image that is differentiated, nor in its gradient.
TEST_P(BackendInvalidDerivatives, LeaveThemOut) {
    for (const char *integrator : { "prb", "rb", "direct", "ad" }) {
        std::string xml = too_bright(), plain = "<shape type='rectangle'/>", direct = "'direct'";
        xml.replace(
            xml.find(plain), plain.size(),
            "<shape type='rectangle'><bsdf type='diffuse' id='card'><rgb name='reflectance' "
            "value='0.5,0.4,0.3'/></bsdf></shape>");
        xml.replace(xml.find(direct), direct.size(), fmt::format("'{}'", integrator));
        Ref<Scene> scene = scene_from(xml);
        SceneParameters params(scene);
        auto &slots =
            std::get<std::array<Float *, 3>>(params.at("card.reflectance.value").param.slot);
        for (Float *v : slots)
            ad::enable_grad(*v);
        params.update({ "card.reflectance.value" });
        Warnings told;
        RenderOptions o{ .seed = 1 };
        Float image = render_image(scene, &params, o, o);
        size_t invalid = 0;
        for (double v : read_floats(image))
            invalid += !std::isfinite(v);
        EXPECT_EQ(invalid, 0u) << integrator;
        ad::set_grad(image, Float(1e-30));
        ad::backward_from(image);
        double g = read_floats(Float(ad::grad(*slots[0])))[0];
        EXPECT_TRUE(std::isfinite(g) && g > 0) << integrator << ": " << g;
        EXPECT_TRUE(told.tell("is NaN or infinite")) << integrator << ": " << told.text;
        for (Float *v : slots)
            *v = Float(v->detached());
        params.update({ "card.reflectance.value" });
    }
}

} // namespace umbel
