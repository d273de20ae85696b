// jit/program.h: a kernel's program as backends see it: linear, structured, free of data.
//
// A function is a list of instructions; an instruction's index is its value. Operands refer to earlier
// instructions, except a Phi's next value. Control flow is structured by paired markers:
//
//     LoopBegin  Phi*  ...condition...  LoopWhile  ...body...  LoopEnd
//     IfBegin  ...  Else  ...  EndIf  Merge*
//
// Lanes that are not active in a region compute garbage there or nothing at all; memory operations carry
// a mask that includes `Active` of their region. A Phi keeps the value a lane had when it left the loop.
// A value made inside a region is used only inside it, save Phis (after their loop) and operands of the
// Merges that follow an EndIf.
//
// Function 0 is the kernel; the others are subroutines reached through call sites. Equal programs
// have equal bytes (`serialize`), whatever the data, addresses and sizes they will run on.
#pragma once
#include "jit/op.h"
#include "jit/type.h"
#include <string>
#include <vector>

namespace umbel::jit {

constexpr uint32_t NoValue = ~0u;

struct Inst {
    Op op;
    Type type;
    uint8_t uniform = 0; // same for all lanes and for the whole launch; computed once
    uint32_t length =
        0; // of a local array (ArrayNew, ArraySet, Phi, Merge, Select); 0: a plain value
    uint32_t arg[4] = { NoValue, NoValue, NoValue, NoValue }; // Phi: initial, next
    uint64_t imm = 0;
};
static_assert(sizeof(Inst) == 32); // no padding: programs are hashed as bytes

/// A call of one of `callees`, chosen per lane by arg[0] (u32): an id into the table argument.
/// The table is an array of {u32 callee, u32 data offset}; entry 0 holds {number of ids, 0}; an id
/// of 0, one past the number, or a callee of ~0u calls nothing. `data` is the base of the records.
/// Only lanes of the mask arg[1] call.
struct CallSite {
    std::vector<uint32_t> callees; // indices of functions
    std::vector<uint32_t> args; // values of the caller, in the order of the callees' Param numbers
    std::vector<Type> out_types;
    uint32_t table = 0, data = 0; // kernel arguments (see ArgKind)
};

/// A call of a host function `fn(user, first_lane, lanes, mask, frame)`. The frame holds the inputs one after
/// another, each `lanes` elements long, then room for the outputs; mask elements are -1 or 0.
struct ExternSite {
    enum Kind : uint8_t { Function, Print, Assert } kind = Function;
    std::string text; // name of the function, print format, or assertion message
    uint32_t fn = NoValue, user = NoValue; // values of type Ptr (kind Function)
    uint32_t mask = NoValue;
    std::vector<uint32_t> inputs; // values
    std::vector<Type> in_types, out_types;
};
using ExternFn = void (*)(void *user, uint64_t first_lane, uint32_t lanes, const int32_t *mask,
                          void *frame);

struct Function {
    std::vector<Inst> insts;
    std::vector<uint32_t> outputs; // of a subroutine: the value of each CallOut number
    std::vector<Type> params;      // of a subroutine
    uint32_t data_bytes = 0;       // size of an instance's record
};

/// How an argument of the kernel is used: decides what is bound to it at launch.
enum class ArgKind : uint8_t { Input, Scalar, Pointer, Output, CallTable, CallData };
struct Arg {
    ArgKind kind;
    Type type;
    uint8_t small = 1; // Pointer: the array has fewer than 2^31 elements, so indices fit an i32
};

struct Program {
    std::vector<Function> functions;
    std::vector<CallSite> calls;     // Call's imm
    std::vector<ExternSite> externs; // Extern's imm
    std::vector<Arg> args;
    bool is_fast = false; // Flag::FastMath

    /// All that matters of the program as bytes: the key of the kernel cache.
    std::string serialize() const;
    /// For people: one line per instruction.
    std::string text() const;
    /// Graphviz drawing.
    std::string dot() const;
    size_t instruction_count() const;
};

/// Throws InternalError where the program breaks a rule above or an operand has a wrong type.
void verify(const Program &program);

} // namespace umbel::jit
