// cli/upgrade.cpp: `umbel upgrade`.
#include "cli/commands.h"
#include "core/object.h"
#include "core/scene_file.h"
#include <fstream>
#include <set>

namespace umbel {

namespace {

namespace fs = std::filesystem;

struct Options {
    std::string from, to;
    std::vector<std::string> definitions, search;
    bool quiet = false, readable = false;
};

/// How a file that the scene names is called from the folder of the new scene.
std::string renamed(const std::string &name, const Properties &object, const fs::path &folder) {
    if (fs::path(name).is_absolute() || !object.files)
        return name;
    try {
        fs::path file = object.files->resolve(name, "");
        std::error_code error;
        if (fs::equivalent(folder / name, file, error) && !error)
            return name;
        return fs::relative(fs::canonical(file), fs::canonical(folder)).generic_string();
    } catch (const UserError &) { // nobody may ever use the object
        return name;
    }
}

void rename_files(Properties &object, const fs::path &folder, std::set<Properties *> &done) {
    if (!done.insert(&object).second)
        return;
    for (Property &p : object.all()) {
        auto *text = std::get_if<std::string>(&p.value);
        auto *spectrum = std::get_if<SpectrumData>(&p.value);
        if (text && p.name == "filename")
            *text = renamed(*text, object, folder);
        else if (spectrum && !spectrum->filename.empty())
            spectrum->filename = renamed(spectrum->filename, object, folder);
        else if (p.object() && *p.object())
            rename_files(**p.object(), folder, done);
    }
}

int upgrade_file(const Options &o) {
    std::vector<std::string> warnings;
    SceneFileOptions options{ .definitions = read_definitions(o.definitions),
                              .warnings = &warnings };
    options.search_folders.assign(o.search.begin(), o.search.end());
    Properties root = parse_scene_file(o.from, options);
    if (!o.quiet)
        for (const std::string &w : warnings)
            fmt::print(stderr, "umbel: {}\n", w);
    fs::path folder = fs::absolute(o.to).parent_path();
    if (!fs::is_directory(folder))
        fail("{}: there is no folder {}; make it first", o.to, quote(folder.string()));
    std::set<Properties *> done;
    rename_files(root, folder, done);
    std::string text = to_xml(root, { .is_readable = o.readable, .has_headings = true });
    std::ofstream out(o.to, std::ios::binary);
    out << text;
    out.close();
    if (!out)
        fail("{}: the scene cannot be written: {}", o.to, std::strerror(errno));
    return 0;
}

} // namespace

void add_scene_commands(CLI::App &app, std::function<int()> &run) {
    auto o = std::make_shared<Options>();
    CLI::App *c =
        app.add_subcommand("upgrade", "Write a scene of any version in the form of version 3");
    c->add_option("old", o->from, "Scene file to read")->required();
    c->add_option("new", o->to, "Scene file to write")->required();
    c->add_option("-D", o->definitions, "Define a parameter of the scene: name=value")
        ->allow_extra_args(false);
    c->add_option("-a,--search", o->search, "Folders to search for files that the scene names")
        ->delimiter(';')
        ->allow_extra_args(false);
    c->add_flag("-q,--quiet", o->quiet, "Print errors only");
    c->add_flag("--readable", o->readable,
                "Write transforms as steps, to six digits, and sizes as parameters");
    c->callback([o, &run] { run = [o] { return upgrade_file(*o); }; });
}

} // namespace umbel
