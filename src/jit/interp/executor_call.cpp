// jit/interp/executor_call.cpp: calls of subroutines and of host functions.
//
// The lanes that call the same subroutine are packed together, whatever their instance, so that a
// call costs as much as there are lanes in it. `Frame::lanes` remembers where they came from.
#include "jit/interp/check.h"
#include "jit/interp/executor.h"
#include <algorithm>

namespace umbel::jit {

namespace {

struct TableEntry {
    uint32_t callee, offset;
};

/// d[i] = a[lanes[i]]
void pack(std::byte *d, const std::byte *a, bool uniform, size_t size, const uint16_t *lanes,
          uint32_t n) {
    with_size(size, [&](auto zero) {
        using T = decltype(zero);
        T *to = reinterpret_cast<T *>(d);
        const T *from = reinterpret_cast<const T *>(a);
        if (uniform)
            std::fill_n(to, n, *from);
        else
            for (uint32_t i = 0; i < n; ++i)
                to[i] = from[lanes[i]];
    });
}

/// d[lanes[i]] = a[i]
void unpack(std::byte *d, const std::byte *a, bool uniform, size_t size, const uint16_t *lanes,
            uint32_t n) {
    with_size(size, [&](auto zero) {
        using T = decltype(zero);
        T *to = reinterpret_cast<T *>(d);
        const T *from = reinterpret_cast<const T *>(a);
        for (uint32_t i = 0; i < n; ++i)
            to[lanes[i]] = from[uniform ? 0 : i];
    });
}

} // namespace

void Executor::call(Frame &f, const CallPlan &call) {
    Arena::Scope scope(m_arena);
    uint32_t n = f.n, callees = uint32_t(call.callees.size());
    for (const Transfer &out : call.outs)
        std::memset(f.at(out.loc), 0, size_t(out.size) * n);

    // Each lane's callee; `callees` for none.
    auto *table = static_cast<const TableEntry *>(m_launch.args[call.table]);
    Operand<uint32_t> id(f, call.id);
    Operand<uint8_t> mask(f, call.mask);
    auto *which = m_arena.take<uint32_t>(n), *offset = m_arena.take<uint32_t>(n);
    auto *count = m_arena.take<uint32_t>(callees + 1);
    std::fill_n(count, callees + 1, 0);
    uint32_t ids = table ? table[0].callee : 0;
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t k = callees;
        if (mask[i] && id[i] && id[i] <= ids) {
            TableEntry entry = table[id[i]];
            k = std::min(entry.callee, callees);
            offset[i] = entry.offset;
        }
        which[i] = k;
        ++count[k];
    }

    // Lanes and records, sorted by callee.
    auto *start = m_arena.take<uint32_t>(callees + 1);
    uint32_t total = 0;
    for (uint32_t k = 0; k < callees; ++k) {
        start[k] = total;
        total += count[k];
    }
    auto *lanes = m_arena.take<uint16_t>(total);
    auto *offsets = m_arena.take<uint32_t>(total);
    for (uint32_t i = 0; i < n; ++i)
        if (which[i] != callees) {
            uint32_t at = start[which[i]]++;
            lanes[at] = uint16_t(i);
            offsets[at] = offset[i];
        }

    for (uint32_t k = 0; k < callees; ++k)
        if (count[k]) {
            uint32_t first = start[k] - count[k];
            run_callee(f, call, call.callees[k], lanes + first, offsets + first, count[k]);
        }
}

void Executor::run_callee(Frame &f, const CallPlan &call, uint32_t function, const uint16_t *lanes,
                          const uint32_t *offsets, uint32_t count) {
    const FunctionPlan &fp = m_plan.functions[function];
    Arena::Scope scope(m_arena);
    Frame g = make_frame(function);
    g.first_lane = f.first_lane;
    g.block_lanes = f.block_lanes;
    g.data = static_cast<const std::byte *>(m_launch.args[call.data]);
    g.data_offset = offsets;
    make_uniforms(g, function);
    enter(g, count);

    if (f.lanes) {
        auto *origin = m_arena.take<uint16_t>(count);
        for (uint32_t i = 0; i < count; ++i)
            origin[i] = f.lanes[lanes[i]];
        g.lanes = origin;
    } else {
        g.lanes = lanes;
    }
    for (size_t k = 0; k < std::min(call.args.size(), fp.params.size()); ++k)
        if (fp.params[k] != NoLoc) {
            const Transfer &arg = call.args[k];
            pack(g.at(fp.params[k]), f.at(arg.loc), is_uniform(arg.loc), arg.size, lanes, count);
            if (m_checker)
                m_checker->written(g, fp.params[k]);
        }
    body(g);
    for (size_t k = 0; k < call.outs.size(); ++k) {
        Loc from = fp.outputs[k];
        unpack(f.at(call.outs[k].loc), g.at(from), is_uniform(from), call.outs[k].size, lanes,
               count);
    }
}

void Executor::host_call(Frame &f, const ExternPlan &plan) {
    Arena::Scope scope(m_arena);
    // Whole groups of 64 lanes keep each part of the frame aligned.
    uint32_t lanes = (f.block_lanes + 63) & ~63u;
    auto *mask = m_arena.take<int32_t>(lanes);
    std::fill_n(mask, lanes, 0);
    Operand<uint8_t> wanted(f, plan.mask), active(f, plan.active);
    bool assertion = plan.kind == ExternSite::Assert;
    Operand<uint8_t> holds(f, assertion ? plan.inputs[0].loc : plan.mask);
    bool any = false;
    for (uint32_t i = 0; i < f.n; ++i)
        if ((wanted[i] & active[i]) && !(assertion && holds[i])) {
            mask[f.lane(i)] = -1;
            any = true;
        }
    for (const Transfer &out : plan.outs)
        std::memset(f.at(out.loc), 0, size_t(out.size) * f.n);
    if (!any)
        return;
    if (assertion) {
        if (m_launch.log)
            m_launch.log->assertion(plan.site, f.first_lane, lanes, mask);
        return;
    }

    // A lane sits in the host function's frame where it sits in the kernel's block.
    size_t bytes = 0;
    for (auto *list : { &plan.inputs, &plan.outs })
        for (const Transfer &t : *list)
            bytes += size_t(t.size) * lanes;
    std::byte *frame = m_arena.take(bytes), *p = frame;
    auto *identity = m_arena.take<uint16_t>(f.n);
    for (uint32_t i = 0; i < f.n; ++i)
        identity[i] = uint16_t(f.lane(i));
    std::memset(frame, 0, bytes);
    for (const Transfer &in : plan.inputs) {
        unpack(p, f.at(in.loc), is_uniform(in.loc), in.size, identity, f.n);
        p += size_t(in.size) * lanes;
    }
    if (plan.kind == ExternSite::Print) {
        if (m_launch.log)
            m_launch.log->print(plan.site, f.first_lane, lanes, mask, frame);
        return;
    }
    auto fn = *f.as<ExternFn>(plan.fn);
    void *user = plan.user == NoLoc ? nullptr : *f.as<void *>(plan.user);
    fn(user, f.first_lane, lanes, mask, frame);
    for (const Transfer &out : plan.outs) {
        pack(f.at(out.loc), p, false, out.size, identity, f.n);
        p += size_t(out.size) * lanes;
    }
}

} // namespace umbel::jit
