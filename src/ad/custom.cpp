// ad/custom.cpp: custom operations on the tape.
#include "ad/custom.h"
#include "ad/ad.h"
#include "ad/tracker.h"

namespace umbel::ad {

using namespace jit;

size_t CustomOp::add_input(const Value &v) {
    m_implicit.push_back(v);
    return m_in.size() + m_implicit.size() - 1;
}

static Value gradient(Tape &t, GradId id, Type type, uint32_t size) {
    Value g = id ? t.node(id).grad : Value();
    if (!g.valid())
        return literal(type, 0, size);
    if (g.node().flags & Dirty && t.context().region == 0) // replayed bodies read it as it is
        t.context().settle(g.id(), "gradient");
    return g.size() == size ? g : binary(Op::Add, g, literal(type, 0, size));
}

Value CustomOp::grad_in(size_t i) const {
    return gradient(*m_tape, inputs[i], m_in[i].type, m_in[i].size);
}
Value CustomOp::grad_out(size_t k) const {
    return gradient(*m_tape, outputs[k], m_out[k].type, m_out[k].size);
}
void CustomOp::set_grad_out(size_t k, const Value &g) {
    if (outputs[k])
        m_tape->accumulate(outputs[k], g.detached());
}
void CustomOp::set_grad_in(size_t i, const Value &g) {
    if (inputs[i])
        m_tape->accumulate(inputs[i], g.detached());
}

std::vector<Value> custom(std::shared_ptr<CustomOp> op, std::span<const Value> inputs) {
    Context &c = inputs.empty() ? Context::current() : inputs[0].context();
    AdTracker &tracker = AdTracker::of(c);
    Tape &t = tracker.tape;
    op->m_tape = &t;
    std::vector<Value> plain;
    for (const Value &v : inputs) {
        plain.push_back(t.follows(v.grad_id()) ? v.detached() : tracker.primal(v));
        op->m_in.push_back({ v.type(), v.size() });
    }
    std::vector<Value> out;
    {
        SuspendGrad scope;
        out = op->eval(plain);
    }
    std::vector<Value> all(inputs.begin(), inputs.end());
    for (const Value &v : op->m_implicit) {
        all.push_back(v);
        op->m_in.push_back({ v.type(), v.size() });
    }
    op->m_implicit.clear();
    bool followed = false;
    for (const Value &v : all) {
        bool f = t.follows(v.grad_id());
        op->inputs.push_back(f ? v.grad_id() : 0);
        followed = followed || f;
    }
    for (Value &v : out) {
        v = v.detached();
        op->m_out.push_back({ v.type(), v.size() });
    }
    op->outputs.assign(out.size(), 0);
    if (!followed)
        return out;
    if (!tracker.collectors.empty())
        fail("{}: a custom operation inside a recorded body; give the body an adjoint of its own",
             op->name());
    op->scope = std::make_shared<ScopeState>(t.scopes().back());
    op->scope->isolate = false;
    GradId hub = t.make_hub(op);
    for (GradId id : op->inputs)
        if (id)
            t.connect(id, hub);
    for (size_t k = 0; k < out.size(); ++k) {
        if (!is_float(out[k].type()))
            continue;
        GradId id = t.make_node(out[k].type(), out[k].size(), c.region != 0, op->name());
        op->outputs[k] = id;
        t.connect(hub, id);
        out[k] = Value::attach(std::move(out[k]), id);
    }
    for (GradId id : op->m_written) {
        op->outputs.push_back(id);
        op->m_out.push_back({ t.node(id).type, t.node(id).size });
        t.connect(hub, id);
        t.move_to_end(id);
    }
    t.release(hub);
    return out;
}

} // namespace umbel::ad
