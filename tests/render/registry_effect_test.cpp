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
    { "sensor/orthographic.focus_distance", "scripts ask for it" },
    { "sensor/perspective.focus_distance", "scripts ask for it" },
    { "texture/bitmap.accel", "a hint" },
    { "volume/gridvolume.accel", "a hint" },
};

/// All that can be seen of a scene: the image, its channels, and the file.
std::string outcome(const std::string &xml) {
    Ref<Scene> scene = scene_from(xml);
    Film &film = scene->sensors()[0]->film();
    std::string seen = fmt::format("{} x {}, {} samples\n", film.width(), film.height(),
                                   scene->sensors()[0]->sampler().sample_count());
    if (film.width() > 16) // by default, films are large
        film.set_size(8, 8);
    Image image = render_image(*scene, { .spp = 4 });
    seen += fmt::format("{}\n", fmt::join(image.channels(), " "));
    seen.append(reinterpret_cast<const char *>(image.bytes()), image.byte_count());
    auto file = film.write(std::filesystem::temp_directory_path() /
                               fmt::format("umbel_effect_{}", getpid()),
                           image);
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
        for (double v : { 0.375, 0.75, 3.5, 30.0, 580.0, 0.0, -0.25 })
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

/// Something that moves, for shutters; and light that comes from somewhere.
std::string livelier(std::string xml) {
    const std::string more =
        "<shape type='sphere'><float name='radius' value='.4'/><animation name='to_world'>"
        "<transform time='0'><translate x='-1' y='1'/></transform><transform time='1'><translate "
        "x='1' y='1'/></transform></animation></shape><emitter type='point'><point name='position' "
        "x='2' y='3' z='4'/><rgb name='intensity' value='9,7,5'/></emitter>";
    return xml.insert(xml.rfind("</scene>"), more);
}

/// Whether any value of a parameter is seen in any scene of the plugin's.
bool has_effect(const std::vector<std::string> &scenes, const Param &p) {
    const std::vector<std::string> values = other_values(p);
    for (const char *name : { "interp_rgb", "interp_spectral_polarized" }) {
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
                    if (outcome(with_parameter(xml, value)) != before)
                        return true;
                } catch (const UserError &e) {
                    EXPECT_EQ(std::string(e.what()).find("unknown parameter"), std::string::npos)
                        << e.what();
                }
        }
    }
    return false;
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
        if (e.plugin == &plugin) {
            scenes.push_back(scene_of(e));
            scenes.push_back(livelier(scenes.back()));
        }
    Params params(Params::Mode::Describe);
    plugin.make({})->declare(params);
    for (const Param &p : params.all()) {
        if (other_values(p).empty())
            continue;
        bool is_listed =
            shown_by_no_image.count(fmt::format("{}/{}.{}", plugin.kind, plugin.name, p.name)) ||
            shown_by_no_image.count(fmt::format("{}.{}", plugin.kind, p.name));
        bool is_seen = has_effect(scenes, p);
        EXPECT_TRUE(is_seen || is_listed)
            << plugin.kind << "/" << plugin.name << "." << p.name
            << " changes nothing: make it mean something, take it out, or give the plugin an "
               "example that shows it";
        EXPECT_FALSE(is_seen && is_listed)
            << plugin.kind << "/" << plugin.name << "." << p.name << " is seen: unlist it";
    }
}

} // namespace umbel
