// support/registry.cpp: see support/registry.h.
#include "support/registry.h"
#include "core/image_io.h"
#include "support/ellipsoid_files.h"
#include "support/gltf_file.h"
#include "support/serialized_file.h"
#include "support/tensor_files.h"
#include "support/volume_file.h"
#include "support/weave_files.h"
#include <algorithm>
#include <fstream>
#include <set>
#include <unistd.h>

namespace umbel::test {

namespace {

/// A folder with the files that examples name.
const std::filesystem::path &example_files() {
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
        std::ofstream(f / "curves.txt") << "-1 -.3 0 .3\n-.3 .2 .2 .35\n.3 -.2 0 .4\n1 .3 .1 .3\n\n"
                                           "-1 .7 0 .1\n-.3 .8 -.2 .1\n.3 .8 0 .2\n1 .6 .1 .1\n";
        std::ofstream(f / "hair.txt") << "-1 -.3 0\n0 .2 .2\n1 -.2 0\n\n-1 .5 0\n1 .4 .1\n";
        std::ofstream(f / "scene.gltf") << gltf_triangle();
        std::ofstream(f / "gaussians.ply") << gaussians_ply();
        std::ofstream(f / "ellipsoids.ply") << ellipsoids_ply();
        std::ofstream(f / "staple.wv") << staple_weave();
        std::ofstream(f / "filament.wv") << filament_weave();
        SerializedMesh triangle;
        triangle.positions = { -1, -1, 0, 1, -1, 0, 0, 1, 0 };
        triangle.uvs = { 0, 0, 1, 0, .5, 1 };
        triangle.colours = { .2, .4, .6, .6, .4, .2, .5, .5, .5 };
        triangle.triangles = { 0, 1, 2 };
        std::ofstream(f / "mesh.serialized", std::ios::binary)
            << serialized_file({ triangle, folded_sheet() });
        Image image(2, 2, { "R", "G", "B" }, Component::U8);
        for (size_t i = 0; i < 12; ++i)
            image.set(i / 3 % 2, i / 6, i % 3, 0.05 + 0.07 * double(i));
        write_image(f / "image.png", image);
        Image sky(6, 5, { "R", "G", "B" }, Component::F32);
        for (size_t i = 0; i < 90; ++i) // with a sun
            sky.set(i / 3 % 6, i / 18, i % 3,
                    i / 3 == 14 ? 8.0 - double(i % 3) : 0.1 + double(i * 37 % 100) / 80);
        write_image(f / "environment.exr", sky);
        std::ofstream(f / "measured.bsdf", std::ios::binary) << measured_file({ 0 });
        std::ofstream(f / "measured_anisotropic.bsdf", std::ios::binary)
            << measured_file({ -Pi, -0.75 * Pi, -0.5 * Pi, -0.25 * Pi, 0 });
        std::ofstream(f / "measured.pbsdf", std::ios::binary) << measured_polarized_file();
        for (auto &[name, channels] : { std::pair("grey.vol", 1), { "colour.vol", 3 } }) {
            VolumeFile volume{ { 3, 2, 4 }, channels };
            for (int i = 0; i < 24 * channels; ++i)
                volume.values.push_back(0.1f + float(i * 37 % 100) / 300);
            std::ofstream(f / name, std::ios::binary) << volume.bytes();
        }
        VolumeFile flakes{ { 2, 2, 2 }, 6 }; // positive matrices: xx, yy, zz, xy, xz, yz
        for (int i = 0; i < 8; ++i)
            for (int c = 0; c < 6; ++c)
                flakes.values.push_back(c < 3 ? 0.4f + 0.07f * float((i + 3 * c) % 8)
                                              : 0.02f * float((3 * i + c) % 8) - 0.08f);
        std::ofstream(f / "flakes.vol", std::ios::binary) << flakes.bytes();
        std::ofstream(f / "ball.vol", std::ios::binary) << ball_of_distances({ 7, 6, 8 }).bytes();
        return f;
    }();
    return folder;
}

struct RemoveFiles : testing::Environment {
    void TearDown() override { std::filesystem::remove_all(example_files()); }
};
[[maybe_unused]] auto *const remove_files = testing::AddGlobalTestEnvironment(new RemoveFiles);

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

// Where the element that begins at `at` is over.
size_t end_of(const std::string &xml, size_t at) {
    for (int depth = 0;; at = xml.find('<', at)) {
        bool closes = xml[at + 1] == '/';
        at = xml.find('>', at) + 1;
        depth += closes ? -1 : xml[at - 2] == '/' ? 0 : 1;
        if (depth == 0)
            return at;
    }
}

} // namespace

std::string Example::name() const {
    return plugin->kind + "_" + plugin->name + (number ? fmt::format("_{}", number + 1) : "");
}

void PrintTo(const Example &e, std::ostream *out) { *out << e.name(); }

std::vector<Example> examples(std::string_view kind) {
    std::vector<Example> out;
    for (const Plugin *plugin : PluginRegistry::instance().all(kind)) {
        if (plugin->kind == "scene") // is around all others
            continue;
        Params params(Params::Mode::Describe);
        plugin->make({})->declare(params);
        std::vector<std::string> all = params.examples();
        if (all.empty())
            all = { "" };
        for (size_t i = 0; i < all.size(); ++i)
            out.push_back({ plugin, all[i], i });
    }
    return out;
}

std::string scene_of(const Example &e, bool alone) {
    const Plugin &plugin = *e.plugin;
    std::string inside = e.parameters, files = "$files";
    for (size_t at; (at = inside.find(files)) != std::string::npos;)
        inside.replace(at, files.size(), example_files().string());
    bool is_used = false;
    auto element = [&](const std::string &name, const std::string &more = "") {
        is_used = true;
        return fmt::format("<{0} type='{1}' id='it'{2}>{3}{4}</{0}>", plugin.kind, plugin.name,
                           name.empty() ? "" : " name='" + name + "'", inside, more);
    };
    auto or_else = [&](const char *kind, const std::string &otherwise) {
        return plugin.kind == kind ? element("") : otherwise;
    };
    bool is_texture = plugin.kind == "texture";

    // A surface; textures may be emissive, or need a mesh with colours
    std::string bsdf = is_texture ? "<bsdf type='diffuse'>" + element("reflectance") + "</bsdf>"
                                  : or_else("bsdf", "<bsdf type='diffuse'/>");
    std::string shape = or_else("shape", "<shape type='sphere'>" + bsdf + "</shape>");
    if (plugin.name == "mesh_attribute" || plugin.name == "vertexcolors" ||
        plugin.name == "wireframe")
        shape = fmt::format("<shape type='ply'><string name='filename' value='{}'/>{}</shape>",
                            (example_files() / "mesh.ply").string(), bsdf);
    if (plugin.name == "volprim_rf_basic") // which sees nothing else
        shape = fmt::format("<shape type='ellipsoids'><string name='filename' value='{}'/></shape>",
                            (example_files() / "gaussians.ply").string());
    if (plugin.name == "motion") // of something that moves
        shape = "<shape type='sphere'><animation name='to_world'><transform time='0'/><transform "
                "time='1'><translate x='.5' y='.2'/></transform></animation></shape>";
    if (is_texture && (plugin.name == "blackbody" || plugin.name == "d65"))
        shape = "<shape type='sphere'><emitter type='area'>" + element("radiance") +
                "</emitter></shape>";

    // A cloud: the medium itself, or what is inside one
    bool is_part = plugin.kind == "phase" || plugin.kind == "volume",
         is_cloud = is_part || plugin.kind == "medium";
    if (is_cloud)
        shape = "<shape type='cube'><bsdf type='null'/>" +
                (is_part ? "<medium type='homogeneous' name='interior'>" +
                               element(plugin.kind == "volume" ? "albedo" : "") + "</medium>"
                         : element("interior")) +
                "</shape>";

    if (plugin.kind == "subsurface")
        shape = "<shape type='sphere'>" + bsdf + element("") + "</shape>";

    if (alone && (plugin.kind == "emitter" || plugin.kind == "sensor"))
        shape = "";

    // Light
    std::string light = or_else("emitter", "<emitter type='constant'/>");
    if (plugin.name == "area")
        light = "<shape type='rectangle'>" + light + "</shape>";
    if (plugin.name == "directionalarea") // shines on the sphere from beside the camera
        light = "<shape type='rectangle'><transform name='to_world'><scale value='.5'/><lookat "
                "origin='2,2,3' target='0,0,0' up='0,1,0'/></transform>" +
                light + "</shape>";

    // A camera
    std::string filter = or_else("rfilter", "<rfilter type='box'/>");
    std::string film = or_else("film", "<film type='hdrfilm'><integer name='width' value='8'/>"
                                       "<integer name='height' value='8'/>" +
                                           filter + "</film>");
    std::string sampler = or_else("sampler", "<sampler type='independent'/>");
    if (plugin.kind == "sensor" && inside.find("<film ") != inside.npos) // its own
        film = "";
    if (plugin.name == "irradiancemeter") // of one pixel
        film = "<film type='hdrfilm'><integer name='width' value='1'/><integer name='height' "
               "value='1'/>" +
               filter + "</film>";
    std::string camera = "<transform name='to_world'><lookat origin='0,0,4' target='0,0,0' "
                         "up='0,1,0'/></transform>" +
                         film + sampler;
    if (plugin.name == "irradiancemeter") {
        camera = film + sampler;
        return "<scene version='3.0.0'><integrator type='path'/>" + light +
               "<shape type='rectangle'><transform name='to_world'><translate z='2'/></transform>" +
               element("", camera) + "</shape>" + shape + "</scene>";
    }
    if (plugin.name == "batch") // its sensors stand where they are
        camera = film + sampler;
    std::string sensor = plugin.kind == "sensor"
                             ? element("", camera)
                             : "<sensor type='perspective'>" + camera + "</sensor>";

    std::string integrator = or_else(
        "integrator", is_cloud || plugin.kind == "subsurface" ? "<integrator type='volpath'/>"
                      : plugin.name == "directionalarea" || plugin.name == "collimated"
                          ? "<integrator type='ptracer'/>"
                          : "<integrator type='path'/>");
    if (!is_used)
        throw UserError(fmt::format("no tests for kind {} of plugin {}: tests/support/registry.cpp "
                                    "must say where in a scene it has something to do",
                                    quote(plugin.kind), quote(plugin.name)));
    return "<scene version='3.0.0'>" + integrator + sensor + light + shape + "</scene>";
}

std::string with_parameter(std::string xml, const std::string &element) {
    size_t begin = xml.find('>', xml.find("id='it'")) + 1;
    std::string name = element.substr(element.find("name='"));
    name = name.substr(0, name.find('\'', 6) + 1);
    std::vector<std::string> replaced = { name };
    if (name == "name='to_world'") // which is to tell the whole way
        replaced.insert(replaced.end(), { "name='origin'", "name='direction'" });
    for (size_t at = begin; xml[at + 1] != '/';) {
        std::string head = xml.substr(at, xml.find('>', at) - at);
        bool is_replaced =
            std::any_of(replaced.begin(), replaced.end(), [&](const std::string &other) {
                return head.find(other) != std::string::npos;
            });
        if (is_replaced)
            xml.erase(at, end_of(xml, at) - at);
        else
            at = end_of(xml, at);
    }
    return xml.insert(begin, element);
}

Ref<Object> tried_object(const Ref<Scene> &scene) {
    std::set<Object *> seen;
    return find_object(*scene, "it", seen);
}

} // namespace umbel::test
