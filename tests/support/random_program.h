// support/random_program.h: random programs of the compiler, made from a seed, played on any backend.
//
// A program is planned first and played afterwards, because recording calls a body as often as it likes:
// twice for a loop with a hidden constant, once an iteration for an evaluated loop. A step names its
// operands and results by slot; a step that is switched off gives zeros, so any subset of steps is a
// program too, which makes shrinking simple.
//
// Plans avoid what the compiler leaves open: order of lanes (see ArrayPlan), bits of a NaN, how often an
// effect of size 1 runs. All else must be the same on every backend and under every flag.
#pragma once
#include "jit/context.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace umbel::test {

using jit::Op;
using jit::ReduceOp;
using jit::Type;

enum class Do : uint8_t {
    Literal,
    Opaque,
    Input,
    Lane,
    Elementwise,
    Cast,
    Bitcast,
    Gather,     // from array `number`
    GatherSlot, // from the value in slot in[0]
    Packet,
    ArrayNew,
    ArrayGet,
    ArraySet,
    Scatter,
    Count, // Count: scatter_inc, its ranks added up in a second array
    Loop,
    If,
    Call,
    Switch,
    Eval,
    Snapshot,
    Reduce,
};

struct Step;
struct Block {
    std::vector<int> params;
    std::vector<Step> steps;
    std::vector<int> results;
};

struct Step {
    Do what;
    Op op = Op::Literal;
    Type type = Type::Void;
    ReduceOp reduce = ReduceOp::Store;
    bool wide = false;   // Literal: one per lane
    bool off = false;    // left out by the shrinker
    uint32_t number = 0; // array, class, length, or packet size
    uint64_t bits = 0;
    std::vector<int> in = {}, out = {};
    std::vector<Block> blocks = {};
};

struct Slot {
    Type type;
    uint32_t length = 0; // of a local array
};

/// An array that is gathered from or scattered to. Elements of an exclusive target belong to one lane
/// each, so that lane's program order decides; a shared one takes a single kind of reduction, whose order
/// does not matter, or is written at the top level alone, where the order of lanes is fixed. Floats that are
/// added to a shared one are small multiples of one power of two: their sums are exact in any order.
struct ArrayPlan {
    Type type;
    uint32_t size = 0; // 0: one element a lane
    uint64_t seed = 0;
    enum Use : uint8_t { Source, Exclusive, Shared, Top, Counter, Ranks } use = Source;
    ReduceOp reduce = ReduceOp::Store;
    uint32_t shift = 0;    // Exclusive: lane i owns element (i + shift) % lanes
    int scale = 0;         // Shared floats: the power of two
    bool infinite = false; // Shared floats: infinities are among what is added
    bool adds_floats() const { return use == Shared && is_float(type); }
};

/// Instances of a class share a signature; each runs one of the class's codes on members of its own.
struct ClassPlan {
    struct Instance {
        uint32_t code = 0;
        uint64_t seed = 0;
        bool deleted = false;  // its number stays behind, free
        uint32_t literals = 0; // members that are constants, as bits
        uint32_t buffer_size = 1;
    };
    std::vector<Type> params, captures, results, members;
    Type buffer = Type::F32;
    std::vector<Block> codes; // params: arguments, captures, members, buffer
    std::vector<Instance> instances;
};
constexpr int ClassCount = 3;

struct Plan {
    uint64_t seed = 0;
    uint32_t lanes = 1;
    bool captures = false;    // callees use wide values of the caller: not for evaluated calls
    bool array_state = false; // local arrays as loop state: not for evaluated loops
    bool together = true;     // outputs are evaluated in one go
    std::vector<Slot> slots;
    std::vector<ArrayPlan> arrays;
    std::vector<ClassPlan> classes;
    Block main; // results: the outputs
};

/// A plan of about `budget` operations; 0: between 20 and 300.
Plan random_plan(uint64_t seed, int budget = 0);
/// The same for devices, which add floats exactly, not in the order of lanes, and round once: where sums round, they store the largest
/// instead, or nothing where the order of lanes would tell.
Plan plan_for_devices(Plan plan);
/// One line a step.
std::string describe(const Plan &plan);
size_t active_steps(const Plan &plan);

struct Outcome {
    struct Output {
        Type type;
        std::string name;
        std::vector<uint64_t> elements;
    };
    std::vector<Output> outputs;
    std::string error;        // what was thrown; empty if nothing
    std::string program_text; // of the last kernel
};

/// `flags` as in jit::Flag; Verify is always on. Flags that the plan excludes are put right.
Outcome play(const Plan &plan, jit::Backend &backend, uint32_t flags);
std::string flag_names(uint32_t flags);

/// The first element in which the two differ, in words. All NaNs are equal.
std::optional<std::string> difference(const Outcome &a, const Outcome &b);

/// Switches off steps and takes away lanes as long as the plan fails.
Plan shrink(Plan plan, const std::function<bool(const Plan &)> &fails, double seconds);

} // namespace umbel::test
