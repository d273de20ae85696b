// jit/assemble_emit.cpp: from placed nodes to instructions, region by region.
#include "jit/assemble_function.h"

namespace umbel::jit::assembling {

uint32_t FunctionEmitter::argument(ArgKind kind, Type type, Binding binding, bool small) {
    out.program.args.push_back({ kind, type, uint8_t(small) });
    out.bindings.push_back(binding);
    return uint32_t(out.bindings.size() - 1);
}

// Its address or its one element; functions of a kernel share arguments.
uint32_t FunctionEmitter::argument_of(ArgKind kind, NodeId buffer) {
    auto [it, fresh] = out.shared.emplace(std::pair(kind, buffer), uint32_t(out.bindings.size()));
    if (fresh)
        argument(kind, g[buffer].type, { .node = buffer },
                 kind != ArgKind::Pointer || g[buffer].size < (1u << 31));
    return it->second;
}

uint32_t FunctionEmitter::data_leaf(NodeId id) {
    Type type = g[id].op == Op::Address ? Type::Ptr : g[id].type;
    uint32_t align = uint32_t(bytes(type));
    fn.data_bytes = (fn.data_bytes + align - 1) / align * align;
    uint32_t offset = fn.data_bytes;
    fn.data_bytes += align;
    fields.push_back({ offset, uint32_t(leaves.size()), type });
    leaves.push_back(id);
    return push({ .op = Op::Data, .type = type, .imm = offset });
}

uint32_t FunctionEmitter::capture(NodeId id) {
    uint32_t k = 0;
    if (canonical) {
        k = uint32_t(std::find(captures.begin(), captures.end(), id) - captures.begin());
        if (k == captures.size())
            captures.push_back(id);
        k += 1u << 16; // apart from the arguments; the bytes name the captured node below
        return push({ .op = Op::Param,
                      .type = g[id].type,
                      .length = g[id].length,
                      .imm = uint64_t(id) << 32 | k });
    }
    uint32_t number = 0; // live parameters are numbered without gaps
    for (size_t i = 0; i < call->captures.size() + call->args.size(); ++i) {
        if (i >= call->args.size() && call->captures[i - call->args.size()] == id)
            return push(
                { .op = Op::Param, .type = g[id].type, .length = g[id].length, .imm = number });
        number += call->live_param[i];
    }
    throw InternalError("a captured value is missing from its call");
}

void FunctionEmitter::emit_region(RegionId region) {
    auto it = m_lists.find(region);
    if (it != m_lists.end())
        for (NodeId id : it->second)
            emit(id);
}

void FunctionEmitter::emit(NodeId id) {
    const Node n = g[id];
    uint32_t v = NoValue;
    Inst inst{ .op = n.op, .type = n.type, .length = n.length };
    switch (role(id)) {
    case Role::Data: c.scratch[id].value = data_leaf(id); return;
    case Role::Capture:
        if (n.size == 1 && n.region == 0) // may be evaluated later too, and is data then
            uniforms.push_back(id);
        c.scratch[id].value = capture(id);
        return;
    case Role::Local: break;
    }
    if (function && n.op != Op::Literal && g.region(n.region).function != function)
        uniforms.push_back(id);
    switch (n.op) {
    case Op::Literal:
        inst.imm = n.imm;
        inst.uniform = function == 0;
        v = push(inst);
        break;
    case Op::Buffer:
        if (n.size == 1)
            v = push({ .op = Op::LoadScalar,
                       .type = n.type,
                       .uniform = function == 0,
                       .imm = argument_of(ArgKind::Scalar, id) });
        else
            v = push({ .op = Op::LoadLane,
                       .type = n.type,
                       .imm = argument(ArgKind::Input, n.type, { .node = id }) });
        break;
    case Op::Address:
        v = push({ .op = Op::ArgPtr,
                   .type = Type::Ptr,
                   .uniform = function == 0,
                   .imm = argument_of(ArgKind::Pointer, n.dep[0]) });
        break;
    case Op::Phi: return; // with its loop
    case Op::Param: {
        uint32_t k = uint32_t(n.imm), number = k;
        if (!canonical) {
            number = 0;
            for (uint32_t i = 0; i < k; ++i)
                number += call->live_param[i];
        }
        inst.imm = number;
        v = push(inst);
        break;
    }
    case Op::Active: v = push(inst); break;
    case Op::Lane: v = push(inst); break;
    case Op::Loop: emit_loop(id); return;
    case Op::If: emit_if(id); return;
    case Op::Call: emit_call(id); return;
    case Op::Extern: emit_extern(id); return;
    case Op::LoopOut: {
        auto &loop = static_cast<LoopRecord &>(*g.record_of(n.dep[0]));
        v = value(loop.phi[n.imm]);
        break;
    }
    case Op::IfOut: return; // with its conditional
    case Op::CallOut: {
        auto &record = static_cast<CallRecord &>(*g.record_of(n.dep[0]));
        inst.arg[0] = value(n.dep[0]);
        for (uint64_t k = 0; k < n.imm; ++k)
            inst.imm += record.live_out[k];
        v = push(inst);
        break;
    }
    default: {
        bool uniform = function == 0 && is_elementwise(n.op) && c.scratch[id].late == 0;
        for (int i = 0; i < 4; ++i) {
            if (!n.dep[i] || (n.op == Op::ArrayNew && i > 0))
                continue;
            inst.arg[i] = value(n.dep[i]);
            uniform = uniform && fn.insts[inst.arg[i]].uniform;
        }
        // Moved into a branch or a loop's body, a gather loses the lanes outside, which may have no
        // address there, and so does a write, which may happen in place.
        int mask = n.op == Op::Gather || n.op == Op::Packet ? 2 : n.op == Op::ArraySet ? 3 : -1;
        if (mask >= 0 && c.scratch[id].late != home_of(n.dep[mask])) {
            uint32_t active = push({ .op = Op::Active, .type = Type::Bool });
            inst.arg[mask] = push({ .op = Op::And,
                                    .type = Type::Bool,
                                    .arg = { inst.arg[mask], active, NoValue, NoValue } });
        }
        // That of a Bitcast tells equal nodes apart, and bodies of calls, but nothing that they compute
        inst.imm = n.op == Op::Bitcast && !canonical ? 0 : n.imm;
        inst.uniform = uniform;
        v = push(inst);
    }
    }
    c.scratch[id].value = v;
}

void FunctionEmitter::emit_loop(NodeId id) {
    auto &loop = static_cast<LoopRecord &>(*g.record_of(id));
    push({ .op = Op::LoopBegin, .type = Type::Void });
    std::vector<std::pair<uint32_t, NodeId>> phis;
    for (size_t k = 0; k < loop.init.size(); ++k) {
        if (!loop.live[k] || loop.invariant[k])
            continue;
        const Node &p = g[loop.phi[k]];
        uint32_t v = push({ .op = Op::Phi,
                            .type = p.type,
                            .length = p.length,
                            .arg = { value(loop.init[k]), NoValue, NoValue, NoValue } });
        c.scratch[loop.phi[k]].value = v;
        phis.push_back({ v, loop.next[k] });
    }
    emit_region(loop.head);
    push({ .op = Op::LoopWhile,
           .type = Type::Void,
           .arg = { value(loop.condition), NoValue, NoValue, NoValue } });
    emit_region(loop.body);
    for (auto [v, next] : phis)
        fn.insts[v].arg[1] = value(next);
    push({ .op = Op::LoopEnd, .type = Type::Void });
    c.scratch[id].value = 0; // a loop has no value of its own
}

void FunctionEmitter::emit_if(NodeId id) {
    auto &branch = static_cast<IfRecord &>(*g.record_of(id));
    uint32_t condition = value(g[id].dep[0]);
    push(
        { .op = Op::IfBegin, .type = Type::Void, .arg = { condition, NoValue, NoValue, NoValue } });
    emit_region(branch.then_region);
    push({ .op = Op::Else, .type = Type::Void });
    emit_region(branch.else_region);
    push({ .op = Op::EndIf, .type = Type::Void });
    for (size_t k = 0; k < branch.then_out.size(); ++k) {
        if (!branch.live[k])
            continue;
        const Node &t = g[branch.then_out[k]];
        uint32_t v = push({ .op = Op::Merge,
                            .type = t.type,
                            .length = t.length,
                            .arg = { condition, value(branch.then_out[k]),
                                     value(branch.else_out[k]), NoValue } });
        NodeId result = g.find({ .op = Op::IfOut,
                                 .type = t.type,
                                 .size = g[id].size,
                                 .imm = k,
                                 .length = t.length,
                                 .dep = { id, 0, 0, 0 } });
        if (result && seen(result))
            c.scratch[result].value = v;
    }
    c.scratch[id].value = 0;
}

void FunctionEmitter::emit_call(NodeId id) {
    auto &record = static_cast<CallRecord &>(*g.record_of(id));
    CallSite site;
    for (size_t k = 0; k < record.live_param.size(); ++k)
        if (record.live_param[k])
            site.args.push_back(value(
                k < record.args.size() ? record.args[k] : record.captures[k - record.args.size()]));
    for (size_t k = 0; k < record.out_types.size(); ++k)
        if (record.live_out[k])
            site.out_types.push_back(record.out_types[k]);
    if (!canonical) {
        site.table = argument(ArgKind::CallTable, Type::U32, { .call = &record });
        site.data = argument(ArgKind::CallData, Type::U8, { .call = &record });
    }
    uint32_t number = uint32_t(out.program.calls.size());
    Inst inst{ .op = Op::Call,
               .type = Type::Void,
               .arg = { value(g[id].dep[0]), value(g[id].dep[1]), NoValue, NoValue },
               .imm = number };
    out.program.calls.push_back(std::move(site));
    calls.push_back({ &record, number });
    c.scratch[id].value = push(inst);
}

void FunctionEmitter::emit_extern(NodeId id) {
    auto &record = static_cast<ExternRecord &>(*g.record_of(id));
    ExternSite site;
    site.kind = record.kind;
    site.text = record.text;
    auto pointer = [&](NodeId address) { // never instance data: the same for the whole kernel
        uint32_t arg = canonical ? address : argument_of(ArgKind::Pointer, g[address].dep[0]);
        return push({ .op = Op::ArgPtr, .type = Type::Ptr, .uniform = function == 0, .imm = arg });
    };
    if (record.fn)
        site.fn = pointer(record.fn);
    if (record.user)
        site.user = pointer(record.user);
    site.mask = value(record.mask);
    for (NodeId i : record.inputs) {
        site.inputs.push_back(value(i));
        site.in_types.push_back(g[i].type);
    }
    site.out_types = record.out_types;
    out.program.externs.push_back(std::move(site));
    c.scratch[id].value =
        push({ .op = Op::Extern, .type = Type::Void, .imm = out.program.externs.size() - 1 });
}

Function FunctionEmitter::run(const FunctionRoots &roots) {
    order(roots);
    place(roots);
    emit_region(function);
    for (size_t k = 0; k < roots.outputs.size(); ++k) {
        uint32_t v = value(roots.outputs[k]);
        if (function == 0) {
            uint32_t arg =
                argument(ArgKind::Output, g[roots.outputs[k]].type, { .output = uint32_t(k) });
            push({ .op = Op::StoreLane,
                   .type = Type::Void,
                   .arg = { v, NoValue, NoValue, NoValue },
                   .imm = arg });
        } else {
            fn.outputs.push_back(v);
        }
    }
    return std::move(fn);
}

} // namespace umbel::jit::assembling
