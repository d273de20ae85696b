// jit/assemble.h: from recorded nodes to the program of a kernel.
#pragma once
#include "jit/context.h"
#include "jit/record.h"
#include <map>

namespace umbel::jit {

/// What an argument of the kernel is bound to at launch.
struct Binding {
    NodeId node = 0;            // Input, Scalar: the Buffer; Pointer: the Buffer behind an Address
    CallRecord *call = nullptr; // CallTable, CallData
    uint32_t output = ~0u;      // Output: number of the root
};

/// How an instance's record is filled: field at `offset` from leaf number `leaf`, uniforms behind the
/// leaves.
struct DataField {
    uint32_t offset, leaf;
    Type type; // Ptr: the address of the leaf's buffer; else its one element
};

struct CallLayout { // parallel to Program::calls
    CallRecord *record;
    std::vector<uint32_t> callee; // by body: index into CallSite::callees, ~0u: unused
    std::vector<std::vector<DataField>> fields; // by body
    std::vector<uint32_t> data_bytes;           // by body
};

struct Assembly {
    Program program;
    std::vector<Binding> bindings; // by argument
    std::map<std::pair<ArgKind, NodeId>, uint32_t>
        shared; // arguments by the Buffer that they are bound to
    std::vector<CallLayout> layouts;
    std::vector<NodeId> unready; // to be evaluated first, then assembled again
};

/// A kernel that computes `outputs` and carries out `effects`, all of one size.
Assembly assemble(Context &c, const std::vector<NodeId> &outputs,
                  const std::vector<NodeId> &effects, uint32_t size);

/// The canonical form of one traced body of a call: equal for bodies that differ in data alone.
struct CanonicalBody {
    std::string bytes;
    std::vector<NodeId> leaves, uniforms, captures;
};
CanonicalBody canonicalize(Context &c, const CallRecord &call, const CallRecord::Body &body);

} // namespace umbel::jit
