// jit/block_scatter.h: reductions into arrays that a kernel's lanes hit often, block by block.
//
// Lanes are cut into chunks; each reduces into a copy of the target of its own, a block of lanes at
// a time, right after the kernel has computed them and while they are in the cache. The copies are
// merged in order. Chunks depend on sizes alone, so results do not depend on the number of threads.
#pragma once
#include "jit/buffer.h"
#include "jit/op.h"
#include "jit/type.h"
#include <cstdint>
#include <functional>
#include <vector>

namespace umbel::jit {

struct ScatterTarget {
    Type type;
    ReduceOp op; // not Store
    void *data;
    uint64_t cells;
    uint32_t array = ~0u; // of the task
};

/// An operand of a scatter: an array, a constant, or one of the kernel's results that exist for a
/// block of lanes only.
struct ScatterOperand {
    static constexpr uint32_t NoSlot = ~0u;
    BufferRef data;
    uint32_t slot = NoSlot;
    uint32_t array = ~0u; // of the task, where `data` comes from; else none
    uint64_t literal = 0;
    bool uniform = false; // one element for all lanes

    const void *at(char *const *slots, uint64_t lane, uint64_t width) const {
        const void *base = slot != NoSlot ? slots[slot] : data ? data->data() : &literal;
        return static_cast<const char *>(base) + (uniform ? 0 : lane * width);
    }
};

struct BlockScatter {
    struct Effect {
        uint32_t target;
        ScatterOperand index, value, mask;
        bool masked = false;
    };
    std::vector<ScatterTarget> targets;
    std::vector<Effect> effects;
    std::vector<uint64_t> slot_widths; // bytes a lane

    /// How many chunks `lanes` lanes are cut into: so few that clearing and merging the copies costs
    /// less than the scatters themselves.
    uint64_t chunks(uint64_t lanes) const;
    /// Calls compute(slots, begin, end) for blocks of lanes, then scatters them. Lane i of slot k
    /// is to be written to slots[k] + i * slot_widths[k].
    void
    run(uint64_t lanes,
        const std::function<void(char *const *slots, uint64_t begin, uint64_t end)> &compute) const;
};

} // namespace umbel::jit
