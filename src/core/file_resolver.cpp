// core/file_resolver.cpp: search folders, and the fence around them.
#include "core/file_resolver.h"
#include "core/printable.h"
#include "jit/error.h"
#include <algorithm>
#include <fstream>

namespace umbel {
namespace {

namespace fs = std::filesystem;

// Symbolic links and ".." resolved as far as the path exists.
fs::path real_path(const fs::path &path) {
    std::error_code error;
    fs::path absolute = fs::absolute(path, error);
    if (error)
        return path.lexically_normal();
    fs::path result = fs::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal() : result;
}

bool is_within(const fs::path &path, const fs::path &folder) {
    auto p = path.begin();
    for (const fs::path &part : folder) {
        if (part.empty()) // a trailing slash
            continue;
        if (p == path.end() || *p != part)
            return false;
        ++p;
    }
    return true;
}

} // namespace

void FileResolver::add_folder(const Path &folder) {
    if (std::find(m_folders.begin(), m_folders.end(), folder) == m_folders.end())
        m_folders.push_back(folder);
}

void FileResolver::restrict_to(const std::vector<Path> &folders) {
    m_allowed.clear();
    for (const Path &folder : folders) {
        if (folder.empty()) // which would contain everything
            fail("the name of an allowed folder is empty; name one, such as \".\"");
        m_allowed.push_back(real_path(folder));
    }
}

bool FileResolver::allows(const Path &path) const {
    if (m_allowed.empty())
        return true;
    Path real = real_path(path);
    return std::any_of(m_allowed.begin(), m_allowed.end(),
                       [&](const Path &folder) { return is_within(real, folder); });
}

FileResolver::Path FileResolver::resolve(std::string_view name, const std::string &where) const {
    Path file = find(name, where, false);
    note(file);
    return file;
}

std::set<FileResolver::Path> FileResolver::found() const {
    std::lock_guard lock(m_found->mutex);
    return m_found->files;
}

void FileResolver::note(const Path &file) const {
    std::lock_guard lock(m_found->mutex);
    m_found->files.insert(file);
}

FileResolver::Path FileResolver::resolve_folder(std::string_view name,
                                                const std::string &where) const {
    return find(name, where, true);
}

FileResolver::Path FileResolver::find(std::string_view name, const std::string &where,
                                      bool folder) const {
    const char *what = folder ? "folder" : "file";
    if (name.empty())
        fail("{}: the {} name is empty; name one", where, what);
    if (name.find('\0') != name.npos) // where the system would take it to end
        fail("{}: the {} name \"{}\" has a NUL in it; leave it out", where, what, printable(name));

    std::vector<Path> candidates;
    if (Path path(name); path.is_absolute())
        candidates.push_back(path);
    else
        for (const Path &base : m_folders)
            candidates.push_back(base / path);

    // Only regular files: reading a device or a pipe might never end. What lies outside is not even
    // looked at, so that a scene cannot find out which files exist.
    bool outside = false;
    for (const Path &candidate : candidates) {
        if (!allows(candidate)) {
            outside = true;
            continue;
        }
        std::error_code error;
        if (folder ? fs::is_directory(candidate, error) : fs::is_regular_file(candidate, error))
            return candidate;
    }
    if (outside)
        fail("{}: {} \"{}\" is outside the allowed folders; move it or allow its folder", where,
             what, name);
    std::string searched;
    for (const Path &base : m_folders)
        searched += (searched.empty() ? "" : ", ") + ("\"" + base.string() + "\"");
    if (Path(name).is_absolute() || searched.empty())
        fail("{}: cannot find the {} \"{}\"; check its name", where, what, name);
    fail("{}: cannot find the {} \"{}\" in {}; check its name or add a <path>", where, what, name,
         searched);
}

std::string read_text_file(const std::filesystem::path &path, size_t limit,
                           const std::string &where) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
        fail("{}: cannot find the file \"{}\"; check its name", where, path.string());
    std::ifstream stream(path, std::ios::binary);
    auto size = fs::file_size(path, error);
    if (!stream || error)
        fail("{}: cannot read \"{}\"; check its permissions", where, path.string());
    if (size > limit)
        fail("{}: \"{}\" has {} bytes, more than the limit of {}; raise the limit with --max-scene "
             "or UMBEL_MAX_SCENE if this is intended",
             where, path.string(), size, limit);
    std::string text(size, '\0');
    stream.read(text.data(), std::streamsize(size));
    if (size_t(stream.gcount()) != size)
        fail("{}: cannot read all of \"{}\"; try again", where, path.string());
    return text;
}

} // namespace umbel
