// jit/device.h: a machine beside the host, with memory of its own.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace umbel::jit {

/// Of a device, in bytes.
struct DeviceStats {
    std::string name;
    uint64_t in_use = 0;          // by arrays of this process ...
    uint64_t cached = 0;          // ... and kept for later ones
    uint64_t peak = 0;            // largest in_use so far
    uint64_t free = 0, total = 0; // as the driver says, which knows of other processes
};

/// Copies and kernels take effect in the order of their calls. All functions may be called from any thread.
class Device {
public:
    Device() { exists = true; }
    virtual ~Device() = default;
    /// Whether the process ever had one: then much of the host's room for arrays is never touched.
    static inline std::atomic<bool> exists = false;
    /// Memory with `BufferPadding` bytes more; a DeviceError says what was asked for where there is none left.
    virtual uint64_t allocate(uint64_t bytes) = 0;
    /// What was queued before may still use it.
    virtual void release(uint64_t address, uint64_t bytes) noexcept = 0;
    /// The host's memory may change as soon as it returns.
    virtual void upload(uint64_t to, const void *from, uint64_t bytes) = 0;
    /// Waits for the contents.
    virtual void download(void *to, uint64_t from, uint64_t bytes) = 0;
    virtual DeviceStats stats() { return {}; }
    /// Gives memory back that is kept for later arrays.
    virtual void trim() {}
};

/// Those that were used so far. They stay until the process ends.
std::vector<Device *> open_devices();

} // namespace umbel::jit
