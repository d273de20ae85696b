// core/scene_file.h: scene files to Properties and back.
//
// Two forms are read: 0.5/0.6 (camelCase) and 2/3 (snake_case). The version attribute decides;
// older files are upgraded while they are read, so that plugins know one set of names only.
#pragma once
#include "core/properties.h"
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

struct SceneFileOptions {
    /// `-D name=value`: take precedence over <default>.
    std::map<std::string, std::string, std::less<>> definitions = {};
    /// If not empty, every file that the scene names must lie in one of these folders. The scene
    /// file itself is the caller's choice and exempt.
    std::vector<std::filesystem::path> allowed_folders = {};
    /// Searched after the scene's own folder.
    std::vector<std::filesystem::path> search_folders = {};
    /// Relative file names of parse_scene_string() start here.
    std::filesystem::path base_folder = ".";
    /// Receives remarks such as definitions that the scene does not use.
    std::vector<std::string> *warnings = nullptr;

    // Limits for files from untrusted sources.
    size_t max_bytes = size_t(64) << 20; // XML and spectra together; likewise what $names insert
    int max_files = 1000;                // includes, repeated ones counted again
    int max_include_depth = 16;
    int max_depth = 100; // nested objects, counting references
};

/// Any input error is a UserError of the form `file:line: element "id" (type): what; remedy`. The
/// result has no references left: objects that were referenced are shared.
Properties parse_scene_file(const std::filesystem::path &path,
                            const SceneFileOptions &options = {});
/// `name` stands for the file's name in messages.
Properties parse_scene_string(std::string_view text, const SceneFileOptions &options = {},
                              std::string_view name = "scene");

/// The version 3 form, defaults and includes expanded. Shared objects are written once, then
/// referenced. File names stay as they were, and search folders are not written.
std::string to_xml(const Properties &root);

/// `diffuseReflectance` to `diffuse_reflectance`, `intIOR` to `int_ior`.
std::string snake_case(std::string_view name);

} // namespace umbel
