// cli/scene_options.h: what all commands that read scenes or images have in common: where files are, and how much they may ask for.
#pragma once
#include "cli/commands.h"
#include "core/limits.h"
#include "core/scene_file.h"

namespace umbel {

struct SceneOptions : ReadOptions {
    std::vector<std::string> definitions, search, allowed;
    const CLI::Option *fence = nullptr; // that of `allowed`: an empty one is not the same as none

    /// For that scene; remarks about it go to `warnings`.
    SceneFileOptions for_scene(const std::string &path, std::vector<std::string> *warnings) const;
};

/// `--max-image`, `--max-memory`, `--max-time`, `--untrusted`
void add_read_options(CLI::App &command, ReadOptions &o);
/// Those, `--max-scene`, `-D`, `-a` and `--restrict-paths`.
void add_scene_options(CLI::App &command, SceneOptions &o);

/// Checks of options: a name is not empty, a number is finite and positive, or at least not negative.
extern const CLI::Validator NotEmpty, Positive, NotNegative;

} // namespace umbel
