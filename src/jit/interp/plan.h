// jit/interp/plan.h: a program prepared for the interpreter: steps, loops and registers.
//
// A step runs over a whole block of lanes. Values live in three spaces: registers of the frame (one
// element a lane), uniform slots (8 bytes, computed once a run) and constants (8 bytes). Frame
// offsets count units of one byte times the block's lanes, so that the plan does not depend on the
// block's size; element k of a local array or packet of elements of s bytes lies k * s units behind
// its start.
#pragma once
#include "jit/interp/loops.h"
#include "jit/program.h"
#include <string>
#include <vector>

namespace umbel::jit {

/// Where a value lives: two bits of space, 30 bits of offset.
using Loc = uint32_t;
enum Space : uint32_t { Varying = 0, Uniform = 1, Constant = 2 };
constexpr Loc make_loc(Space space, uint32_t offset) { return uint32_t(space) << 30 | offset; }
constexpr Space space_of(Loc loc) { return Space(loc >> 30); }
constexpr uint32_t offset_of(Loc loc) { return loc & 0x3fffffff; }
constexpr bool is_uniform(Loc loc) { return space_of(loc) != Varying; }
constexpr Loc NoLoc = ~0u;

enum class StepKind : uint8_t {
    Loop,        // fn(d, a, b, c)
    Copy,        // `length` units from a to d
    Splat,       // fn fills d with a
    SelectArray, // fn(d, a, b, c) for each of `length` elements
    Lane,
    LoadLane, // argument imm
    LoadScalar,
    ArgPtr,
    Data,      // byte offset imm
    StoreLane, // a to argument imm; e: mask, or NoLoc for all lanes
    Gather,    // pointer a, index b, mask c
    Packet,    // likewise; `length` elements
    Scatter,   // pointer a, index b, value c, mask e; imm: ReduceOp
    ScatterInc,
    ArrayNew,  // a; `length`
    ArrayGet,  // array a, index b, mask c
    ArraySet,  // d is a's register or gets its copy first; index b, value c, mask e
    LoopWhile, // d &= a; to step imm if none is left
    Jump,      // to step imm
    IfBegin,   // d = b & a, e = b & !a; to step imm if d is empty
    Else,      // to step imm if e is empty
    Call,      // calls[imm]
    Extern,    // externs[imm]
    End,
};

struct Step {
    LoopFn fn = nullptr;
    Loc d = 0, a = 0, b = 0, c = 0, e = 0;
    uint32_t imm = 0, length = 0;
    StepKind kind = StepKind::Loop;
    Type type = Type::Void; // of the elements that are moved
    Op op = Op::Literal;    // what the program says, for messages
};

/// What the checking mode knows of a step.
struct StepOrigin {
    uint32_t inst;
    Loc mask;           // lanes that run it
    uint32_t arg = ~0u; // memory accesses: argument behind the pointer, if known
    uint64_t place = 0; // ... and where they were recorded, in the upper half: see jit/place.h
};

struct Transfer {
    Loc loc;      // NoLoc: nobody reads it
    uint8_t size; // bytes of an element
};
struct CallPlan {
    Loc id, mask;
    std::vector<uint32_t> callees;
    std::vector<Transfer> args, outs;
    uint32_t table, data;
};
struct ExternPlan {
    ExternSite::Kind kind;
    uint32_t site;
    Loc fn = NoLoc, user = NoLoc, mask, active;
    std::vector<Transfer> inputs, outs;
};

struct FunctionPlan {
    std::vector<Step> uniform_steps; // run once for one lane
    std::vector<Step> steps;
    std::vector<StepOrigin> uniform_origins, origins; // checking mode only
    std::vector<Loc> params;                          // NoLoc: not read
    std::vector<Loc> outputs;
    std::vector<uint64_t> constants;
    uint32_t uniform_slots = 0;
    uint32_t units = 0; // of the frame
};

struct Plan {
    std::vector<FunctionPlan> functions;
    std::vector<CallPlan> calls;
    std::vector<ExternPlan> externs;
    std::vector<Arg> args;
    uint32_t block = 0; // lanes that run together, a power of two up to Grain
    bool checked = false;
    std::string name;
};

/// Register 0 of each frame: the lanes that entered the function.
constexpr Loc RootMask = make_loc(Varying, 0);

Plan make_plan(const Program &program, const std::string &name, bool checked);

} // namespace umbel::jit
