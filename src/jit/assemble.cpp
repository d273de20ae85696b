// jit/assemble.cpp: whole kernels: liveness, code placement and emission, in this order.
//
//   1. live     from the roots, through loops, branches and calls: which state, outputs and inputs matter
//   2. order    each function's live nodes, operands first, in an order that follows from the program's
//               structure alone: tracing the same program again gives the same text
//   3. place    each floating node in a region: out of loops, into branches
//   4. emit     instructions region by region
//
// All walks use explicit stacks: programs may be a million operations deep.
#include "jit/assemble_function.h"
#include "jit/assemble_liveness.h"

namespace umbel::jit {

using namespace assembling;

// What all instances of a body have in the place of a leaf, by body.
static std::vector<std::unordered_set<NodeId>> common_data(const CallRecord &call) {
    std::vector<std::vector<uint8_t>> differs;
    for (auto &body : call.bodies)
        differs.emplace_back(body.leaves.size(), 0);
    for (auto &instance : call.instances)
        if (instance.body != ~0u)
            for (size_t k = 0; k < differs[instance.body].size(); ++k)
                differs[instance.body][k] |=
                    call.data[instance.first + k] != call.bodies[instance.body].leaves[k];
    std::vector<std::unordered_set<NodeId>> out(call.bodies.size());
    for (size_t b = 0; b < out.size(); ++b)
        for (size_t k = 0; k < differs[b].size(); ++k)
            if (!differs[b][k])
                out[b].insert(call.bodies[b].leaves[k]);
    return out;
}

Assembly assemble(Context &c, const std::vector<NodeId> &outputs,
                  const std::vector<NodeId> &effects, uint32_t size) {
    Assembly out;
    out.program.is_fast = c.has(Flag::FastMath);
    Graph &g = c.graph;

    // Liveness of everything, subroutines included
    c.begin_walk();
    Liveness live(c);
    for (NodeId e : effects)
        live.root(e, 0);
    for (NodeId o : outputs)
        live.root(o, 0);
    live.run();

    // The kernel
    std::vector<std::pair<CallRecord *, uint32_t>> pending;
    out.program.functions.resize(1);
    c.begin_walk();
    {
        FunctionEmitter entry(c, out, 0, nullptr, size, false);
        out.program.functions[0] = entry.run({ effects, outputs });
        pending = std::move(entry.calls);
    }

    // Its subroutines, and theirs
    std::unordered_map<std::string, uint32_t> known;
    for (size_t i = 0; i < pending.size(); ++i) {
        auto [record, number] = pending[i];
        if (out.layouts.size() <= number)
            out.layouts.resize(number + 1);
        CallLayout layout{ record, {}, {}, {} };
        std::vector<std::unordered_set<NodeId>> common = common_data(*record);
        for (auto &body : record->bodies) {
            FunctionRoots roots;
            roots.effects = body.effects;
            for (size_t k = 0; k < record->out_types.size(); ++k)
                if (record->live_out[k])
                    roots.outputs.push_back(body.outputs[k]);
            c.begin_walk();
            FunctionEmitter emitter(c, out, record->region, record, size, false);
            emitter.common = std::move(common[size_t(&body - record->bodies.data())]);
            Function fn = emitter.run(roots);
            for (size_t k = 0; k < record->live_param.size(); ++k)
                if (record->live_param[k])
                    fn.params.push_back(
                        g[k < record->args.size() ? record->args[k]
                                                  : record->captures[k - record->args.size()]]
                            .type);

            // Identical subroutines become one
            std::string key(reinterpret_cast<const char *>(fn.insts.data()),
                            fn.insts.size() * sizeof(Inst));
            key.append(reinterpret_cast<const char *>(fn.outputs.data()), fn.outputs.size() * 4);
            key.append(reinterpret_cast<const char *>(fn.params.data()), fn.params.size());
            uint32_t index = uint32_t(out.program.functions.size());
            bool merge = c.has(Flag::MergeFunctions) && emitter.calls.empty();
            auto it = merge ? known.find(key) : known.end();
            if (it != known.end()) {
                index = it->second;
            } else {
                out.program.functions.push_back(std::move(fn));
                if (merge)
                    known.emplace(std::move(key), index);
                pending.insert(pending.end(), emitter.calls.begin(), emitter.calls.end());
            }
            auto &callees = out.program.calls[number].callees;
            auto pos = std::find(callees.begin(), callees.end(), index);
            layout.callee.push_back(uint32_t(pos - callees.begin()));
            if (pos == callees.end())
                callees.push_back(index);

            // Its data, by number of the leaf in the canonical order
            for (DataField &f : emitter.fields) {
                NodeId id = emitter.leaves[f.leaf];
                auto leaf = std::find(body.leaves.begin(), body.leaves.end(), id);
                f.leaf = uint32_t(leaf - body.leaves.begin());
                if (leaf != body.leaves.end())
                    continue;
                // Evaluated since the call was traced: so must be what other instances have in its place
                auto uniform = std::find(body.uniforms.begin(), body.uniforms.end(), id);
                check(uniform != body.uniforms.end());
                size_t k = size_t(uniform - body.uniforms.begin());
                f.leaf += uint32_t(k);
                for (auto &instance : record->instances) {
                    if (instance.body != layout.fields.size())
                        continue;
                    NodeId id = record->data[instance.first + body.leaves.size() + k];
                    if (g[id].op != Op::Buffer)
                        out.unready.push_back(id);
                }
            }
            layout.fields.push_back(std::move(emitter.fields));
            layout.data_bytes.push_back(out.program.functions[index].data_bytes);
        }
        out.layouts[number] = std::move(layout);
    }
    return out;
}

CanonicalBody canonicalize(Context &c, const CallRecord &call, const CallRecord::Body &body) {
    c.begin_walk();
    Liveness live(c);
    live.whole_body(call, body);
    live.run();
    c.begin_walk();
    Assembly scrap;
    FunctionEmitter emitter(c, scrap, call.region, &call, 0, true);
    Function fn = emitter.run({ body.effects, body.outputs });
    CanonicalBody result;
    result.leaves = std::move(emitter.leaves);
    result.uniforms = std::move(emitter.uniforms);
    result.captures = std::move(emitter.captures);
    auto append = [&](const void *p, size_t n) {
        result.bytes.append(static_cast<const char *>(p), n);
    };
    append(fn.insts.data(), fn.insts.size() * sizeof(Inst));
    append(fn.outputs.data(), fn.outputs.size() * 4);
    for (auto &site : scrap.program.calls)
        append(site.args.data(), site.args.size() * 4);
    for (auto &[record, number] : emitter.calls)
        append(record->signature.data(), sizeof(record->signature));
    for (auto &site : scrap.program.externs) {
        append(site.text.data(), site.text.size());
        append(&site.kind, 1);
        append(&site.fn, 12);
        append(site.inputs.data(), site.inputs.size() * 4);
    }
    return result;
}

} // namespace umbel::jit
