// cli/manual.cpp: the manual of plugins.
#include "cli/manual.h"
#include "core/file_text.h"
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
std::string prose(const Plugin &plugin, const std::filesystem::path &sources) {
    std::string folder = plugin.kind == "rfilter"  ? "filters"
                         : plugin.kind == "medium" ? "media"
                                                   : plugin.kind + "s";
    auto file = sources / "src" / "plugins" / folder / (plugin.name + ".cpp");
    if (sources.empty() || !std::filesystem::exists(file))
        return {};
    std::string text = read_text_file(file), out;
    for (size_t at = 0; text.compare(at, 2, "//") == 0;) {
        size_t end = text.find('\n', at);
        std::string line = text.substr(at + 2, end - at - 2);
        out += (line.starts_with(' ') ? line.substr(1) : line) + "\n";
        at = end + 1;
    }
    std::string name = plugin.name + ": ";
    if (out.starts_with(name))
        out.erase(0, name.size());
    if (!out.empty())
        out[0] = char(std::toupper(out[0]));
    return out;
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

std::string describe_plugin(const std::string &kind, const std::string &name) {
    const Plugin *plugin = registry().find(kind, name);
    if (!plugin) {
        list_plugins(kind); // complains about unknown kinds
        std::vector<std::string> names;
        for (const Plugin *p : registry().all(kind))
            names.push_back(p->name);
        fail("there is no {} {}{}", kind, quote(name), suggestion(name, names, "plugins"));
    }
    std::string out = fmt::format("{} ({})\n\n", plugin->name, plugin->kind);
    Params params = declared(*plugin);
    for (const Param &p : params.all())
        out += fmt::format("  {:<24} {:<12} {}\n      {}\n", p.name, p.type,
                           p.is_required ? "required" : "default: " + p.otherwise, p.text);
    return out;
}

std::string plugin_manual(const std::filesystem::path &sources) {
    std::string out =
        "# Plugins\n\nWhat scenes are made of, and the parameters of each. This page is made from "
        "the plugins' declarations by\n`./umbel docs`; `umbel help KIND/PLUGIN` says the same. An "
        "own plugin: see [extending.md](extending.md).\n";
    for (const std::string &kind : kinds()) {
        out += fmt::format("\n## {}\n", kind);
        for (const Plugin *p : registry().all(kind)) {
            std::string text = prose(*p, sources);
            out += fmt::format("\n### `{}`\n{}{}{}", p->name, text, text.empty() ? "" : "\n",
                               table(declared(*p)));
        }
    }
    return out;
}

} // namespace umbel
