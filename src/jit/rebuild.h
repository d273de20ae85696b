// jit/rebuild.h: arithmetic that was recorded in a body, recorded again outside of it.
#pragma once
#include "jit/context.h"
#include "jit/value.h"
#include <functional>
#include <utility>

namespace umbel::jit {

/// The arithmetic behind `root`, recorded where the caller is now. `leaf` tells what takes the place of a
/// node, or gives an invalid value to go on with its operands. Invalid where it is more than arithmetic.
Value rebuild(Context &c, NodeId root, const std::function<Value(NodeId)> &leaf);

/// While in scope, arithmetic does not count as that of the body being traced, but as that of the function
/// (by its region) named here: of the kernel itself as a rule.
class OutsideScope {
public:
    explicit OutsideScope(Context &c, RegionId function = 0)
        : m_graph(c.graph), m_before(std::exchange(c.graph.function, function)) {}
    ~OutsideScope() { m_graph.function = m_before; }
    OutsideScope(const OutsideScope &) = delete;

private:
    Graph &m_graph;
    RegionId m_before;
};

/// What bodies compute lies in them, but memory exists outside: a whole array that a body made of arrays
/// from outside, as the kernel itself has it. Other values, and values of loops, as they are.
Value outside(const Value &v);

} // namespace umbel::jit
