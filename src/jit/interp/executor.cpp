// jit/interp/executor.cpp: frames, dispatch and control flow.
#include "jit/interp/executor.h"
#include "jit/interp/check.h"
#include <algorithm>

namespace umbel::jit {

Executor::Executor(const Plan &plan, const Launch &launch, Arena &arena, Checker *checker)
    : m_plan(plan), m_launch(launch), m_arena(arena), m_checker(checker), m_loops(loops()) {
    size_t count = plan.functions.size();
    m_uniforms = arena.take<std::byte *>(count);
    m_uniforms_made = arena.take<uint8_t>(count);
    for (size_t i = 0; i < count; ++i) {
        m_uniforms[i] = arena.take(size_t(plan.functions[i].uniform_slots) * 8);
        m_uniforms_made[i] = 0;
    }
}

Frame Executor::make_frame(uint32_t function) {
    const FunctionPlan &fp = m_plan.functions[function];
    Frame f;
    f.plan = &fp;
    f.scale[Varying] = m_plan.block;
    f.scale[Uniform] = f.scale[Constant] = 8;
    // Constants are only ever read.
    f.base[Constant] = reinterpret_cast<std::byte *>(const_cast<uint64_t *>(fp.constants.data()));
    f.base[Uniform] = m_uniforms[function];
    size_t bytes = size_t(fp.units) * m_plan.block;
    f.base[Varying] = m_arena.take(bytes);
    if (m_plan.checked) {
        f.shadow = m_arena.take<uint8_t>(bytes);
        std::memset(f.shadow, 0, bytes);
    }
    return f;
}

/// Computes the uniform values of a function, if that has not happened yet, in a frame of one lane.
void Executor::make_uniforms(Frame &f, uint32_t function) {
    if (m_uniforms_made[function])
        return;
    m_uniforms_made[function] = 1;
    const FunctionPlan &fp = m_plan.functions[function];
    enter(f, 1);
    f.padded = 1;
    if (m_checker)
        steps<true>(f, fp.uniform_steps, fp.uniform_origins);
    else
        steps<false>(f, fp.uniform_steps, fp.uniform_origins);
}

void Executor::body(Frame &f) {
    if (m_checker)
        steps<true>(f, f.plan->steps, f.plan->origins);
    else
        steps<false>(f, f.plan->steps, f.plan->origins);
}

void Executor::enter(Frame &f, uint32_t lanes) {
    f.n = lanes;
    f.padded = (lanes + 15) & ~15u;
    uint8_t *mask = f.as<uint8_t>(RootMask);
    std::memset(mask, 1, lanes);
    std::memset(mask + lanes, 0, m_plan.block - lanes);
}

void Executor::run(uint64_t begin, uint64_t end) {
    Arena::Scope scope(m_arena);
    Frame f = make_frame(0);
    f.first_lane = begin;
    f.block_lanes = 1;
    make_uniforms(f, 0);
    f.n = 0;
    for (uint64_t lane = begin; lane < end; lane += m_plan.block) {
        uint32_t lanes = uint32_t(std::min<uint64_t>(m_plan.block, end - lane));
        if (lanes != f.n)
            enter(f, lanes);
        f.first_lane = lane;
        f.block_lanes = lanes;
        body(f);
    }
}

template <bool Checked>
void Executor::steps(Frame &f, const std::vector<Step> &list,
                     const std::vector<StepOrigin> &origins) {
    const Step *first = list.data(), *s = first, *last = first + list.size();
    const size_t n = f.padded;
    while (s != last) {
        if constexpr (Checked)
            m_checker->before(f, *s, origins[s - first]);
        const Step &now = *s++;
        switch (now.kind) {
        case StepKind::Loop:
        case StepKind::Splat: now.fn(f.at(now.d), f.at(now.a), f.at(now.b), f.at(now.c), n); break;
        case StepKind::Copy:
            std::memcpy(f.at(now.d), f.at(now.a), size_t(now.length) * m_plan.block);
            break;
        case StepKind::LoopWhile: {
            uint8_t *mask = f.as<uint8_t>(now.d);
            const uint8_t *cond = f.as<uint8_t>(now.a);
            if (is_uniform(now.a) ? !*cond : !m_loops.mask_and(mask, mask, cond, n)) {
                s = first + now.imm;
                continue; // the loop is over; its condition makes no value
            }
            break;
        }
        case StepKind::Jump: s = first + now.imm; break;
        case StepKind::IfBegin: {
            uint8_t *then = f.as<uint8_t>(now.d), *other = f.as<uint8_t>(now.e);
            const uint8_t *around = f.as<uint8_t>(now.b), *cond = f.as<uint8_t>(now.a);
            size_t count;
            if (is_uniform(now.a)) {
                count = *cond;
                std::memcpy(*cond ? then : other, around, n);
                std::memset(*cond ? other : then, 0, n);
            } else {
                m_loops.mask_and_not(other, around, cond, n);
                count = m_loops.mask_and(then, around, cond, n);
            }
            if (!count)
                s = first + now.imm;
            break;
        }
        case StepKind::Else: {
            const uint8_t *other = f.as<uint8_t>(now.e);
            if (!std::memchr(other, 1, f.n))
                s = first + now.imm;
            break;
        }
        case StepKind::End: return;
        default:
            if constexpr (Checked) {
                Arena::Scope scope(m_arena);
                Operand<uint8_t> mask =
                    m_checker->safe_lanes(f, now, origins[&now - first], m_arena);
                special(f, now, mask.p, mask.stride);
            } else {
                special(f, now, nullptr, 0);
            }
        }
        if constexpr (Checked)
            m_checker->after(f, now, origins[&now - first]);
    }
}

template void Executor::steps<false>(Frame &, const std::vector<Step> &,
                                     const std::vector<StepOrigin> &);
template void Executor::steps<true>(Frame &, const std::vector<Step> &,
                                    const std::vector<StepOrigin> &);

/// Steps that are not plain loops. The checking mode hands in the mask of lanes that may touch
/// memory.
void Executor::special(Frame &f, const Step &s, const uint8_t *mask, size_t mask_stride) {
    auto lanes_of = [&](Loc loc) {
        return mask ? Operand<uint8_t>(mask, mask_stride) : Operand<uint8_t>(f, loc);
    };
    switch (s.kind) {
    case StepKind::SelectArray: {
        size_t step = bytes(s.type) * m_plan.block;
        for (size_t k = 0; k < s.length; ++k)
            s.fn(f.at(s.d) + k * step, f.at(s.a), f.at(s.b) + k * step, f.at(s.c) + k * step,
                 f.padded);
        break;
    }
    case StepKind::Lane: {
        uint32_t *d = f.as<uint32_t>(s.d), first = uint32_t(f.first_lane);
        if (f.lanes)
            for (uint32_t i = 0; i < f.n; ++i)
                d[i] = first + f.lanes[i];
        else
            for (uint32_t i = 0; i < f.n; ++i)
                d[i] = first + i;
        break;
    }
    case StepKind::LoadLane: load_lane(f, s); break;
    case StepKind::LoadScalar: {
        uint64_t value = 0;
        std::memcpy(&value, m_launch.args[s.imm], bytes(s.type));
        *f.as<uint64_t>(s.d) = value;
        break;
    }
    case StepKind::ArgPtr: *f.as<void *>(s.d) = m_launch.args[s.imm]; break;
    case StepKind::Data: load_data(f, s); break;
    case StepKind::StoreLane: store_lane(f, s); break;
    case StepKind::Gather: gather(f, s, lanes_of(s.c)); break;
    case StepKind::Packet: packet(f, s, lanes_of(s.c)); break;
    case StepKind::Scatter: scatter(f, s, lanes_of(s.e)); break;
    case StepKind::ScatterInc: scatter_inc(f, s, lanes_of(s.c)); break;
    case StepKind::ArrayNew: array_new(f, s); break;
    case StepKind::ArrayGet: array_get(f, s, lanes_of(s.c)); break;
    case StepKind::ArraySet: array_set(f, s, lanes_of(s.e)); break;
    case StepKind::Call: call(f, m_plan.calls[s.imm]); break;
    case StepKind::Extern: host_call(f, m_plan.externs[s.imm]); break;
    default: break;
    }
}

} // namespace umbel::jit
