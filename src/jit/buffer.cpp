// jit/buffer.cpp: the caching allocator behind `allocate`.
#include "jit/buffer.h"
#include "jit/available_memory.h"
#include "jit/device_memory.h"
#include "jit/error.h"
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes) ((void)(data), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes) ((void)(data), (void)(bytes))
#endif

namespace umbel::jit {
namespace {

constexpr uint64_t MiB = 1 << 20;
constexpr uint64_t Alignment = 64;
constexpr uint64_t HugePage = 2 * MiB;
// From here on blocks are mapped one by one, in huge pages; smaller ones come from malloc.
constexpr uint64_t MapThreshold = MiB;
// From here on it is asked whether there is as much memory, which takes some 0.1 ms.
constexpr uint64_t AskFrom = 64 * MiB;
// From here on a cached block may be larger than what is asked for, by so many size classes: by a quarter at most.
constexpr uint64_t LargerFrom = 64 << 10;
constexpr size_t LargerClasses = 2;
// Of a mapped block: room to start on another cache line than its neighbours (see
// `Allocator::map`).
constexpr uint64_t ColourSpan = 4096;
constexpr uint64_t MaxBytes = uint64_t(1) << 56;

// ---- Size classes: eight per octave, so that at most 1/8 of a block is slack

int class_shift(uint64_t bytes) { return std::max(int(std::bit_width(bytes)) - 4, 6); }

uint64_t class_bytes(uint64_t bytes) {
    uint64_t step = uint64_t(1) << class_shift(bytes);
    return (bytes + step - 1) & ~(step - 1);
}

// Distinct for distinct class sizes: the octave and the three bits below its leading one.
size_t class_index(uint64_t class_bytes) {
    int shift = class_shift(class_bytes);
    return size_t(shift) * 8 + ((class_bytes >> shift) & 7);
}

struct Block {
    void *data;
    uint64_t freed; // position in the order of all frees
};

class Allocator {
public:
    /// At least so many bytes; says how many.
    void *acquire(uint64_t &capacity);
    void release(void *data, uint64_t capacity) noexcept;
    void trim();
    MemoryStats stats() {
        std::lock_guard guard(m_mutex);
        return m_stats;
    }

private:
    using Clock = std::chrono::steady_clock;

    void *take_cached(uint64_t &capacity);
    void *system_alloc(uint64_t capacity);
    void *map(uint64_t capacity);
    void system_free(void *data, uint64_t capacity);
    void shrink_cache(uint64_t limit);
    void note_use();
    uint64_t footprint_limit();

    static constexpr size_t ClassCount = 64 * 8;
    std::mutex m_mutex;
    std::vector<Block> m_bins[ClassCount]; // each in the order of freeing
    uint64_t m_bin_bytes[ClassCount] = {};
    MemoryStats m_stats;
    uint64_t m_frees = 0, m_maps = 0;
    uint64_t m_window_peak[2] = {}; // of this and the previous window of time
    Clock::time_point m_window_start = Clock::now();
};

// Leaked on purpose: buffers in static variables may outlive any destructor of ours.
Allocator &allocator() {
    static Allocator *instance = new Allocator;
    return *instance;
}

// ---- Memory of the system

void *Allocator::system_alloc(uint64_t capacity) {
    return capacity < MapThreshold ? std::aligned_alloc(Alignment, capacity) : map(capacity);
}

// Huge pages want an address that is a multiple of their size. Were all blocks to start on one,
// equal indices of many arrays would compete for one cache set: each block starts on a line of its
// own.
void *Allocator::map(uint64_t capacity) {
    // The system gives room for more than there is, and ends the process when that is used
    if (capacity >= AskFrom && !Device::exists && capacity > available_memory())
        return nullptr;
    uint64_t size = capacity + ColourSpan;
    char *base = (char *)mmap(nullptr, size + HugePage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return nullptr;
    char *start = (char *)((uintptr_t(base) + HugePage - 1) & ~(HugePage - 1));
    char *end = (char *)((uintptr_t(start) + size + 4095) & ~uintptr_t(4095));
    char *mapped_end = (char *)((uintptr_t(base) + size + HugePage + 4095) & ~uintptr_t(4095));
    if (start > base)
        munmap(base, start - base);
    if (mapped_end > end)
        munmap(end, mapped_end - end);
    madvise(start, end - start, MADV_HUGEPAGE); // a hint: older kernels refuse, nothing is lost
    return start + (m_maps++ % (ColourSpan / Alignment)) * Alignment;
}

void Allocator::system_free(void *data, uint64_t capacity) {
    ASAN_UNPOISON_MEMORY_REGION(data, capacity);
    if (capacity < MapThreshold) {
        std::free(data);
        return;
    }
    char *start = (char *)(uintptr_t(data) & ~(ColourSpan - 1));
    munmap(start, (capacity + ColourSpan + 4095) & ~uint64_t(4095));
}

// ---- The cache

// Of this size, or of a larger one rather than none: blocks of many sizes that are never in use together would add up.
void *Allocator::take_cached(uint64_t &capacity) {
    size_t first = class_index(capacity),
           most = first + (capacity < LargerFrom ? 0 : LargerClasses);
    for (size_t i = first; i <= most; ++i) {
        std::vector<Block> &bin = m_bins[i];
        if (bin.empty())
            continue;
        void *data = bin.back().data; // the last one freed is the warmest
        bin.pop_back();
        capacity = m_bin_bytes[i];
        return data;
    }
    return nullptr;
}

void *Allocator::acquire(uint64_t &capacity) {
    std::lock_guard guard(m_mutex);
    void *data = take_cached(capacity);
    if (data) {
        m_stats.cached -= capacity;
        m_stats.reused++;
        ASAN_UNPOISON_MEMORY_REGION(data, capacity);
    } else {
        data = system_alloc(capacity);
        if (!data) {
            shrink_cache(0);
            data = system_alloc(capacity);
        }
        if (!data)
            return nullptr;
        m_bin_bytes[class_index(capacity)] = capacity;
    }
    m_stats.in_use += capacity;
    m_stats.buffers++;
    m_stats.allocations++;
    m_stats.peak = std::max(m_stats.peak, m_stats.in_use);
    note_use();
    return data;
}

void Allocator::release(void *data, uint64_t capacity) noexcept {
    std::lock_guard guard(m_mutex);
    m_stats.in_use -= capacity;
    m_stats.buffers--;
    try {
        m_bins[class_index(capacity)].push_back({ data, m_frees++ });
    } catch (const std::bad_alloc &) {
        system_free(data, capacity);
        return;
    }
    m_stats.cached += capacity;
    ASAN_POISON_MEMORY_REGION(data, capacity);
    uint64_t limit = footprint_limit();
    if (m_stats.in_use + m_stats.cached > limit)
        shrink_cache(limit > m_stats.in_use ? limit - m_stats.in_use : 0);
}

void Allocator::trim() {
    std::lock_guard guard(m_mutex);
    shrink_cache(0);
}

// Gives blocks back, those that lay idle longest first, until at most `limit` bytes are cached.
void Allocator::shrink_cache(uint64_t limit) {
    while (m_stats.cached > limit) {
        size_t oldest = ClassCount;
        for (size_t i = 0; i < ClassCount; ++i)
            if (!m_bins[i].empty() &&
                (oldest == ClassCount || m_bins[i].front().freed < m_bins[oldest].front().freed))
                oldest = i;
        // Half of the bin at once, to keep the cost of the search and of the erasure small.
        std::vector<Block> &bin = m_bins[oldest];
        size_t count = 0, most = (bin.size() + 1) / 2;
        while (count < most && m_stats.cached > limit) {
            system_free(bin[count++].data, m_bin_bytes[oldest]);
            m_stats.cached -= m_bin_bytes[oldest];
        }
        bin.erase(bin.begin(), bin.begin() + count);
    }
}

// ---- How much to keep
//
// An iteration of a program allocates up to its peak and then frees nearly all of it. The limit is
// taken from the peak of the last seconds, lest every iteration pay for its page faults again.

constexpr std::chrono::seconds Window(5);
constexpr uint64_t Allowance = 256 * MiB;

void Allocator::note_use() { m_window_peak[0] = std::max(m_window_peak[0], m_stats.in_use); }

uint64_t Allocator::footprint_limit() {
    if (m_stats.in_use + m_stats.cached <= Allowance)
        return Allowance; // no need to look at the clock
    Clock::time_point now = Clock::now();
    if (now - m_window_start > Window) {
        bool long_ago = now - m_window_start > 2 * Window;
        m_window_peak[1] = long_ago ? m_stats.in_use : m_window_peak[0];
        m_window_peak[0] = m_stats.in_use;
        m_window_start = now;
    }
    uint64_t peak = std::max(m_window_peak[0], m_window_peak[1]);
    return peak + peak / 2 + Allowance;
}

} // namespace

// ---- Interface

BufferRef allocate(uint64_t bytes) {
    uint64_t capacity = 0;
    void *data = nullptr;
    if (bytes < MaxBytes) {
        capacity = class_bytes(std::max(bytes, Alignment) + BufferPadding);
        data = allocator().acquire(capacity);
    }
    if (!data) {
        MemoryStats s = memory_stats();
        throw DeviceError(fmt::format(
            "out of memory: cannot allocate {} bytes ({:.1f} MiB); {:.1f} MiB "
            "are in use and {:.1f} MiB cached",
            bytes, double(bytes) / MiB, double(s.in_use) / MiB, double(s.cached) / MiB));
    }
    // What rounding adds is nobody's: let a sanitizer see who touches it.
    ASAN_POISON_MEMORY_REGION((char *)data + bytes + BufferPadding,
                              capacity - bytes - BufferPadding);
    Buffer *buffer;
    try {
        buffer = new Buffer;
    } catch (...) {
        allocator().release(data, capacity);
        throw;
    }
    buffer->m_data = data;
    buffer->m_bytes = bytes;
    buffer->m_capacity = capacity;
    return BufferRef(buffer);
}

// Where the device's memory, and not the host's, is that of others.
static const DeviceOwner *on_device(const std::function<void()> *on_release) {
    return on_release ? on_release->target<DeviceOwner>() : nullptr;
}

BufferRef borrow(void *data, uint64_t bytes, std::function<void()> on_release) {
    Buffer *buffer = new Buffer;
    buffer->m_data = data;
    buffer->m_bytes = bytes;
    buffer->m_on_release = on_release ? new std::function<void()>(std::move(on_release)) : nullptr;
    if (const DeviceOwner *owner = on_device(buffer->m_on_release))
        buffer->m_copy = new Buffer::DeviceCopy{ owner->device, owner->address, true, true };
    return BufferRef(buffer);
}

void Buffer::destroy() noexcept {
    const DeviceOwner *owner = on_device(m_on_release);
    if (m_copy) {
        if (!owner || m_copy->address != owner->address)
            m_copy->device->release(m_copy->address, m_bytes);
        delete m_copy;
    }
    if (owner)
        std::free(m_data); // the host's copy
    if (!borrowed()) {
        allocator().release(m_data, m_capacity);
    } else if (m_on_release) {
        (*m_on_release)();
        delete m_on_release;
    }
    delete this;
}

// ---- Copies of devices

uint64_t Buffer::device_address(Device &device, bool is_overwritten) {
    if (m_bytes == 0) // a pointer of the host, for functions of the host
        return reinterpret_cast<uintptr_t>(m_data);
    if (m_copy && m_copy->device != &device) {
        data();
        if (!on_device(m_on_release))
            m_copy->device->release(m_copy->address, m_bytes);
        delete std::exchange(m_copy, nullptr);
    }
    if (!m_copy) {
        auto copy = std::make_unique<DeviceCopy>(DeviceCopy{ &device, 0 });
        copy->address = device.allocate(m_bytes);
        m_copy = copy.release();
    }
    if (!m_copy->is_current && !is_overwritten) {
        device.upload(m_copy->address, m_data, m_bytes);
        m_copy->is_current = true;
    }
    return m_copy->address;
}

void Buffer::fetch() const {
    if (!m_data) { // memory of a device that belongs to others
        uint64_t capacity = (m_bytes + BufferPadding + Alignment - 1) & ~(Alignment - 1);
        void *data = std::aligned_alloc(Alignment, capacity);
        if (!data) {
            allocator().trim();
            data = std::aligned_alloc(Alignment, capacity);
        }
        if (!data)
            throw DeviceError(fmt::format(
                "out of memory: cannot allocate {:.1f} MiB of the host for an array of a device",
                double(m_bytes) / MiB));
        const_cast<Buffer *>(this)->m_data = data;
    }
    m_copy->device->download(m_data, m_copy->address, m_bytes);
    m_copy->is_newer = false;
}

MemoryStats memory_stats() { return allocator().stats(); }

void trim() {
    allocator().trim();
    for (Device *device : open_devices())
        device->trim();
}

} // namespace umbel::jit
