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

// ---- in bodies

AppliedOp::AppliedOp(AppliedOps &all, std::shared_ptr<RepeatableOp> op, std::vector<Value> inputs,
                     std::vector<Value> outputs)
    : op(std::move(op)), inputs(std::move(inputs)), outputs(std::move(outputs)), m_all(all) {
    for (const Value &v : this->outputs)
        if (is_float(v.type()))
            m_all.m_by_result[v.id()] = this;
}

AppliedOp::~AppliedOp() {
    for (const Value &v : outputs)
        if (is_float(v.type()))
            m_all.m_by_result.erase(v.id());
}

// The value as a node that nothing else is, and that lies in the body as deeply as `input` does: what a replay must compute
// again, it must not find outside.
static Value own_node(const Value &v, const Value &input) {
    Context &c = v.context();
    if (v.node().length)
        fail("a custom operation inside a recorded body returns a local array");
    auto make = [&](const NodeKey &key) { return Value::adopt(c, c.graph.make(key)); };
    auto depth = [&](const Value &x) { return c.graph.region(x.node().region).depth; };
    Value inside = v;
    uint32_t size = std::max(v.size(), input.size());
    if (depth(v) < depth(input)) { // the rules would see through this
        Value mask = make({ .op = Op::Eq,
                            .type = Type::Bool,
                            .size = input.size(),
                            .dep = { input.id(), input.id(), 0, 0 } });
        inside = make({ .op = Op::Select,
                        .type = v.type(),
                        .size = size,
                        .dep = { mask.id(), v.id(), v.id(), 0 } });
    }
    Type bits = v.type() == Type::F64 ? Type::U64 : v.type() == Type::F32 ? Type::U32 : Type::U16;
    Value b = make({ .op = Op::Bitcast,
                     .type = bits,
                     .size = inside.size(),
                     .dep = { inside.id(), 0, 0, 0 } });
    return make({ .op = Op::Bitcast,
                  .type = v.type(),
                  .size = inside.size(),
                  .imm = c.graph.sequence(),
                  .dep = { b.id(), 0, 0, 0 } });
}

static std::vector<Value> apply_in_body(AdTracker &tracker, const std::shared_ptr<CustomOp> &op,
                                        std::vector<Value> inputs, std::vector<Value> out,
                                        const std::vector<GradId> &followed) {
    auto repeatable = std::dynamic_pointer_cast<RepeatableOp>(op);
    if (!repeatable)
        fail("{}: a custom operation inside a recorded body, which would have to apply it again "
             "for its derivative; make it a RepeatableOp",
             op->name());
    if (followed.size() != inputs.size())
        fail("{}: a custom operation inside a recorded body reads, or writes to, values that carry "
             "gradients besides its arguments; make them arguments and results",
             op->name());
    const Graph &g = inputs[0].context().graph;
    const Value *deepest = nullptr;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (followed[i] && (!deepest || g.region(inputs[i].node().region).depth >
                                            g.region(deepest->node().region).depth))
            deepest = &inputs[i];
    for (Value &v : out)
        if (is_float(v.type()))
            v = own_node(v, *deepest);
    Collector &body = *tracker.collectors.back();
    body.applied.push_back(std::make_shared<AppliedOp>(tracker.applied, std::move(repeatable),
                                                       std::move(inputs), out));
    for (Value &v : out)
        if (is_float(v.type()))
            v = tracker.marked(v);
    return out;
}

// A literal has one element; as a result, its derivative is another for each lane of the inputs.
static void spread_literals(std::vector<Value> &out, std::span<const Value> inputs) {
    uint32_t lanes = 1;
    for (const Value &v : inputs)
        lanes = std::max(lanes, v.size());
    for (Value &v : out)
        if (v.is_literal() && v.size() == 1 && lanes > 1)
            v = literal(v.type(), v.literal_bits(), lanes);
}

// ---- on the tape

std::vector<Value> custom(std::shared_ptr<CustomOp> op, std::span<const Value> inputs) {
    Context &c = inputs.empty() ? Context::current() : inputs[0].context();
    AdTracker &tracker = AdTracker::of(c);
    Tape &t = tracker.tape;
    op->m_tape = &t;
    std::vector<Value> plain;
    for (const Value &v : inputs) {
        plain.push_back(tracker.primal(v));
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
    if (tracker.tracing_body()) {
        std::vector<GradId> ids = op->inputs;
        ids.insert(ids.end(), op->m_written.begin(), op->m_written.end());
        return apply_in_body(tracker, op, std::move(plain), std::move(out), ids);
    }
    if (c.region == 0)
        spread_literals(out, inputs);
    for (size_t k = 0; k < out.size(); ++k)
        op->m_out[k].size = out[k].size();
    op->scope = std::make_shared<ScopeState>(t.scopes().back());
    op->scope->isolate = false;
    GradId hub = t.make_hub(op);
    for (GradId id : op->inputs)
        if (id)
            t.connect(id, hub);
    for (size_t k = 0; k < out.size(); ++k) {
        if (!is_float(out[k].type()))
            continue;
        GradId id =
            t.make_node(out[k].type(), out[k].size(), c.region != 0, std::string(op->name()));
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
