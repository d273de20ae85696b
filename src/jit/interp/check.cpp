// jit/interp/check.cpp: bounds, NaN and initialization checks.
#include "jit/interp/check.h"
#include "jit/error.h"
#include "jit/interp/lifetime.h"
#include "jit/place.h"
#include <cstdlib>
#include <string_view>

namespace umbel::jit {

bool Reported::insert(uint32_t function, uint32_t inst, int what) {
    std::lock_guard lock(m_mutex);
    return m_seen.insert({ uint64_t(function) << 32 | inst, what }).second;
}

void Reported::begin(const LaunchLog *log, uint64_t first_lane) {
    std::lock_guard lock(m_mutex);
    if (log != m_log || first_lane == 0)
        m_seen.clear();
    m_log = log;
}

void Checker::report(const Frame &f, const Step &s, const StepOrigin &origin, What what, uint32_t i,
                     const std::string &text) {
    uint32_t function = uint32_t(f.plan - m_plan.functions.data());
    if (!m_launch.log || !m_reported.insert(function, origin.inst, what))
        return;
    std::string place = place_text(origin.place);
    m_launch.log->error(
        fmt::format("{}{}kernel {}: function {}, instruction {} ({} {}), lane {}: {}", place,
                    place.empty() ? "" : ": ", m_plan.name, function, origin.inst, name(s.op),
                    name(s.type), f.first_lane + f.lane(i), text));
}

// ---- values that were never computed

/// Lane by lane: is the value at `loc` one that this lane wrote? Lanes outside `mask` do not
/// matter, nor those for which the mask `chosen` is not `chosen_value`.
void Checker::read(const Frame &f, const Step &s, const StepOrigin &origin, Loc loc, Loc mask,
                   Loc chosen, bool chosen_value) {
    if (is_uniform(loc))
        return;
    const uint8_t *valid = f.shadow + size_t(offset_of(loc)) * m_plan.block;
    Operand<uint8_t> active(f, origin.mask), wanted(f, mask);
    Operand<uint8_t> choice(f, chosen == NoLoc ? mask : chosen);
    for (uint32_t i = 0; i < f.n; ++i)
        if (active[i] && wanted[i] && !valid[i] &&
            (chosen == NoLoc || bool(choice[i]) == chosen_value)) {
            report(f, s, origin, Uninitialized, i,
                   "reads a value that this lane did not compute; it was made in a region that the "
                   "lane "
                   "did not enter");
            return;
        }
}

namespace {

// Renders make NaNs in lanes that a selection leaves out afterwards: UMBEL_CHECK_NAN=0 lets them.
bool nans_matter() {
    static const char *setting = std::getenv("UMBEL_CHECK_NAN");
    return !setting || std::string_view(setting) != "0";
}

bool makes_nan(const Step &s) {
    if (!nans_matter() || s.kind != StepKind::Loop || !is_float(s.type) || !is_pure(s.op))
        return false;
    switch (s.op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Min:
    case Op::Max:
    case Op::Cast:
    case Op::Bitcast:
    case Op::Select:
    case Op::Merge: return false; // these only hand NaNs on
    default: return true;
    }
}

bool is_nan(Type t, const std::byte *p, size_t i) {
    if (t == Type::F64) {
        double x = reinterpret_cast<const double *>(p)[i];
        return x != x;
    }
    if (t == Type::F32) {
        float x = reinterpret_cast<const float *>(p)[i];
        return x != x;
    }
    return (reinterpret_cast<const uint16_t *>(p)[i] & 0x7fff) > 0x7c00;
}

} // namespace

// ---- around a step

void Checker::before(const Frame &f, const Step &s, const StepOrigin &origin) {
    Loc all = origin.mask;
    switch (s.kind) {
    case StepKind::Loop:
    case StepKind::SelectArray:
        if (s.op == Op::Phi)
            break; // hands its marks on
        read(f, s, origin, s.a, all);
        if (s.op == Op::Select || s.op == Op::Merge) {
            read(f, s, origin, s.b, all, s.a, true);
            read(f, s, origin, s.c, all, s.a, false);
        } else {
            if (operands(s.op) > 1)
                read(f, s, origin, s.b, all);
            if (operands(s.op) > 2)
                read(f, s, origin, s.c, all);
        }
        break;
    case StepKind::Gather:
    case StepKind::Packet:
    case StepKind::ScatterInc:
    case StepKind::ArrayGet:
        read(f, s, origin, s.a, s.c);
        read(f, s, origin, s.b, s.c);
        break;
    case StepKind::Scatter: read(f, s, origin, s.a, s.e); [[fallthrough]];
    case StepKind::ArraySet:
        read(f, s, origin, s.b, s.e);
        read(f, s, origin, s.c, s.e);
        break;
    case StepKind::ArrayNew:
    case StepKind::StoreLane: read(f, s, origin, s.a, all); break;
    case StepKind::LoopWhile: read(f, s, origin, s.a, s.d); break;
    case StepKind::IfBegin: read(f, s, origin, s.a, s.b); break;
    case StepKind::Call: {
        const CallPlan &call = m_plan.calls[s.imm];
        read(f, s, origin, call.id, call.mask);
        for (const Transfer &t : call.args)
            read(f, s, origin, t.loc, call.mask);
        break;
    }
    case StepKind::Extern:
        for (const Transfer &t : m_plan.externs[s.imm].inputs)
            read(f, s, origin, t.loc, m_plan.externs[s.imm].mask);
        break;
    default: break;
    }

    if (!makes_nan(s))
        return;
    Loc args[3] = { s.a, s.b, s.c };
    for (uint32_t i = 0; i < f.n; ++i)
        m_nan_before[i] = 0;
    for (int k = 0; k < operands(s.op); ++k)
        for (uint32_t i = 0; i < f.n; ++i)
            m_nan_before[i] |= is_nan(s.type, f.at(args[k]), is_uniform(args[k]) ? 0 : i);
}

void Checker::after(const Frame &f, const Step &s, const StepOrigin &origin) {
    const uint8_t *active = f.as<uint8_t>(origin.mask);
    if (makes_nan(s))
        for (uint32_t i = 0; i < f.n; ++i)
            if (active[i] && !m_nan_before[i] && is_nan(s.type, f.at(s.d), i)) {
                report(f, s, origin, NotANumber, i, "makes a NaN from operands that are none");
                break;
            }

    auto marks = [&](Loc loc) { return f.shadow + size_t(offset_of(loc)) * m_plan.block; };
    switch (s.kind) {
    case StepKind::LoopWhile:
    case StepKind::Jump:
    case StepKind::IfBegin:
    case StepKind::Else:
    case StepKind::Scatter:
    case StepKind::StoreLane: return; // no result
    case StepKind::Call:
        for (const Transfer &t : m_plan.calls[s.imm].outs)
            written(f, t.loc);
        return;
    case StepKind::Extern:
        for (const Transfer &t : m_plan.externs[s.imm].outs)
            written(f, t.loc);
        return;
    case StepKind::Splat: written(f, s.d); return;
    default: break;
    }
    if (is_uniform(s.d))
        return;
    uint8_t *d = marks(s.d);
    if (s.kind == StepKind::Copy) {
        if (s.op == Op::Active)
            written(f, s.d);
        else
            std::memcpy(d, marks(s.a), f.n);
    } else if (s.op == Op::Phi) {
        const uint8_t *mask = f.as<uint8_t>(s.a), *from = marks(s.b);
        for (uint32_t i = 0; i < f.n; ++i)
            d[i] = mask[i] ? is_uniform(s.b) || from[i] : d[i];
    } else if (s.kind == StepKind::ArraySet) {
        const uint8_t *from = marks(s.a);
        for (uint32_t i = 0; i < f.n; ++i)
            d[i] = from[i];
    } else if (s.kind == StepKind::Packet) {
        for (uint32_t k = 0; k < s.length; ++k)
            std::memcpy(marks(s.d + k * uint32_t(bytes(s.type))), active, f.n);
    } else {
        std::memcpy(d, active, f.n);
    }
}

void Checker::written(const Frame &f, Loc loc) const {
    if (!is_uniform(loc))
        std::memset(f.shadow + size_t(offset_of(loc)) * m_plan.block, 1, m_plan.block);
}

// ---- indices

Operand<uint8_t> Checker::safe_lanes(const Frame &f, const Step &s, const StepOrigin &origin,
                                     Arena &arena) {
    Loc mask_loc = s.c;
    uint64_t size, width = 1;
    std::string of;
    switch (s.kind) {
    case StepKind::ArraySet: mask_loc = s.e; [[fallthrough]];
    case StepKind::ArrayGet:
        size = s.length;
        of = "a local array";
        break;
    case StepKind::Scatter: mask_loc = s.e; [[fallthrough]];
    case StepKind::Packet:
    case StepKind::Gather:
    case StepKind::ScatterInc: {
        if (origin.arg == ~0u || !m_launch.sizes)
            return { nullptr, 0 };
        // The array may hold elements of another width than those that are accessed.
        size = m_launch.sizes[origin.arg];
        if (size_t theirs = bytes(m_plan.args[origin.arg].type))
            size = size * theirs / bytes(s.type);
        width = s.kind == StepKind::Packet ? s.length : 1;
        of = fmt::format("argument {}", origin.arg);
        break;
    }
    default: return { nullptr, 0 };
    }
    uint8_t *safe = arena.take<uint8_t>(f.n);
    Operand<uint8_t> mask(f, mask_loc), active(f, origin.mask);
    Operand<uint32_t> index(f, s.b);
    for (uint32_t i = 0; i < f.n; ++i) {
        safe[i] = mask[i];
        uint64_t last = uint64_t(index[i]) * width + width - 1;
        if (!mask[i] || last < size)
            continue;
        safe[i] = 0;
        if (active[i])
            report(f, s, origin, Bounds, i,
                   fmt::format("index {} is out of range: {} has {} elements{}", index[i], of, size,
                               width > 1 ? fmt::format(", read {} at a time", width) : ""));
    }
    return { safe, 1 };
}

} // namespace umbel::jit
