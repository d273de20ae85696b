// cli/manual.cpp: the manual of plugins.
#include "cli/manual.h"
#include "cli/snippets.h"
#include "core/nearest_name.h"
#include "core/object.h"
#include <set>

namespace umbel {

namespace {

PluginRegistry &registry() {
    PluginRegistry &r = PluginRegistry::instance();
    r.load_libraries();
    return r;
}

std::vector<std::string> kinds() {
    std::set<std::string> out;
    for (const Plugin *p : registry().all())
        out.insert(p->kind);
    return { out.begin(), out.end() };
}

Params declared(const Plugin &plugin) {
    Params params(Params::Mode::Describe);
    plugin.make({})->declare(params);
    return params;
}

/// The comment at the top of a plugin's file, without its first word, which is the plugin's name.
std::string prose(const Plugin &plugin) {
    std::string folder = plugin.kind == "rfilter"  ? "filters"
                         : plugin.kind == "medium" ? "media"
                                                   : plugin.kind + "s",
                out;
    for (const PluginProse *p = plugin_prose; p->name; ++p)
        if (p->folder == folder && p->name == plugin.name)
            out = p->text;
    std::string name = plugin.name + ": ";
    if (out.starts_with(name))
        out.erase(0, name.size());
    if (!out.empty())
        out[0] = char(std::toupper(out[0]));
    return out;
}

/// Its first example.
Snippet snippet(const Plugin &plugin, const Params &params) {
    return snippet_of(plugin, params.examples().empty() ? "" : params.examples()[0]);
}

std::string cell(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '|')
            out += '\\';
        out += c;
    }
    return out;
}

std::string table(const Params &params) {
    if (params.all().empty())
        return "It has no parameters.\n";
    std::string out = "| parameter | type | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const Param &p : params.all())
        out += fmt::format("| `{}` | {} | {} | {}{} |\n", p.name, cell(p.type),
                           p.is_required ? "required" : cell(p.otherwise), cell(p.text),
                           p.is_differentiable ? " (differentiable)" : "");
    return out;
}

} // namespace

std::string list_plugins(const std::string &kind) {
    std::vector<std::string> known = kinds();
    if (!kind.empty() && std::find(known.begin(), known.end(), kind) == known.end())
        fail("there are no plugins of kind {}{}", quote(kind), suggestion(kind, known, "kinds"));
    std::string out;
    for (const std::string &k : known) {
        if (!kind.empty() && k != kind)
            continue;
        std::vector<std::string> names;
        for (const Plugin *p : registry().all(k))
            names.push_back(p->name);
        out += fmt::format("{:<12}{}\n", k, fmt::join(names, " "));
    }
    return out;
}

static std::string describe_plugin(const Plugin &plugin) {
    Params params = declared(plugin);
    std::string text = prose(plugin), out = fmt::format("{} ({})\n\n{}{}", plugin.name, plugin.kind,
                                                        text, text.empty() ? "" : "\n");
    for (const Param &p : params.all())
        out += fmt::format("  {:<24} {:<12} {}\n      {}{}\n", p.name, p.type,
                           p.is_required ? "required" : "default: " + p.otherwise, p.text,
                           p.is_differentiable ? " (differentiable)" : "");
    if (params.all().empty())
        out += "It has no parameters.\n";
    auto [xml, python] = snippet(plugin, params);
    return out + "\nIn a scene file:\n\n" + xml + "\nIn Python:\n\n" + python;
}

std::string describe(const std::string &topic) {
    size_t slash = topic.find('/');
    std::vector<std::string> known = kinds(), names;
    if (topic.empty() || std::find(known.begin(), known.end(), topic) != known.end())
        return list_plugins(topic);
    std::string kind = slash == topic.npos ? "" : topic.substr(0, slash),
                name = topic.substr(slash + 1), out; // the whole topic where there is no slash
    list_plugins(kind);                              // complains about unknown kinds
    for (const Plugin *p : registry().all(kind)) {
        names.push_back(p->name);
        if (p->name == name)
            out += (out.empty() ? "" : "\n") + describe_plugin(*p);
    }
    if (slash == topic.npos)
        names.insert(names.end(), known.begin(), known.end());
    if (out.empty())
        fail("there is no {} {}{}", kind.empty() ? "plugin" : kind, quote(name),
             suggestion(name, names, "plugins"));
    return out;
}

std::string plugin_manual() {
    std::string out =
        "# Plugins\n\nWhat scenes are made of, and the parameters of each, with an example. This "
        "page is made from the plugins' declarations by\n`./umbel docs`; `umbel help PLUGIN` says "
        "the same. The site that `./umbel docs` makes in `build/site` shows a picture of\neach "
        "example. Files that examples name are those of `python/tools/gallery_files.py`. An own "
        "plugin: see [extending.md](extending.md).\n";
    for (const std::string &kind : kinds()) {
        out += fmt::format("\n## {}\n", kind);
        for (const Plugin *p : registry().all(kind)) {
            std::string text = prose(*p);
            Params params = declared(*p);
            auto [xml, python] = snippet(*p, params);
            out += fmt::format("\n### `{}`\n{}{}{}\n```xml\n{}```\n\n```python\n{}```\n", p->name,
                               text, text.empty() ? "" : "\n", table(params), xml, python);
        }
    }
    return out;
}

} // namespace umbel
