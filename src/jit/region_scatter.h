// jit/region_scatter.h: reductions into neighbouring cells of a large array, region by region.
//
// A kernel whose lanes each hit a few neighbouring cells (the corners of a texel, say) mostly waits
// for cells that no near cache holds. Here the lanes are brought into the order of the target's
// regions *before* the kernel runs: its inputs are partitioned by region, it runs over them in that
// order, reduces into a copy of one region, and its outputs go back to where they belong. What it
// gathers from under the same indices, such as the texels, is then near, too.
//
// The order of lanes within a region stays, and how much a copy takes depends on the lanes' cells
// alone, so results do not depend on the number of threads.
#pragma once
#include "jit/block_scatter.h"
#include "jit/graph.h"

namespace umbel::jit {

/// How scatters hit neighbouring cells: number k, for each lane, cell `top` - back[k].
struct Neighbours {
    NodeId top = 0; // none: they do not, or it does not pay
    std::vector<uint32_t> back;
    std::vector<NodeId> operands; // those of `operands` that remain: the other indices are known
};
/// Of scatters that all have `lanes` lanes, whose operands that are not evaluated are `operands`.
Neighbours find_neighbours(const Graph &g, const std::vector<NodeId> &scatters,
                           const std::vector<NodeId> &operands, uint32_t lanes);

struct RegionScatter {
    struct Effect {
        uint32_t back;
        ScatterOperand value, mask; // in the order of regions
        bool masked = false;
    };
    struct Column { // an input or output of the kernel, as it is and in the order of regions
        BufferRef lanes, ordered;
        uint64_t width;
        uint32_t arg, array; // the kernel's argument that takes the ordered one; the task's array
    };
    ScatterTarget target;
    std::vector<Effect> effects;
    std::vector<uint64_t> slot_widths; // bytes a lane
    uint32_t top_slot = 0;
    std::vector<Column> inputs, outputs;

    /// Elements of an ordered column: regions start on multiples of `Grain`.
    static uint64_t ordered_lanes(uint64_t lanes);
    /// Sets all but the columns. Operands of the scatters are in the order of regions.
    void set_effects(const BlockScatter &scatters, const Neighbours &neighbours);
    /// `index(out, begin, end)` writes the index `top` of these lanes to out[0], out[1], …
    /// `compute(slots, begin, end)` runs the kernel on ordered columns, as for BlockScatter::run.
    void
    run(uint64_t lanes,
        const std::function<void(uint32_t *out, uint64_t begin, uint64_t end)> &index,
        const std::function<void(char *const *slots, uint64_t begin, uint64_t end)> &compute) const;
};

} // namespace umbel::jit
