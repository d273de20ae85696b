// jit/llvm/plan.h: what is decided about a program before any IR is made.
//
// LLVM's time grows faster than the size of a function, so a long program is cut into units, each
// a machine function of its own. Unit 0 of a function is the one that others call; it holds
// whatever was not cut out, among it every loop and conditional too large for one unit. A value
// that another unit reads lives in a slot of the function's frame, a piece of its stack; local
// arrays live there too. Threads have a few MiB of stack: large frames lie in the kernel's heap.
#pragma once
#include "jit/llvm/target.h"
#include "jit/program.h"
#include <algorithm>

namespace umbel::jit::llvm_ir {

constexpr uint32_t NoSlot = ~0u;

// Fixed places at the start of a frame: what units are handed besides values. Bytes.
enum FrameHeader : uint32_t {
    FrameArgs = 0,
    FrameContext = 8,
    FrameBase = 16,
    FrameData = 24,
    FrameOffsets = 64,
    FrameHeaderBytes = 128,
};

/// Instructions [first, last) of a function, less the uniform ones (or, if `uniform`, only those).
struct Unit {
    uint32_t first = 0, last = 0;
    bool uniform = false;
    uint64_t weight = 0;
};

/// Where a local array lives. Versions that never matter at the same time share one storage.
struct Storage {
    Type type;
    uint32_t length;
    uint32_t offset; // in the frame
};

/// A loop in which lanes change packets (regroup.cpp).
struct Regrouping {
    uint32_t loop = NoValue;       // its LoopBegin
    std::vector<uint32_t> carried; // values from before it that it reads
    std::vector<uint32_t> kept;    // such values, and its Phis, that what follows it reads
};

struct FunctionPlan {
    std::vector<uint8_t> uniform; // computed once, as a scalar
    std::vector<uint32_t>
        partner;                // next marker of a loop or conditional; from the last to the first
    std::vector<uint32_t> unit; // that computes the value
    std::vector<uint32_t> slot; // offset in the frame, or NoSlot
    std::vector<uint32_t> storage; // of local arrays
    std::vector<uint32_t> first_result,
        next_result; // of Packet, Call, Extern: the chain of Get and Outs
    std::vector<uint32_t> uses;
    std::vector<Storage> storages;
    std::vector<Unit> units;
    uint32_t frame_bytes = 0;      // 0: no frame
    uint32_t heap_offset = NoSlot; // of a large frame
    bool inlined = false;          // stands in the place of its only call
    Regrouping regrouping;         // of a kernel

    bool split() const { return units.size() > 1; }
};

struct PlanOptions {
    uint32_t width = 16;
    uint64_t unit_weight = 0; // the most that one unit holds, in cheap instructions; 0: as is best
    std::vector<uint64_t>
        inlined = {};            // by function: its weight if it stands where it is called, else 0
    uint64_t regroup_weight = 0; // the least of a loop in which lanes change packets
};

/// Lanes of a packet. Straight-line programs mostly wait for the results of their own operations: two vectors
/// at a time have twice as much to do meanwhile.
uint32_t packet_width(const Program &program, const Target &target);

/// `UMBEL_UNIT_WEIGHT` overrides the weight of units, `UMBEL_INLINE_WEIGHT` that of inlined functions, `UMBEL_REGROUP_WEIGHT`
/// that of loops in which lanes change packets.
PlanOptions plan_options(const Program &program, uint32_t width);

FunctionPlan make_plan(const Program &program, uint32_t function, const PlanOptions &options);

/// The loop of a kernel in which packets are filled up again, if there is one that may be and that is worth it.
Regrouping find_regrouping(const Program &program, const FunctionPlan &plan, uint64_t least_weight);
/// From that weight on it pays, and for all loops that trace rays.
constexpr uint64_t RegroupWeight = 1500;

/// Gives large frames their places in the heap, and returns its size in bytes.
uint32_t place_frames(std::vector<FunctionPlan> &plans);

/// Cheap enough, or in memory anyway, to be made again in each unit that reads it.
bool rematerialized(Op op);

/// What an instruction costs to compile, in additions.
uint64_t weight(const Program &program, const Inst &inst);

/// Bytes of a packet of values in a slot.
uint32_t packet_bytes(Type t, uint32_t width);

/// Calls f(value, position) for each value that instruction i reads. The position is where the
/// reading happens: a Phi reads its next value at LoopEnd, a Merge its operands at the end of their
/// branches.
template <class F>
void for_each_use(const Program &program, const Function &fn, const std::vector<uint32_t> &partner,
                  uint32_t i, F f) {
    const Inst &inst = fn.insts[i];
    switch (inst.op) {
    case Op::Phi: {
        uint32_t begin = i - 1;
        while (fn.insts[begin].op == Op::Phi)
            --begin;
        f(inst.arg[0], begin);
        f(inst.arg[1], partner[partner[begin]]);
        break;
    }
    case Op::Merge: {
        uint32_t end = i - 1;
        while (fn.insts[end].op == Op::Merge)
            --end;
        f(inst.arg[0], i);
        f(inst.arg[1], partner[partner[end]]);
        f(inst.arg[2], end);
        break;
    }
    case Op::Call:
        f(inst.arg[0], i);
        f(inst.arg[1], i);
        for (uint32_t a : program.calls[inst.imm].args)
            f(a, i);
        break;
    case Op::Extern: {
        const ExternSite &site = program.externs[inst.imm];
        f(site.mask, i);
        for (uint32_t a : site.inputs)
            f(a, i);
        if (site.kind == ExternSite::Function) {
            f(site.fn, i);
            f(site.user, i);
        }
        break;
    }
    case Op::PacketGet:
    case Op::CallOut:
    case Op::ExternOut: break; // made together with their operand
    default:
        for (int k = 0; k < operands(inst.op); ++k)
            f(inst.arg[k], i);
    }
}

} // namespace umbel::jit::llvm_ir
