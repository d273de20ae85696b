// core/file_text.cpp: reading and writing files.
#include "core/file_text.h"
#include "jit/error.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

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

FileBytes::FileBytes(const std::filesystem::path &path) {
    constexpr uintmax_t MapFrom = 1 << 20;
    std::error_code error;
    auto size = std::filesystem::file_size(path, error);
    if (!error && size >= MapFrom)
        if (int file = open(path.c_str(), O_RDONLY | O_CLOEXEC); file >= 0) {
            void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
            close(file);
            if (data != MAP_FAILED) {
                m_is_mapped = true;
                m_view = { static_cast<const char *>(data), size_t(size) };
                return;
            }
        }
    m_text = read_text_file(path);
    m_view = m_text;
}

FileBytes::~FileBytes() {
    if (m_is_mapped)
        munmap(const_cast<char *>(m_view.data()), m_view.size());
}

// In the same folder, so that the rename stays within one file system.
std::filesystem::path temporary_name(const std::filesystem::path &path) {
    static std::atomic<unsigned> counter{ 0 };
    return fmt::format("{}.{}-{}.part", path.string(), getpid(), counter++);
}

namespace {

/// A file that becomes another one, or goes.
struct NewFile {
    explicit NewFile(const std::filesystem::path &path)
        : name(path.string()), temporary(temporary_name(path).string()) {
        std::error_code ignored;
        if (std::filesystem::is_directory(path, ignored))
            fail("{}: this is a folder; name a file", name);
        f = std::fopen(temporary.c_str(), "wb");
        if (!f)
            give_up("cannot be written");
    }
    [[noreturn]] void give_up(const char *what) {
        std::string reason = std::strerror(errno);
        std::remove(temporary.c_str());
        fail("{}: {} ({}); check the folder and the space on its disk", name, what, reason);
    }
    std::string name, temporary;
    FILE *f;
};

} // namespace

void check_writable(const std::filesystem::path &path) {
    NewFile file(path);
    std::fclose(file.f);
    std::remove(file.temporary.c_str());
}

void write_file(const std::filesystem::path &path, const std::string &bytes) {
    NewFile file(path);
    bool good = std::fwrite(bytes.data(), 1, bytes.size(), file.f) == bytes.size();
    good = std::fclose(file.f) == 0 && good;
    if (!good)
        file.give_up("writing failed");
    if (std::rename(file.temporary.c_str(), file.name.c_str()) != 0)
        file.give_up("cannot be replaced");
}

} // namespace umbel
