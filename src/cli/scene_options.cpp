// cli/scene_options.cpp: options about scenes, above all about those of others.
#include "cli/scene_options.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>
#undef check // of jit/error.h; it is a method of the parser's options here

namespace umbel {

namespace {

CLI::Validator number_check(const char *what, bool zero_is_good) {
    return CLI::Validator(
        [=](const std::string &text) {
            char *end;
            double x = std::strtod(text.c_str(), &end);
            bool is_good = end != text.c_str() && !*end && std::isfinite(x) &&
                           (x > 0 || (zero_is_good && x == 0));
            return is_good ? std::string() : fmt::format("{} is not {}", text, what);
        },
        "NUMBER");
}

} // namespace

const CLI::Validator NotEmpty(
    [](const std::string &text) {
        return text.empty() ? std::string("the name is empty; is a variable of the shell not set?")
                            : std::string();
    },
    "NAME");
const CLI::Validator Positive = number_check("a positive, finite number", false),
                     NotNegative = number_check("a finite number from 0 on", true);

SceneFileOptions SceneOptions::for_scene(const std::string &path,
                                         std::vector<std::string> *warnings) const {
    SceneFileOptions f;
    f.warnings = warnings;
    f.definitions = read_definitions(definitions);
    f.search_folders.assign(search.begin(), search.end());
    if (fence && fence->count() > 0) {
        if (allowed.empty() || std::find(allowed.begin(), allowed.end(), "") != allowed.end())
            fail("--restrict-paths: the name of a folder is empty; is a variable of the shell not "
                 "set?");
        f.allowed_folders.assign(allowed.begin(), allowed.end());
    } else if (untrusted) {
        std::filesystem::path folder = std::filesystem::path(path).parent_path();
        f.allowed_folders = { folder.empty() ? "." : folder };
    }
    return f;
}

void add_read_options(CLI::App &c, ReadOptions &o) {
    c.add_flag("--untrusted", o.untrusted,
               "For files of others: limits of all kinds, no plugins, and no files outside of the "
               "scene's folder; see docs/security.md");
    c.add_option("--max-image", o.max_image, "Most memory for an image that is read: 8G")
        ->check(NotEmpty);
    c.add_option("--max-memory", o.max_memory, "Most memory for all: 4G")->check(NotEmpty);
    c.add_option("--max-time", o.max_time, "Seconds after which the command ends, come what may")
        ->check(Positive);
}

void add_scene_options(CLI::App &c, SceneOptions &o) {
    c.add_option("-D", o.definitions, "Define a parameter of the scene: name=value")
        ->allow_extra_args(false);
    c.add_option("-a,--search", o.search, "Folders to search for files that the scene names")
        ->delimiter(';')
        ->allow_extra_args(false);
    o.fence = c.add_option("--restrict-paths", o.allowed,
                           "Folders in which all files that the scene names must lie: for scenes "
                           "of others")
                  ->delimiter(';')
                  ->allow_extra_args(false);
    c.add_option("--max-scene", o.max_scene,
                 "Most bytes of the scene's XML and spectra, or of a glTF file's JSON: 4G")
        ->check(NotEmpty);
    add_read_options(c, o);
}

} // namespace umbel
