// jit/private_copies.h: sums from inside loops, branches and calls, in copies that chunks of lanes have for themselves.
//
// There, lanes add to memory atomically, in an order that no two runs share, and sums of millions of numbers in single
// precision lose the small ones. So where a target is small beside the number of lanes, each chunk of lanes adds to zeros
// of its own. After each block of lanes these move on to the chunk's sums, in double precision, and in the end the sums of
// all chunks to the target, in order. Blocks and chunks depend on sizes alone: so do results, and not on threads. Copies
// take at most twice the bytes that there are lanes, whatever the sizes of the targets.
#pragma once
#include "jit/program.h"
#include <functional>

namespace umbel::jit {

/// Whether memory is reached through a pointer in one way alone: by adding floats to it; and whether it changes at all.
struct PointerUse {
    bool summed = false, otherwise = false, written = false;
    bool sums_only() const { return summed && !otherwise; }
    void add(const PointerUse &o) {
        summed |= o.summed;
        otherwise |= o.otherwise;
        written |= o.written;
    }
};

/// How a program uses its pointers.
struct PointerUses {
    std::vector<PointerUse> args; // of the kernel
    std::vector<std::vector<std::pair<uint64_t, PointerUse>>>
        fields; // by function: offset in the record
    explicit PointerUses(const Program &program);
    PointerUse field(uint32_t function, uint64_t offset) const;
};

struct PrivateCopies {
    struct Target {
        Type type; // a float
        void *data;
        uint64_t cells;
        uint32_t array = 0; // the caller's number of it
    };
    std::vector<Target> targets;

    /// Leaves out the largest targets, which lanes then add to atomically, where copies of all are too large: those
    /// of small ones, in which many lanes meet, are kept all the same.
    void choose(uint64_t lanes);

    /// Runs lanes [begin, end).
    using Blocks = std::function<void(uint64_t begin, uint64_t end)>;

    /// How many chunks `lanes` lanes are cut into; 1: the targets are too large to have copies.
    uint64_t chunks(uint64_t lanes) const;
    /// Tells how to run blocks of lanes of a chunk with what takes the place of each target.
    using Bind = std::function<Blocks(uint32_t chunk, const std::vector<void *> &copies)>;
    /// All lanes, chunk by chunk, each of them by one thread. Blocks begin at multiples of `grain`.
    void run(uint64_t lanes, uint64_t grain, const Bind &bind) const;
};

} // namespace umbel::jit
