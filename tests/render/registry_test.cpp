// tests/render/registry_test.cpp: what holds for every plugin that there is; see support/registry.h.
#include "core/file_text.h"
#include "core/traverse.h"
#include "support/registry.h"
#include <set>

namespace umbel {
using namespace test;

namespace {

Image image_of(const Scene &scene) {
    Film &film = scene.sensors()[0]->film();
    if (film.width() > 8) // where the film is the one that is tried
        film.set_size(8, 8);
    return render_image(scene, { .spp = 4 });
}

} // namespace

// Where more is asked of a kind than in this file.
const std::map<std::string, const char *> tests_of_kinds = {
    { "bsdf", "tests/render/registry_bsdf_test.cpp" },
    { "emitter", "tests/render/registry_endpoint_test.cpp" },
    { "film", "tests/render/film_test.cpp" },
    { "integrator", "tests/render/furnace_test.cpp" },
    { "medium", "tests/render/registry_medium_test.cpp" },
    { "phase", "tests/render/registry_phase_test.cpp" },
    { "rfilter", "tests/render/film_test.cpp" },
    { "sampler", "tests/render/sampler_test.cpp" },
    { "sensor", "tests/render/registry_endpoint_test.cpp" },
    { "shape", "tests/render/registry_shape_test.cpp" },
    { "subsurface", "tests/render/registry_subsurface_test.cpp" },
    { "texture", "tests/render/registry_texture_test.cpp" },
    { "volume", "tests/render/registry_medium_test.cpp" },
};

TEST(Registry, EveryPluginIsTried) {
    std::set<const Plugin *> tried;
    for (const Example &e : examples()) {
        tried.insert(e.plugin);
        auto tests = tests_of_kinds.find(e.plugin->kind);
        ASSERT_NE(tests, tests_of_kinds.end())
            << "no tests for kind " << e.plugin->kind << ", which " << e.plugin->name
            << " is of: write them, and enter them here";
        EXPECT_TRUE(std::filesystem::exists(tests->second)) << tests->second;
        EXPECT_NO_THROW(scene_of(e)) << e.name();
    }
    for (const Plugin *p : PluginRegistry::instance().all())
        EXPECT_TRUE(tried.count(p) || p->kind == "scene") << p->kind << " " << p->name;
}

// Beside what holds for all: tests/plugins/NAME_test.cpp, or others there or of Python's that name it.
TEST(Registry, EveryPluginHasTestsOfItsOwn) {
    std::string all;
    for (const char *folder : { "tests/plugins", "tests/python" })
        for (auto &file : std::filesystem::directory_iterator(folder))
            all += read_text_file(file.path());
    for (const Plugin *p : PluginRegistry::instance().all()) {
        bool is_named = false;
        for (const char *quote : { "'", "\"" })
            is_named |= all.find(quote + p->name + quote) != std::string::npos;
        EXPECT_TRUE(is_named ||
                    std::filesystem::exists(fmt::format("tests/plugins/{}_test.cpp", p->name)))
            << p->kind << " " << p->name << ": no test is about it";
    }
}

TEST(Registry, EveryPluginDescribesItsParameters) {
    for (const Plugin *p : PluginRegistry::instance().all()) {
        Params params(Params::Mode::Describe);
        p->make({})->declare(params);
        for (const Param &q : params.all())
            EXPECT_FALSE(q.text.empty())
                << p->kind << "/" << p->name << ": " << q.name << " has no description";
    }
}

class BackendRegistry : public testing::TestWithParam<Example> {
protected:
    // Some measure light's polarization.
    // Others need wavelengths.
    std::string colour = GetParam().plugin->name == "stokes"     ? "rgb_polarized"
                         : GetParam().plugin->name == "specfilm" ? "spectral"
                                                                 : "rgb";
    VariantScope scope{ find_variant("llvm_" + colour) };
};
UMBEL_EXAMPLES(BackendRegistry, "")

TEST_P(BackendRegistry, LoadsPrintsAndTraverses) {
    auto [scene, it] = load_example<Object>(GetParam());
    ASSERT_TRUE(it) << "not to be found by traversal";
    EXPECT_EQ(it->kind(), GetParam().plugin->kind);
    EXPECT_EQ(it->plugin(), GetParam().plugin->name);
    EXPECT_NE(it->where().find(GetParam().plugin->name), std::string::npos);
    SceneParameters params(scene);
    std::vector<std::string> keys;
    for (const SceneParameter &p : params.all())
        keys.push_back(p.key);
    params.update(keys); // all of them replaced by themselves
    EXPECT_EQ(SceneParameters(scene).all().size(), keys.size());
}

TEST_P(BackendRegistry, ScenesOfItAreWrittenAndReadAgain) {
    VariantScope inner(find_variant("interp_" + colour));
    std::string xml = scene_of(GetParam()), written = to_xml(parse_scene_string(xml));
    EXPECT_NE(written.find("type=\"" + GetParam().plugin->name + "\""), std::string::npos)
        << written;
    EXPECT_TRUE(same_pixels(image_of(*scene_from(xml)), image_of(*scene_from(written)))) << written;
}

TEST_P(BackendRegistry, ConfiguringItAgainChangesNothing) {
    auto [scene, it] = load_example<Object>(GetParam());
    ASSERT_TRUE(it);
    Image before = image_of(*scene);
    it->configure();
    it->configure();
    EXPECT_TRUE(same_pixels(before, image_of(*scene))) << "after configure()";
    it->changed({});
    scene->child_changed();
    EXPECT_TRUE(same_pixels(before, image_of(*scene))) << "after changed()";
    it->child_changed();
    scene->child_changed();
    scene->configure();
    EXPECT_TRUE(same_pixels(before, image_of(*scene))) << "after child_changed()";
}

// Colours, and wavelengths with polarization; what is made for one of them alone says so.
TEST_P(BackendRegistry, LlvmAndInterpGiveTheSameBits) {
    std::string xml = scene_of(GetParam());
    int tried = 0;
    for (const char *kind : { "rgb", "spectral_polarized" }) {
        SCOPED_TRACE(kind);
        auto image = [&](const char *backend) {
            VariantScope inner(find_variant(fmt::format("{}_{}", backend, kind)));
            return image_of(*scene_from(xml));
        };
        Image compiled;
        try {
            compiled = image("llvm");
        } catch (const UserError &e) {
            const char *why = GetParam().plugin->name == "specfilm" ? "wavelengths" : "polariz";
            EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
            continue;
        }
        ++tried;
        EXPECT_TRUE(same_pixels(compiled, image("interp")));
        double sum = 0;
        for (size_t c = 0; c < compiled.channel_count(); ++c)
            sum += std::abs(channel_mean(compiled, c).mean);
        EXPECT_GT(sum, 0) << "nothing to see";
        EXPECT_TRUE(std::isfinite(sum));
    }
    EXPECT_GT(tried, 0);
}

} // namespace umbel
