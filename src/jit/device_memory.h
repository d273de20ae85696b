// jit/device_memory.h: arrays in memory of a device that belongs to others.
#pragma once
#include "jit/device.h"
#include <functional>

namespace umbel::jit {

/// What `borrow` (jit/buffer.h) is given, with a null pointer of the host, to wrap memory of a device: a buffer whose newest contents are
/// there. The host gets a copy when somebody looks.
struct DeviceOwner {
    Device *device;
    uint64_t address;
    std::function<void()> release; // when the last handle goes, on whichever thread that is

    void operator()() const { release(); }
};

} // namespace umbel::jit
