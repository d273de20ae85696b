// ad/replay.h: runs recorded nodes again with other values in the place of some of them.
//
// Derivatives of loops, branches and calls need their bodies a second time. The bodies that a user wrote
// may be gone by then (with all that they refer to); what they recorded is not.
#pragma once
#include "jit/control.h"
#include "jit/record.h"
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>
#include <unordered_map>

namespace umbel::ad {

/// What nodes outside of all regions stood for when a construct was traced that replays may need. Such a
/// node turns into data when somebody evaluates it, and no longer tells what it was computed from.
class Originals {
public:
    /// Remembers the operation until `forget`; holds its operands.
    void remember(jit::Context &c, jit::NodeId id);
    void forget(jit::NodeId id);
    const jit::Node *find(jit::NodeId id) const {
        auto it = m_nodes.find(id);
        return it == m_nodes.end() ? nullptr : &it->second.node;
    }

private:
    struct Entry {
        jit::Node node;
        uint32_t users = 0;
        std::array<jit::Value, 5> held; // the node and its operands
    };
    std::unordered_map<jit::NodeId, Entry> m_nodes;
};

class Replay {
public:
    /// Nodes of `region` (and of regions in it) are computed anew, and so are those that depend on a
    /// node that was set; all others are used as they are.
    Replay(jit::Context &c, jit::RegionId region, Replay *outer = nullptr)
        : c(c), g(c.graph), m_region(region), m_outer(outer) {}

    void set(jit::NodeId id, jit::Value v) {
        m_values[id] = std::move(v);
        m_set.insert(id);
    }
    /// Used as it is, whatever it depends on.
    void keep(jit::NodeId id) {
        m_values[id] = jit::Value::share(c, id);
        m_depends[id] = false;
    }
    /// Takes the place of the array `id` where it is gathered from.
    void set_memory(jit::NodeId id, jit::Value v) {
        m_memory[id] = std::move(v);
        m_set.insert(id);
    }
    /// Arguments of the subroutine whose region this is.
    void set_params(std::vector<jit::Value> params) { m_params = std::move(params); }
    void set_leaf(jit::NodeId leaf, jit::NodeId stand_in) {
        m_leaves[leaf] = stand_in;
        m_set.insert(leaf);
    }
    /// What is set from here on is data of the instance whose body this is. Calls inside of the body find
    /// their own instances' data as the outer replay has them: the same node may be a member of both.
    void begin_leaves() { m_bound = true; }

    jit::Value get(jit::NodeId id);

    /// Whether the node depends on one that was set.
    bool depends(jit::NodeId id);

private:
    /// The node as it was recorded.
    const jit::Node &node(jit::NodeId id) const;
    bool known(jit::NodeId id) const;
    bool own(jit::NodeId id) const { return m_region && g.encloses(m_region, g[id].region); }
    jit::Value compute(jit::NodeId id);
    void apply(const class AppliedOp &op);
    jit::Value source(jit::NodeId address);
    // Past the data of instances whose bodies these are
    jit::Value direct(jit::NodeId id);
    jit::Value direct_source(jit::NodeId address);
    const std::vector<jit::Value> &outputs_of(jit::NodeId id);
    std::vector<jit::Value> run_loop(jit::NodeId id);
    std::vector<jit::Value> run_if(jit::NodeId id);
    std::vector<jit::Value> run_call(jit::NodeId id);
    std::vector<jit::Value> run_extern(jit::NodeId id);
    void collect(jit::RegionId region, const std::vector<jit::NodeId> &roots,
                 std::vector<jit::NodeId> &out) const;
    std::vector<jit::NodeId> inputs_of(jit::NodeId construct) const;

    jit::Context &c;
    jit::Graph &g;
    jit::RegionId m_region;
    Replay *m_outer;
    tsl::robin_map<jit::NodeId, jit::Value> m_values, m_memory;
    tsl::robin_set<jit::NodeId> m_set;
    bool m_bound = false;
    tsl::robin_map<jit::NodeId, jit::NodeId> m_leaves;
    std::unordered_map<jit::NodeId, std::vector<jit::Value>>
        m_outputs; // of loops, calls, packets ...
    tsl::robin_map<jit::NodeId, bool> m_depends;
    std::vector<jit::Value> m_params;
};

/// Arithmetic on data of the traced instance that was evaluated before anybody remembered what it was: each
/// instance has its own result.
template <class Fn>
void for_settled_uniforms(jit::Context &c, const Originals &originals, const jit::CallRecord &call,
                          const jit::CallRecord::Instance &instance, Fn &&fn) {
    const jit::CallRecord::Body &body = call.bodies[instance.body];
    for (size_t j = 0; j < body.uniforms.size(); ++j)
        if (c.graph[body.uniforms[j]].op == jit::Op::Buffer && !originals.find(body.uniforms[j]))
            fn(body.uniforms[j], call.data[instance.first + body.leaves.size() + j]);
}

/// Ids that must be known before `id` is: operands, what its record names, inputs of the custom operation that it is a
/// result of.
void operands_of(jit::Context &c, jit::NodeId id, const jit::Node &n,
                 std::vector<jit::NodeId> &out);

} // namespace umbel::ad
