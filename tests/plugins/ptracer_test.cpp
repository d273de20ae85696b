// tests/plugins/ptracer_test.cpp: images made from the lights' side are those made from the camera's.
#include "support/same_image.h"
#include "support/warnings.h"
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

const char *Pane =
    "<shape type='rectangle'><transform name='to_world'><translate x='.3' z='2.3'/></transform>"
    "<bsdf type='mask'><rgb name='opacity' value='.3,.5,.8'/><bsdf type='diffuse'/></bsdf>"
    "</shape>";
// As large as the image.
const char *VisibleLamp =
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/></transform>"
    "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>";
// Lets a quarter of the light pass, and throws nothing back.
std::string dark_pane(int z) {
    return fmt::format("<shape type='rectangle'><transform name='to_world'><scale value='4'/>"
                       "<translate z='{}'/></transform><bsdf type='mask'><float name='opacity' "
                       "value='.75'/><bsdf type='diffuse'><rgb name='reflectance' value='0'/>"
                       "</bsdf></bsdf></shape>",
                       z);
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
    expect_same_image(scene_xml(body, 16, 256, "path"), scene_xml(body, 16, 256, "ptracer"));
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

TEST_P(BackendLightTracer, PassesWhatTheCameraSeesThrough) {
    std::string body = std::string(Room) + Metal + Bulb + Pane;
    expect_same_image(scene_xml(body, 16, 256, "path"), scene_xml(body, 16, 256, "ptracer"));
}

TEST_P(BackendLightTracer, ShowsLampsBehindWhatTheCameraSeesThrough) {
    const char *Lamp =
        "<shape type='rectangle'><transform name='to_world'><scale value='.3'/>"
        "<translate x='-.3' y='.4' z='1'/></transform>"
        "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>";
    std::string body = std::string(Room) + Metal + Bulb + Lamp + Pane;
    expect_same_image(scene_xml(body, 16, 256, "path"), scene_xml(body, 16, 256, "ptracer"));

    // Each surface that is passed is one segment
    for (auto [depth, panes, part] : { std::tuple(1, 0, 1.0),
                                       { 1, 1, 0.0 },
                                       { 2, 1, 0.25 },
                                       { -1, 1, 0.25 },
                                       { 2, 2, 0.0 },
                                       { 3, 2, 0.0625 } }) {
        std::string xml = scene_xml(VisibleLamp, 4, 16, "ptracer"), plain = "type='ptracer'/>";
        xml.replace(xml.find(plain), plain.size(),
                    fmt::format("type='ptracer'><integer name='max_depth' value='{}'/>"
                                "</integrator>",
                                depth));
        for (int i = 0; i < panes; ++i)
            xml.insert(xml.find("</scene>"), dark_pane(2 - i));
        Image image = render_image(*scene_from(xml));
        // Four wavelengths of a sample stand for a colour
        double tolerance = variant().colour == Colour::Spectral ? 0.2 : 1e-4;
        EXPECT_NEAR(channel_mean(image, 0).mean, 4 * part, tolerance * 4 * part)
            << depth << " segments, " << panes << " panes";
    }
}

TEST_P(BackendLightTracer, CoversWhatPathsCover) {
    const char *Far = "<emitter type='point'><point name='position' z='-9'/></emitter>";
    for (auto [body, hides, alpha] : { std::tuple(std::string(Far), false, 0.0),
                                       { std::string(Sky), false, 1.0 },
                                       { std::string(Sky), true, 0.0 },
                                       { std::string(VisibleLamp), false, 1.0 },
                                       { std::string(VisibleLamp), true, 0.0 },
                                       { std::string(Far) + dark_pane(2), false, 0.75 },
                                       { std::string(VisibleLamp) + dark_pane(2), false, 1.0 } })
        for (const char *integrator : { "path", "ptracer" }) {
            std::string xml = scene_xml(body, 16, 64, integrator), plain = "'/>", film = "<rfilter";
            xml.replace(
                xml.find(plain), plain.size(),
                fmt::format("'><boolean name='hide_emitters' value='{}'/></integrator>", hides));
            xml.insert(xml.find(film), "<string name='pixel_format' value='rgba'/>");
            Image image = render_image(*scene_from(xml));
            // 16,384 samples of a coin that falls to one side three times of four: a deviation of 0.0034
            EXPECT_NEAR(channel_mean(image, 3).mean, alpha, 0.02)
                << integrator << ": " << body << ", hide_emitters " << hides;
        }
}

TEST_P(BackendLightTracer, IsNotHiddenByWhatIsTooNearToBeSeen) {
    const char *Near = "<shape type='rectangle'><transform name='to_world'><scale value='.3'/>"
                       "<translate x='.3' z='3.6'/></transform><bsdf type='diffuse'/></shape>";
    std::string body = std::string(Room) + Metal + Lamp + Near,
                clip = "<float name='near_clip' value='1'/>";
    auto xml = [&](const char *integrator) {
        std::string text = scene_xml(body, 16, 64, integrator);
        return text.insert(text.find("<transform", text.find("<sensor")), clip);
    };
    expect_same_image(xml("path"), xml("ptracer"));
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

// A launch follows light for many bounces: whoever stops it does not wait for the last one, and sees nothing of the others.
TEST_P(BackendLightTracer, ALaunchThatIsGivenUpLeavesTheImageAsItWas) {
    Ref<Scene> scene = scene_from(scene_xml(std::string(Room) + Metal + Lamp, 12, 48, "ptracer"));
    int asked = 0, most = 1 << 30;
    Render render(*scene, { .go_on = [&] { return asked++ < most; } });
    render.step();
    EXPECT_GT(asked, 2) << "once a bounce";
    Image before = render.image();
    most = asked + 2;
    render.run();
    EXPECT_EQ(asked, most + 1);
    EXPECT_TRUE(render.stopped());
    EXPECT_EQ(render.samples_done(), 16);
    EXPECT_TRUE(same_pixels(before, render.image()));
}

// A launch for each 16 samples of a few pixels would do little but start launches.
TEST_P(BackendLightTracer, LaunchesOfSmallImagesHoldSeveralGroups) {
    constexpr int Samples = 200 * 16 + 5;
    Ref<Scene> scene =
        scene_from(scene_xml(std::string(Room) + Metal + Lamp, 2, Samples, "ptracer"));
    auto image_of = [&](const RenderOptions &options, int &steps, bool interrupted = false) {
        auto render = std::make_unique<Render>(*scene, options);
        for (steps = 0; !render->done(); ++steps) {
            if (interrupted && steps == 70) {
                std::string state = render->save();
                render = std::make_unique<Render>(*scene, options);
                render->restore(state);
            }
            render->step();
        }
        EXPECT_EQ(render->samples_done(), Samples);
        return render->image();
    };
    int single, several, resumed;
    Image reference = image_of({ .launch_pixels = 16 }, single), image = image_of({}, several);
    EXPECT_EQ(single, 201);
    EXPECT_EQ(several, 64 + 17 + 1); // of one group, of eight, and the last, of five samples
    // The same paths, whose light is added bounce by bounce of a launch: rounding of some 10,000 sums
    for (size_t y = 0; y < 2; ++y)
        for (size_t x = 0; x < 2; ++x)
            for (size_t c = 0; c < 3; ++c)
                EXPECT_NEAR(image.get(x, y, c), reference.get(x, y, c),
                            1e-4 * reference.get(x, y, c));
    EXPECT_TRUE(same_pixels(image, image_of({}, resumed, true)));
    EXPECT_EQ(resumed, several);
}

TEST(LightTracer, SaysWhatItLeavesOut) {
    VariantScope scope(find_variant("llvm_rgb"));
    auto warnings = [](const std::string &body) {
        Warnings w;
        Ref<Scene> scene = scene_from(scene_xml(body + Lamp, 4, 1, "ptracer"));
        render_image(*scene);
        std::string first = std::exchange(w.text, "");
        render_image(*scene);
        EXPECT_EQ(w.text, "") << "what was told already";
        return first;
    };
    EXPECT_EQ(warnings(""), "");
    std::string fog = warnings("<shape type='cube'><bsdf type='null'/><medium type='homogeneous' "
                               "name='interior' id='fog'/></shape>");
    EXPECT_NE(fog.find("fog"), std::string::npos) << fog;
    EXPECT_NE(fog.find("volpath"), std::string::npos) << fog;
    std::string wax = warnings("<shape type='cube'><subsurface type='dipole'><spectrum "
                               "name='sigma_t' value='3'/><spectrum name='albedo' value='.5'/>"
                               "</subsurface></shape>");
    EXPECT_NE(wax.find("ptracer leaves out light below surfaces"), std::string::npos) << wax;
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
