// jit/device.h: a machine beside the host, with memory of its own.
#pragma once
#include <cstdint>

namespace umbel::jit {

/// Copies and kernels take effect in the order of their calls. All functions may be called from any thread.
class Device {
public:
    virtual ~Device() = default;
    /// Memory with `BufferPadding` bytes more; a DeviceError says what was asked for where there is none left.
    virtual uint64_t allocate(uint64_t bytes) = 0;
    /// What was queued before may still use it.
    virtual void release(uint64_t address, uint64_t bytes) noexcept = 0;
    /// The host's memory may change as soon as it returns.
    virtual void upload(uint64_t to, const void *from, uint64_t bytes) = 0;
    /// Waits for the contents.
    virtual void download(void *to, uint64_t from, uint64_t bytes) = 0;
};

} // namespace umbel::jit
