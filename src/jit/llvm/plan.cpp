// jit/llvm/plan.cpp: uniform values, units, slots and the storage of local arrays.
#include "jit/llvm/plan.h"
#include "jit/error.h"
#include <algorithm>
#include <cstdlib>
#include <queue>

namespace umbel::jit::llvm_ir {

static constexpr uint64_t LargeFrame = 1u << 15, LargestHeap = 1u << 30;

bool rematerialized(Op op) {
    return op == Op::Literal || op == Op::LoadScalar || op == Op::ArgPtr || op == Op::Lane;
}

uint64_t weight(const Program &program, const Inst &inst) {
    Op op = inst.op;
    bool wide = inst.type == Type::F64 || inst.type == Type::I64 || inst.type == Type::U64;
    if (is_transcendental(op) || op == Op::Atan2 || op == Op::Pow)
        return wide ? 60 : 30;
    switch (op) {
    case Op::Literal:
    case Op::PacketGet:
    case Op::CallOut:
    case Op::ExternOut:
    case Op::Phi:
    case Op::Merge: return 1;
    case Op::Div:
    case Op::Mod: return is_float(inst.type) ? 1 : wide ? 60 : 8;
    case Op::Cast: return 3;
    case Op::MulHi: return wide ? 15 : 4;
    case Op::Gather: return wide ? 6 : 4;
    case Op::Packet: return 16 + 5 * inst.imm;
    case Op::Scatter:
    case Op::ScatterInc: return 12;
    case Op::ArrayNew: return std::min(inst.length, 8u) + 4;
    case Op::ArrayGet:
    case Op::ArraySet: return 8;
    case Op::LoopBegin:
    case Op::IfBegin: return 4;
    case Op::Call: {
        const CallSite &s = program.calls[inst.imm];
        return 20 + s.args.size() + s.out_types.size() + 8 * std::min<size_t>(s.callees.size(), 64);
    }
    case Op::Extern: {
        const ExternSite &s = program.externs[inst.imm];
        return 12 + s.inputs.size() + s.out_types.size();
    }
    default: return wide ? 2 : 1;
    }
}

uint32_t packet_bytes(Type t, uint32_t width) {
    return t == Type::Bool ? std::max(16u, width) : (uint32_t(bytes(t)) * width + 63) / 64 * 64;
}

uint32_t packet_width(const Program &program, const Target &target) {
    constexpr uint64_t MostWeight = 6000; // compiling takes twice as long
    if (program.functions.size() > 1)
        return target.width;
    uint64_t total = 0;
    for (const Inst &i : program.functions[0].insts) {
        bool line = i.length == 0 &&
                    (is_elementwise(i.op) || rematerialized(i.op) || i.op == Op::LoadLane ||
                     i.op == Op::StoreLane || i.op == Op::Active || i.op == Op::Gather);
        total += weight(program, i);
        if (!line || total > MostWeight)
            return target.width;
    }
    return 2 * target.width;
}

// What is called in one place only may stand there: arguments and results then need no memory, and what the caller
// has in registers may stay there. LLVM's time sets the limit.
static std::vector<uint64_t> choose_inlined(const Program &p, uint64_t most) {
    std::vector<uint32_t> calls(p.functions.size());
    for (const CallSite &site : p.calls)
        for (uint32_t callee : site.callees)
            ++calls[callee];
    std::vector<uint64_t> out(p.functions.size());
    for (size_t f = p.functions.size(); f-- > 1;) { // callees come after their callers
        if (calls[f] != 1)
            continue;
        uint64_t total = 0;
        for (const Inst &i : p.functions[f].insts) {
            total += weight(p, i);
            if (i.op == Op::Call)
                for (uint32_t callee : p.calls[i.imm].callees)
                    total += out[callee];
        }
        if (total <= most)
            out[f] = std::max<uint64_t>(total, 1);
    }
    return out;
}

PlanOptions plan_options(const Program &program, uint32_t width) {
    auto setting = [](const char *name, uint64_t otherwise) {
        const char *s = std::getenv(name);
        if (!s || !*s)
            return otherwise;
        uint64_t value = std::strtoull(s, nullptr, 10);
        if (value == 0)
            fail("{}: \"{}\" is not a positive number", name, s);
        return value;
    };
    PlanOptions o{ .width = width, .unit_weight = setting("UMBEL_UNIT_WEIGHT", 0) };
    o.regroup_weight = setting("UMBEL_REGROUP_WEIGHT", RegroupWeight);
    o.inlined = choose_inlined(program, setting("UMBEL_INLINE_WEIGHT", 400));
    return o;
}

namespace {

class Planner {
public:
    Planner(const Program &program, uint32_t function, const PlanOptions &options)
        : m_program(program), m_fn(program.functions[function]), m_options(options),
          m_count(uint32_t(m_fn.insts.size())), m_is_kernel(function == 0) {
        m_plan.inlined = function < options.inlined.size() && options.inlined[function];
        if (m_plan.inlined)
            m_options.unit_weight = ~0ull; // as a whole
    }

    FunctionPlan run() {
        find_partners();
        find_uniforms();
        chain_results();
        if (m_is_kernel)
            m_plan.regrouping = find_regrouping(m_program, m_plan, m_options.regroup_weight);
        cut();
        place_arrays();
        place_slots();
        return std::move(m_plan);
    }

private:
    const Inst &inst(uint32_t i) const { return m_fn.insts[i]; }
    template <class F> void uses(uint32_t i, F f) const {
        for_each_use(m_program, m_fn, m_plan.partner, i, f);
    }

    void find_partners();
    void find_uniforms();
    void chain_results();
    // ---- units
    void cut();
    uint64_t weight_with_callees(uint32_t i) const;
    uint64_t weight_of(uint32_t first, uint32_t last) const { return m_sum[last] - m_sum[first]; }
    uint32_t item_end(uint32_t i) const;
    void cut_sequence(uint32_t first, uint32_t last);
    void close_unit(uint32_t first, uint32_t last, bool uniform);
    // ---- slots
    uint32_t extended(uint32_t def, uint32_t use) const;
    void place_slots();
    // ---- arrays
    struct Use {
        uint32_t user, position;
    };
    bool overwritable(uint32_t array, uint32_t at, uint32_t by) const;
    bool other_branch(uint32_t p, uint32_t q) const;
    uint32_t new_storage(const Inst &i);
    void place_arrays();

    const Program &m_program;
    const Function &m_fn;
    PlanOptions m_options;
    uint32_t m_count;
    bool m_is_kernel;
    FunctionPlan m_plan;
    std::vector<uint32_t> m_loop, m_if; // innermost LoopBegin and IfBegin around each instruction
    std::vector<uint64_t> m_sum;        // weights of the varying instructions before each one
    std::vector<std::vector<Use>> m_array_uses; // by storage order of arrays
    std::vector<uint32_t> m_array_index;
};

void Planner::find_partners() {
    m_plan.partner.assign(m_count, NoValue);
    m_loop.assign(m_count, NoValue);
    m_if.assign(m_count, NoValue);
    std::vector<uint32_t> open; // the latest marker of each open region
    uint32_t loop = NoValue, cond = NoValue;
    auto meet = [&](uint32_t i) {
        m_plan.partner[open.back()] = i;
        open.back() = i;
    };
    for (uint32_t i = 0; i < m_count; ++i) {
        // The first marker counts as outside, the last one as inside.
        m_loop[i] = loop;
        m_if[i] = cond;
        switch (inst(i).op) {
        case Op::LoopBegin:
            open.push_back(i);
            loop = i;
            break;
        case Op::IfBegin:
            open.push_back(i);
            cond = i;
            break;
        case Op::LoopWhile:
        case Op::Else: meet(i); break;
        case Op::LoopEnd:
            meet(i);
            open.pop_back();
            m_plan.partner[i] = loop;
            loop = m_loop[loop];
            break;
        case Op::EndIf:
            meet(i);
            open.pop_back();
            m_plan.partner[i] = cond;
            cond = m_if[cond];
            break;
        default: break;
        }
    }
}

void Planner::find_uniforms() {
    m_plan.uniform.assign(m_count, 0);
    for (uint32_t i = 0; i < m_count; ++i) {
        const Inst &in = inst(i);
        Op op = in.op;
        bool pure = (op >= Op::Neg && op <= Op::Select && in.length == 0) ||
                    (op == Op::Gather && in.uniform);
        bool u = op == Op::Literal || op == Op::LoadScalar || op == Op::ArgPtr || pure;
        if (pure)
            for (int k = 0; k < operands(op); ++k)
                u &= m_plan.uniform[in.arg[k]] != 0;
        m_plan.uniform[i] = u;
    }
}

void Planner::chain_results() {
    m_plan.first_result.assign(m_count, NoValue);
    m_plan.next_result.assign(m_count, NoValue);
    m_plan.uses.assign(m_count, 0);
    for (uint32_t i = 0; i < m_count; ++i) {
        Op op = inst(i).op;
        if (op == Op::PacketGet || op == Op::CallOut || op == Op::ExternOut) {
            uint32_t maker = inst(i).arg[0];
            m_plan.next_result[i] = m_plan.first_result[maker];
            m_plan.first_result[maker] = i;
        }
        uses(i, [&](uint32_t v, uint32_t) { ++m_plan.uses[v]; });
    }
    for (uint32_t v : m_fn.outputs)
        ++m_plan.uses[v];
}

// ---- Units

uint64_t Planner::weight_with_callees(uint32_t i) const {
    uint64_t total = weight(m_program, inst(i));
    if (inst(i).op == Op::Call && !m_options.inlined.empty())
        for (uint32_t callee : m_program.calls[inst(i).imm].callees)
            total += m_options.inlined[callee];
    return total;
}

void Planner::cut() {
    m_plan.unit.assign(m_count, 0);
    m_plan.units.push_back({ .first = 0, .last = m_count });
    m_sum.assign(m_count + 1, 0);
    uint64_t uniform_weight = 0;
    for (uint32_t i = 0; i < m_count; ++i) {
        uint64_t w = weight_with_callees(i);
        if (m_plan.uniform[i] && !rematerialized(inst(i).op))
            uniform_weight += w;
        m_sum[i + 1] = m_sum[i] + (m_plan.uniform[i] ? 0 : w);
    }
    // What crosses units goes through memory: renders gain 3 % by larger ones, long chains compile in 0.75 of
    // the time with smaller ones
    constexpr uint64_t LongProgram = 10000;
    if (m_options.unit_weight == 0)
        m_options.unit_weight = uniform_weight + m_sum[m_count] > LongProgram ? 700 : 1400;

    // Uniform values: a straight line
    if (uniform_weight > m_options.unit_weight) {
        uint32_t first = 0;
        uint64_t w = 0;
        for (uint32_t i = 0; i < m_count; ++i) {
            if (!m_plan.uniform[i] || rematerialized(inst(i).op))
                continue;
            w += weight(m_program, inst(i));
            if (w >= m_options.unit_weight) {
                close_unit(first, i + 1, true);
                first = i + 1;
                w = 0;
            }
        }
        if (w)
            close_unit(first, m_count, true);
    }
    cut_sequence(0, m_count);

    // Results come into being with what makes them, parameters with the function.
    for (uint32_t i = 0; i < m_count; ++i)
        if (inst(i).op == Op::Param)
            m_plan.unit[i] = 0;
    for (uint32_t i = 0; i < m_count; ++i)
        for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
            m_plan.unit[r] = m_plan.unit[i];
    uint64_t cut_out = 0;
    for (size_t u = 1; u < m_plan.units.size(); ++u)
        cut_out += m_plan.units[u].weight;
    m_plan.units[0].weight = uniform_weight + m_sum[m_count] - cut_out + 4 * m_plan.units.size();
}

/// The end of what begins at i and must stay in one sequence: an instruction, or a whole region.
uint32_t Planner::item_end(uint32_t i) const {
    Op op = inst(i).op;
    if (op != Op::LoopBegin && op != Op::IfBegin)
        return i + 1;
    uint32_t end = m_plan.partner[m_plan.partner[i]] + 1;
    while (op == Op::IfBegin && end < m_count && inst(end).op == Op::Merge)
        ++end;
    return end;
}

// Recursion is as deep as the regions are nested; what people write is never nested deeply.
void Planner::cut_sequence(uint32_t first, uint32_t last) {
    uint64_t total = weight_of(first, last), limit = m_options.unit_weight;
    if (total <= limit)
        return;
    // Pieces of equal weight compile in equal time.
    uint64_t pieces = (total + limit - 1) / limit, target = (total + pieces - 1) / pieces;
    uint32_t start = first;
    for (uint32_t i = first; i < last;) {
        uint32_t end = item_end(i);
        bool stays = weight_of(i, end) > limit || i == m_plan.regrouping.loop;
        if (stays && end > i + 1) {
            // Too large for a unit, or where packets begin: stays where it is, its sequences are cut.
            close_unit(start, i, false);
            uint32_t middle = m_plan.partner[i], close = m_plan.partner[middle], body = i + 1;
            while (inst(body).op == Op::Phi)
                ++body;
            cut_sequence(body, middle);
            cut_sequence(middle + 1, close);
            start = end;
        } else if (weight_of(start, end) > target && start < i) {
            close_unit(start, i, false);
            start = i;
        }
        i = end;
    }
    close_unit(start, last, false);
}

void Planner::close_unit(uint32_t first, uint32_t last, bool uniform) {
    uint64_t w = 0;
    for (uint32_t i = first; i < last; ++i)
        if (m_plan.uniform[i] == uniform && !(uniform && rematerialized(inst(i).op)))
            w += weight_with_callees(i);
    // A call costs as much as a few instructions.
    if (w < 16 && w * 4 < m_options.unit_weight)
        return;
    uint32_t number = uint32_t(m_plan.units.size());
    m_plan.units.push_back({ .first = first, .last = last, .uniform = uniform, .weight = w });
    for (uint32_t i = first; i < last; ++i)
        if (m_plan.uniform[i] == uniform)
            m_plan.unit[i] = number;
}

// ---- Slots

/// A value from outside a loop must last through all its iterations, whatever reads it there.
uint32_t Planner::extended(uint32_t def, uint32_t use) const {
    if (use >= m_count)
        return use;
    for (uint32_t l = m_loop[use]; l != NoValue && l > def; l = m_loop[l])
        use = m_plan.partner[m_plan.partner[l]];
    return use;
}

void Planner::place_slots() {
    m_plan.slot.assign(m_count, NoSlot);
    if (!m_plan.split())
        return;

    // Last reading of each value that crosses units
    std::vector<uint32_t> last(m_count, 0);
    std::vector<uint8_t> crosses(m_count, 0);
    std::vector<uint32_t> born(m_count);
    for (uint32_t i = 0; i < m_count; ++i) {
        Op op = inst(i).op;
        bool result = op == Op::PacketGet || op == Op::CallOut || op == Op::ExternOut;
        born[i] = op == Op::Param ? 0
                  : op == Op::Data
                      ? m_plan.units[m_plan.unit[i]].first // fetched when the unit begins
                  : result ? inst(i).arg[0]
                           : i;
    }
    auto read = [&](uint32_t v, uint32_t unit, uint32_t position) {
        if (rematerialized(inst(v).op) || inst(v).length)
            return;
        crosses[v] |= m_plan.unit[v] != unit;
        last[v] = std::max(last[v], m_plan.uniform[v] ? m_count : extended(born[v], position));
    };
    for (uint32_t i = 0; i < m_count; ++i)
        uses(i, [&](uint32_t v, uint32_t position) {
            // A Merge loads what was made before its conditional only when that has ended.
            read(v, m_plan.unit[i], inst(i).op == Op::Merge ? i : position);
        });
    for (uint32_t v : m_fn.outputs)
        read(v, 0, m_count);

    // Slots are given out in program order and taken back after the last reading.
    struct Busy {
        uint32_t last, offset, size;
        bool operator<(const Busy &b) const { return last > b.last; }
    };
    std::priority_queue<Busy> busy;
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> free; // by size
    uint32_t top = std::max(m_plan.frame_bytes, uint32_t(FrameHeaderBytes));
    auto free_of = [&](uint32_t size) -> std::vector<uint32_t> & {
        for (auto &[s, list] : free)
            if (s == size)
                return list;
        return free.emplace_back(size, std::vector<uint32_t>()).second;
    };
    auto give = [&](uint32_t v) {
        if (!crosses[v])
            return;
        uint32_t size = m_plan.uniform[v] ? 8 : packet_bytes(inst(v).type, m_options.width);
        std::vector<uint32_t> &list = free_of(size);
        if (list.empty()) {
            // Masks and scalars by the line, so that vectors stay aligned.
            for (uint32_t o = 0; o < std::max(size, 64u); o += size)
                list.push_back(top + o);
            top += std::max(size, 64u);
        }
        m_plan.slot[v] = list.back();
        list.pop_back();
        busy.push({ last[v], m_plan.slot[v], size });
    };
    // Uniform values are written before all others and stay; parameters are written when a function begins.
    for (uint32_t i = 0; i < m_count; ++i)
        if (m_plan.uniform[i] || inst(i).op == Op::Param)
            give(i);
    std::vector<std::pair<uint32_t, uint32_t>> data; // where it is fetched, and what
    for (uint32_t i = 0; i < m_count; ++i)
        if (inst(i).op == Op::Data)
            data.emplace_back(born[i], i);
    std::sort(data.begin(), data.end());
    size_t fetched = 0;
    for (uint32_t i = 0; i < m_count; ++i) {
        while (!busy.empty() && busy.top().last < i) {
            free_of(busy.top().size).push_back(busy.top().offset);
            busy.pop();
        }
        for (; fetched < data.size() && data[fetched].first == i; ++fetched)
            give(data[fetched].second);
        if (born[i] == i && !m_plan.uniform[i] && inst(i).op != Op::Param && inst(i).op != Op::Data)
            give(i);
        for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
            give(r);
    }
    m_plan.frame_bytes = top;
}

// ---- Local arrays
//
// An ArraySet may write into the storage of its operand if nobody reads the old version afterwards.
// Lanes are what matters: an array read in the Else branch may well be overwritten in the Then
// branch, since only lanes of that branch are written.

/// p stands in the Then branch of a conditional that has q in its Else branch.
bool Planner::other_branch(uint32_t p, uint32_t q) const {
    for (uint32_t c = m_if[p]; c != NoValue; c = m_if[c]) {
        uint32_t middle = m_plan.partner[c], end = m_plan.partner[middle];
        if (p < middle && q > middle && q <= end)
            return true;
    }
    return false;
}

/// Whether instruction `by` may take over an array's storage at a position: nobody else reads it
/// from there on.
bool Planner::overwritable(uint32_t array, uint32_t at, uint32_t by) const {
    // In its loop, a Phi is a value of the iteration; afterwards, one of the region around the
    // loop. Readers after the loop do not mind what happens in its body: by then, next values were put
    // in the storage. What happens before the condition, lanes that leave would see.
    bool phi = inst(array).op == Op::Phi;
    uint32_t home = m_loop[array], end = phi ? m_plan.partner[m_plan.partner[home]] : 0;
    bool ended = phi && at > end;
    if ((ended ? m_loop[home] : home) != m_loop[at])
        return false; // made outside the loop: the next iteration reads it again
    for (const Use &u : m_array_uses[m_array_index[array]]) {
        bool after_loop = phi && !ended && at > m_plan.partner[home] && u.position > end;
        if (u.user != by && u.position >= at && !after_loop && !other_branch(at, u.position))
            return false;
    }
    return true;
}

uint32_t Planner::new_storage(const Inst &i) {
    m_plan.storages.push_back({ i.type, i.length, 0 });
    return uint32_t(m_plan.storages.size() - 1);
}

void Planner::place_arrays() {
    bool any = std::any_of(m_fn.insts.begin(), m_fn.insts.end(),
                           [](const Inst &i) { return i.length > 0; });
    if (!any) {
        m_plan.frame_bytes = m_plan.split() ? uint32_t(FrameHeaderBytes) : 0;
        return;
    }
    m_array_index.assign(m_count, NoValue);
    m_plan.storage.assign(m_count, NoValue);
    for (uint32_t i = 0; i < m_count; ++i)
        if (inst(i).length) {
            m_array_index[i] = uint32_t(m_array_uses.size());
            m_array_uses.emplace_back();
        }
    for (uint32_t i = 0; i < m_count; ++i)
        uses(i, [&](uint32_t v, uint32_t position) {
            if (inst(v).length)
                m_array_uses[m_array_index[v]].push_back({ i, position });
        });

    std::vector<uint32_t> &storage = m_plan.storage;
    std::vector<char> is_taken(m_array_uses.size()); // by a Merge
    auto takes = [&](uint32_t array, uint32_t merge) {
        return !is_taken[m_array_index[array]] && overwritable(array, merge, merge);
    };
    for (uint32_t i = 0; i < m_count; ++i) {
        const Inst &in = inst(i);
        if (!in.length)
            continue;
        storage[i] = NoValue;
        if (in.op == Op::ArraySet && overwritable(in.arg[0], i, i))
            storage[i] = storage[in.arg[0]];
        // A Phi reads its initial value when the loop begins; no two Phis may take the same one.
        if (in.op == Op::Phi && overwritable(in.arg[0], m_loop[i], i))
            storage[i] = storage[in.arg[0]];
        // Both branches left it in place. It gets a new name, so the old ones must be dead; a second Merge of the same
        // arrays is another array.
        if (in.op == Op::Merge && storage[in.arg[1]] == storage[in.arg[2]] && takes(in.arg[1], i) &&
            takes(in.arg[2], i)) {
            storage[i] = storage[in.arg[1]];
            is_taken[m_array_index[in.arg[1]]] = is_taken[m_array_index[in.arg[2]]] = true;
        }
        if (storage[i] == NoValue)
            storage[i] = new_storage(in);
    }

    uint32_t top = FrameHeaderBytes;
    for (Storage &s : m_plan.storages) {
        s.offset = top;
        uint64_t size = (uint64_t(bytes(s.type)) * m_options.width * s.length + 63) / 64 * 64;
        if (size + top > LargestHeap)
            fail("local array of {} elements: too long for a register; use a buffer", s.length);
        top += uint32_t(size);
    }
    m_plan.frame_bytes = top;
}

} // namespace

FunctionPlan make_plan(const Program &program, uint32_t function, const PlanOptions &options) {
    return Planner(program, function, options).run();
}

// Calls form no cycle: a function has one frame at a time, whose place may be fixed.
uint32_t place_frames(std::vector<FunctionPlan> &plans) {
    uint64_t top = 0;
    for (FunctionPlan &p : plans) {
        if (p.frame_bytes <= LargeFrame)
            continue;
        p.heap_offset = uint32_t(top);
        top += (uint64_t(p.frame_bytes) + 63) / 64 * 64;
        if (top > LargestHeap)
            fail("local arrays take more than {} MiB for a packet of lanes; use buffers",
                 LargestHeap >> 20);
    }
    return uint32_t(top);
}

} // namespace umbel::jit::llvm_ir
