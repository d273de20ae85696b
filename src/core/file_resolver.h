// core/file_resolver.h: finds the files that a scene names, and keeps it inside allowed folders.
#pragma once
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace umbel {

class FileResolver {
public:
    using Path = std::filesystem::path;

    /// Folders are searched in the order in which they were added.
    void add_folder(const Path &folder);
    /// From now on nothing outside these folders is found, not through links either. Empty: no
    /// limit.
    void restrict_to(const std::vector<Path> &folders);

    /// The regular file called `name`, relative to one of the folders or absolute. Failing that, a
    /// UserError that begins with `where` and lists what was tried.
    Path resolve(std::string_view name, const std::string &where) const;
    /// Likewise for a folder.
    Path resolve_folder(std::string_view name, const std::string &where) const;

    const std::vector<Path> &folders() const { return m_folders; }
    bool allows(const Path &path) const;

    /// Files that were resolved so far, by copies too: what a scene is made of. From any thread.
    std::set<Path> found() const;
    /// A file that is read without resolve().
    void note(const Path &file) const;
    /// Files that this copy finds are its own affair.
    void note_apart() { m_found = std::make_shared<Found>(); }

private:
    Path find(std::string_view name, const std::string &where, bool folder) const;

    std::vector<Path> m_folders;
    std::vector<Path> m_allowed; // canonical
    struct Found {
        std::mutex mutex;
        std::set<Path> files;
    };
    std::shared_ptr<Found> m_found = std::make_shared<Found>();
};

/// A file's bytes. UserError that begins with `where` if it is unreadable or larger than `limit`.
std::string read_text_file(const std::filesystem::path &path, size_t limit,
                           const std::string &where);

} // namespace umbel
