// jit/kernel_cache.cpp: kernels in memory (least recently used out) and on disk (one file each).
#include "jit/kernel_cache.h"
#include "jit/background.h"
#include "jit/background_kernel.h"
#include "jit/error.h"
#include "jit/size_variable.h"
#include "jit/warning.h"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <tbb/task_arena.h>
#include <utility>
#include <vector>
#include <xxhash.h>
#include <zstd.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umbel::jit {

Key hash_program(std::string_view bytes, std::string_view fingerprint) {
    // Hashing two hashes keeps the boundary between the texts and the fast path for long inputs.
    XXH128_hash_t parts[2] = { XXH3_128bits(bytes.data(), bytes.size()),
                               XXH3_128bits(fingerprint.data(), fingerprint.size()) };
    XXH128_hash_t h = XXH3_128bits(parts, sizeof parts);
    return { h.low64, h.high64 };
}

// ---- Options

namespace {} // namespace

CacheOptions CacheOptions::from_environment() {
    auto variable = [](const char *name) {
        const char *value = std::getenv(name);
        return std::string_view(value ? value : "");
    };
    CacheOptions options;
    if (std::getenv("UMBEL_CACHE"))
        options.folder = variable("UMBEL_CACHE");
    else if (variable("XDG_CACHE_HOME").starts_with('/')) // others are to be ignored, says XDG
        options.folder = std::string(variable("XDG_CACHE_HOME")) + "/umbel";
    else if (variable("HOME").starts_with('/'))
        options.folder = std::string(variable("HOME")) + "/.cache/umbel";
    options.max_bytes = size_variable("UMBEL_CACHE_SIZE").value_or(options.max_bytes);
    return options;
}

// ---- Files: one header, then the blob, compressed where that pays

struct KernelFileHeader {
    char magic[8];
    uint32_t version;
    uint32_t compressed; // 1: zstd
    Key key;
    uint64_t fingerprint;   // hash
    uint64_t blob_bytes;    // once decompressed
    uint64_t payload_bytes; // in the file
    uint64_t checksum;      // of the payload and the fields above
};

namespace {

static_assert(sizeof(KernelFileHeader) == 64 &&
              std::has_unique_object_representations_v<KernelFileHeader>);
constexpr char Magic[8] = { 'U', 'M', 'B', 'E', 'L', 'K', 'R', 'N' };
constexpr uint32_t FormatVersion = 1;
constexpr const char *Suffix = ".kernel", *TemporarySuffix = ".tmp";
// Object code shrinks to a third at level 1, at several hundred MB/s; short blobs gain nothing.
constexpr int CompressionLevel = 1;
constexpr size_t CompressedFrom = 1024;
// A temporary file this old belongs to a process that died.
constexpr time_t TemporaryLifetime = 3600;
// Blobs past this size are not believed.
constexpr uint64_t MaxBlob = 1ull << 32;

uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

uint64_t checksum(const KernelFileHeader &header, std::string_view payload) {
    return XXH3_64bits_withSeed(&header, offsetof(KernelFileHeader, checksum), hash64(payload));
}

class File {
public:
    explicit File(int fd) : m_fd(fd) {}
    ~File() {
        if (m_fd >= 0)
            close(m_fd);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;
    operator int() const { return m_fd; }

    bool read_all(void *to, size_t n) {
        for (char *p = static_cast<char *>(to); n;) {
            ssize_t got = ::read(m_fd, p, n);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return false;
            p += got;
            n -= size_t(got);
        }
        return true;
    }

    bool write_all(const void *from, size_t n) {
        for (const char *p = static_cast<const char *>(from); n;) {
            ssize_t put = ::write(m_fd, p, n);
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                return false;
            p += put;
            n -= size_t(put);
        }
        return true;
    }

    /// Some file systems report a full disk only now.
    bool close_checked() { return close(std::exchange(m_fd, -1)) == 0; }

private:
    int m_fd;
};

// What a file takes on common file systems.
uint64_t disk_bytes(uint64_t size) { return (size + 4095) & ~uint64_t(4095); }

} // namespace

KernelFiles::KernelFiles(std::string folder, uint64_t max_bytes)
    : m_folder(std::move(folder)), m_max_bytes(max_bytes) {}

std::string KernelFiles::path(const Key &key) const {
    return fmt::format("{}/{:016x}{:016x}{}", m_folder, key.hi, key.lo, Suffix);
}

uint64_t KernelFiles::removed() const {
    std::lock_guard lock(m_mutex);
    return m_removed;
}

bool KernelFiles::read(const Key &key, std::string_view fingerprint, std::string &blob) {
    if (!enabled())
        return false;
    // Without O_NONBLOCK a pipe of that name would stop us for ever.
    File file(open(path(key).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        return false;

    // Not mapped into memory: another process may cut the file short while we read
    KernelFileHeader header;
    if (!file.read_all(&header, sizeof header))
        return false;
    if (std::memcmp(header.magic, Magic, sizeof Magic) != 0 || header.version != FormatVersion ||
        header.key != key || header.fingerprint != hash64(fingerprint) ||
        header.payload_bytes != uint64_t(info.st_size) - sizeof header ||
        header.blob_bytes > MaxBlob)
        return false;
    std::string payload(header.payload_bytes, '\0');
    if (!file.read_all(payload.data(), payload.size()) ||
        header.checksum != checksum(header, payload))
        return false;

    if (header.compressed) {
        blob.resize(header.blob_bytes);
        if (ZSTD_decompress(blob.data(), blob.size(), payload.data(), payload.size()) !=
            blob.size())
            return false;
    } else {
        blob = std::move(payload);
    }
    futimens(file, nullptr); // the time of last use decides what is removed first
    return true;
}

void KernelFiles::write(const Key &key, std::string_view fingerprint, std::string_view blob) {
    if (!enabled() || !prepare())
        return;

    // Compress
    std::string compressed;
    if (blob.size() >= CompressedFrom) {
        compressed.resize(ZSTD_compressBound(blob.size()));
        size_t n = ZSTD_compress(compressed.data(), compressed.size(), blob.data(), blob.size(),
                                 CompressionLevel);
        compressed.resize(ZSTD_isError(n) || n > blob.size() / 8 * 7 ? 0 : n);
    }
    std::string_view payload = compressed.empty() ? blob : compressed;
    KernelFileHeader header{ .magic = {},
                             .version = FormatVersion,
                             .compressed = !compressed.empty(),
                             .key = key,
                             .fingerprint = hash64(fingerprint),
                             .blob_bytes = blob.size(),
                             .payload_bytes = payload.size(),
                             .checksum = 0 };
    std::memcpy(header.magic, Magic, sizeof Magic);
    header.checksum = checksum(header, payload);
    uint64_t size = disk_bytes(sizeof header + payload.size());
    if (size > m_max_bytes || blob.size() > MaxBlob)
        return;

    // Write, and make room where it was too much
    if (!write_file(path(key), header, payload))
        return;
    std::lock_guard lock(m_mutex);
    m_bytes += size;
    if (m_bytes > m_max_bytes)
        shrink();
}

/// Once: makes the folder and sums up what it holds.
bool KernelFiles::prepare() {
    std::lock_guard lock(m_mutex);
    if (m_prepared)
        return m_writable;
    m_prepared = true;
    std::error_code error;
    bool existed = std::filesystem::is_directory(m_folder, error);
    if (!existed) {
        std::filesystem::create_directories(m_folder, error);
        m_writable = std::filesystem::is_directory(m_folder, error);
        // Who writes there decides which code we run.
        if (m_writable)
            chmod(m_folder.c_str(), 0700);
    }
    if (!m_writable)
        warn("the folder cannot be made");
    else
        shrink();
    return m_writable;
}

/// Under a temporary name first, so that nobody sees half a file. No fsync: what a crash of the
/// machine damages, the checksum finds.
bool KernelFiles::write_file(const std::string &target, const KernelFileHeader &header,
                             std::string_view payload) {
    static std::atomic<uint32_t> counter{ 0 };
    std::string temporary;
    int fd = -1;
    // Another machine on the same file system may have a process of our number.
    for (int attempt = 0; attempt < 16 && fd < 0; ++attempt) {
        temporary = fmt::format("{}.{}.{}{}", target, getpid(), counter++, TemporarySuffix);
        fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno == ENOENT) { // somebody removed the folder
            std::error_code error;
            std::filesystem::create_directories(m_folder, error);
        } else if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    bool ok = fd >= 0;
    int reason = errno;
    if (ok) {
        File file(fd);
        ok = file.write_all(&header, sizeof header) &&
             file.write_all(payload.data(), payload.size()) && file.close_checked() &&
             rename(temporary.c_str(), target.c_str()) == 0;
        reason = errno;
        if (!ok)
            unlink(temporary.c_str());
    }
    if (!ok) {
        std::lock_guard lock(m_mutex);
        m_writable &= fd >= 0; // a full disk may have room again, a forbidden one stays so
        warn(std::strerror(reason));
    }
    return ok;
}

/// Sums up the folder, and where it holds too much, removes what was not used for longest, down to
/// 80 % so that the next look is far away. Needs the lock.
void KernelFiles::shrink() {
    struct Found {
        timespec used;
        uint64_t bytes;
        std::string path;
    };
    std::vector<Found> files;
    m_bytes = 0;
    DIR *folder = opendir(m_folder.c_str());
    if (!folder)
        return;
    time_t now = time(nullptr);
    while (const dirent *entry = readdir(folder)) {
        std::string_view name = entry->d_name;
        bool temporary = name.ends_with(TemporarySuffix);
        if (!temporary && !name.ends_with(Suffix))
            continue; // not ours
        std::string path = fmt::format("{}/{}", m_folder, name);
        struct stat info;
        if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
            continue; // gone meanwhile
        if (temporary) {
            if (name.find(Suffix) != name.npos && info.st_mtime + TemporaryLifetime < now)
                unlink(path.c_str());
            continue;
        }
        m_bytes += disk_bytes(uint64_t(info.st_size));
        files.push_back({ info.st_mtim, disk_bytes(uint64_t(info.st_size)), std::move(path) });
    }
    closedir(folder);
    if (m_bytes <= m_max_bytes)
        return;

    std::sort(files.begin(), files.end(), [](const Found &a, const Found &b) {
        return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                              : a.used.tv_nsec < b.used.tv_nsec;
    });
    for (const Found &f : files) {
        if (m_bytes <= m_max_bytes / 5 * 4)
            break;
        bool removed = unlink(f.path.c_str()) == 0;
        m_removed += removed;
        if (removed || errno == ENOENT)
            m_bytes -= f.bytes;
    }
    if (m_bytes > m_max_bytes) { // not ours to remove; do not look again at every kernel
        m_writable = false;
        warn("it is over its size and its files cannot be removed");
    }
}

/// Needs the lock.
void KernelFiles::warn(const std::string &message) {
    if (!std::exchange(m_warned, true))
        jit::warn(fmt::format("kernel cache \"{}\": {}; kernels are not kept (set UMBEL_CACHE to "
                              "another folder, or to nothing)",
                              m_folder, message));
}

// ---- The cache

KernelCache::KernelCache(CacheOptions options)
    : m_options(std::move(options)), m_files(m_options.folder, m_options.max_bytes) {}

std::string KernelCache::fingerprint(const Backend &backend) {
    return fmt::format("{}:{}:{}", backend.name(), compiler_revision, backend.fingerprint());
}

KernelCache::~KernelCache() {
    std::unique_lock lock(m_mutex);
    m_made.wait(lock, [&] { return m_in_background == 0 || m_process != getpid(); });
}

// The future's result; leaves where somebody looks and wants to.
template <class T> static const T &wait(const std::shared_future<T> &future) {
    constexpr std::chrono::milliseconds Patience{ 20 };
    while (Look look = current_look()) {
        if (future.wait_for(Patience) == std::future_status::ready)
            break;
        look();
    }
    return future.get();
}

std::shared_ptr<Kernel> KernelCache::get(Backend &backend, const Program &program,
                                         std::string_view serialized, bool *memory_hit,
                                         bool *disk_hit) {
    bool dummy;
    bool &in_memory = memory_hit ? *memory_hit : dummy, &on_disk = disk_hit ? *disk_hit : dummy;
    in_memory = on_disk = false;
    std::string print = fingerprint(backend);
    Key key = hash_program(serialized, print);

    // Have it, wait for it, or be the one who makes it
    std::shared_ptr<Making> making;
    {
        std::unique_lock lock(m_mutex);
        if (KernelPtr kernel = find_memory(key)) {
            ++m_stats.memory_hits;
            in_memory = true;
            return kernel;
        }
        if (m_process != getpid()) {
            m_process = getpid();
            m_pending.clear();
            m_in_background = 0;
        }
        if (auto pending = m_pending.find(key); pending != m_pending.end()) {
            std::shared_future<KernelPtr> future = pending->second;
            lock.unlock();
            KernelPtr kernel = wait(future);
            lock.lock();
            ++m_stats.memory_hits;
            in_memory = true;
            return kernel;
        }
        making = std::make_shared<Making>(key, std::move(print));
        m_pending.emplace(key, making->kernel);
    }
    bool is_elsewhere = current_look() && make_in_background(making, backend, program);
    if (!is_elsewhere)
        make(*making, backend, program);
    KernelPtr kernel = wait(making->kernel);
    if (is_elsewhere) // also for the disk: a fork of the process now would have the thread's locks, and not the thread
        making->stored.get_future().wait();
    on_disk = making->on_disk;
    return kernel;
}

/// False: there is no memory for another thread.
bool KernelCache::make_in_background(const std::shared_ptr<Making> &making, Backend &backend,
                                     const Program &program) {
    try {
        auto copy = std::make_shared<const Program>(program); // the caller may leave with the other
        std::unique_lock lock(m_mutex);
        ++m_in_background;
        lock.unlock();
        bool runs = run_in_background([this, making, copy, &backend] {
            make(*making, backend, *copy);
            {
                std::lock_guard lock(m_mutex);
                --m_in_background;
                m_made.notify_all();
            }
            making->stored.set_value();
        });
        lock.lock();
        m_in_background -= !runs;
        return runs;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

/// Keeps its promise, with a kernel or an error.
void KernelCache::make(Making &making, Backend &backend, const Program &program) noexcept {
    const Key &key = making.key;
    KernelPtr kernel;
    try {
        // A thread that waits inside the compiler's parallel loops must not pick up an outer task:
        // that task might wait for the very kernel the thread is making.
        tbb::this_task_arena::isolate([&] {
            kernel = find_disk(key, backend, making.print);
            making.on_disk = kernel != nullptr;
            if (!kernel) {
                std::string name = fmt::format("umbel_{:016x}{:016x}", key.hi, key.lo);
                kernel = backend.compile(program, name);
                check(kernel != nullptr);
            }
        });
        std::lock_guard lock(m_mutex);
        put_memory(key, kernel);
        ++(making.on_disk ? m_stats.disk_hits : m_stats.misses);
        m_pending.erase(key);
    } catch (...) {
        {
            std::lock_guard lock(m_mutex);
            m_pending.erase(key);
        }
        making.promise.set_exception(std::current_exception());
        return;
    }
    making.promise.set_value(kernel); // the others need not wait for the disk
    if (making.on_disk)
        return;
    auto *unfinished = dynamic_cast<BackgroundKernel *>(kernel.get());
    if (!unfinished || unfinished->is_ready() || !put_disk_later(key, kernel, making.print))
        put_disk(key, *kernel, making.print);
}

/// Where other threads still work on the kernel: nobody is to wait for them here. False: there is no memory for another thread.
bool KernelCache::put_disk_later(const Key &key, const KernelPtr &kernel,
                                 const std::string &fingerprint) noexcept {
    if (!m_files.enabled())
        return true;
    try {
        std::unique_lock lock(m_mutex);
        ++m_in_background;
        lock.unlock();
        bool runs = run_in_background([this, key, kernel, fingerprint] {
            put_disk(key, *kernel, fingerprint);
            std::lock_guard lock(m_mutex);
            --m_in_background;
            m_made.notify_all();
        });
        lock.lock();
        m_in_background -= !runs;
        return runs;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

std::shared_ptr<Kernel> KernelCache::find(const Key &key, Backend &backend) {
    {
        std::lock_guard lock(m_mutex);
        if (KernelPtr kernel = find_memory(key)) {
            ++m_stats.memory_hits;
            return kernel;
        }
    }
    KernelPtr kernel = find_disk(key, backend, fingerprint(backend));
    std::lock_guard lock(m_mutex);
    ++(kernel ? m_stats.disk_hits : m_stats.misses);
    if (kernel)
        put_memory(key, kernel);
    return kernel;
}

void KernelCache::put(const Key &key, std::shared_ptr<Kernel> kernel, Backend &backend) {
    {
        std::lock_guard lock(m_mutex);
        put_memory(key, kernel);
    }
    put_disk(key, *kernel, fingerprint(backend));
}

KernelCache::Stats KernelCache::stats() const {
    std::lock_guard lock(m_mutex);
    Stats stats = m_stats;
    stats.removals = m_files.removed();
    return stats;
}

void KernelCache::clear_memory() {
    std::list<Entry> dropped; // kernels die outside of the lock
    std::lock_guard lock(m_mutex);
    m_entries.clear();
    m_code = 0;
    dropped.swap(m_recent);
}

/// Needs the lock.
std::shared_ptr<Kernel> KernelCache::find_memory(const Key &key) {
    auto found = m_entries.find(key);
    if (found == m_entries.end())
        return nullptr;
    m_recent.splice(m_recent.begin(), m_recent, found->second);
    return found->second->kernel;
}

/// Needs the lock.
void KernelCache::put_memory(const Key &key, KernelPtr kernel) {
    uint64_t bytes = kernel->code_bytes();
    if (auto found = m_entries.find(key); found != m_entries.end()) {
        m_code -= found->second->bytes;
        m_recent.erase(found->second);
        m_entries.erase(found);
    }
    m_recent.push_front({ key, std::move(kernel), bytes });
    m_entries.emplace(key, m_recent.begin());
    m_code += bytes;
    while (m_entries.size() > 1 &&
           (m_entries.size() > m_options.max_kernels || m_code > m_options.max_code)) {
        m_entries.erase(m_recent.back().key);
        m_code -= m_recent.back().bytes;
        m_recent.pop_back();
        ++m_stats.evictions;
    }
}

std::shared_ptr<Kernel> KernelCache::find_disk(const Key &key, Backend &backend,
                                               std::string_view fingerprint) {
    std::string blob;
    if (!m_files.read(key, fingerprint, blob))
        return nullptr;
    try {
        return backend.load(blob);
    } catch (const std::exception &) {
        return nullptr; // a stored kernel that does not load is compiled again
    }
}

void KernelCache::put_disk(const Key &key, const Kernel &kernel, std::string_view fingerprint) {
    if (!m_files.enabled())
        return;
    try {
        if (std::string blob = kernel.save(); !blob.empty())
            m_files.write(key, fingerprint, blob);
    } catch (const std::exception &) {
        // The kernel runs all the same, it is only not kept.
    }
}

} // namespace umbel::jit
