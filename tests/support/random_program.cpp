// support/random_program.cpp: planning, describing and shrinking random programs.
#include "support/random_program.h"
#include "support/random_values.h"
#include <chrono>
#include <utility>

namespace umbel::test {

using namespace jit;

namespace {

// The types that programs use most come up more often.
constexpr Type AllTypes[] = { Type::Bool, Type::I8,  Type::U8,  Type::I16, Type::U16,  Type::I32,
                              Type::U32,  Type::I64, Type::U64, Type::F16, Type::F32,  Type::F64,
                              Type::U32,  Type::F32, Type::F32, Type::I32, Type::Bool, Type::U32 };

// ---- planning

class Planner {
public:
    Planner(Plan &plan, int budget) : p(plan), r(plan.seed), m_budget(budget) {}

    void run() {
        constexpr uint32_t Sizes[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 100, 255, 1000 };
        p.lanes = r.chance(60) ? r.of(Sizes) : 1 + r.below(2000);
        p.captures = r.chance(60);
        p.together = r.chance(70);
        if (m_budget == 0)
            m_budget = r.between(20, r.chance(30) ? 300 : 120);
        plan_arrays();
        for (int k = ClassCount - 1; k >= 0; --k) // methods call classes of higher number alone
            plan_class(k);

        m_block = &p.main;
        m_classes = 0;
        m_function = false;
        m_lane = add({ .what = Do::Lane, .type = Type::U32 }, { { Type::U32 } });
        for (int i = r.between(2, 6); i > 0; --i)
            leaf(r.of(AllTypes));
        steps(m_budget, 0);
        for (int slot : std::vector<int>(m_scope)) {
            if (p.slots[slot].length)
                slot = array_get(slot);
            if (r.chance(50) || p.main.results.empty())
                p.main.results.push_back(slot);
        }
    }

private:
    int slot(Slot s) {
        p.slots.push_back(s);
        return int(p.slots.size()) - 1;
    }
    int add(Step s, const std::vector<Slot> &out) {
        for (const Slot &o : out)
            s.out.push_back(slot(o));
        m_scope.insert(m_scope.end(), s.out.begin(), s.out.end());
        int first = s.out.empty() ? -1 : s.out[0];
        m_block->steps.push_back(std::move(s));
        --m_budget;
        return first;
    }

    // -- operands

    int leaf(Type t) {
        bool wide = !m_function || p.captures;
        if (wide && r.chance(40))
            for (int tries = 0; tries < 8; ++tries) {
                uint32_t a = r.below(uint32_t(p.arrays.size()));
                if (p.arrays[a].use == ArrayPlan::Source && !p.arrays[a].size &&
                    p.arrays[a].type == t)
                    return add({ .what = Do::Input, .type = t, .number = a }, { { t } });
            }
        if (r.chance(25))
            return add({ .what = Do::Opaque, .type = t, .bits = random_bits(r, t) }, { { t } });
        return add({ .what = Do::Literal,
                     .type = t,
                     .wide = wide && r.chance(20),
                     .bits = random_bits(r, t) },
                   { { t } });
    }
    int pick_any() { // a plain value, later ones more often
        for (int tries = 0; tries < 20; ++tries) {
            size_t n = m_scope.size(), i = r.below(uint32_t(n));
            if (r.chance(50))
                i = std::max(i, size_t(r.below(uint32_t(n))));
            if (!p.slots[m_scope[i]].length)
                return m_scope[i];
        }
        return leaf(Type::U32);
    }
    int pick(Type t) {
        if (r.chance(90)) {
            std::vector<int> fit;
            for (int s : m_scope)
                if (p.slots[s].type == t && !p.slots[s].length)
                    fit.push_back(s);
            if (!fit.empty()) {
                size_t i = r.below(uint32_t(fit.size()));
                return fit[r.chance(50) ? i : std::max(i, size_t(r.below(uint32_t(fit.size()))))];
            }
        }
        return r.chance(50) ? leaf(t) : cast_to(t, pick_any());
    }
    int pick_mask() {
        return r.chance(40)
                   ? add({ .what = Do::Literal, .type = Type::Bool, .bits = 1 }, { { Type::Bool } })
                   : pick(Type::Bool);
    }
    int cast_to(Type t, int s) {
        return add({ .what = Do::Cast, .type = t, .in = { s } }, { { t } });
    }
    int elementwise(Op op, Type t, std::vector<int> in) {
        return add({ .what = Do::Elementwise, .op = op, .type = t, .in = std::move(in) },
                   { { t } });
    }
    int literal_u32(uint32_t v) {
        return add({ .what = Do::Literal, .type = Type::U32, .bits = v }, { { Type::U32 } });
    }
    int pick_array_slot() { // a local array in scope; -1 if there is none
        std::vector<int> fit;
        for (int s : m_scope)
            if (p.slots[s].length)
                fit.push_back(s);
        return fit.empty() ? -1 : r.of(fit);
    }

    // -- steps

    void random_elementwise() {
        for (;;) {
            Op op = Op(r.between(int(Op::Neg), int(Op::Select)));
            if (is_transcendental(op) && r.chance(60))
                continue;
            Type t = r.of(AllTypes);
            if (op == Op::Cast) {
                cast_to(t, pick_any());
            } else if (op == Op::Bitcast) {
                Type from = r.of(AllTypes);
                if (bits(from) != bits(t))
                    continue;
                add({ .what = Do::Bitcast, .type = t, .in = { pick(from) } }, { { t } });
            } else {
                if (!accepts(op, t))
                    continue;
                if (op == Op::Select) {
                    int m = pick(Type::Bool), a = pick(t), b = pick(t);
                    elementwise(op, t, { m, a, b });
                    return;
                }
                std::vector<int> in;
                for (int i = 0; i < operands(op); ++i)
                    in.push_back(pick(t));
                elementwise(op, op >= Op::Eq && op <= Op::Le ? Type::Bool : t, in);
            }
            return;
        }
    }

    void gather_step(int depth) {
        int index = pick(Type::U32), mask = pick_mask();
        if (r.chance(35) && !m_sources.empty()) {
            int s = r.of(m_sources);
            add({ .what = Do::GatherSlot, .type = p.slots[s].type, .in = { s, index, mask } },
                { { p.slots[s].type } });
            return;
        }
        uint32_t a = r.below(uint32_t(p.arrays.size()));
        const ArrayPlan &array = p.arrays[a];
        // What a region writes to, no region may read.
        if (array.use != ArrayPlan::Source && array.use != ArrayPlan::Top && depth > 0)
            return;
        if (r.chance(30) && array.size && array.size % 12 == 0) {
            constexpr uint32_t Counts[] = { 1, 2, 3, 4, 6, 12 };
            uint32_t n = r.of(Counts);
            add({ .what = Do::Packet,
                  .type = array.type,
                  .number = a,
                  .bits = n,
                  .in = { index, mask } },
                std::vector<Slot>(n, { array.type }));
            return;
        }
        add({ .what = Do::Gather, .type = array.type, .number = a, .in = { index, mask } },
            { { array.type } });
    }

    void scatter_step(int depth) {
        for (int tries = 0; tries < 10; ++tries) {
            uint32_t a = r.below(uint32_t(p.arrays.size()));
            const ArrayPlan array = p.arrays[a];
            if (array.use == ArrayPlan::Source || array.use == ArrayPlan::Ranks ||
                (array.use == ArrayPlan::Top && depth > 0))
                continue;
            int index = pick(Type::U32), mask = pick_mask();
            if (array.use == ArrayPlan::Counter) { // the ranks' array follows it
                add({ .what = Do::Count, .number = a, .in = { index, mask, m_lane } }, {});
                return;
            }
            ReduceOp op = array.reduce;
            if (array.use == ArrayPlan::Exclusive)
                op = random_reduction(array.type, true);
            add({ .what = Do::Scatter,
                  .type = array.type,
                  .reduce = op,
                  .number = a,
                  .in = { index, mask, m_lane,
                          pick(array.adds_floats() ? Type::U32 : array.type) } },
                {});
            return;
        }
    }
    ReduceOp random_reduction(Type t, bool store) {
        for (;;) {
            ReduceOp op = ReduceOp(r.below(7));
            bool logic = op == ReduceOp::And || op == ReduceOp::Or;
            if (op == ReduceOp::Store ? store : t == Type::Bool ? logic : !(logic && is_float(t)))
                return op;
        }
    }

    int array_get(int array) {
        Type t = p.slots[array].type;
        int index = pick(Type::U32), mask = pick_mask();
        if (r.chance(70)) // often within bounds
            index = elementwise(Op::Mod, Type::U32, { index, literal_u32(p.slots[array].length) });
        return add({ .what = Do::ArrayGet, .type = t, .in = { array, index, mask } }, { { t } });
    }
    void array_step() {
        int array = pick_array_slot();
        if (array < 0 || r.chance(20)) {
            Type t = r.of(AllTypes);
            uint32_t length = 1 + r.below(9);
            add({ .what = Do::ArrayNew, .type = t, .number = length, .in = { pick(t) } },
                { { t, length } });
        } else if (r.chance(50)) {
            array_get(array);
        } else {
            Slot s = p.slots[array];
            int index = pick(Type::U32), value = pick(s.type), mask = pick_mask();
            if (r.chance(70))
                index = elementwise(Op::Mod, Type::U32, { index, literal_u32(s.length) });
            add({ .what = Do::ArraySet, .type = s.type, .in = { array, index, value, mask } },
                { s });
        }
    }

    // Plans a block inside the current one; `finish` adds its results.
    template <class F> Block nested(std::vector<int> params, int budget, int depth, F &&finish) {
        Block block;
        Block *outer = std::exchange(m_block, &block);
        size_t mark = m_scope.size();
        block.params = params;
        m_scope.insert(m_scope.end(), params.begin(), params.end());
        steps(budget, depth);
        finish(block);
        m_scope.resize(mark);
        m_block = outer;
        return block;
    }

    // The player counts iterations by itself, so that no shrinking makes a loop endless. The body sees
    // the counter as its first parameter.
    void loop_step(int budget, int depth) {
        Step step{ .what = Do::Loop, .number = depth == 0 ? 7u : 3u };
        step.in.push_back(r.chance(20) ? literal_u32(r.below(8))
                                       : pick(Type::U32)); // modulo number + 1
        std::vector<Slot> types{ { Type::U32 } };
        std::vector<int> state{ slot({ Type::U32 }) };
        for (int i = r.between(0, 4); i > 0; --i) {
            int array = r.chance(15) ? pick_array_slot() : -1;
            p.array_state |= array >= 0;
            step.in.push_back(array >= 0 ? array : pick(r.of(AllTypes)));
            types.push_back(p.slots[step.in.back()]);
            state.push_back(slot(types.back()));
        }
        // The condition has no effects: evaluated loops run it for all lanes.
        bool effects = std::exchange(m_effects, false);
        size_t mark = m_scope.size();
        Block condition = nested(state, r.between(0, 3), 3, [&](Block &b) {
            if (r.chance(30))
                b.results = { pick(Type::Bool) };
        });
        m_effects = effects;
        for (const Step &s : condition.steps) // the body sees what the condition computed
            m_scope.insert(m_scope.end(), s.out.begin(), s.out.end());
        Block body = nested(state, budget, depth + 1, [&](Block &b) {
            for (size_t k = 1; k < state.size(); ++k)
                b.results.push_back(r.chance(15) ? state[k] : pick_like(types[k], state[k]));
        });
        m_scope.resize(mark);
        step.blocks.push_back(std::move(condition));
        step.blocks.push_back(std::move(body));
        add(std::move(step), types);
    }
    int pick_like(Slot s, int fallback) {
        if (!s.length)
            return pick(s.type);
        std::vector<int> fit;
        for (int i : m_scope)
            if (p.slots[i].type == s.type && p.slots[i].length == s.length)
                fit.push_back(i);
        return fit.empty() ? fallback : r.of(fit);
    }

    void if_step(int budget, int depth) {
        Step step{ .what = Do::If, .in = { pick(Type::Bool) } };
        std::vector<Slot> types;
        std::vector<int> outer;
        for (int i = r.between(0, 3); i > 0; --i) {
            int array = r.chance(15) ? pick_array_slot() : -1;
            outer.push_back(array >= 0 ? array : pick(r.of(AllTypes)));
            types.push_back(p.slots[outer.back()]);
        }
        for (int branch = 0; branch < 2; ++branch)
            step.blocks.push_back(
                nested({}, branch ? budget / 2 : budget, depth + 1, [&](Block &b) {
                    for (size_t k = 0; k < types.size(); ++k)
                        b.results.push_back(pick_like(types[k], outer[k]));
                }));
        add(std::move(step), types);
    }

    void switch_step(int budget, int depth) {
        int count = r.between(1, 4);
        int index = pick(Type::U32);
        if (r.chance(80))
            index = elementwise(Op::Mod, Type::U32,
                                { index, literal_u32(uint32_t(count) + r.below(2)) });
        Step step{ .what = Do::Switch, .in = { index, m_lane } };
        for (int i = r.between(0, 3); i > 0; --i)
            step.in.push_back(pick_any());
        std::vector<Slot> types;
        for (int i = r.between(1, 3); i > 0; --i)
            types.push_back({ r.of(AllTypes) });
        std::vector<int> scope = m_scope, sources = m_sources;
        int lane = m_lane;
        bool function = std::exchange(m_function, true);
        if (p.captures) {
            std::erase_if(m_scope, [&](int s) { return p.slots[s].length > 0; });
        } else {
            m_scope.clear();
            m_sources.clear();
        }
        for (int i = 0; i < count; ++i) {
            std::vector<int> params;
            for (size_t k = 1; k < step.in.size(); ++k)
                params.push_back(slot(p.slots[step.in[k]]));
            m_lane = params[0];
            step.blocks.push_back(nested(params, budget / count, depth + 1, [&](Block &b) {
                for (const Slot &t : types)
                    b.results.push_back(pick(t.type));
            }));
        }
        m_scope = scope;
        m_sources = sources;
        m_function = function;
        m_lane = lane;
        add(std::move(step), types);
    }

    void call_step() {
        uint32_t k = uint32_t(r.between(m_classes, ClassCount - 1));
        const ClassPlan &c = p.classes[k];
        uint32_t ids = uint32_t(c.instances.size());
        int id = r.chance(10) ? literal_u32(r.below(ids + 2)) : pick(Type::U32);
        if (r.chance(90))
            id = elementwise(Op::Mod, Type::U32, { id, literal_u32(ids + 1) });
        Step step{ .what = Do::Call, .number = k, .in = { id, pick_mask(), m_lane } };
        for (size_t i = 1; i < c.params.size(); ++i)
            step.in.push_back(pick(c.params[i]));
        for (Type t : c.captures)
            step.in.push_back(pick(t));
        std::vector<Slot> types;
        for (Type t : c.results)
            types.push_back({ t });
        add(std::move(step), types);
    }

    void top_level_step() {
        switch (r.below(3)) {
        case 0: {
            Step step{ .what = Do::Eval };
            for (int i = r.between(1, 4); i > 0; --i)
                step.in.push_back(pick_any());
            add(std::move(step), {});
            break;
        }
        case 1:
            for (uint32_t a = 0; a < p.arrays.size(); ++a)
                if (p.arrays[a].use == ArrayPlan::Exclusive && r.chance(50)) {
                    add({ .what = Do::Snapshot, .type = p.arrays[a].type, .number = a },
                        { { p.arrays[a].type } });
                    break;
                }
            break;
        default: {
            Type t = r.of(AllTypes);
            if (is_int(t))
                add({ .what = Do::Reduce,
                      .type = t,
                      .reduce = random_reduction(t, false),
                      .in = { pick(t), m_lane } },
                    { { t } });
            else if (is_float(t)) // as to shared arrays
                add({ .what = Do::Reduce,
                      .type = t == Type::F16 ? Type::F32 : t,
                      .reduce = ReduceOp::Add,
                      .in = { pick(Type::U32), m_lane } },
                    { { t == Type::F16 ? Type::F32 : t } });
        }
        }
    }

    void steps(int budget, int depth) {
        for (int end = m_budget - budget; m_budget > end;) {
            int left = m_budget - end;
            if (depth == 0) {
                m_sources.clear();
                for (int s : m_scope)
                    if (!p.slots[s].length)
                        m_sources.push_back(s);
            }
            int before = m_budget;
            uint32_t roll = r.below(100);
            if (roll < 55)
                random_elementwise();
            else if (roll < 63)
                gather_step(depth);
            else if (roll < 71 && m_effects)
                scatter_step(depth);
            else if (roll < 78)
                array_step();
            else if (roll < 82 && depth == 0)
                top_level_step();
            else if (roll < 83 && depth < 3 && !m_function && !m_sources.empty())
                add({ .what = Do::Eval, .in = { r.of(m_sources) } }, {}); // in the midst of tracing
            else if (roll < 88 && depth < 3 && left > 6 && m_effects)
                loop_step(r.between(2, left / 2), depth);
            else if (roll < 93 && depth < 3 && left > 6 && m_effects)
                if_step(r.between(1, left / 2), depth);
            else if (roll < 95 && depth < 3 && left > 6 && m_effects)
                switch_step(r.between(2, left / 2), depth);
            else if (roll < 99 && m_classes < ClassCount && m_effects)
                call_step();
            if (m_budget == before)
                --m_budget; // nothing fitted: never stay for ever
        }
    }

    // -- the surroundings

    void plan_arrays() {
        auto add_array = [&](ArrayPlan a) {
            a.seed = r.bits();
            p.arrays.push_back(a);
        };
        for (int i = 0; i < 10; ++i)
            add_array({ .type = r.of(AllTypes),
                        .size = i < 4   ? 0
                                : i < 7 ? 1 + r.below(50)
                                        : 12 * (1 + r.below(4)) });
        for (int i = 0; i < 4; ++i)
            add_array(
                { .type = r.of(AllTypes), .use = ArrayPlan::Exclusive, .shift = r.below(p.lanes) });
        for (int i = 0; i < 4; ++i) {
            Type t = i < 3 ? r.of(AllTypes) : r.chance(60) ? Type::F32 : Type::F64;
            if (!is_float(t))
                add_array({ .type = t,
                            .size = 1 + r.below(40),
                            .use = ArrayPlan::Shared,
                            .reduce = random_reduction(t, false) });
            else if (t != Type::F16) // whose sums of 2049 are not exact
                add_array(
                    { .type = t,
                      .size = 1 + r.below(40),
                      .use = ArrayPlan::Shared,
                      .reduce = ReduceOp::Add,
                      .scale = r.chance(30) ? 0 : r.between(t == Type::F32 ? -149 : -1074, 90),
                      .infinite = r.chance(20) });
        }
        for (int i = 0; i < 2; ++i) {
            Type t = r.of(AllTypes);
            if (p.lanes > Grain &&
                is_float(t)) // blocks of lanes may run one scatter after the other
                t = Type::I32;
            add_array({ .type = t,
                        .size = 1 + r.below(40),
                        .use = ArrayPlan::Top,
                        .reduce = random_reduction(t, false) });
        }
        uint32_t bins = 1 + r.below(10);
        add_array({ .type = Type::U32, .size = bins, .use = ArrayPlan::Counter });
        add_array(
            { .type = Type::U32, .size = bins, .use = ArrayPlan::Ranks, .reduce = ReduceOp::Add });
    }

    void plan_class(int number) {
        ClassPlan c;
        auto types = [&](int lo, int hi) {
            std::vector<Type> list;
            for (int i = r.between(lo, hi); i > 0; --i)
                list.push_back(r.of(AllTypes));
            return list;
        };
        bool closure =
            p.captures && r.chance(50); // as renderers call: all operands come from outside
        c.params = types(0, closure ? 0 : 3);
        c.params.insert(c.params.begin(), Type::U32); // the lane
        if (p.captures)
            c.captures = types(closure ? 1 : 0, closure ? 4 : 2);
        c.results = types(1, 3);
        c.members = types(1, 3);
        c.buffer = r.of(AllTypes);
        if (p.classes.empty())
            p.classes.resize(ClassCount);
        m_classes = number + 1;
        m_function = true;
        int codes = r.between(1, 3);
        for (int i = 0; i < codes; ++i) {
            std::vector<int> params;
            for (auto *list : { &c.params, &c.captures, &c.members })
                for (Type t : *list)
                    params.push_back(slot({ t }));
            int buffer = slot({ c.buffer });
            m_scope.clear();
            m_sources = { buffer };
            m_lane = params[0];
            int whole = m_budget; // class bodies come on top of the program's own budget
            Block block = nested(params, r.between(1, std::max(1, whole / 8)), 1, [&](Block &b) {
                for (Type t : c.results)
                    b.results.push_back(pick(t));
            });
            block.params.push_back(buffer);
            m_budget = whole;
            c.codes.push_back(std::move(block));
        }
        uint32_t buffer_size = 1 + r.below(20);
        for (int i = r.between(1, 6); i > 0; --i)
            c.instances.push_back({ .code = r.below(uint32_t(codes)),
                                    .seed = r.bits(),
                                    .deleted = r.chance(8),
                                    .literals = r.chance(30) ? r.below(8) : 0,
                                    .buffer_size = r.chance(80) ? buffer_size : 1 + r.below(20) });
        for (size_t i = 1; i < c.instances.size(); ++i)
            if (r.chance(15)) // equal in code and data
                c.instances[i] = c.instances[i - 1];
        c.instances[0].deleted = false;
        m_scope.clear();
        m_sources.clear();
        p.classes[size_t(number)] = std::move(c);
    }

    Plan &p;
    Random r;
    int m_budget;
    Block *m_block = nullptr;
    std::vector<int> m_scope;   // slots that a step may use
    std::vector<int> m_sources; // slots whose whole array may be gathered from
    int m_lane = -1;            // slot of the lane number
    int m_classes = 0;          // least class that may be called
    bool m_function = false, m_effects = true;
};

// ---- walking over plans

template <class F> void for_each_step(Block &b, F &&f) {
    for (Step &s : b.steps) {
        f(s);
        if (!s.off)
            for (Block &inner : s.blocks)
                for_each_step(inner, f);
    }
}
template <class F> void for_each_step(Plan &p, F &&f) {
    for_each_step(p.main, f);
    for (ClassPlan &c : p.classes)
        for (Block &b : c.codes)
            for_each_step(b, f);
}

void describe(std::string &out, const Block &b, int indent) {
    constexpr const char *Names[] = { "Literal",  "Opaque",   "Input",    "Lane",       "",
                                      "Cast",     "Bitcast",  "Gather",   "GatherSlot", "Packet",
                                      "ArrayNew", "ArrayGet", "ArraySet", "Scatter",    "Count",
                                      "Loop",     "If",       "Call",     "Switch",     "Eval",
                                      "Snapshot", "Reduce" };
    if (!b.params.empty())
        out += fmt::format("{:{}}params {}\n", "", indent, fmt::join(b.params, " "));
    for (const Step &s : b.steps) {
        if (s.off)
            continue;
        out += fmt::format("{:{}}{}{}{} {} {}", "", indent, fmt::join(s.out, " "),
                           s.out.empty() ? "" : " = ",
                           s.what == Do::Elementwise ? name(s.op) : Names[int(s.what)],
                           name(s.type), fmt::join(s.in, " "));
        if (s.what == Do::Literal || s.what == Do::Opaque)
            out += fmt::format("{}{}", text_of(s.type, s.bits), s.wide ? " wide" : "");
        else if (s.what == Do::Scatter || s.what == Do::Reduce)
            out += fmt::format(" {} #{}", name(s.reduce), s.number);
        else if (s.number)
            out += fmt::format(" #{}", s.number);
        out += "\n";
        for (const Block &inner : s.blocks) {
            describe(out, inner, indent + 4);
            out += fmt::format("{:{}}--\n", "", indent + 2);
        }
    }
    if (!b.results.empty())
        out += fmt::format("{:{}}results {}\n", "", indent, fmt::join(b.results, " "));
}

} // namespace

// ---- interface

Plan random_plan(uint64_t seed, int budget) {
    Plan plan;
    plan.seed = seed;
    Planner(plan, budget).run();
    return plan;
}

Plan plan_for_devices(Plan plan) {
    for_each_step(plan, [&](Step &s) {
        if (s.what != Do::Scatter || !is_float(s.type) || plan.arrays[s.number].adds_floats())
            return;
        s.off |= plan.arrays[s.number].use == ArrayPlan::Top;
        if (s.reduce == ReduceOp::Add)
            s.reduce = ReduceOp::Max;
    });
    return plan;
}

size_t active_steps(const Plan &plan) {
    size_t n = 0;
    for_each_step(const_cast<Plan &>(plan), [&](const Step &s) { n += !s.off; });
    return n;
}

std::string describe(const Plan &plan) {
    std::string out = fmt::format("lanes {}{}\n", plan.lanes, plan.captures ? ", captures" : "");
    constexpr const char *Uses[] = { "source", "exclusive", "shared", "top", "counter", "ranks" };
    for (size_t a = 0; a < plan.arrays.size(); ++a)
        out += fmt::format("array {}: {} {} size {}\n", a, Uses[plan.arrays[a].use],
                           name(plan.arrays[a].type), plan.arrays[a].size);
    bool called[ClassCount] = {};
    for_each_step(const_cast<Plan &>(plan), [&](const Step &s) {
        if (!s.off && s.what == Do::Call)
            called[s.number] = true;
    });
    for (size_t k = 0; k < plan.classes.size(); ++k) {
        const ClassPlan &c = plan.classes[k];
        if (!called[k])
            continue;
        out += fmt::format("class {}: instances", k);
        for (auto &i : c.instances)
            out += fmt::format(" {}{}", i.code, i.deleted ? "(deleted)" : "");
        out += fmt::format(", {} params, {} captures, {} members\n", c.params.size(),
                           c.captures.size(), c.members.size());
        for (const Block &b : c.codes) {
            out += "  code\n";
            describe(out, b, 4);
        }
    }
    out += "main\n";
    describe(out, plan.main, 2);
    return out;
}

Plan shrink(Plan plan, const std::function<bool(const Plan &)> &fails, double seconds) {
    auto start = std::chrono::steady_clock::now();
    auto late = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
               seconds;
    };
    auto accept = [&](Plan candidate) {
        if (late() || !fails(candidate))
            return false;
        plan = std::move(candidate);
        return true;
    };

    // Fewer lanes
    for (uint32_t lanes : { 1u, 2u, 8u, 16u, 64u }) {
        Plan smaller = plan;
        smaller.lanes = lanes;
        for (ArrayPlan &a : smaller.arrays)
            a.shift %= lanes;
        if (lanes < plan.lanes && accept(smaller))
            break;
    }
    // Fewer steps, in ever smaller chunks, until nothing more can go
    for (bool progress = true; progress && !late();) {
        progress = false;
        for (size_t chunk = std::max<size_t>(1, active_steps(plan) / 2);; chunk /= 2) {
            for (size_t first = 0; first < active_steps(plan) && !late();) {
                Plan smaller = plan;
                size_t i = 0;
                std::vector<Step *> steps;
                for_each_step(smaller, [&](Step &s) {
                    if (!s.off && i++ >= first && steps.size() < chunk && s.what != Do::Lane)
                        steps.push_back(&s); // the lane stays: it gives effects their width
                });
                for (Step *s : steps)
                    s->off = true;
                if (!steps.empty() && accept(smaller))
                    progress = true;
                else
                    first += chunk;
            }
            if (chunk <= 1)
                break;
        }
        // Fewer outputs
        for (size_t k = plan.main.results.size(); k-- > 0 && plan.main.results.size() > 1;) {
            Plan smaller = plan;
            smaller.main.results.erase(smaller.main.results.begin() + long(k));
            progress |= accept(smaller);
        }
    }
    return plan;
}

} // namespace umbel::test
