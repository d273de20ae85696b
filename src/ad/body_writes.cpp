// ad/body_writes.cpp: derivatives of what recorded bodies add to arrays outside of them.
//
// The array after the construct is one of the construct's outputs on the tape. Backward, its gradient is
// read where the body wrote, and is the gradient of the value written; the array before it keeps its
// own. Forward, the tangents of values are added where the values were.
#include "ad/control.h"
#include <algorithm>

namespace umbel::ad {

using namespace jit;

// Effects are gone from the construct once they have run: their operands are noted now.
void RecordedOp::find_writes(const std::vector<Collector::Written> &written) {
    Graph &g = c.graph;
    if (written.empty())
        return;
    Record *record = g.record_of(construct.id());
    Write place{};
    if (g[construct.id()].op == Op::Call) {
        auto &bodies = static_cast<CallRecord *>(record)->bodies;
        for (place.body = 0; place.body < bodies.size(); ++place.body)
            find_writes_in(bodies[place.body].effects, written, place);
        return;
    }
    for (RegionId r : record->regions) {
        place.region = r;
        find_writes_in(g.region(r).effects, written, place);
    }
}

void RecordedOp::find_writes_in(const std::vector<NodeId> &effects,
                                const std::vector<Collector::Written> &written, Write place) {
    Graph &g = c.graph;
    for (NodeId e : effects) {
        const Node n = g[e];
        if (n.op == Op::If) {
            auto &r = static_cast<IfRecord &>(*g.record_of(e));
            for (bool positive : { true, false }) {
                RegionId region = positive ? r.then_region : r.else_region;
                Write inside = place;
                inside.guards.push_back({ region, Value::share(c, n.dep[0]), positive });
                find_writes_in(g.region(region).effects, written, inside);
            }
        }
        if (n.op != Op::Scatter || ReduceOp(n.imm) != ReduceOp::Add)
            continue;
        for (const Collector::Written &w : written) {
            if (w.buffer != g[n.dep[0]].dep[0])
                continue;
            Write found = place;
            found.target =
                size_t(std::find(m_written.begin(), m_written.end(), w.node) - m_written.begin());
            found.index = Value::share(c, n.dep[1]);
            found.value = Value::share(c, n.dep[2]);
            found.mask = Value::share(c, n.dep[3]);
            m_writes.push_back(std::move(found));
            break;
        }
    }
}

// Conditionals around it inside the body are taken apart: their lanes become part of masks.
RecordedOp::Rewrite RecordedOp::replay_write(Replay &replay, const Write &w) {
    Value lanes = literal(Type::Bool, 1);
    for (const Write::Guard &guard : w.guards) {
        Value taken = replay.get(guard.condition.id());
        if (!guard.positive)
            taken = unary(Op::Not, taken);
        lanes = binary(Op::And, lanes, taken);
        if (NodeId active = c.graph.find(
                { .op = Op::Active, .type = Type::Bool, .imm = uint64_t(guard.region) << 32 }))
            replay.set(active, lanes);
    }
    return { w.target, replay.get(w.value.id()), replay.get(w.index.id()).detached(),
             replay.get(w.mask.id()) };
}

void RecordedOp::read_targets() {
    m_targets.assign(m_written.size(), Value());
    for (size_t t = 0; t < m_written.size(); ++t)
        if (outputs[m_outs.size() + t])
            m_targets[t] = opaque(grad_out(m_outs.size() + t));
}

void RecordedOp::open_targets() {
    m_targets.assign(m_written.size(), Value());
    for (size_t t = 0; t < m_written.size(); ++t)
        if (GradId id = outputs[m_outs.size() + t]) // else nobody asks for it any more
            m_targets[t] = full(tape.node(id).type, 0, tape.node(id).size);
}

void RecordedOp::close_targets() {
    for (size_t t = 0; t < m_written.size(); ++t)
        if (m_targets[t].valid())
            set_grad_out(m_outs.size() + t, m_targets[t]);
    m_targets.clear();
}

void RecordedOp::seed(const std::vector<Rewrite> &writes, std::vector<Value> &written,
                      std::vector<Value> &gradients) {
    for (const Rewrite &w : writes)
        if (m_targets[w.target].valid() && w.value.grad_id()) {
            written.push_back(w.value);
            gradients.push_back(gather(m_targets[w.target], w.index, w.mask));
        }
}

void RecordedOp::scatter_tangents(const std::vector<Rewrite> &writes) {
    for (const Rewrite &w : writes)
        if (w.value.grad_id() && m_targets[w.target].valid())
            scatter(m_targets[w.target], grad_or_zero(w.value), w.index, w.mask, ReduceOp::Add);
}

} // namespace umbel::ad
