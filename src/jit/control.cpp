// jit/control.cpp: recording and evaluating loops and conditionals.
#include "jit/control.h"
#include "jit/record.h"

namespace umbel::jit {

namespace {

uint32_t broadcast(const char *name, uint32_t a, uint32_t b) {
    if (a != 1 && b != 1 && a != b)
        fail("{}: sizes {} and {} of its values do not match", name, a, b);
    return a == 1 ? b : a;
}

uint32_t effects_size(Context &c, const char *name, RegionId region, uint32_t size) {
    for (NodeId e : c.graph.region(region).effects)
        size = broadcast(name, size, c.graph[e].size);
    return size;
}

// Leaves and drops the regions that an exception interrupts, and puts the state back.
class Unwind {
public:
    Unwind(Context &c, std::vector<Value *> state = {}) : c(c), m_region(c.region), m_state(state) {
        for (Value *v : m_state)
            m_saved.push_back(*v);
        m_masks = c.masks.size();
    }
    ~Unwind() {
        if (m_done)
            return;
        while (c.region != m_region)
            c.leave();
        c.masks.resize(m_masks);
        for (size_t i = 0; i < m_state.size(); ++i)
            *m_state[i] = m_saved[i];
        for (RegionId r : m_regions)
            c.graph.discard_region(r);
    }
    RegionId enter(const char *kind, bool loop, bool function, bool sibling = false) {
        m_regions.push_back(c.enter(kind, loop, function, sibling));
        return m_regions.back();
    }
    /// Innermost first, as a record must release them.
    std::vector<RegionId> keep() {
        m_done = true;
        return { m_regions.rbegin(), m_regions.rend() };
    }

private:
    Context &c;
    RegionId m_region;
    size_t m_masks;
    std::vector<Value *> m_state;
    std::vector<Value> m_saved;
    std::vector<RegionId> m_regions;
    bool m_done = false;
};

void check_state(const char *name, Context &c, const std::vector<Value *> &state) {
    int number = 0;
    for (Value *v : state) {
        ++number;
        if (!v->valid())
            fail("{}: state variable {} is uninitialized", name, number);
        if (&v->context() != &c)
            fail("{}: state variable {} belongs to another context (thread)", name, number);
        if (v->node().flags & Dirty)
            c.settle(v->id(), name);
    }
}

void check_unchanged(const char *name, const char *what, size_t number, const Value &before,
                     const Value &after) {
    if (!before.valid() || !after.valid())
        fail("{}: {} {} is uninitialized", name, what, number);
    if (&after.context() != &before.context())
        fail("{}: {} {} belongs to another context (thread)", name, what, number);
    if (after.type() != before.type() || after.node().length != before.node().length)
        fail("{}: {} {} changes its type from {} to {}; convert it to keep the type", name, what,
             number, jit::name(before.type()), jit::name(after.type()));
}

// Whether nothing was done to a value: it needs no selection.
bool same(const Value &a, const Value &b) { return a.id() == b.id() && a.grad_id() == b.grad_id(); }

// a where the mask holds, b elsewhere; of local arrays, element by element.
Value choose(const Value &mask, const Value &a, const Value &b) {
    uint32_t length = a.node().length;
    if (!length)
        return ternary(Op::Select, mask, a, b);
    Value out = b, everywhere = literal(Type::Bool, 1);
    for (uint32_t i = 0; i < length; ++i) {
        Value at = literal(Type::U32, i);
        out = local_set(out, at, local_get(a, at, everywhere), mask);
    }
    return out;
}

// ---- loops

Value check_condition(const char *name, Context &c, Value v) {
    if (!v.valid() || v.type() != Type::Bool)
        fail("{}: the condition must be a mask{}", name,
             v.valid() ? std::string(", not ") + jit::name(v.type()) : std::string());
    if (&v.context() != &c)
        fail("{}: the condition belongs to another context (thread)", name);
    return v;
}

enum : uint8_t { Unknown, Constant, Varies }; // what is known of a state variable

// Traces the body once; returns false where it should be traced again with `fixed` state left out.
bool trace_loop(Context &c, const char *name, const std::vector<Value *> &state,
                const detail::Condition &condition, const detail::Body &body,
                std::vector<uint8_t> &fixed) {
    size_t n = state.size();
    std::vector<Value> init;
    for (Value *v : state)
        init.push_back(*v);
    Unwind unwind(c, state);
    auto record = std::make_unique<LoopRecord>();

    // Head: the state of an iteration, and whether it goes on
    record->head = unwind.enter("loop", true, false);
    std::vector<NodeId> phi(n, 0);
    std::vector<Value>
        phis; // a body may overwrite state that it never read: the record needs its Phi
    for (size_t k = 0; k < n; ++k) {
        if (fixed[k] == Constant)
            continue;
        const Node &v = init[k].node();
        Value p =
            Value::adopt(c, c.graph.make({ .op = Op::Phi,
                                           .type = v.type,
                                           .size = v.size,
                                           .imm = uint64_t(record->head) << 32 | record->phi.size(),
                                           .length = v.length }));
        phi[k] = p.id();
        record->init.push_back(init[k].id());
        record->phi.push_back(p.id());
        phis.push_back(p);
        *state[k] = p;
    }
    Value cond = check_condition(name, c, condition());

    // Body
    record->body = unwind.enter("loop", false, false);
    body();
    uint32_t size = cond.size();
    bool again = false;
    for (size_t k = 0; k < n; ++k) {
        check_unchanged(name, "state variable", k + 1, init[k], *state[k]);
        size = broadcast(name, broadcast(name, size, init[k].size()), state[k]->size());
        if (fixed[k] == Constant) {
            // A body may look at constants while it is traced, and then do something else with them.
            bool same =
                state[k]->is_literal() && state[k]->literal_bits() == init[k].literal_bits();
            if (!same) {
                fixed[k] = Varies;
                again = true;
            }
            continue;
        }
        bool invariant = c.has(Flag::OptimizeLoops) && state[k]->id() == phi[k];
        record->next.push_back(state[k]->id());
        record->invariant.push_back(invariant);
        bool set_again = c.has(Flag::OptimizeLoops) && state[k]->is_literal() && // to what it was
                         init[k].is_literal() && state[k]->size() == init[k].size() &&
                         state[k]->literal_bits() == init[k].literal_bits();
        if ((invariant || set_again) && init[k].is_literal() && fixed[k] != Varies) {
            fixed[k] = Constant;
            again = true;
        }
    }
    size = effects_size(c, name, record->head, size);
    size = effects_size(c, name, record->body, size);
    c.leave();
    c.leave();
    if (again) // a constant in disguise: trace again with it, so that the rules see it
        return false;

    // The node
    record->condition = cond.id();
    record->effects = !c.graph.region(record->head).effects.empty() ||
                      !c.graph.region(record->body).effects.empty();
    for (auto *list : { &record->init, &record->phi, &record->next })
        record->nodes.insert(record->nodes.end(), list->begin(), list->end());
    record->nodes.push_back(cond.id());
    for (NodeId id : record->nodes)
        c.graph.retain(id);
    record->regions = unwind.keep();
    LoopRecord &r = *record;
    Value node =
        Value::adopt(c, c.graph.make_pinned({ .op = Op::Loop,
                                              .type = Type::Void,
                                              .size = size,
                                              .imm = reinterpret_cast<uint64_t>(record.release()) },
                                            c.region));
    c.graph.region(r.head).owner = c.graph.region(r.body).owner = node.id();
    if (r.effects) {
        c.graph.retain(node.id());
        c.add_effect(node.id());
    }
    for (size_t k = 0, j = 0; k < n; ++k) {
        if (fixed[k] == Constant) {
            *state[k] = init[k];
            continue;
        }
        if (r.invariant[j])
            *state[k] = init[k];
        else
            *state[k] = Value::adopt(c, c.graph.make({ .op = Op::LoopOut,
                                                       .type = init[k].type(),
                                                       .size = size,
                                                       .imm = j,
                                                       .length = init[k].node().length,
                                                       .dep = { node.id(), 0, 0, 0 } }));
        ++j;
    }
    return true;
}

void evaluate_loop(Context &c, const char *name, const std::vector<Value *> &state,
                   const detail::Condition &condition, const detail::Body &body) {
    Unwind unwind(c);
    Mask active(check_condition(name, c, condition()));
    // A local array has no memory: its elements are evaluated, and it is made of them again
    auto settle = [&] {
        std::vector<const Value *> all{ &active };
        std::vector<std::vector<Value>> elements(state.size());
        Value everywhere = literal(Type::Bool, 1);
        for (size_t k = 0; k < state.size(); ++k) {
            for (uint32_t i = 0; i < state[k]->node().length; ++i)
                elements[k].push_back(local_get(*state[k], literal(Type::U32, i), everywhere));
            if (elements[k].empty())
                all.push_back(state[k]);
            for (const Value &e : elements[k])
                all.push_back(&e);
        }
        eval(std::span<const Value *const>(all));
        for (size_t k = 0; k < state.size(); ++k) {
            if (elements[k].empty())
                continue;
            *state[k] = local_array(elements[k][0], uint32_t(elements[k].size()));
            for (uint32_t i = 1; i < elements[k].size(); ++i)
                *state[k] = local_set(*state[k], literal(Type::U32, i), elements[k][i], everywhere);
        }
    };
    settle();
    while (any(active)) {
        std::vector<Value> before;
        for (Value *v : state)
            before.push_back(*v);
        Value inherited = active;
        if (!c.masks.empty())
            inherited = binary(Op::And, active, Value::share(c, c.masks.back()));
        c.masks.push_back(inherited.id());
        body();
        c.masks.pop_back();
        for (size_t k = 0; k < state.size(); ++k) {
            check_unchanged(name, "state variable", k + 1, before[k], *state[k]);
            if (!same(before[k], *state[k]))
                *state[k] = choose(active, *state[k], before[k]);
        }
        active = active & Mask(check_condition(name, c, condition()));
        settle();
    }
    unwind.keep();
}

} // namespace

void detail::loop(const char *name, const std::vector<Value *> &state, const Condition &condition,
                  const Body &body) {
    Context &c = state.empty() ? Context::current() : state[0]->context();
    check_state(name, c, state);
    if (c.tracker && c.tracker->following()) [[unlikely]]
        return c.tracker->loop(name, state, condition, body);
    plain_loop(name, state, condition, body);
}

void detail::plain_loop(const char *name, const std::vector<Value *> &state,
                        const Condition &condition, const Body &body) {
    Context &c = state.empty() ? Context::current() : state[0]->context();
    if (!c.has(Flag::RecordLoops) && c.region == 0)
        return evaluate_loop(c, name, state, condition, body);
    std::vector<uint8_t> fixed(state.size(), 0);
    while (!trace_loop(c, name, state, condition, body, fixed)) {
    }
}

// ---- conditionals

std::vector<Value> detail::if_(const char *name, const Value &condition, const Branch &then_branch,
                               const Branch &else_branch) {
    if (!condition.valid())
        fail("{}: the condition is an uninitialized value", name);
    Context &c = condition.context();
    check_condition(name, c, condition);
    if (condition.is_literal())
        return condition.literal_bits() ? then_branch() : else_branch();
    if (c.tracker && c.tracker->following()) [[unlikely]]
        return c.tracker->if_(name, condition, then_branch, else_branch);
    return plain_if(name, condition, then_branch, else_branch);
}

std::vector<Value> detail::plain_if(const char *name, const Value &condition,
                                    const Branch &then_branch, const Branch &else_branch) {
    Context &c = condition.context();

    // Evaluated: both branches under their masks
    if (!c.has(Flag::RecordIfs) && c.region == 0) {
        Unwind unwind(c);
        Mask m(condition);
        auto under = [&](const Mask &mask, const Branch &branch) {
            Mask inherited = mask;
            if (!c.masks.empty())
                inherited = mask & Mask(Value::share(c, c.masks.back()));
            c.masks.push_back(inherited.id());
            std::vector<Value> out = branch();
            c.masks.pop_back();
            return out;
        };
        std::vector<Value> a = under(m, then_branch), b = under(!m, else_branch);
        unwind.keep();
        if (a.size() != b.size())
            fail("{}: the branches give {} and {} values", name, a.size(), b.size());
        for (size_t k = 0; k < a.size(); ++k) {
            check_unchanged(name, "result", k + 1, a[k], b[k]);
            if (!same(a[k], b[k]))
                a[k] = choose(m, a[k], b[k]);
        }
        return a;
    }

    // Trace both
    Unwind unwind(c);
    auto record = std::make_unique<IfRecord>();
    uint64_t begin = c.graph.sequence();
    record->then_region = unwind.enter("conditional", false, false);
    std::vector<Value> a = then_branch();
    c.leave();
    record->else_region = unwind.enter("conditional", false, false, true);
    std::vector<Value> b = else_branch();
    c.leave();
    if (a.size() != b.size())
        fail("{}: the branches give {} and {} values", name, a.size(), b.size());
    uint32_t size = condition.size();
    for (size_t k = 0; k < a.size(); ++k) {
        check_unchanged(name, "result", k + 1, a[k], b[k]);
        size = broadcast(name, broadcast(name, size, a[k].size()), b[k].size());
    }
    Region &t = c.graph.region(record->then_region), &f = c.graph.region(record->else_region);
    record->effects = !t.effects.empty() || !f.effects.empty();

    // Cheap arithmetic costs less than the branch around it. What is asked for counts, constants included, not what is made:
    // the program must not depend on what else is alive. (Renderers' branches ask 1.7 to 1.9 times a node.)
    constexpr uint64_t CheapRequests = 44;
    bool floating = t.refs == 1 && f.refs == 1 && !record->effects;
    if (floating && c.has(Flag::FlattenIfs) && c.graph.sequence() - begin <= CheapRequests) {
        for (size_t k = 0; k < a.size(); ++k)
            a[k] = ternary(Op::Select, condition, a[k], b[k]);
        for (RegionId r : unwind.keep())
            c.graph.discard_region(r);
        return a;
    }

    // The node
    size = effects_size(c, name, record->then_region, size);
    size = effects_size(c, name, record->else_region, size);
    std::vector<size_t> merged; // results that differ
    for (size_t k = 0; k < a.size(); ++k) {
        if (a[k].id() == b[k].id())
            continue;
        merged.push_back(k);
        record->then_out.push_back(a[k].id());
        record->else_out.push_back(b[k].id());
        record->nodes.push_back(a[k].id());
        record->nodes.push_back(b[k].id());
    }
    for (NodeId id : record->nodes)
        c.graph.retain(id);
    record->regions = unwind.keep();
    IfRecord &r = *record;
    Value node =
        Value::adopt(c, c.graph.make_pinned({ .op = Op::If,
                                              .type = Type::Void,
                                              .size = size,
                                              .imm = reinterpret_cast<uint64_t>(record.release()),
                                              .dep = { condition.id(), 0, 0, 0 } },
                                            c.region));
    c.graph.region(r.then_region).owner = c.graph.region(r.else_region).owner = node.id();
    if (r.effects) {
        c.graph.retain(node.id());
        c.add_effect(node.id());
    }
    for (size_t j = 0; j < merged.size(); ++j) {
        Value &v = a[merged[j]];
        v = Value::adopt(c, c.graph.make({ .op = Op::IfOut,
                                           .type = v.type(),
                                           .size = size,
                                           .imm = j,
                                           .length = v.node().length,
                                           .dep = { node.id(), 0, 0, 0 } }));
    }
    return a;
}

} // namespace umbel::jit
