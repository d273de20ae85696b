// core/file_text.h: whole files as strings.
#pragma once
#include <filesystem>
#include <string>

namespace umbel {

/// The bytes of a file; UserError where it cannot be read or is larger than `most`.
std::string read_text_file(const std::filesystem::path &path, size_t most = size_t(4) << 30);

} // namespace umbel
