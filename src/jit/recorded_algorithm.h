// jit/recorded_algorithm.h: algorithms over whole arrays as kernels of recorded code, for devices that have no functions of their own
// for them.
//
// Lanes take their elements in a fixed order that depends on sizes alone: so do results, to the bit.
#pragma once
#include "jit/gemm.h"

namespace umbel::jit::recorded {

/// Algorithms are programs of their own: recorded whatever the caller's flags say, and run in all their lanes whatever its masks.
class OwnProgram {
public:
    explicit OwnProgram(const Value &operand)
        : m_context(operand.context()), m_loops(m_context.has(Flag::RecordLoops)),
          m_ifs(m_context.has(Flag::RecordIfs)) {
        m_context.masks.swap(m_masks);
        set(true, true);
    }
    ~OwnProgram() {
        set(m_loops, m_ifs);
        m_context.masks.swap(m_masks);
    }
    OwnProgram(const OwnProgram &) = delete;
    OwnProgram &operator=(const OwnProgram &) = delete;

private:
    void set(bool loops, bool ifs) {
        m_context.set(Flag::RecordLoops, loops);
        m_context.set(Flag::RecordIfs, ifs);
    }
    Context &m_context;
    std::vector<NodeId> m_masks;
    bool m_loops, m_ifs;
};

// The operands are evaluated; what they mean is told in jit/algorithm.h.
Value reduce(ReduceOp op, const Value &v);
Value block_reduce(ReduceOp op, const Value &v, uint32_t block);
Value prefix_sum(const Value &v, bool exclusive, uint32_t block);
Value dot(const Value &a, const Value &b);
Value compress(const Value &mask);
uint32_t count(const Value &mask);
Value sort_permutation(const Value &keys, bool descending);
Value gemm(const Value &a, const Value &b, const Gemm &shape, uint32_t size);

} // namespace umbel::jit::recorded
