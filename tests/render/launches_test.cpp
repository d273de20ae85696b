// tests/render/launches_test.cpp: renders in parts, with other cameras, after preparation, and without tracing again.
#include "core/traverse.h"
#include "support/scenes.h"
#include <cmath>

namespace umbel {
using namespace test;

namespace {

const char *Body =
    "<shape type='sphere'><bsdf type='diffuse'/></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate "
    "z='-1'/></transform></shape><emitter type='constant'/>";

// A constant, that it finds out beforehand; counts what is asked of it.
class Counting final : public Integrator {
public:
    bool prepare(const Scene &scene, const Progress &progress) const override {
        ++prepared;
        m_value = opaque_float(double(scene.shapes().size()));
        return progress(0.5);
    }
    Radiance sample(const Scene &, SampleStream &sampler, const Ray &, const Medium *,
                    const Mask &) const override {
        ++traced;
        return { Spectrum(m_value * sampler.next_1d()), Mask(true), {} };
    }
    mutable int prepared = 0, traced = 0;

private:
    mutable Float m_value;
};

// A random walk of numbers that goes on from launch to launch: no launch is like another.
class Walking final : public Integrator {
public:
    bool carries() const override { return true; }
    void render(Pass &pass) const override {
        Float here = pass.carried.empty() ? Float(0) : Float(pass.carried[0]);
        UInt32 steps = pass.carried.empty() ? UInt32(0u) : UInt32(pass.carried[1]);
        here = here + pass.sampler.next_1d();
        steps = steps + UInt32(1u);
        pass.add({ Spectrum(here * Float(steps)), pass.active, {} });
        pass.carried = { here, steps };
        groups.push_back(pass.group);
    }
    mutable std::vector<int> groups;
};

} // namespace

class BackendLaunches : public VariantTest {};
UMBEL_VARIANTS(BackendLaunches, "interp_rgb", "llvm_rgb", "llvm_spectral")

TEST_P(BackendLaunches, PartsMakeTheWhole) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 13, 150));
    for (bool error : { false, true }) {
        RenderOptions options{ .estimate_error = error };
        Render whole(*scene, options);
        whole.run();
        std::vector<std::string> saved;
        int samples = 0;
        options.parts = 2;
        for (options.part = 0; options.part < options.parts; ++options.part) {
            Render part(*scene, options);
            samples += part.spp();
            part.run();
            EXPECT_EQ(part.progress(), 1);
            saved.push_back(part.save());
        }
        EXPECT_EQ(samples, 150);
        options.part = 0;
        Render merged(*scene, options);
        EXPECT_NE(user_error([&] { merged.merge(saved[1]); }).find("the first is not"),
                  std::string::npos);
        merged.restore(saved[0]);
        EXPECT_NE(user_error([&] { merged.merge(saved[0]); }).find("in their order"),
                  std::string::npos);
        merged.merge(saved[1]);
        EXPECT_EQ(merged.samples_done(), 150);
        Image a = whole.image(), b = merged.image();
        for (size_t y = 0; y < 13; ++y)
            for (size_t x = 0; x < 13; ++x)
                for (size_t c = 0; c < a.channel_count();
                     ++c) // sums of ten numbers in another order
                    EXPECT_NEAR(a.get(x, y, c), b.get(x, y, c), 1e-5 * (1 + a.get(x, y, c)));
        if (error) { // the last 6 samples, which make no group, are in the second mean alone
            EXPECT_NEAR(whole.relative_error(), merged.relative_error(),
                        1e-2 * whole.relative_error());
        }
        EXPECT_NE(
            user_error([&] { Render(*scene, options).restore(saved[1]); }).find("another part"),
            std::string::npos);
    }
    EXPECT_NE(user_error([&] { Render(*scene, { .part = 2, .parts = 2 }); }).find("counted from 0"),
              std::string::npos);
    EXPECT_NE(user_error([&] { Render(*scene, { .spp = 16, .parts = 2 }); }).find("no 2 parts"),
              std::string::npos);
}

TEST_P(BackendLaunches, ALightTracersPartsMakeTheWhole) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 13, 64, "ptracer"));
    Image whole = render_image(*scene);
    Render first(*scene, { .part = 0, .parts = 2 }), second(*scene, { .part = 1, .parts = 2 });
    first.run();
    second.run();
    first.merge(second.save());
    Image merged = first.image();
    for (size_t y = 0; y < 13; ++y)
        for (size_t x = 0; x < 13; ++x)
            EXPECT_NEAR(whole.get(x, y, 1), merged.get(x, y, 1), 1e-4 * (1 + whole.get(x, y, 1)));
}

TEST_P(BackendLaunches, CarryWhatTheIntegratorLeaves) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 13, 64));
    auto walking = std::make_shared<Walking>();
    RenderOptions options{ .integrator = walking };
    Render whole(*scene, options);
    whole.run();
    Image image = whole.image();
    EXPECT_EQ(walking->groups, (std::vector<int>{ 0, 1, 2, 3 }));

    // However launches are asked to be, and after an interruption
    options.launch_pixels = 16;
    options.launch_seconds = 1e-6;
    Render first(*scene, options);
    first.step();
    first.wait();
    first.step();
    std::string saved = first.save();
    Render second(*scene, options);
    second.restore(saved);
    while (!second.done()) {
        second.step();
        second.wait();
    }
    EXPECT_TRUE(same_pixels(image, second.image()));

    // A render that begins anew forgets it, and a restored one forgets what it had
    first.restore(saved);
    first.run();
    EXPECT_TRUE(same_pixels(image, first.image()));
    first.reset(scene->sensors()[0]);
    first.run();
    EXPECT_TRUE(same_pixels(image, first.image()));
    EXPECT_THROW(second.restore(saved.substr(0, saved.size() - 100)), DamagedState);
}

TEST_P(BackendLaunches, ARenderGoesOnWithAnotherCamera) {
    std::string xml = scene_xml(Body, 13, 32);
    xml.insert(xml.find("</scene>"),
               "<sensor type='perspective'><transform name='to_world'><lookat origin='3,0,3' "
               "target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
               "value='20'/><integer name='height' value='9'/></film></sensor>");
    Ref<Scene> scene = scene_from(xml);
    Image first = render_image(*scene, { .spp = 32 }),
          second = render_image(*scene, { .sensor = 1, .spp = 32 });
    Render render(*scene, { .spp = 32 });
    render.step();
    render.reset(scene->sensors()[1]);
    EXPECT_EQ(render.samples_done(), 0);
    render.run();
    EXPECT_TRUE(same_pixels(second, render.image()));
    render.reset(scene->sensors()[0]);
    render.run();
    EXPECT_TRUE(same_pixels(first, render.image()));
}

TEST_P(BackendLaunches, PreparationIsKeptWhileTheSceneIsAsItWas) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 8, 32));
    auto integrator = std::make_shared<Counting>();
    double told = 0;
    RenderOptions options{ .integrator = integrator, .progress = [&](double done) {
                              told = done;
                              return true;
                          } };
    render_image(*scene, options);
    render_image(*scene, options);
    EXPECT_EQ(integrator->prepared, 1);
    EXPECT_EQ(told, 0.5);
    SceneParameters params(scene);
    params.update({ params.all()[0].key });
    Image image = render_image(*scene, options);
    EXPECT_EQ(integrator->prepared, 2);
    EXPECT_NEAR(image.get(3, 3, 0), 1, 0.5) << "half of two shapes, up to noise";

    params.update({ params.all()[0].key });
    options.progress = [](double) { return false; };
    Render stopped(*scene, options);
    stopped.run();
    EXPECT_EQ(stopped.samples_done(), 0);
    EXPECT_TRUE(stopped.stopped());
}

TEST_P(BackendLaunches, AnUnchangedSceneIsTracedOnce) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 8, 64));
    auto integrator = std::make_shared<Counting>();
    RenderOptions options{ .integrator = integrator };
    Image image = render_image(*scene, options);
    EXPECT_EQ(integrator->traced, 1) << "all four launches are one";
    EXPECT_TRUE(same_pixels(image, render_image(*scene, options)));
    options.seed = 7;
    EXPECT_FALSE(same_pixels(image, render_image(*scene, options)));
    EXPECT_EQ(integrator->traced, 1);
    options.spp = 48;
    render_image(*scene, options);
    EXPECT_EQ(integrator->traced, 2);
}

TEST_P(BackendLaunches, ChangesAreSeen) {
    Ref<Scene> scene = scene_from(scene_xml(Body, 8, 16));
    Image before = render_image(*scene);
    // A value, which somebody still holds
    SceneParameters params(scene);
    const SceneParameter *colour = nullptr;
    for (const SceneParameter &p : params.all())
        if (std::holds_alternative<std::array<Float *, 3>>(p.param.slot) ||
            std::holds_alternative<Float *>(p.param.slot))
            colour = &p;
    ASSERT_NE(colour, nullptr);
    std::vector<Value> held = params.traced();
    auto *three = std::get_if<std::array<Float *, 3>>(&colour->param.slot);
    std::vector<Value> dark(three ? 3 : 1, opaque_float(0.125));
    params.assign(colour->key, dark);
    params.update({ colour->key });
    Image after = render_image(*scene);
    EXPECT_FALSE(same_pixels(before, after));
    // Numbers of the host
    scene->sensors()[0]->film().set_crop({ 2, 3, 4, 4 });
    Image part = render_image(*scene);
    for (size_t c = 0; c < 3; ++c)
        EXPECT_EQ(part.get(1, 1, c), after.get(3, 4, c));
}

} // namespace umbel
