// core/file_text.cpp: reading and writing files.
#include "core/file_text.h"
#include "jit/error.h"
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umbel {

namespace {

/// A regular file that is open, and its size. Of one thing, whatever happens to the name meanwhile; a pipe without a writer would
/// keep whoever opens it waiting.
struct OpenFile {
    explicit OpenFile(const std::filesystem::path &path)
        : number(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        struct stat facts;
        if (number < 0 || fstat(number, &facts) != 0) {
            int reason = errno;
            drop();
            fail("{}: cannot be read: {}; check the name and its permissions", path.string(),
                 std::strerror(reason));
        }
        if (!S_ISREG(facts.st_mode)) {
            drop();
            fail("{}: cannot be read: it is a {}; name a regular file", path.string(),
                 S_ISDIR(facts.st_mode) ? "folder" : "device or a pipe");
        }
        size = uintmax_t(facts.st_size);
    }
    OpenFile(const OpenFile &) = delete;
    ~OpenFile() { drop(); }
    void drop() {
        if (number >= 0)
            close(number);
        number = -1;
    }
    /// All of it, or what is left of it by now.
    std::string text(const std::filesystem::path &path) const {
        std::string text(size, '\0');
        size_t done = 0;
        while (done < size) {
            ssize_t n = read(number, text.data() + done, size - done);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                fail("{}: reading failed: {}", path.string(), std::strerror(errno));
            if (n == 0)
                break;
            done += size_t(n);
        }
        text.resize(done);
        return text;
    }

    int number;
    uintmax_t size = 0;
};

} // namespace

std::string read_text_file(const std::filesystem::path &path, size_t most) {
    OpenFile file(path);
    if (file.size > most)
        fail("{}: has {} MiB, more than the limit of {}", path.string(), file.size >> 20,
             most >> 20);
    return file.text(path);
}

FileBytes::FileBytes(const std::filesystem::path &path) {
    constexpr uintmax_t MapFrom = 1 << 20;
    OpenFile file(path);
    if (file.size >= MapFrom) {
        void *data = mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.number, 0);
        if (data != MAP_FAILED) {
            m_is_mapped = true;
            m_view = { static_cast<const char *>(data), size_t(file.size) };
            return;
        }
    }
    m_text = file.text(path);
    m_view = m_text;
}

FileBytes::~FileBytes() {
    if (m_is_mapped)
        munmap(const_cast<char *>(m_view.data()), m_view.size());
}

std::filesystem::path followed(std::filesystem::path path) {
    constexpr int Most = 40; // as systems do
    std::filesystem::path given = path;
    std::error_code error;
    for (int links = 0; std::filesystem::is_symlink(path, error); ++links) {
        if (links == Most)
            fail("{}: links lead in a circle, or are more than {}; name the file that is meant",
                 given.string(), Most);
        std::filesystem::path target = std::filesystem::read_symlink(path, error);
        if (error)
            break;
        path = path.parent_path() / target; // which is the target alone where that is absolute
    }
    return path;
}

// In the same folder, so that the rename stays within one file system.
std::filesystem::path temporary_name(const std::filesystem::path &path) {
    static std::atomic<unsigned> counter{ 0 };
    return fmt::format("{}.{}-{}.part", path.string(), getpid(), counter++);
}

void keep_mode(const std::filesystem::path &path, const std::filesystem::path &temporary) {
    std::error_code error;
    std::filesystem::file_status old = std::filesystem::status(path, error);
    if (std::filesystem::is_regular_file(old))
        std::filesystem::permissions(temporary, old.permissions(), error);
}

namespace {

/// A file that becomes another one, or goes. Devices and pipes are written to as they are.
struct NewFile {
    explicit NewFile(const std::filesystem::path &path)
        : name(path.string()), target(followed(path).string()), temporary(target) {
        std::error_code error;
        if (std::filesystem::is_directory(target, error))
            fail("{}: this is a folder; name a file", name);
        is_new = !std::filesystem::is_other(target, error);
        if (is_new)
            temporary = temporary_name(target).string();
        f = std::fopen(temporary.c_str(), "wb");
        if (!f)
            give_up("cannot be written");
        if (is_new)
            keep_mode(target, temporary);
    }
    [[noreturn]] void give_up(const char *what) {
        std::string reason = std::strerror(errno);
        drop();
        fail("{}: {} ({}); check the folder and the space on its disk", name, what, reason);
    }
    void drop() {
        if (is_new)
            std::remove(temporary.c_str());
    }
    std::string name, target, temporary; // as given, behind links, meanwhile
    bool is_new = false;
    FILE *f;
};

} // namespace

void check_writable(const std::filesystem::path &path) {
    std::error_code ignored;
    if (std::filesystem::is_other(path, ignored)) // opening a pipe waits for its reader
        return;
#ifdef O_TMPFILE
    // A file without a name leaves nothing behind when the process is told to end just now
    std::filesystem::path target = followed(path), folder = target.parent_path();
    int f = std::filesystem::is_directory(target, ignored)
                ? -1
                : open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (f >= 0) {
        close(f);
        return;
    }
#endif
    NewFile file(path);
    std::fclose(file.f);
    file.drop();
}

void write_file(const std::filesystem::path &path, const std::string &bytes) {
    NewFile file(path);
    bool good = std::fwrite(bytes.data(), 1, bytes.size(), file.f) == bytes.size();
    good = std::fclose(file.f) == 0 && good;
    if (!good)
        file.give_up("writing failed");
    if (file.is_new && std::rename(file.temporary.c_str(), file.target.c_str()) != 0)
        file.give_up("cannot be replaced");
}

} // namespace umbel
