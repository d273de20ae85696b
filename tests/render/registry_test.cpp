// tests/render/registry_test.cpp: what holds for every plugin that there is.
//
// A plugin is entered by being registered. Where its defaults do not suffice, its declaration says what does (Params::example).
#include "core/image_io.h"
#include "core/traverse.h"
#include "support/scenes.h"
#include <fstream>
#include <set>
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

/// A folder with the files that examples name.
std::filesystem::path example_files() {
    static const std::filesystem::path folder = [] {
        std::filesystem::path f =
            std::filesystem::temp_directory_path() / fmt::format("umbel_registry_{}", getpid());
        std::filesystem::create_directories(f);
        std::ofstream(f / "mesh.obj") << "v -1 -1 0\nv 1 -1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt .5 1\n"
                                         "f 1/1 2/2 3/3\n";
        std::ofstream(f / "mesh.ply")
            << "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
               "property float z\nproperty float u\nproperty float v\nproperty float r\n"
               "property float g\nproperty float b\nelement face 1\n"
               "property list uchar int vertex_indices\nend_header\n"
               "-1 -1 0 0 0 .2 .4 .6\n1 -1 0 1 0 .6 .4 .2\n0 1 0 .5 1 .5 .5 .5\n3 0 1 2\n";
        Image image(2, 2, { "R", "G", "B" }, Component::U8);
        for (size_t i = 0; i < 12; ++i)
            image.set(i / 3 % 2, i / 6, i % 3, 0.05 + 0.07 * double(i));
        write_image(f / "image.png", image);
        return f;
    }();
    return folder;
}

struct RemoveFiles : testing::Environment {
    void TearDown() override { std::filesystem::remove_all(example_files()); }
};
[[maybe_unused]] auto *const remove_files = testing::AddGlobalTestEnvironment(new RemoveFiles);

/// A scene in which such an object, called "it", has something to do.
std::string scene_of(const Plugin &plugin) {
    Params params(Params::Mode::Describe);
    plugin.make({})->declare(params);
    std::string inside = params.example(), files = "$files";
    for (size_t at; (at = inside.find(files)) != std::string::npos;)
        inside.replace(at, files.size(), example_files().string());
    auto element = [&](const std::string &name) {
        return fmt::format("<{0} type='{1}' id='it'{2}>{3}</{0}>", plugin.kind, plugin.name,
                           name.empty() ? "" : " name='" + name + "'", inside);
    };
    auto or_else = [&](const char *kind, const char *otherwise) {
        return plugin.kind == kind ? element("") : std::string(otherwise);
    };
    std::string ball = or_else("bsdf", "<bsdf type='diffuse'/>");
    if (plugin.kind == "texture")
        ball = "<bsdf type='diffuse'>" + element("reflectance") + "</bsdf>";
    // Textures may be emissive, or need a mesh with colours
    std::string shape = "<shape type='sphere'>" + ball + "</shape>";
    if (plugin.name == "mesh_attribute")
        shape = fmt::format("<shape type='ply'><string name='filename' value='{}'/>{}</shape>",
                            (example_files() / "mesh.ply").string(), ball);
    if (plugin.kind == "texture" && (plugin.name == "blackbody" || plugin.name == "d65"))
        shape = "<shape type='sphere'><emitter type='area'>" + element("radiance") +
                "</emitter></shape>";
    if (plugin.kind == "shape")
        shape = element("");
    std::string light = "<emitter type='constant'/>";
    if (plugin.kind == "emitter")
        light = plugin.name == "area" ? "<shape type='rectangle'>" + element("") + "</shape>"
                                      : element("");
    std::string film = plugin.kind == "film"
                           ? element("")
                           : "<film type='hdrfilm'><integer name='width' value='8'/><integer "
                             "name='height' value='8'/>" +
                                 or_else("rfilter", "<rfilter type='box'/>") + "</film>";
    std::string sampler = or_else("sampler", "<sampler type='independent'/>");
    std::string camera = "<transform name='to_world'><lookat origin='0,0,4' target='0,0,0' "
                         "up='0,1,0'/></transform>" +
                         film + sampler;
    std::string sensor =
        plugin.kind == "sensor"
            ? fmt::format("<sensor type='{}' id='it'>{}{}</sensor>", plugin.name, inside, camera)
            : "<sensor type='perspective'>" + camera + "</sensor>";
    return "<scene version='3.0.0'>" + or_else("integrator", "<integrator type='path'/>") + sensor +
           light + shape + "</scene>";
}

Ref<Object> find_object(Object &object, const std::string &id, std::set<Object *> &seen) {
    if (!seen.insert(&object).second)
        return nullptr;
    if (object.id() == id)
        return object.shared_from_this();
    Params params(Params::Mode::Traverse);
    object.declare(params);
    for (const Param &p : params.all())
        for (const Ref<Object> &o : p.objects)
            if (o)
                if (Ref<Object> found = find_object(*o, id, seen))
                    return found;
    return nullptr;
}

Image image_of(const Scene &scene) {
    scene.sensors()[0]->film().set_size(8, 8); // also where the film is the one that is tried
    return render_image(scene, { .spp = 4 });
}

std::vector<const Plugin *> plugins() {
    std::vector<const Plugin *> out;
    for (const Plugin *p : PluginRegistry::instance().all())
        if (p->kind != "scene")
            out.push_back(p);
    return out;
}

} // namespace

class BackendRegistry : public testing::TestWithParam<const Plugin *> {
protected:
    // Some measure light's polarization.
    std::string colour = GetParam()->name == "stokes" ? "rgb_polarized" : "rgb";
    VariantScope scope{ find_variant("llvm_" + colour) };
};
INSTANTIATE_TEST_SUITE_P(Plugins, BackendRegistry, testing::ValuesIn(plugins()),
                         [](const auto &info) {
                             return info.param->kind + "_" + info.param->name;
                         });

TEST_P(BackendRegistry, LoadsPrintsAndTraverses) {
    Ref<Scene> scene = scene_from(scene_of(*GetParam()));
    std::set<Object *> seen;
    Ref<Object> it = find_object(*scene, "it", seen);
    ASSERT_TRUE(it) << "not to be found by traversal";
    EXPECT_EQ(it->kind(), GetParam()->kind);
    EXPECT_EQ(it->plugin(), GetParam()->name);
    EXPECT_NE(it->where().find(GetParam()->name), std::string::npos);
    SceneParameters params(scene);
    std::vector<std::string> keys;
    for (const SceneParameter &p : params.all())
        keys.push_back(p.key);
    params.update(keys); // all of them replaced by themselves
    EXPECT_EQ(SceneParameters(scene).all().size(), keys.size());
}

TEST_P(BackendRegistry, ConfiguringItAgainChangesNothing) {
    Ref<Scene> scene = scene_from(scene_of(*GetParam()));
    std::set<Object *> seen;
    Ref<Object> it = find_object(*scene, "it", seen);
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

TEST_P(BackendRegistry, LlvmAndInterpGiveTheSameBits) {
    std::string xml = scene_of(*GetParam());
    Image compiled = image_of(*scene_from(xml));
    VariantScope other(find_variant("interp_" + colour));
    EXPECT_TRUE(same_pixels(compiled, image_of(*scene_from(xml))));
    double sum = 0;
    for (size_t c = 0; c < compiled.channel_count(); ++c)
        sum += std::abs(channel_mean(compiled, c).mean);
    EXPECT_GT(sum, 0) << "nothing to see";
    EXPECT_TRUE(std::isfinite(sum));
}

} // namespace umbel
