// tests/render/registry_effect_test.cpp: no parameter is read and forgotten. Of every plugin (support/registry.h), each parameter that
// a scene file can write as a number, a word or a place is given other values, until an image, or the file that a film makes of it, is
// another one. What is left is listed below, with the reason.
#include "support/registry.h"
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

// "kind/plugin.parameter", or without the plugin, of all that have it, and why no image shows it.
const std::map<std::string, const char *> shown_by_no_image = {
    { "bsdf/twosided.allow_transmission",
      "what it allows is refused otherwise: twosided_test.cpp" },
    { "emitter/constant.to_world", "the same from everywhere" },
    { "film/hdrfilm.banner", "remarked on, as of ldrfilm" },
    { "film/hdrfilm.compensate", "rounding of many samples: film_test.cpp" },
    { "film/ldrfilm.banner", "remarked on: ldrfilm_test.cpp" },
    { "film/mfilm.sample_border", "its filter is a box, which reaches no border" },
    { "film/specfilm.compensate", "rounding of many samples" },
    { "integrator.block_size", "remarked on" },
    { "integrator/ad.strict_normals",
      "paths through surfaces of bent normals: strict_normals_test.cpp" },
    { "integrator/direct.strict_normals", "as of ad" },
    { "integrator/direct_projective.guiding", "of derivatives: projective_test.py" },
    { "integrator/direct_projective.guiding_proj", "of derivatives" },
    { "integrator/direct_projective.guiding_rounds", "of derivatives" },
    { "integrator/direct_projective.project_seed", "of derivatives: projective_test.py" },
    { "integrator/direct_projective.sppc", "of derivatives" },
    { "integrator/direct_projective.sppi", "of derivatives" },
    { "integrator/direct_projective.sppp", "of derivatives" },
    { "integrator/direct_projective.strict_normals", "as of ad" },
    { "integrator/motion.derivatives_only", "of reflections: motion_test.cpp" },
    { "integrator/motion.hide_emitters", "lights move like all else" },
    { "integrator/motion.max_space_steps", "of reflections" },
    { "integrator/motion.max_time_steps", "of reflections" },
    { "integrator/path.strict_normals", "as of ad" },
    { "integrator/prb.strict_normals", "as of ad" },
    { "integrator/prb_projective.guiding", "of derivatives" },
    { "integrator/prb_projective.guiding_proj", "of derivatives" },
    { "integrator/prb_projective.guiding_rounds", "of derivatives" },
    { "integrator/prb_projective.project_seed", "of derivatives" },
    { "integrator/prb_projective.sppc", "of derivatives" },
    { "integrator/prb_projective.sppi", "of derivatives" },
    { "integrator/prb_projective.sppp", "of derivatives" },
    { "integrator/prb_projective.strict_normals", "as of ad" },
    { "integrator/prb_reparam.reparam_antithetic", "of derivatives" },
    { "integrator/prb_reparam.reparam_kappa", "of derivatives" },
    { "integrator/prb_reparam.reparam_max_depth", "of derivatives" },
    { "integrator/prb_reparam.reparam_rays", "of derivatives" },
    { "integrator/prb_reparam.strict_normals", "as of ad" },
    { "integrator/rb.adjoint_depth", "of derivatives: rb_test.cpp" },
    { "integrator/rb.incident_depth", "of derivatives: rb_test.cpp" },
    { "integrator/rb.strict_normals", "as of ad" },
    { "integrator/prbvolpath.strict_normals", "as of ad" },
    { "integrator/volpath.strict_normals", "as of ad" },
    { "integrator/volpath_simple.strict_normals", "as of ad" },
    { "integrator/volpathmis.strict_normals", "as of ad" },
    { "integrator/volprim_rf_basic.hide_emitters", "sees no lights" },
    { "sensor/orthographic.focus_distance", "scripts ask for it" },
    { "sensor/perspective.focus_distance", "scripts ask for it" },
    { "shape.silhouette_sampling_weight", "of derivatives: projective_test.py" },
    { "shape/cube.face_normals", "its faces are flat" },
    { "shape/ellipsoids.extent_adaptive_clamping", "of opacities: ellipsoids_test.cpp" },
    { "shape/gltf.face_normals", "its example is flat" },
    { "shape/hair.angle_threshold", "of many points: hair_shape_test.cpp" },
    { "shape/obj.collapse", "its example is one mesh" },
    { "shape/obj.face_normals", "its example is flat: obj_test.cpp" },
    { "shape/obj.flip_tex_coords", "its example has no texture" },
    { "shape/obj.load_materials", "its example names none" },
    { "shape/obj.shape_index", "its example is one mesh" },
    { "shape/obj.max_smooth_angle", "its example is flat: obj_test.cpp" },
    { "shape/ply.face_normals", "its example is flat" },
    { "shape/ply.flip_tex_coords", "its example has no texture" },
    { "shape/ply.max_smooth_angle", "its example is flat" },
    { "shape/ply.srgb", "its example shows no colours" },
    { "shape/rectangle.face_normals", "it is flat" },
    { "shape/serialized.face_normals", "its example is flat: serialized_test.cpp" },
    { "texture/bitmap.accel", "a hint" },
    { "texture/srgb.unbounded", "its example is darker than white" },
    { "volume/constvolume.to_world", "the same everywhere" },
    { "volume/gridvolume.accel", "a hint" },
    { "volume/gridvolume.max_value", "bounds what media have: gridvolume_test.cpp" },
    { "volume/gridvolume.raw", "three numbers are no albedo: gridvolume_test.cpp" },
    { "volume/volcache.raw", "as of gridvolume" },
    { "volume/volcache.memory_limit", "too large a grid is refused: volcache_test.cpp" },
};

/// All that can be seen of a scene: the image, its channels, and the file.
std::string outcome(const std::string &xml) {
    Ref<Scene> scene = scene_from(xml);
    Film &film = scene->sensors()[0]->film();
    std::string seen = fmt::format("{} x {}, {} samples\n", film.width(), film.height(),
                                   scene->sensors()[0]->sampler().sample_count());
    Image image = render_image(*scene, { .spp = 4 });
    seen += fmt::format("{}\n", fmt::join(image.channels(), " "));
    seen.append(reinterpret_cast<const char *>(image.bytes()), image.byte_count());
    auto file = film.write(
        std::filesystem::temp_directory_path() / fmt::format("umbel_effect_{}", getpid()), image);
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    std::filesystem::remove(file);
    return seen + file.extension().string() + bytes.str();
}

/// Elements of a scene file with other values of a parameter; none where it is not that simple.
std::vector<std::string> other_values(const Param &p) {
    std::vector<std::string> out;
    auto add = [&](const char *tag, const std::string &value) {
        out.push_back(fmt::format("<{} name='{}' value='{}'/>", tag, p.name, value));
    };
    if (p.type == "boolean")
        add("boolean", p.otherwise == "true" ? "false" : "true");
    else if (p.type == "integer") {
        for (int v : { 2, 1, 3, 7, 0, 50, -1 })
            if (p.otherwise != fmt::format("{}", v))
                add("integer", fmt::format("{}", v));
    } else if (p.type == "float" || p.type == "texture" || p.type == "volume") {
        for (double v : { 0.375, 0.75, 1.5, 3.5, 10.0, 30.0, 580.0, 0.0, -0.25 })
            add("float", fmt::format("{}", v));
        if (p.type == "texture")
            out.push_back(fmt::format("<rgb name='{}' value='.3,.5,.1'/>", p.name));
    } else if (p.type == "vector")
        for (const char *v : { "x='.5' y='.25' z='1'", "x='-1' y='.25' z='.5'" })
            out.push_back(fmt::format("<vector name='{}' {}/>", p.name, v));
    else if (p.type.starts_with("transform"))
        for (const char *v : { "<translate x='.125' y='.0625'/>", "<rotate x='1' angle='30'/>" })
            out.push_back(fmt::format("<transform name='{}'>{}</transform>", p.name, v));
    else if (p.type.find(" | ") != std::string::npos) {
        std::istringstream words(p.type);
        for (std::string word; words >> word;)
            if (word != "|" && word != p.otherwise)
                add("string", word);
    }
    return out;
}

/// Small images; then with something that moves, light that comes from somewhere, a lamp in sight, a mirror, and a sheet with
/// normals that are not the surface's; and how the light there is polarized.
std::vector<std::string> scenes_of(const Example &e) {
    std::string xml = scene_of(e);
    if (e.plugin->kind == "film")
        for (const char *size : { "width", "height" })
            if (e.parameters.find(fmt::format("'{}'", size)) == std::string::npos)
                xml = with_parameter(xml, fmt::format("<integer name='{}' value='8'/>", size));
    std::string more =
        "<shape type='sphere'><float name='radius' value='.4'/><animation name='to_world'>"
        "<transform time='0'><translate x='-1' y='1'/></transform><transform time='1'><translate "
        "x='1' y='1'/></transform></animation></shape><emitter type='point'><point name='position' "
        "x='2' y='3' z='4'/><rgb name='intensity' value='9,7,5'/></emitter>"
        "<shape type='rectangle'><transform name='to_world'><scale value='.3'/><translate x='1' "
        "y='-.6' z='1'/></transform><emitter type='area'/></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale value='4'/><rotate x='1' "
        "angle='-60'/><translate y='-1' z='-1'/></transform><bsdf type='conductor'><string "
        "name='material' value='Cr'/></bsdf></shape>";
    for (const Example &mesh : examples("shape"))
        if (mesh.plugin->name == "serialized" && mesh.number == 0) { // the file has a folded sheet
            std::string other = scene_of(mesh);
            size_t at = other.find("<string name='filename'");
            more +=
                "<shape type='serialized'>" + other.substr(at, other.find('>', at) + 1 - at) +
                "<integer name='shape_index' value='1'/><transform name='to_world'><rotate y='1' "
                "angle='-45'/><translate y='-.5' z='1'/></transform></shape>";
        }
    std::string full = xml, camera = "<sensor type='perspective'>";
    full.insert(full.rfind("</scene>"), more);
    if (size_t at = full.find(camera); at != std::string::npos)
        full.insert(at + camera.size(), "<float name='shutter_close' value='1'/>");
    std::string stokes = full, path = "<integrator type='path'/>";
    size_t at = stokes.find(path);
    if (e.plugin->kind != "bsdf" || at == std::string::npos)
        return { xml, full };
    return { xml, full, stokes.replace(at, path.size(), "<integrator type='stokes'/>") };
}

/// Whether any value of a parameter is seen in any scene of the plugin's.
bool has_effect(const std::vector<std::string> &scenes, const Param &p) {
    const std::vector<std::string> values = other_values(p);
    int accepted = 0;
    for (const char *name : { "interp_rgb", "interp_spectral_polarized", "interp_spectral" }) {
        VariantScope scope(find_variant(name));
        for (const std::string &xml : scenes) {
            std::string before;
            try {
                before = outcome(xml);
            } catch (const UserError &) { // not made for this variant
                continue;
            }
            for (const std::string &value : values)
                try {
                    std::string after = outcome(with_parameter(xml, value));
                    ++accepted;
                    if (after != before)
                        return true;
                } catch (const UserError &) {
                }
        }
    }
    return accepted == 0; // it matters enough to be refused, alone and with these values
}

std::vector<Example> first_examples() {
    std::vector<Example> out;
    for (const Example &e : examples())
        if (e.number == 0)
            out.push_back(e);
    return out;
}

} // namespace

class BackendEffects : public testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(Plugins, BackendEffects, testing::ValuesIn(first_examples()),
                         [](const auto &info) { return info.param.name(); });

TEST_P(BackendEffects, EveryParameterHasOne) {
    const Plugin &plugin = *GetParam().plugin;
    std::vector<std::string> scenes;
    for (const Example &e : examples(plugin.kind))
        if (e.plugin == &plugin)
            for (const std::string &xml : scenes_of(e))
                scenes.push_back(xml);
    Params params(Params::Mode::Describe);
    plugin.make({})->declare(params);
    for (const Param &p : params.all()) {
        if (other_values(p).empty())
            continue;
        bool is_listed =
            shown_by_no_image.count(fmt::format("{}/{}.{}", plugin.kind, plugin.name, p.name)) ||
            shown_by_no_image.count(fmt::format("{}.{}", plugin.kind, p.name));
        EXPECT_TRUE(is_listed || has_effect(scenes, p))
            << plugin.kind << "/" << plugin.name << "." << p.name
            << " changes nothing: make it mean something, take it out, or give the plugin an "
               "example that shows it";
    }
}

} // namespace umbel
