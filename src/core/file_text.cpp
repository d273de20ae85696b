// core/file_text.cpp: reading files.
#include "core/file_text.h"
#include "jit/error.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace umbel {

std::string read_text_file(const std::filesystem::path &path, size_t most) {
    std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    std::error_code error;
    auto size = std::filesystem::file_size(path, error);
    if (!file || error)
        fail("{}: cannot be read: {}", path.string(),
             error ? error.message() : std::strerror(errno));
    if (size > most)
        fail("{}: has {} MiB, more than the limit of {}", path.string(), size >> 20, most >> 20);
    std::string text(size, '\0');
    text.resize(std::fread(text.data(), 1, size, file.get()));
    if (std::ferror(file.get()))
        fail("{}: reading failed: {}", path.string(), std::strerror(errno));
    return text;
}

} // namespace umbel
