// jit/record.h: what recorded control flow holds besides operands.
//
// Each id that a record names is also in `Record::nodes`, which owns the references.
#pragma once
#include "jit/graph.h"
#include "jit/program.h"
#include <array>
#include <memory>

namespace umbel::jit {

struct LoopRecord : Record {
    RegionId head = 0, body = 0; // the condition is computed in head; body lies in it
    std::vector<NodeId> init, phi, next;
    std::vector<uint8_t>
        invariant; // state that the body leaves alone: its Phi is its initial value
    NodeId condition = 0;
    bool effects = false;
    uint32_t epoch = 0; // of the last assembly that met the loop, for `live`
    std::vector<uint8_t> live;
};

struct IfRecord : Record {
    RegionId then_region = 0, else_region = 0;
    std::vector<NodeId> then_out, else_out;
    bool effects = false;
    uint32_t epoch = 0;
    std::vector<uint8_t> live;
};

/// Subroutines and the instances that use them. Params 0 .. args-1 stand for `args`; other values of the
/// caller that a body uses are its `captures`, passed behind them.
struct CallRecord : Record {
    struct Body {
        std::vector<NodeId> outputs, effects;
        std::vector<NodeId> leaves; // evaluated values that it reads, in canonical order
        std::vector<NodeId>
            uniforms; // what it computes from them alone: any of it may be evaluated later
    };
    struct Instance {
        uint32_t body = ~0u; // none: calls nothing
        uint32_t first =
            0; // in `data`: what takes the place of the body's leaves, then of its uniforms
    };
    RegionId region = 0;
    std::vector<Body> bodies;
    std::vector<Instance> instances; // by id - 1
    std::vector<uint64_t> values;    // bits of those data that need no node
    std::vector<NodeId> args, captures;
    std::vector<Type> out_types;
    bool effects = false;
    std::array<uint64_t, 2> signature{}; // equal for calls of the same code with the same data
    uint32_t epoch = 0;
    std::vector<uint8_t> live_out, live_param; // params: args, then captures

    /// Item k of an instance's data as a node, which the record owns.
    NodeId leaf(Graph &g, const Instance &instance, size_t k) {
        NodeId &id = data[instance.first + k];
        if (id & IsValue)
            id = g.fixed(g[bodies[instance.body].leaves[k]].type, values[id & ~IsValue]);
        return id;
    }
};

class HostEffect; // jit/host_call.h

struct ExternRecord : Record {
    ExternSite::Kind kind = ExternSite::Function;
    std::string text;
    NodeId fn = 0, user = 0, mask = 0; // fn, user: Address nodes
    std::vector<NodeId> inputs;
    std::vector<Type> out_types;
    std::shared_ptr<HostEffect> effect; // that ends by adding to the arrays `targets`
    std::vector<NodeId> targets;
};

} // namespace umbel::jit
