// cli/scene_options.h: what all commands that read scenes or images have in common: where files are, and how much they may ask for.
#pragma once
#include "cli/commands.h"
#include "core/scene_file.h"

namespace umbel {

/// Of `--untrusted`, each of which an option of its own changes; without it there is none but those for files.
struct UntrustedLimits {
    static constexpr size_t SceneBytes = size_t(64) << 20, ImageBytes = size_t(256) << 20,
                            Memory = size_t(8) << 30, Pixels = size_t(1) << 26;
    static constexpr double Seconds = 600;
};

struct ReadOptions {
    bool untrusted = false;
    std::string max_scene, max_image, max_memory; // as given: 500M
    size_t max_pixels = 0;                        // of the image that is rendered; 0: no limit
    double max_time = 0;                          // seconds of the whole process; 0: no limit

    /// Makes them the process's; to be called once, first of all.
    void apply();
};

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
