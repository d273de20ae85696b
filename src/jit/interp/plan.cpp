// jit/interp/plan.cpp: assigns registers by last use and lowers instructions to steps.
#include "jit/interp/plan.h"
#include "jit/error.h"
#include "jit/interp/lifetime.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace umbel::jit {

namespace {

/// Registers of one frame, by size; the one freed last is taken first, as it is still in the cache.
class Registers {
public:
    uint32_t take(uint32_t units) {
        auto &free = bin(units);
        if (!free.empty()) {
            uint32_t offset = free.back();
            free.pop_back();
            return offset;
        }
        uint32_t offset = m_top;
        check(uint64_t(m_top) + units < 1u << 30);
        m_top += units;
        return offset;
    }
    void give(uint32_t offset, uint32_t units) { bin(units).push_back(offset); }
    uint32_t top() const { return m_top; }

private:
    std::vector<uint32_t> &bin(uint32_t units) {
        return units <= 8 ? m_small[units] : m_large[units];
    }
    std::vector<uint32_t> m_small[9];
    std::map<uint32_t, std::vector<uint32_t>> m_large;
    uint32_t m_top = 0;
};

class Planner {
public:
    Planner(const Program &program, uint32_t function, Plan &plan)
        : m_program(program), m_function(program.functions[function]), m_insts(m_function.insts),
          m_plan(plan), m_out(plan.functions[function]), m_table(loops()), m_kernel(function == 0),
          m_life(find_lifetimes(program, function)) {}

    void run() {
        uint32_t n = uint32_t(m_insts.size());
        m_loc.assign(n, 0);
        m_owned.assign(n, 0);
        m_out.steps.reserve(n + 1);
        if (m_plan.checked)
            m_out.origins.reserve(n + 1);
        check_eq(m_registers.take(1), offset_of(RootMask));
        m_masks.push_back(RootMask);

        // Lists of the values that die at each position.
        m_dies.assign(n + 1, NoValue);
        m_next_dead.resize(n);
        for (uint32_t v = 0; v < n; ++v)
            if (!m_life.uniform[v] && m_life.root[v] == v) {
                m_next_dead[v] = m_dies[m_life.last_use[v]];
                m_dies[m_life.last_use[v]] = v;
            }

        // Parameters are there from the start.
        for (uint32_t i = 0; i < n; ++i)
            if (m_insts[i].op == Op::Param && m_life.root[i] == i && m_life.last_use[i] != i) {
                if (m_insts[i].imm >= m_out.params.size())
                    m_out.params.resize(m_insts[i].imm + 1, NoLoc);
                m_out.params[m_insts[i].imm] = own(i);
            }

        for (m_at = 0; m_at < n; ++m_at)
            lower(m_insts[m_at]);
        for (uint32_t v : m_function.outputs)
            m_out.outputs.push_back(loc(v));
        m_at = n;
        step(StepKind::End, Type::Void);
        check(m_masks.size() == 1 && m_regions.empty());
        m_out.units = m_registers.top();
    }

private:
    // ---- registers

    Loc loc(uint32_t value) const { return m_loc[value]; }

    uint32_t units_of(const Inst &inst) const {
        if (inst.op == Op::Packet)
            return uint32_t(inst.imm) * uint32_t(bytes(inst.type));
        if (inst.op == Op::Call)
            return sum(m_program.calls[inst.imm].out_types);
        if (inst.op == Op::Extern)
            return sum(m_program.externs[inst.imm].out_types);
        return uint32_t(bytes(inst.type) * std::max(inst.length, 1u));
    }
    static uint32_t sum(const std::vector<Type> &types) {
        size_t total = 0;
        for (Type t : types)
            total += bytes(t);
        return uint32_t(total);
    }

    /// A register (or uniform slots) for value v.
    Loc own(uint32_t v) {
        if (m_life.uniform[v]) {
            uint32_t slots = m_insts[v].op == Op::Packet ? uint32_t(m_insts[v].imm) : 1;
            m_loc[v] = make_loc(Uniform, m_out.uniform_slots);
            m_out.uniform_slots += slots;
            check(m_out.uniform_slots < 1u << 30);
        } else {
            m_loc[v] = make_loc(Varying, m_registers.take(units_of(m_insts[v])));
            m_owned[v] = 1;
        }
        return m_loc[v];
    }

    void give(uint32_t v) {
        if (m_owned[v])
            m_registers.give(offset_of(m_loc[v]), units_of(m_insts[v]));
        m_owned[v] = 0;
    }

    /// Frees what is read for the last time here, save the value made here.
    void release() {
        for (uint32_t v = m_dies[m_at]; v != NoValue; v = m_next_dead[v])
            if (v != m_at)
                give(v);
    }
    void release_unused() {
        if (m_life.last_use[m_at] == m_at && m_life.root[m_at] == m_at && !m_life.uniform[m_at])
            give(m_at);
    }
    bool is_dead() const {
        return !m_plan.checked && m_life.last_use[m_at] == m_at && !m_life.uniform[m_at];
    }

    // ---- steps

    Step &step(StepKind kind, Type type) {
        bool prelude = m_at < m_insts.size() && m_life.uniform[m_at];
        Step s;
        s.kind = kind;
        s.type = type;
        s.op = m_at < m_insts.size() ? m_insts[m_at].op : Op::Literal;
        auto &list = prelude ? m_out.uniform_steps : m_out.steps;
        if (m_plan.checked) {
            auto &origins = prelude ? m_out.uniform_origins : m_out.origins;
            origins.push_back({ m_at, prelude ? RootMask : m_masks.back() });
            if (m_at < m_insts.size() && m_insts[m_at].arg[0] != NoValue &&
                m_insts[m_insts[m_at].arg[0]].op == Op::ArgPtr)
                origins.back().arg = uint32_t(m_insts[m_insts[m_at].arg[0]].imm);
            switch (s.op) {
            case Op::Gather:
            case Op::Packet:
            case Op::Scatter:
            case Op::ScatterInc:
            case Op::ArrayGet:
            case Op::ArraySet: origins.back().place = m_insts[m_at].imm; break;
            default: break;
            }
        }
        list.push_back(s);
        return list.back();
    }

    void lower(const Inst &inst) {
        if (is_pure(inst.op)) {
            lower_pure(inst);
            return;
        }
        switch (inst.op) {
        case Op::Literal:
            m_loc[m_at] = make_loc(Constant, uint32_t(m_out.constants.size()));
            m_out.constants.push_back(inst.imm);
            return;
        case Op::Lane: leaf(StepKind::Lane, inst); return;
        case Op::LoadLane: leaf(StepKind::LoadLane, inst); return;
        case Op::LoadScalar: leaf(StepKind::LoadScalar, inst); return;
        case Op::ArgPtr: leaf(StepKind::ArgPtr, inst); return;
        case Op::Data: leaf(StepKind::Data, inst); return;
        case Op::Active: leaf(StepKind::Copy, inst); return;
        case Op::Phi:
        case Op::Param: return; // at LoopBegin; by the caller
        case Op::PacketGet: {
            uint32_t size = is_uniform(loc(inst.arg[0])) ? 1 : uint32_t(bytes(inst.type));
            m_loc[m_at] = loc(inst.arg[0]) + uint32_t(inst.imm) * size;
            return;
        }
        case Op::CallOut:
            element_of(inst, m_program.calls[m_insts[inst.arg[0]].imm].out_types);
            return;
        case Op::ExternOut:
            element_of(inst, m_program.externs[m_insts[inst.arg[0]].imm].out_types);
            return;
        case Op::StoreLane: {
            check(m_kernel);
            Step &s = step(StepKind::StoreLane,
                           inst.type == Type::Void ? m_insts[inst.arg[0]].type : inst.type);
            s.a = loc(inst.arg[0]);
            s.imm = uint32_t(inst.imm);
            s.e = m_masks.size() == 1 ? NoLoc : m_masks.back();
            release();
            return;
        }
        case Op::LoopBegin: loop_begin(); return;
        case Op::LoopWhile: {
            Step &s = step(StepKind::LoopWhile, Type::Bool);
            s.a = loc(inst.arg[0]);
            s.d = m_masks.back();
            m_regions.back().exit = uint32_t(m_out.steps.size() - 1);
            release();
            return;
        }
        case Op::LoopEnd: loop_end(); return;
        case Op::IfBegin: if_begin(inst); return;
        case Op::Else: if_else(); return;
        case Op::EndIf: if_end(); return;
        case Op::Call: lower_call(inst); return;
        case Op::Extern: lower_extern(inst); return;
        default: lower_memory(inst); return;
        }
    }

    void leaf(StepKind kind, const Inst &inst) {
        if (is_dead()) {
            release();
            return;
        }
        Loc d = own(m_at);
        Step &s = step(kind, inst.type);
        s.d = d;
        s.imm = uint32_t(inst.imm);
        if (inst.op == Op::Active) {
            s.a = m_masks.back();
            s.length = 1;
        }
        release();
        release_unused();
    }

    void element_of(const Inst &inst, const std::vector<Type> &types) {
        uint32_t offset = 0;
        for (uint32_t k = 0; k < inst.imm; ++k)
            offset += uint32_t(bytes(types[k]));
        m_loc[m_at] = loc(inst.arg[0]) + offset;
    }

    void lower_pure(const Inst &inst) {
        if (is_dead()) {
            release();
            return;
        }
        int n = operands(inst.op);
        Loc args[3] = {};
        unsigned uniform = 0;
        for (int k = 0; k < n; ++k) {
            args[k] = loc(inst.arg[k]);
            uniform |= unsigned(is_uniform(args[k])) << k;
        }
        Type operand = m_insts[inst.arg[0]].type;
        LoopFn fn =
            find_loop(m_table, inst.op, inst.type, operand, m_life.uniform[m_at] ? 0 : uniform);
        if (!fn)
            throw InternalError(fmt::format("interp: no loop for {} {} of {}", name(inst.op),
                                            name(inst.type), name(operand)));
        // Lane i of the result depends on lane i of the operands alone, so it may take their place,
        // but not that of several values which together have its size.
        bool in_place = true;
        for (uint32_t v = m_dies[m_at]; v != NoValue; v = m_next_dead[v])
            in_place &= m_insts[v].op != Op::Packet && m_insts[v].op != Op::Call &&
                        m_insts[v].op != Op::Extern;
        if (in_place)
            release();
        Loc d = own(m_at);
        if (!in_place)
            release();
        Step &s = step(inst.length ? StepKind::SelectArray : StepKind::Loop, inst.type);
        s.fn = fn;
        s.d = d;
        s.a = args[0];
        s.b = args[1];
        s.c = args[2];
        s.length = inst.length;
        release_unused();
    }

    // ---- memory

    /// A mask that a region's program left out is the region's own.
    Loc mask_of(uint32_t value) const {
        const Inst &inst = m_insts[value];
        return m_masks.size() > 1 && inst.op == Op::Literal && inst.imm ? m_masks.back()
                                                                        : loc(value);
    }

    void lower_memory(const Inst &inst) {
        bool writes = inst.op == Op::Scatter || inst.op == Op::ScatterInc;
        if (!writes && is_dead()) {
            release();
            return;
        }
        if (inst.op == Op::ArraySet) {
            array_set(inst);
            return;
        }
        StepKind kind;
        switch (inst.op) {
        case Op::Gather: kind = StepKind::Gather; break;
        case Op::Packet: kind = StepKind::Packet; break;
        case Op::Scatter: kind = StepKind::Scatter; break;
        case Op::ScatterInc: kind = StepKind::ScatterInc; break;
        case Op::ArrayNew: kind = StepKind::ArrayNew; break;
        case Op::ArrayGet: kind = StepKind::ArrayGet; break;
        default:
            throw InternalError(fmt::format("interp: {} has no place in a program", name(inst.op)));
        }
        Loc d = inst.op == Op::Scatter ? 0 : own(m_at);
        Step &s = step(kind, inst.op == Op::Scatter ? m_insts[inst.arg[2]].type : inst.type);
        s.d = d;
        s.a = loc(inst.arg[0]);
        if (inst.op != Op::ArrayNew)
            s.b = loc(inst.arg[1]);
        if (inst.op == Op::Scatter) {
            s.c = loc(inst.arg[2]);
            s.e = mask_of(inst.arg[3]);
            s.imm = uint32_t(inst.imm);
        } else if (inst.op != Op::ArrayNew) {
            s.c = mask_of(inst.arg[2]);
        }
        s.length = inst.op == Op::Packet     ? uint32_t(inst.imm)
                   : inst.op == Op::ArrayGet ? m_insts[inst.arg[0]].length
                                             : inst.length;
        release();
        if (inst.op != Op::Scatter)
            release_unused();
    }

    /// In place where the old version is not read again, else on a copy.
    void array_set(const Inst &inst) {
        uint32_t before = inst.arg[0];
        bool chained = !m_life.in_place.empty() && m_life.in_place[m_at] != NoValue;
        if (chained) {
            m_loc[m_at] = loc(before);
        } else if (m_life.last_use[before] == m_at && m_owned[before]) {
            m_loc[m_at] = loc(before);
            m_owned[before] = 0;
            m_owned[m_at] = 1;
        } else {
            own(m_at);
        }
        Step &s = step(StepKind::ArraySet, inst.type);
        s.d = loc(m_at);
        s.a = loc(before);
        s.b = loc(inst.arg[1]);
        s.c = loc(inst.arg[2]);
        s.e = mask_of(inst.arg[3]);
        s.length = inst.length;
        release();
        release_unused();
    }

    // ---- control flow

    struct Region {
        uint32_t loop = ~0u; // index in m_life.loops
        uint32_t head = 0;   // step to which a loop jumps back
        uint32_t exit = ~0u; // step whose target is the end of the region
        Loc other = 0;       // mask of the else branch
    };

    Loc take_mask() { return make_loc(Varying, m_registers.take(1)); }
    void give_mask(Loc mask) { m_registers.give(offset_of(mask), 1); }

    void copy(Loc d, Loc a, const Inst &inst) {
        if (is_uniform(a)) {
            Step &s = step(StepKind::Splat, inst.type);
            s.fn = m_table.splat[int(inst.type)];
            s.d = d;
            s.a = a;
        } else {
            Step &s = step(StepKind::Copy, inst.type);
            s.d = d;
            s.a = a;
            s.length = units_of(inst);
        }
    }

    void loop_begin() {
        const LoopSpan &loop = m_life.loops[m_next_loop];
        Loc mask = take_mask();
        Step &s = step(StepKind::Copy, Type::Bool);
        s.d = mask;
        s.a = m_masks.back();
        s.length = 1;
        s.op = Op::Active;
        for (uint32_t phi = loop.begin + 1; phi <= loop.begin + loop.phis; ++phi) {
            uint32_t init = m_insts[phi].arg[0];
            // An initial value that nobody else needs gives its register to the Phi.
            if (m_life.root[init] == init && m_owned[init] && m_life.last_use[init] == loop.begin) {
                m_loc[phi] = m_loc[init];
                m_owned[init] = 0;
                m_owned[phi] = 1;
            } else {
                copy(own(phi), loc(init), m_insts[phi]);
            }
        }
        release();
        m_masks.push_back(mask);
        Region region;
        region.loop = m_next_loop++;
        region.head = uint32_t(m_out.steps.size());
        m_regions.push_back(region);
    }

    void loop_end() {
        Region region = m_regions.back();
        const LoopSpan &loop = m_life.loops[region.loop];

        // Phis change at once: those that others take their next value from are saved first.
        std::vector<std::pair<uint32_t, Loc>> moves, saved;
        for (uint32_t phi = loop.begin + 1; phi <= loop.begin + loop.phis; ++phi) {
            uint32_t next = m_insts[phi].arg[1];
            if (loc(next) == loc(phi))
                continue;
            Loc from = loc(next);
            if (next > loop.begin && next <= loop.begin + loop.phis) {
                from = make_loc(Varying, m_registers.take(units_of(m_insts[phi])));
                saved.push_back({ phi, from });
                copy(from, loc(next), m_insts[phi]);
            }
            moves.push_back({ phi, from });
        }
        for (auto [phi, from] : moves) {
            const Inst &inst = m_insts[phi];
            Step &s = step(inst.length ? StepKind::SelectArray : StepKind::Loop, inst.type);
            s.fn = m_table.select[int(inst.type)][is_uniform(from) ? 2 : 0];
            s.op = Op::Phi;
            s.d = loc(phi);
            s.a = m_masks.back();
            s.b = from;
            s.c = loc(phi);
            s.length = inst.length;
        }
        for (auto [phi, from] : saved)
            m_registers.give(offset_of(from), units_of(m_insts[phi]));

        step(StepKind::Jump, Type::Void).imm = region.head;
        m_out.steps[region.exit].imm = uint32_t(m_out.steps.size());
        give_mask(m_masks.back());
        m_masks.pop_back();
        m_regions.pop_back();
        release();
    }

    void if_begin(const Inst &inst) {
        Loc then = take_mask(), other = take_mask();
        Step &s = step(StepKind::IfBegin, Type::Bool);
        s.d = then;
        s.e = other;
        s.a = loc(inst.arg[0]);
        s.b = m_masks.back();
        Region region;
        region.exit = uint32_t(m_out.steps.size() - 1);
        region.other = other;
        m_regions.push_back(region);
        m_masks.push_back(then);
        release();
    }

    void if_else() {
        Region &region = m_regions.back();
        Step &s = step(StepKind::Else, Type::Bool);
        s.e = region.other;
        m_out.steps[region.exit].imm = uint32_t(m_out.steps.size());
        region.exit = uint32_t(m_out.steps.size() - 1);
        give_mask(m_masks.back());
        m_masks.back() = region.other;
        release();
    }

    void if_end() {
        m_out.steps[m_regions.back().exit].imm = uint32_t(m_out.steps.size());
        give_mask(m_masks.back());
        m_masks.pop_back();
        m_regions.pop_back();
        release();
    }

    // ---- calls

    static std::vector<Transfer> results(Loc first, const std::vector<Type> &types) {
        std::vector<Transfer> outs;
        for (Type t : types) {
            outs.push_back({ first, uint8_t(bytes(t)) });
            first += uint32_t(bytes(t));
        }
        return outs;
    }

    void lower_call(const Inst &inst) {
        const CallSite &site = m_program.calls[inst.imm];
        CallPlan call;
        call.id = loc(inst.arg[0]);
        call.mask = mask_of(inst.arg[1]);
        call.callees = site.callees;
        call.table = site.table;
        call.data = site.data;
        for (uint32_t v : site.args)
            call.args.push_back({ loc(v), uint8_t(bytes(m_insts[v].type)) });
        Loc d = own(m_at);
        call.outs = results(d, site.out_types);
        Step &s = step(StepKind::Call, Type::Void);
        s.d = d;
        s.imm = uint32_t(m_plan.calls.size());
        m_plan.calls.push_back(std::move(call));
        release();
        release_unused();
    }

    void lower_extern(const Inst &inst) {
        const ExternSite &site = m_program.externs[inst.imm];
        ExternPlan plan;
        plan.kind = site.kind;
        plan.site = uint32_t(inst.imm);
        if (site.kind == ExternSite::Function) {
            plan.fn = loc(site.fn);
            plan.user = site.user == NoValue ? NoLoc : loc(site.user);
        }
        plan.active = m_masks.back();
        plan.mask = site.mask == NoValue ? m_masks.back() : mask_of(site.mask);
        for (uint32_t v : site.inputs)
            plan.inputs.push_back({ loc(v), uint8_t(bytes(m_insts[v].type)) });
        Loc d = own(m_at);
        plan.outs = results(d, site.out_types);
        Step &s = step(StepKind::Extern, Type::Void);
        s.d = d;
        s.imm = uint32_t(m_plan.externs.size());
        m_plan.externs.push_back(std::move(plan));
        release();
        release_unused();
    }

    const Program &m_program;
    const Function &m_function;
    const std::vector<Inst> &m_insts;
    Plan &m_plan;
    FunctionPlan &m_out;
    const LoopTable &m_table;
    bool m_kernel;
    Lifetimes m_life;
    Registers m_registers;
    std::vector<Loc> m_loc;
    std::vector<uint8_t> m_owned; // has a register to give back
    std::vector<uint32_t> m_dies, m_next_dead;
    std::vector<Loc> m_masks; // of the regions around the current instruction
    std::vector<Region> m_regions;
    uint32_t m_at = 0, m_next_loop = 0;
};

} // namespace

Plan make_plan(const Program &program, const std::string &name, bool checked) {
    Plan plan;
    plan.name = name;
    plan.checked = checked;
    plan.args = program.args;
    plan.functions.resize(program.functions.size());
    uint64_t units = 1;
    for (uint32_t f = 0; f < program.functions.size(); ++f) {
        Planner(program, f, plan).run();
        units = std::max<uint64_t>(units, plan.functions[f].units);
    }
    // Large blocks spread the cost of dispatch, small ones keep the frame in the second level
    // cache.
    constexpr uint64_t FrameBytes = 128 << 10;
    plan.block = 1024;
    while (plan.block > 64 && units * plan.block > FrameBytes)
        plan.block /= 2;
    return plan;
}

} // namespace umbel::jit
