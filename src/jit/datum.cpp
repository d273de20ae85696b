// jit/datum.cpp: nodes of numbers of the host.
#include "jit/datum.h"

namespace umbel::jit {

Value datum(Type type, uint64_t bits, DatumNode &last) {
    Context &c = Context::current();
    Graph &g = c.graph;
    if (last.node && last.node < g.numbers()) {
        const Node &n = g[last.node];
        // In a context that is another one, the worst is a number that two have in common
        if (n.refs && g.is_fixed(last.node) && uint32_t(n.seq) == last.seq && n.type == type &&
            n.imm == bits)
            return Value::share(c, last.node);
    }
    Value v = Value::adopt(c, g.fixed(type, bits));
    last = { v.id(), uint32_t(v.node().seq) };
    return v;
}

} // namespace umbel::jit
