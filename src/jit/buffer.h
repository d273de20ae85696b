// jit/buffer.h: reference-counted memory for arrays, from a caching allocator.
//
// Fresh memory costs a page fault per page, about as much as a kernel that fills it. Freed blocks
// are therefore kept in bins by size and handed out again while they are warm.
//
// A device beside the host has a copy of what its kernels use: made when they first ask for it, and brought up to date, in
// either direction, when somebody looks.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace umbel::jit {

class BufferRef;
class Device;

/// Bytes past the requested end of a buffer that kernels may read and write: 64 elements of 8
/// bytes.
constexpr uint64_t BufferPadding = 512;

/// A block of memory with a reference count. Lives through `BufferRef` only.
class Buffer {
public:
    /// On the host; waits for what a device has newer.
    void *data() const {
        if (m_copy && m_copy->is_newer) [[unlikely]]
            fetch();
        return m_data;
    }
    /// Bytes asked for, without padding.
    uint64_t bytes() const { return m_bytes; }
    /// Memory of others (see `borrow`): no padding, no promise of alignment.
    bool borrowed() const { return m_capacity == 0; }

    // ---- the copy of a device; called by its kernels' launches, one after another
    /// Where it lies, with what the host has, unless all of it is about to be written.
    uint64_t device_address(Device &device, bool is_overwritten = false);
    /// The device's copy has changed: the host's is fetched when somebody asks for it.
    void device_wrote() { m_copy->is_newer = m_copy->is_current = true; }
    /// The host's contents have changed.
    void host_wrote() {
        if (m_copy)
            m_copy->is_newer = m_copy->is_current = false;
    }
    /// Whether only the device has what is in it.
    bool is_on_device() const { return m_copy && m_copy->is_newer; }

private:
    friend class BufferRef;
    friend BufferRef allocate(uint64_t bytes);
    friend BufferRef borrow(void *data, uint64_t bytes, std::function<void()> on_release);

    Buffer() = default;
    Buffer(const Buffer &) = delete;
    void destroy() noexcept;
    void fetch() const;

    struct DeviceCopy {
        Device *device;
        uint64_t address;
        bool is_current = false; // has what the host has, or newer
        bool is_newer = false;   // than what the host has
    };

    std::atomic<uint32_t> m_count{ 1 };
    void *m_data = nullptr;
    uint64_t m_bytes = 0;
    uint64_t m_capacity = 0;                       // size class of the block; 0: borrowed
    std::function<void()> *m_on_release = nullptr; // borrowed: null as a rule
    DeviceCopy *m_copy = nullptr;                  // owned
};

/// Owning handle of a buffer, or null. Distinct handles may be used from distinct threads.
class BufferRef {
public:
    BufferRef() = default;
    BufferRef(std::nullptr_t) {}
    BufferRef(const BufferRef &o) : m_buffer(o.m_buffer) {
        if (m_buffer)
            m_buffer->m_count.fetch_add(1, std::memory_order_relaxed);
    }
    BufferRef(BufferRef &&o) noexcept : m_buffer(std::exchange(o.m_buffer, nullptr)) {}
    BufferRef &operator=(BufferRef o) noexcept {
        std::swap(m_buffer, o.m_buffer);
        return *this;
    }
    ~BufferRef() {
        if (m_buffer && m_buffer->m_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
            m_buffer->destroy();
    }

    explicit operator bool() const { return m_buffer != nullptr; }
    Buffer *operator->() const { return m_buffer; }
    Buffer &operator*() const { return *m_buffer; }
    Buffer *get() const { return m_buffer; }
    void reset() { *this = BufferRef(); }
    /// Whether this is the only handle: its memory may be overwritten in place.
    bool unique() const {
        return m_buffer && m_buffer->m_count.load(std::memory_order_acquire) == 1;
    }
    friend bool operator==(const BufferRef &a, const BufferRef &b) {
        return a.m_buffer == b.m_buffer;
    }

private:
    friend BufferRef allocate(uint64_t bytes);
    friend BufferRef borrow(void *data, uint64_t bytes, std::function<void()> on_release);
    explicit BufferRef(Buffer *adopted) : m_buffer(adopted) {}

    Buffer *m_buffer = nullptr;
};

/// Uninitialised memory, 64-byte aligned, with `BufferPadding` usable bytes past its end. Throws
/// DeviceError where the system has no more, after having given the cache back.
BufferRef allocate(uint64_t bytes);
/// Wraps memory of others; `on_release` runs when the last handle goes, on whichever thread that
/// is.
BufferRef borrow(void *data, uint64_t bytes, std::function<void()> on_release);

/// Of the host; for devices see jit/device.h. Byte counts include padding and rounding; borrowed memory is not counted.
struct MemoryStats {
    uint64_t in_use = 0;      // bytes of live buffers
    uint64_t cached = 0;      // bytes kept for reuse
    uint64_t peak = 0;        // largest in_use so far
    uint64_t buffers = 0;     // live buffers
    uint64_t allocations = 0; // calls of `allocate` so far ...
    uint64_t reused = 0;      // ... and how many of them the cache served
};
MemoryStats memory_stats();
/// Gives all cached memory back to the system, and that of devices to their drivers.
void trim();

} // namespace umbel::jit
