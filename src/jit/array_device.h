// jit/array_device.h: devices that fill and copy arrays themselves.
#pragma once
#include "jit/device.h"

namespace umbel::jit {

class ArrayDevice : public Device {
public:
    /// `count` elements of `width` (1, 2, 4 or 8) bytes, all of them the low ones of `bits`.
    virtual void fill(uint64_t to, uint64_t bits, uint32_t width, uint64_t count) = 0;
    /// From one place in its memory to another.
    virtual void copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;
};

} // namespace umbel::jit
