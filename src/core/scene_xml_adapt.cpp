// core/scene_xml_adapt.cpp: objects of old files in terms of the plugins that exist.
//
// The old reader did not mind parameters that nothing read, and knew plugins that this program lacks. What can be left out or
// replaced is, and the user is told; the rest stays, and the plugin that gets it complains with its line.
#include "core/nearest_name.h"
#include "core/object.h"
#include "core/scene_xml.h"
#include "core/without_effect.h"
#include <algorithm>

namespace umbel::scene_xml {
namespace {

/// The nearest of what may exist, the best one first.
struct Substitute {
    std::string_view kind, missing;
    std::initializer_list<std::string_view> instead;
};
const Substitute Substitutes[] = {
    { "integrator", "adjoint", { "ptracer" } },
    { "integrator", "bdpt", { "path" } },
    { "integrator", "erpt", { "path" } },
    { "integrator", "gbdpt", { "bdpt", "path" } },
    { "integrator", "gpt", { "path" } },
    { "integrator", "mlt", { "bdpt", "path" } },
    { "integrator", "photonmapper", { "bdpt", "path" } },
    { "integrator", "ppm", { "sppm", "bdpt", "path" } },
    { "integrator", "pssmlt", { "bdpt", "path" } },
    { "integrator", "sppm", { "bdpt", "path" } },
    { "integrator", "volpath_simple", { "volpath" } },
    { "integrator", "vpl", { "path" } },
};

/// Words that a parameter may not know.
struct WordSubstitute {
    std::string_view kind, parameter, missing, instead;
};
constexpr WordSubstitute WordSubstitutes[] = {
    { "film", "pixel_format", "spectrum", "rgb" },
    { "film", "pixel_format", "spectrum_alpha", "rgba" },
    { "film", "pixel_format", "xyza", "rgba" },
};

/// What the plugin takes; nothing where that cannot be told.
std::vector<Param> declared(const Plugin &plugin) {
    Params params(Params::Mode::Describe);
    try {
        plugin.make(Properties(plugin.kind, plugin.name))->declare(params);
    } catch (const std::exception &) { // a script's plugin that cannot do without parameters
        return {};
    }
    return { params.all().begin(), params.all().end() };
}

const Param *find(const std::vector<Param> &all, std::string_view name) {
    auto it = std::find_if(all.begin(), all.end(), [&](const Param &p) { return p.name == name; });
    return it == all.end() ? nullptr : &*it;
}

bool has_word(const Param &p, std::string_view word) {
    std::string words = " | " + p.type + " | ";
    return words.find(fmt::format(" | {} | ", word)) != words.npos;
}

/// Whether nothing would read it. Objects of a kind may have any name, but for textures, which have the parameter's. A plugin that
/// declares `*` reads whatever it finds.
bool is_unread(const Property &p, const std::vector<Param> &known) {
    if (p.name.empty() || std::holds_alternative<Reference>(p.value) || find(known, p.name) ||
        find(known, "*"))
        return false;
    return !p.object() || ((*p.object())->kind == "texture" && !find(known, "texture"));
}

void replace_word(Properties &object, Property &p, const Param &param, bool is_replaced,
                  Remarks &remarks) {
    auto *word = std::get_if<std::string>(&p.value);
    if (!word || param.type.find(" | ") == std::string::npos || has_word(param, *word))
        return;
    std::string original = *word;
    for (const WordSubstitute &s : WordSubstitutes)
        if (object.kind == s.kind && p.name == s.parameter && *word == s.missing)
            *word = s.instead;
    if (*word != original && has_word(param, *word))
        remarks
            .words[fmt::format("{} ({}): \"{}\" in place of \"{}\" as {}", object.kind, object.type,
                               *word, original, p.name)]
            .note(p.where);
    else if (is_replaced)
        *word = param.otherwise; // a word of the plugin that was replaced
}

void fit_parameters(Properties &object, bool is_replaced, Remarks &remarks) {
    const Plugin *plugin = PluginRegistry::instance().find(object.kind, object.type);
    std::vector<Param> known = plugin ? declared(*plugin) : std::vector<Param>();
    if (known.empty())
        return;
    std::erase_if(object.all(), [&](const Property &p) {
        bool unread = is_unread(p, known);
        const char *why = unread ? without_effect(object, p) : nullptr;
        bool is_told = !is_replaced && !(why && !*why);
        if (unread && is_told)
            remarks
                .unread[fmt::format("{} ({}): {}{}{}", object.kind, object.type, p.name,
                                    why ? ": " : "", why ? why : "")]
                .note(p.where);
        return unread;
    });
    for (Property &p : object.all())
        if (const Param *param = find(known, p.name))
            replace_word(object, p, *param, is_replaced, remarks);
}

/// Whether `object` became one of a plugin that exists.
bool replace_plugin(Properties &object, Remarks &remarks) {
    PluginRegistry &registry = PluginRegistry::instance();
    if (registry.find(object.kind, object.type))
        return false;
    // Those that help another one: let that do all of it
    if (object.kind == "integrator" && (object.type == "adaptive" || object.type == "irrcache"))
        if (std::vector<PropertiesPtr> inner = object.objects("integrator"); !inner.empty()) {
            Properties copy = *inner[0];
            remarks.replaced.push_back({ object.describe(), copy.type, nullptr });
            copy.id = object.id;
            object = std::move(copy);
            return false; // it has been fitted when it was read
        }
    for (const Substitute &s : Substitutes)
        if (object.kind == s.kind && object.type == s.missing)
            for (std::string_view name : s.instead)
                if (registry.find(object.kind, name)) {
                    remarks.replaced.push_back({ object.describe(), std::string(name), &object });
                    object.type = name;
                    return true;
                }
    return false;
}

std::string list(const std::map<std::string, Remarks::Places> &entries) {
    std::string text;
    for (const auto &[what, places] : entries) {
        text += fmt::format("\n    {}", what);
        if (std::string where = places.first.str(); !where.empty())
            text +=
                fmt::format(" ({}{})", where,
                            places.count > 1 ? fmt::format(" and {} more", places.count - 1) : "");
    }
    return text;
}

} // namespace

void adapt_object(Properties &object, Remarks &remarks) {
    PluginRegistry &registry = PluginRegistry::instance();
    registry.load_libraries();
    remarks.has_media |= object.kind == "medium";
    bool is_replaced = replace_plugin(object, remarks);
    if (object.kind != "scene")
        fit_parameters(object, is_replaced, remarks);
}

void finish_remarks(Remarks &remarks, std::vector<std::string> &warnings) {
    for (Remarks::Replaced &r : remarks.replaced) {
        // Of two path tracers, the one that sees media
        if (remarks.has_media && r.object && r.object->kind == "integrator" &&
            r.object->type == "path" && PluginRegistry::instance().find("integrator", "volpath")) {
            r.object->type = r.by = "volpath";
            fit_parameters(*r.object, true, remarks);
        }
        warnings.push_back(fmt::format("{}: there is no such plugin; {} is used in its place",
                                       r.what, quote(r.by)));
    }
    if (!remarks.words.empty())
        warnings.push_back("some words of old files are not known, and the nearest are used:" +
                           list(remarks.words));
    if (!remarks.unread.empty())
        warnings.push_back("nothing reads these parameters of old files:" + list(remarks.unread));
}

} // namespace umbel::scene_xml
