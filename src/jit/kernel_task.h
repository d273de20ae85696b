// jit/kernel_task.h: a kernel's launch, with the scatters that follow it block by block.
#pragma once
#include "jit/backend.h"
#include "jit/block_scatter.h"
#include "jit/private_copies.h"
#include "jit/region_scatter.h"
#include "jit/task.h"

namespace umbel::jit {

class CollectingLog;
class HostEffect;

/// The records of all instances of a call site, and the table that leads to them.
struct CallTables {
    struct Copy {
        uint32_t offset;
        uint8_t bytes;  // 0: store the address itself
        uint32_t array; // of the task
        bool operator==(const Copy &) const = default;
    };
    std::vector<uint32_t> table; // {callee, data offset} by id; entry 0: {number of ids, 0}
    std::shared_ptr<std::vector<uint8_t>> data; // with what is known before it runs
    std::vector<Copy> copies;

    /// Runs in the stream, when the arrays have their contents; with addresses of the device, if there is one, and for arrays of the
    /// task with what takes their place (0: nothing). Returns what only the device has, and has to copy itself.
    std::vector<Copy> fill(const Task &task, Device *device = nullptr,
                           const std::vector<uint64_t> &replaced = {});
};

struct KernelTask final : Task {
    static constexpr uint32_t NoArray = ~0u;
    struct Call { // of a kernel
        std::shared_ptr<Kernel> kernel;
        std::vector<uint32_t> arrays;    // by argument: the task's array; NoArray: a slot, a table
        std::vector<uint32_t> slot_args; // take results that exist for a block of lanes
        // Filled when it runs
        std::vector<void *> args;
        std::vector<uint64_t> sizes;

        void bind(const Task &task);
        void run_block(char *const *slots, uint64_t begin, uint64_t end, CollectingLog &log) const;
    };
    Call main; // without a kernel: scatters alone
    std::vector<CallTables> tables;
    std::vector<std::pair<uint32_t, uint32_t>> table_args; // argument, 2 * table + (1: data)
    std::vector<ExternSite> externs;
    BlockScatter scatters; // done with each block of lanes
    bool by_region = false;
    RegionScatter regions; // or in the order of the target's regions, found by
    Call index;            // ... a kernel with one slot
    struct Sum {           // of a host function, that ends when all lanes have run
        std::shared_ptr<HostEffect> effect;
        std::vector<uint32_t> targets; // arrays of the task
    };
    std::vector<Sum> sums;
    std::vector<uint32_t> summed;  // arrays that lanes add to inside of loops, branches and calls
    Device *device = nullptr;      // where it runs; null: on the host
    std::vector<uint32_t> written; // on a device: arrays that change
    bool is_computed =
        false; // its arrays are what they should be; assertions may have failed all the same
    uint64_t operations = 0;
    uint64_t grain = Grain; // lanes that are handed out together, at least

    void run() override;
    std::shared_ptr<Task> copy() const override { return std::make_shared<KernelTask>(*this); }
    bool same(const Task &other) const override;

private:
    void bind();
    void run_on_device(CollectingLog &log);
    /// `places`: where lanes add to in the place of arrays in `summed`; 0: to the array.
    void launch_on_device(CollectingLog &log, const std::vector<uint64_t> &places);
    void run_blocks(CollectingLog &log);
    PrivateCopies private_copies() const;
    void run_summing(const PrivateCopies &copies, CollectingLog &log);
};

} // namespace umbel::jit
