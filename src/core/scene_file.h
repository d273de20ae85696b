// core/scene_file.h: scene files to Properties and back.
//
// Two forms are read: 0.5/0.6 (camelCase) and 2/3 (snake_case). The version attribute decides;
// older files are upgraded while they are read, so that plugins know one set of names only.
#pragma once
#include "core/limits.h"
#include "core/properties.h"
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

/// What a scene's files say besides its objects.
struct SceneFileNotes {
    std::vector<std::string> files, versions; // in the order in which they were opened
    std::vector<std::filesystem::path> folders;
    std::vector<Alias> aliases;
};

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
    /// Where given, it is filled, and the rest is left to the caller: upgrade() and resolve_references().
    SceneFileNotes *notes = nullptr;

    // Limits for files from untrusted sources.
    size_t max_bytes = read_limits().scene_bytes; // XML and spectra together
    int max_files = 1000;                         // includes, repeated ones counted again
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

/// Names and values of one object from a file of that version, such as "0.5.0", in today's form. Others inside it are left alone.
void upgrade(Properties &object, std::string_view version);

struct SceneFileStyle {
    /// Transforms as steps that can be read, where one or two will do, to six digits; sample count and size of images as
    /// parameters of the file: spp, resx, resy.
    bool is_readable = false;
    /// Comments above what is of one kind.
    bool has_headings = false;
};
/// The version 3 form, defaults and includes expanded. Shared objects are written once, then
/// referenced. File names stay as they were, and search folders are not written.
std::string to_xml(const Properties &root, const SceneFileStyle &style = {});
/// In several files, by name: `stem`.xml, which includes others in fragments/, for materials, geometry and so on.
std::map<std::string, std::string> to_xml_files(const Properties &root, std::string_view stem);

/// `diffuseReflectance` to `diffuse_reflectance`, `intIOR` to `int_ior`.
std::string snake_case(std::string_view name);

} // namespace umbel
