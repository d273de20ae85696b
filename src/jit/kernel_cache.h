// jit/kernel_cache.h: compiled kernels, kept in memory and on disk by a hash of their program.
//
// Any number of threads and processes may share a folder: files appear whole or not at all, may
// vanish at any time, and are trusted only after their checksum. A disk that fails costs
// recompilation and one warning, never a launch.
#pragma once
#include "jit/backend.h"
#include <condition_variable>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>

namespace umbel::jit {

struct Key {
    uint64_t lo = 0, hi = 0;
    bool operator==(const Key &) const = default;
};

/// A hash of this layer's sources, from the build.
extern const char *const compiler_revision;

/// Names the kernel that a program (Program::serialize) becomes on a backend and machine.
Key hash_program(std::string_view bytes, std::string_view fingerprint);

struct CacheOptions {
    std::string folder;              // empty: no disk
    uint64_t max_bytes = 1ull << 30; // on disk
    size_t max_kernels = 4096;       // in memory ...
    uint64_t max_code = 1ull << 29;  // ... and bytes of their code

    /// Folder: $UMBEL_CACHE (empty: no disk), else $XDG_CACHE_HOME/umbel, else ~/.cache/umbel.
    /// Size: $UMBEL_CACHE_SIZE, such as 500M or 2G. Throws UserError for a size that is none.
    static CacheOptions from_environment();
};

/// Blobs in a folder, one file each. All functions are safe to call from several threads.
class KernelFiles {
public:
    KernelFiles(std::string folder, uint64_t max_bytes);

    bool enabled() const { return !m_folder.empty(); }
    /// The blob stored under the key by a backend of this fingerprint; false where there is none
    /// or where the file is damaged.
    bool read(const Key &key, std::string_view fingerprint, std::string &blob);
    /// Replaces what was stored. Failure is not reported beyond the one warning.
    void write(const Key &key, std::string_view fingerprint, std::string_view blob);
    std::string path(const Key &key) const;
    /// Files removed to respect the size bound.
    uint64_t removed() const;

private:
    bool prepare();
    bool write_file(const std::string &target, const struct KernelFileHeader &header,
                    std::string_view payload);
    void shrink();
    void warn(const std::string &message);

    const std::string m_folder;
    const uint64_t m_max_bytes;
    mutable std::mutex m_mutex; // guards all below
    bool m_prepared = false, m_writable = true, m_warned = false;
    uint64_t m_bytes = 0; // in the folder, as far as we know: others write there, too
    uint64_t m_removed = 0;
};

class KernelCache {
public:
    struct Stats {
        uint64_t memory_hits = 0, disk_hits = 0, misses = 0;
        uint64_t evictions = 0; // from memory
        uint64_t removals = 0;  // of files
    };

    explicit KernelCache(CacheOptions options = CacheOptions::from_environment());
    /// Waits for kernels that are made in the background.
    ~KernelCache();

    /// The kernel of a program; `serialized` is program.serialize(). Compiles where neither memory
    /// nor disk has it; of several threads that ask for one kernel, one compiles and the others
    /// wait. What the backend throws reaches all of them, and the next call tries again. Those who
    /// wait may leave: see jit/background.h.
    std::shared_ptr<Kernel> get(Backend &backend, const Program &program,
                                std::string_view serialized, bool *memory_hit = nullptr,
                                bool *disk_hit = nullptr);

    /// Memory, then disk; null where neither has it.
    std::shared_ptr<Kernel> find(const Key &key, Backend &backend);
    void put(const Key &key, std::shared_ptr<Kernel> kernel, Backend &backend);

    Stats stats() const;
    void clear_memory();
    /// The file that holds, or would hold, a kernel.
    std::string path(const Key &key) const { return m_files.path(key); }
    /// What `get` hashes along with the program.
    static std::string fingerprint(const Backend &backend);

private:
    using KernelPtr = std::shared_ptr<Kernel>;
    struct Entry {
        Key key;
        KernelPtr kernel;
        uint64_t bytes; // of its code
    };
    struct KeyHash {
        size_t operator()(const Key &k) const { return k.lo; }
    };

    struct Making { // a kernel, for all who wait for it
        Key key;
        std::string print; // the fingerprint
        bool on_disk = false;
        std::promise<KernelPtr> promise = {};
        std::shared_future<KernelPtr> kernel = promise.get_future().share();
        std::promise<void> stored = {}; // nothing is left to do, and no lock is held
    };
    bool make_in_background(const std::shared_ptr<Making> &making, Backend &backend,
                            const Program &program);
    void make(Making &making, Backend &backend, const Program &program) noexcept;

    KernelPtr find_memory(const Key &key);
    KernelPtr find_disk(const Key &key, Backend &backend, std::string_view fingerprint);
    void put_memory(const Key &key, KernelPtr kernel);
    void put_disk(const Key &key, const Kernel &kernel, std::string_view fingerprint);
    bool put_disk_later(const Key &key, const KernelPtr &kernel,
                        const std::string &fingerprint) noexcept;

    const CacheOptions m_options;
    KernelFiles m_files;
    mutable std::mutex m_mutex; // guards all below
    std::list<Entry> m_recent;  // the most recently used first
    std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> m_entries;
    uint64_t m_code = 0; // bytes, of all entries
    std::unordered_map<Key, std::shared_future<KernelPtr>, KeyHash> m_pending;
    Stats m_stats;
    uint32_t m_in_background = 0;
    pid_t m_process = getpid();     // in a fork of it, nobody makes what is pending
    std::condition_variable m_made; // one that was in the background
};

} // namespace umbel::jit
