// core/file_text.h: whole files as strings, or as memory.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace umbel {

/// The bytes of a file; UserError where it cannot be read or is larger than `most`.
std::string read_text_file(const std::filesystem::path &path, size_t most = size_t(4) << 30);
/// Writes a file, all or nothing: a temporary one is renamed at the end. Links are followed, and stay. UserError where that cannot
/// be done.
void write_file(const std::filesystem::path &path, const std::string &bytes);
/// UserError, as write_file() would give it, where no file of that name can be written; leaves nothing behind.
void check_writable(const std::filesystem::path &path);
/// What a name stands for in the end: links are followed, also to files that do not exist yet. UserError where they lead in a circle.
std::filesystem::path followed(std::filesystem::path path);
/// A name in the same folder, for a file that will be renamed to `path` when it is complete.
std::filesystem::path temporary_name(const std::filesystem::path &path);
/// Such a file may be read and written by those who may do so with the one at `path`, if there is one: to be called before there is
/// anything in it.
void keep_mode(const std::filesystem::path &path, const std::filesystem::path &temporary);

/// The bytes of a file while this lives; large ones are mapped, not copied. Errors as above.
class FileBytes {
public:
    explicit FileBytes(const std::filesystem::path &path);
    ~FileBytes();
    FileBytes(const FileBytes &) = delete;
    std::string_view view() const { return m_view; }

private:
    std::string m_text;
    std::string_view m_view;
    bool m_is_mapped = false;
};

} // namespace umbel
