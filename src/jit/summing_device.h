// jit/summing_device.h: devices whose lanes add floats to arrays without an order.
#pragma once
#include "jit/array_device.h"
#include "jit/type.h"
#include <span>
#include <vector>

namespace umbel::jit {

class Buffer;

/// An array that lanes of a kernel add floats to, and nothing else.
struct SumTarget {
    Buffer *array;
    Type type;
    uint64_t cells;
};

class SummingDevice : public ArrayDevice {
public:
    /// Where a kernel adds to in the place of each array, so that sums do not depend on an order; 0: to the array itself. What is
    /// there goes to the arrays with `end_sums`.
    virtual std::vector<uint64_t> begin_sums(std::span<const SumTarget> targets) = 0;
    virtual void end_sums(std::span<const SumTarget> targets, std::span<const uint64_t> places) = 0;
    /// Of a launch that failed: in place of end_sums.
    virtual void drop_sums(std::span<const SumTarget> targets,
                           std::span<const uint64_t> places) noexcept = 0;
};

} // namespace umbel::jit
