// jit/interp/lifetime.h: which values are uniform, and up to where each register is needed.
#pragma once
#include "jit/program.h"
#include <vector>

namespace umbel::jit {

struct LoopSpan {
    uint32_t begin, phis, condition, end; // LoopBegin, number of Phis, LoopWhile, LoopEnd
};

/// Facts about the values of a function, each indexed by instruction.
struct Lifetimes {
    std::vector<uint8_t> uniform; // computed once, in the prelude
    std::vector<uint32_t>
        root; // the value whose register holds this one (elements of packets, results)
    std::vector<uint32_t> last_use; // position up to which the register is read; itself when never
    std::vector<uint32_t> in_place; // ArraySets that may write into the register of a Phi: that Phi
    std::vector<LoopSpan> loops;    // in order of their begins
};

Lifetimes find_lifetimes(const Program &program, uint32_t function);

/// True for operations whose result depends on the operands' elements at the same lane alone.
bool is_pure(Op op);

/// Calls fn(value) for each operand that instruction i reads when it runs; Phis are not covered.
template <class Fn> void for_each_operand(const Program &p, const Inst &inst, Fn fn) {
    if (inst.op == Op::Call) {
        fn(inst.arg[0]);
        fn(inst.arg[1]);
        for (uint32_t v : p.calls[inst.imm].args)
            fn(v);
    } else if (inst.op == Op::Extern) {
        const ExternSite &site = p.externs[inst.imm];
        for (uint32_t v : { site.fn, site.user, site.mask })
            if (v != NoValue)
                fn(v);
        for (uint32_t v : site.inputs)
            fn(v);
    } else {
        for (int k = 0, n = operands(inst.op); k < n; ++k)
            if (inst.arg[k] != NoValue)
                fn(inst.arg[k]);
    }
}

} // namespace umbel::jit
