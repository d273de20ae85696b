// cli/upgrade.cpp: `umbel upgrade`.
#include "cli/progress.h"
#include "cli/scene_options.h"
#include "core/file_text.h"
#include "core/object.h"
#include <set>
#undef check // of jit/error.h; it is a method of the parser's options here

namespace umbel {

namespace {

namespace fs = std::filesystem;

struct Options : SceneOptions {
    std::string from, to;
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

int upgrade_file(Options o) {
    o.apply();
    std::vector<std::string> warnings;
    Properties root = parse_scene_file(o.from, o.for_scene(o.from, &warnings));
    if (!o.quiet)
        for (const std::string &w : warnings)
            say("umbel: " + w);
    fs::path folder = fs::absolute(o.to).parent_path();
    if (!fs::is_directory(folder))
        fail("{}: there is no folder {}; make it first", o.to, quote(folder.string()));
    std::set<Properties *> done;
    rename_files(root, folder, done);
    write_file(o.to, to_xml(root, { .is_readable = o.readable, .has_headings = true }));
    return 0;
}

} // namespace

void add_scene_commands(CLI::App &app, std::function<int()> &run) {
    auto o = std::make_shared<Options>();
    CLI::App *c =
        app.add_subcommand("upgrade", "Write a scene of any version in the form of version 3");
    c->add_option("old", o->from, "Scene file to read")->required();
    c->add_option("new", o->to, "Scene file to write")->required()->check(NotEmpty);
    add_scene_options(*c, *o);
    c->add_flag("-q,--quiet", o->quiet, "Print errors only");
    c->add_flag("--readable", o->readable,
                "Write transforms as steps, to six digits, and sizes as parameters");
    c->callback([o, &run] { run = [o] { return upgrade_file(*o); }; });
}

} // namespace umbel
