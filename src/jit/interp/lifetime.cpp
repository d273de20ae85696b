// jit/interp/lifetime.cpp: one pass forward over a function finds all last uses.
//
// A value from outside a loop that is read inside stays alive to the loop's end, because the next
// iteration reads it again. No recursion and no work per nesting level: functions have up to
// millions of instructions.
#include "jit/interp/lifetime.h"
#include "jit/error.h"
#include <algorithm>

namespace umbel::jit {

bool is_pure(Op op) { return (op >= Op::Neg && op <= Op::Select) || op == Op::Merge; }

namespace {

std::vector<LoopSpan> find_loops(const std::vector<Inst> &insts) {
    std::vector<LoopSpan> loops;
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < insts.size(); ++i) {
        if (insts[i].op == Op::LoopBegin) {
            uint32_t phis = 0;
            while (i + 1 + phis < insts.size() && insts[i + 1 + phis].op == Op::Phi)
                ++phis;
            open.push_back(uint32_t(loops.size()));
            loops.push_back({ i, phis, ~0u, ~0u });
        } else if (insts[i].op == Op::LoopWhile) {
            check(!open.empty());
            loops[open.back()].condition = i;
        } else if (insts[i].op == Op::LoopEnd) {
            check(!open.empty());
            loops[open.back()].end = i;
            open.pop_back();
        }
    }
    check(open.empty());
    return loops;
}

class Finder {
public:
    Finder(const Program &program, uint32_t function)
        : m_program(program), m_function(program.functions[function]), m_kernel(function == 0) {}

    Lifetimes run() {
        const auto &insts = m_function.insts;
        uint32_t n = uint32_t(insts.size());
        m.loops = find_loops(insts);
        m.uniform.resize(n);
        m.root.resize(n);
        m.last_use.resize(n);
        m_first_param.assign(m_function.params.size(), NoValue);
        for (uint32_t i = 0; i < n; ++i)
            visit(i);
        for (uint32_t v : m_function.outputs)
            use(v, n);
        for (const LoopSpan &loop : m.loops)
            for (uint32_t phi = loop.begin + 1; phi <= loop.begin + loop.phis; ++phi)
                if (insts[phi].length)
                    find_in_place(loop, phi);
        return std::move(m);
    }

private:
    void visit(uint32_t i) {
        const Inst &inst = m_function.insts[i];
        m.root[i] = i;
        m.last_use[i] = i;
        switch (inst.op) {
        case Op::LoopBegin: {
            const LoopSpan &loop = m.loops[m_next_loop];
            for (uint32_t k = 1; k <= loop.phis; ++k)
                use(m_function.insts[i + k].arg[0], i);
            m_open.push_back(m_next_loop++);
            ++m_depth;
            return;
        }
        case Op::LoopEnd: {
            const LoopSpan &loop = m.loops[m_open.back()];
            for (uint32_t phi = loop.begin + 1; phi <= loop.begin + loop.phis; ++phi) {
                if (m_function.insts[phi].arg[1] != phi)
                    use(m_function.insts[phi].arg[1], i);
                m.last_use[phi] = std::max(m.last_use[phi], i);
            }
            m_open.pop_back();
            --m_depth;
            return;
        }
        case Op::IfBegin:
            use(inst.arg[0], i);
            ++m_depth;
            return;
        case Op::EndIf: --m_depth; return;
        case Op::Param: {
            if (inst.imm >= m_first_param.size())
                m_first_param.resize(inst.imm + 1, NoValue);
            uint32_t &first = m_first_param[inst.imm];
            if (first == NoValue)
                first = i;
            m.root[i] = first;
            return;
        }
        case Op::PacketGet:
        case Op::CallOut:
        case Op::ExternOut:
            m.root[i] = m.root[inst.arg[0]];
            m.uniform[i] = m.uniform[inst.arg[0]];
            return;
        default: break;
        }
        m.uniform[i] = find_uniform(inst);
        for_each_operand(m_program, inst, [&](uint32_t v) { use(v, i); });
    }

    bool find_uniform(const Inst &inst) const {
        switch (inst.op) {
        case Op::Literal:
        case Op::LoadScalar:
        case Op::ArgPtr: return true;
        case Op::Gather:
        case Op::Packet:
            // Ahead of its time only where it would have run anyway.
            if (!inst.uniform || m_depth || !m_kernel)
                return false;
            break;
        default:
            if (!is_pure(inst.op) || inst.length)
                return false;
        }
        for (int k = 0, n = operands(inst.op); k < n; ++k)
            if (!m.uniform[inst.arg[k]])
                return false;
        return true;
    }

    void use(uint32_t value, uint32_t at) {
        uint32_t r = m.root[value];
        if (m.uniform[r])
            return;
        // The callers of a subroutine fill in its parameters before anything else happens.
        uint32_t made = m_function.insts[r].op == Op::Param ? 0 : r;
        uint32_t until = at;
        if (!m_open.empty() && made <= m.loops[m_open.back()].begin)
            for (uint32_t l : m_open)
                if (m.loops[l].begin >= made) {
                    until = m.loops[l].end;
                    break;
                }
        m.last_use[r] = std::max(m.last_use[r], until);
    }

    /// A Phi that is an array, and whose next value comes from it through a chain of ArraySets that
    /// each are the last to read the version before, needs no copy: the sets write into the Phi's
    /// register. They lie in the loop's body, so lanes that have left the loop are not touched.
    void find_in_place(const LoopSpan &loop, uint32_t phi) {
        const auto &insts = m_function.insts;
        std::vector<uint32_t> chain;
        uint32_t v = insts[phi].arg[1];
        while (v != phi && v > loop.condition && v < loop.end && insts[v].op == Op::ArraySet) {
            uint32_t before = insts[v].arg[0];
            if (before != phi && m.last_use[before] != v)
                return;
            chain.push_back(v);
            v = before;
        }
        if (v != phi || chain.empty() || inner_last_use(loop, phi) != chain.back())
            return;
        if (m.in_place.empty())
            m.in_place.assign(insts.size(), NoValue);
        for (uint32_t set : chain)
            m.in_place[set] = phi;
    }

    /// The last position within its loop that reads the Phi, or the loop's end where that is not
    /// certain.
    uint32_t inner_last_use(const LoopSpan &loop, uint32_t phi) const {
        uint32_t last = phi, depth = 0;
        for (uint32_t i = loop.begin + 1 + loop.phis; i < loop.end; ++i) {
            const Inst &inst = m_function.insts[i];
            depth += inst.op == Op::LoopBegin;
            depth -= inst.op == Op::LoopEnd;
            bool reads = inst.op == Op::Phi && (inst.arg[0] == phi || inst.arg[1] == phi);
            for_each_operand(m_program, inst, [&](uint32_t v) { reads |= v == phi; });
            if (reads)
                last = depth ? loop.end : i;
        }
        for (uint32_t other = loop.begin + 1; other <= loop.begin + loop.phis; ++other)
            if (other != phi && m_function.insts[other].arg[1] == phi)
                last = loop.end;
        return last;
    }

    const Program &m_program;
    const Function &m_function;
    bool m_kernel;
    Lifetimes m;
    std::vector<uint32_t> m_open; // loops around the current instruction, outermost first
    std::vector<uint32_t> m_first_param;
    uint32_t m_next_loop = 0, m_depth = 0;
};

} // namespace

Lifetimes find_lifetimes(const Program &program, uint32_t function) {
    return Finder(program, function).run();
}

} // namespace umbel::jit
