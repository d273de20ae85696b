// jit/array_device.h: devices that fill and copy arrays themselves.
#pragma once
#include "jit/device.h"
#include <span>

namespace umbel::jit {

/// Of 1, 2, 4 or 8 bytes, both places aligned to as many.
struct SmallCopy {
    uint64_t from, to, bytes;
};

class ArrayDevice : public Device {
public:
    /// `count` elements of `width` (1, 2, 4 or 8) bytes, all of them the low ones of `bits`.
    virtual void fill(uint64_t to, uint64_t bits, uint32_t width, uint64_t count) = 0;
    /// From one place in its memory to another.
    virtual void copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;
    /// All of them, in any order: thousands should not be as many calls of a driver.
    virtual void copy_each(std::span<const SmallCopy> copies) = 0;
};

} // namespace umbel::jit
