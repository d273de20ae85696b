// tests/cuda_machine/machine.h: a machine that runs the PTX which src/jit/cuda writes.
//
// It is behind a library with the name and the functions of NVIDIA's driver, so that all of the CUDA backend but the chip can be
// tried on any machine. Threads run one after another, or, where UMBEL_CUDA_MACHINE_THREADS is "together", those of a block an
// instruction each in turn, which shows what depends on their order. Each has a warp of its own, but where it is "warps": there 32
// threads run together where they can, and see each other's votes.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cuda_machine {

struct Ins;
using Execute = void (*)(uint64_t *r, const Ins &i);
constexpr uint32_t WarpLanes = 32;
/// What lanes of a warp do together: the cells of those that are at the instruction, null for the others.
using ExecuteTogether = void (*)(uint64_t *const *lanes, const Ins &i);

/// Operands are places in a thread's cells; immediates have cells of their own, which nobody writes to.
struct Ins {
    enum Kind : uint8_t { Plain, Bra, BraTable, Call, Ret } kind = Plain;
    bool guarded = false, guard_is_negated = false;
    uint32_t guard = 0;
    Execute execute = nullptr;
    ExecuteTogether execute_together = nullptr; // of few instructions
    uint32_t d[4] = {};                         // results
    uint32_t s[4] = {};                         // operands
    uint32_t address = 0;
    int64_t offset = 0;
    uint32_t target = 0; // of a jump; the callee of a call
    std::vector<uint32_t> table;
    struct Move { // of bytes between parameters, before a call and after it
        uint32_t from, to, bytes;
    };
    std::vector<Move> before, after;
};

struct Function {
    uint32_t begin = 0; // in the code
    struct Param {
        uint32_t at, bytes; // in a thread's bytes
    };
    std::vector<Param> params, results;
};

/// A module in memory. Functions do not call themselves: each has its cells and bytes at a fixed place.
struct Module {
    std::vector<Ins> code;
    std::map<std::string, Function> functions;
    std::map<std::string, std::vector<uint64_t>> memory; // tables and constants, by name
    std::vector<uint64_t> cells;                         // as they are before a thread begins
    uint32_t bytes = 0;                                  // parameters and local memory of a thread
    uint32_t tid = 0, ctaid = 0, ntid = 0, base = 0;     // cells: what they say of a thread
    uint32_t lanes_before = 0, lanes_after = 0;          // of its warp, as bits
};

/// Throws std::runtime_error with the line that it does not understand.
std::unique_ptr<Module> parse(const std::string &text);
void run(Module &module, const std::string &function, uint32_t blocks, uint32_t threads,
         void **parameters);
/// The function that executes an instruction such as "add.rn.f32"; null where there is none.
Execute find_instruction(const std::string &opcode);
/// Null where lanes have nothing to do with each other.
ExecuteTogether find_instruction_of_warps(const std::string &opcode);

} // namespace cuda_machine
