// jit/cuda/ptx_emit.cpp: functions of a program: frame, leaves, control flow.
#include "jit/cuda/ptx_function.h"
#include "jit/cuda/ptx_sum.h"
#include "jit/cuda/ptx_warp.h"
#include <algorithm>

namespace umbel::jit::ptx {

ParamLayout::ParamLayout(const std::vector<Type> &types, uint32_t header) : bytes(header) {
    for (Type t : types) {
        uint32_t size = jit::bytes(t) == 8 ? 8 : 4;
        bytes = (bytes + size - 1) / size * size;
        offsets.push_back(bytes);
        bytes += size;
    }
    bytes = (bytes + 7) / 8 * 8;
}

static llvm_ir::FunctionPlan plan_of(const Program &program, uint32_t function) {
    return llvm_ir::make_plan(program, function, { .width = 1, .unit_weight = ~0ull >> 1 });
}

FunctionWriter::FunctionWriter(ModuleScope &scope, uint32_t function)
    : m_scope(scope), m_program(scope.program), m_function(function),
      m_fn(scope.program.functions[function]), m_plan(plan_of(scope.program, function)),
      m_own(std::make_unique<Writer>(scope.module)), m_w(*m_own), m_local_bytes(m_own_local_bytes),
      m_value(m_fn.insts.size()) {
    place_arrays();
}

FunctionWriter::FunctionWriter(FunctionWriter &caller, uint32_t function,
                               std::vector<Operand> params, const Operand &data)
    : m_scope(caller.m_scope), m_program(caller.m_program), m_function(function),
      m_fn(m_program.functions[function]), m_plan(plan_of(m_program, function)), m_w(caller.m_w),
      m_local_bytes(caller.m_local_bytes), m_params(std::move(params)), m_value(m_fn.insts.size()),
      m_lane(caller.m_lane), m_data(data) {
    place_arrays();
}

void FunctionWriter::place_arrays() {
    uint32_t &at = m_local_bytes;
    for (const llvm_ir::Storage &s : m_plan.storages) {
        at = (at + 7) / 8 * 8;
        m_storage.push_back(at);
        at += s.length * uint32_t(bytes(s.type));
    }
    at = (at + 7) / 8 * 8;
}

std::string FunctionWriter::symbol(const std::string &kernel, uint32_t function) {
    return function ? fmt::format("{}_f{}", kernel, function) : kernel;
}

// Lanes wait for memory most of the time: many of them at once gain more than registers for all values would. Measured on an H200,
// path tracing: 64 beside what the assembler takes by itself (140 to 160) gains 10 to 25 %, 96 gains 8 to 20 %.
static int most_registers(const Program &program) { return computes_in_double(program) ? 128 : 64; }

std::string FunctionWriter::run() {
    std::string name = symbol(m_scope.kernel_name, m_function), head;
    if (m_function == 0) {
        head = fmt::format(".visible .entry {}(.param .u32 size) .maxnreg {}\n{{\n", name,
                           most_registers(m_program));
        Operand block = m_w.make('r', "mov.u32", "%ctaid.x"),
                threads = m_w.make('r', "mov.u32", "%ntid.x"),
                thread = m_w.make('r', "mov.u32", "%tid.x");
        if (m_scope.lanes > 1)
            block = m_w.make('r', "mul.lo.u32", block, std::to_string(m_scope.lanes));
        m_lane = m_w.make('r', "mad.lo.u32", block, threads, thread);
        emit_entry(m_lane, threads, m_w.make('r', "ld.param.u32", "[size]"));
    } else {
        ParamLayout in(m_fn.params, ParamHeader), out(output_types(), 0);
        std::string result =
            out.bytes ? fmt::format("(.param .align 8 .b8 ret[{}]) ", out.bytes) : "";
        head = fmt::format(".func {}{}(.param .align 8 .b8 in[{}])\n{{\n", result, name, in.bytes);
        m_lane = m_w.make('r', "ld.param.u32", "[in]");
        m_data = m_w.make('d', "ld.param.u64", "[in+8]");
        for (uint32_t i = 0; i < m_fn.insts.size(); ++i)
            emit(i);
    }
    if (m_function && !m_fn.outputs.empty()) {
        ParamLayout out(output_types(), 0);
        for (size_t k = 0; k < m_fn.outputs.size(); ++k)
            store_param(m_fn.insts[m_fn.outputs[k]].type, fmt::format("ret+{}", out.offsets[k]),
                        value(m_fn.outputs[k]));
    }
    m_w.line("ret");
    constexpr uint32_t MostLocal = 512 << 10; // of any NVIDIA GPU
    if (m_local_bytes > MostLocal)
        fail("local arrays of {} KiB a lane: a CUDA device has {} KiB for them",
             (m_local_bytes + 1023) >> 10, MostLocal >> 10);
    std::string local =
        m_local_bytes ? fmt::format("    .local .align 8 .b8 local[{}];\n", m_local_bytes) : "";
    return head + local + m_w.finish() + "}\n\n";
}

void FunctionWriter::emit_entry(const Operand &first, const Operand &threads, const Operand &size) {
    auto all = [&](auto &&wanted) {
        for (uint32_t i = 0; i < m_fn.insts.size(); ++i)
            if (wanted(inst(i).op == Op::LoadLane))
                emit(i);
    };
    if (m_scope.lanes == 1) {
        m_w.line("@{} ret", m_w.make('p', "setp.ge.u32", m_lane, size));
        return all([](bool) { return true; });
    }
    // What all lanes load comes before the first of them waits for it
    Operand last = m_w.make('r', "sub.u32", size, "1"), lane = first;
    struct Lane {
        Operand number;
        std::vector<Operand> values;
    };
    std::vector<Lane> lanes(m_scope.lanes);
    for (Lane &l : lanes) {
        if (&l != &lanes[0])
            lane = m_w.make('r', "add.u32", lane, threads);
        l.number = m_lane = m_w.make('r', "min.u32", lane, last);
        all([](bool is_load) { return is_load; });
        l.values = m_value;
    }
    for (Lane &l : lanes) {
        m_lane = l.number;
        m_value = std::move(l.values);
        all([](bool is_load) { return !is_load; });
    }
}

uint32_t lanes_of_a_thread(const Program &program) {
    constexpr size_t MostInstructions = 64;
    constexpr uint64_t BytesUnderWay = 16;
    constexpr uint32_t MostLanes = 8;
    const Function &f = program.functions[0];
    if (program.functions.size() > 1 || f.insts.size() > MostInstructions)
        return 1;
    uint64_t loaded = 0;
    for (const Inst &in : f.insts) {
        if (in.op == Op::LoadLane)
            loaded += bytes(in.type);
        bool is_simple = in.op == Op::Literal || in.op == Op::Lane || in.op == Op::Active ||
                         in.op == Op::LoadScalar || in.op == Op::LoadLane ||
                         in.op == Op::StoreLane || is_elementwise(in.op);
        if (!is_simple || in.length || is_transcendental(in.op) || in.op == Op::Atan2 ||
            in.op == Op::Pow)
            return 1;
    }
    return loaded ? uint32_t(std::min<uint64_t>((BytesUnderWay + loaded - 1) / loaded, MostLanes))
                  : 1;
}

std::vector<Type> FunctionWriter::output_types() const {
    std::vector<Type> out;
    for (uint32_t v : m_fn.outputs)
        out.push_back(m_fn.insts[v].type);
    return out;
}

// ---- Values

const Operand &FunctionWriter::value(uint32_t i) {
    Operand &v = m_value[i];
    if (v.empty()) { // what a loop's condition or a uniform prologue would have made elsewhere
        check(inst(i).op == Op::Literal);
        v = m_w.literal(inst(i).type, inst(i).imm);
    }
    return v;
}

Operand FunctionWriter::argument(uint64_t number, Type t) {
    if (t == Type::Bool)
        return m_w.make('p', "setp.ne.u32",
                        m_w.make('r', "ld.const.u8", fmt::format("[args+{}]", 8 * number)), "0");
    return m_w.make(register_class(t), fmt::format("ld.const.{}", memory_suffix(t)),
                    fmt::format("[args+{}]", 8 * number));
}

void FunctionWriter::store_param(Type t, const std::string &place, const Operand &v) {
    if (t == Type::Bool)
        return m_w.line("st.param.b32 [{}], {}", place, m_w.cast(Type::U32, t, v));
    m_w.line("st.param.{} [{}], {}", bits_suffix(t), place, v);
}

Operand FunctionWriter::load_param(Type t, const std::string &place) {
    if (t == Type::Bool)
        return m_w.make('p', "setp.ne.u32", m_w.make('r', "ld.param.b32", "[" + place + "]"), "0");
    return m_w.make(register_class(t), fmt::format("ld.param.{}", bits_suffix(t)),
                    "[" + place + "]");
}

bool FunctionWriter::only_read(uint32_t pointer) const {
    const Inst &in = inst(pointer);
    if (in.op == Op::ArgPtr)
        return !m_scope.written_args[in.imm] && !m_scope.writes_elsewhere;
    return in.op == Op::Data && !m_scope.writes_elsewhere && !m_scope.writes_args;
}

void FunctionWriter::emit(uint32_t i) {
    const Inst &in = inst(i);
    auto arg = [&](int k) -> Operand { return k < operands(in.op) ? value(in.arg[k]) : Operand(); };
    switch (in.op) {
    case Op::Literal: break; // where it is used
    case Op::Lane: m_value[i] = m_lane; break;
    case Op::Active: m_value[i] = True; break;
    case Op::LoadScalar: m_value[i] = argument(in.imm, in.type); break;
    case Op::ArgPtr: m_value[i] = argument(in.imm, Type::Ptr); break;
    case Op::LoadLane: {
        Operand at = m_w.element_address(argument(in.imm, Type::Ptr), m_lane, bytes(in.type));
        m_value[i] = m_w.load(in.type, "global", at, 1, 1, True)[0];
        break;
    }
    case Op::StoreLane: {
        Type t = inst(in.arg[0]).type;
        Operand at = m_w.element_address(argument(in.imm, Type::Ptr), m_lane, bytes(t));
        m_w.store(t, "global", at, value(in.arg[0]), True);
        break;
    }
    case Op::Data:
        m_value[i] =
            m_w.load(in.type, "global", fmt::format("{}+{}", m_data, in.imm), 1, 1, True)[0];
        break;
    case Op::Param:
        m_value[i] =
            !m_params.empty()
                ? m_params[in.imm]
                : load_param(
                      in.type,
                      fmt::format("in+{}", ParamLayout(m_fn.params, ParamHeader).offsets[in.imm]));
        break;
    case Op::Gather: {
        const char *space = only_read(in.arg[0]) ? "global.nc" : "global";
        Operand mask = value(in.arg[2]);
        if (mask == False) {
            m_value[i] = m_w.literal(in.type, 0);
            break;
        }
        Operand at = m_w.element_address(value(in.arg[0]), value(in.arg[1]), bytes(in.type));
        m_value[i] = m_w.load(in.type, space, at, 1, 1, mask)[0];
        break;
    }
    case Op::Packet: emit_packet(i); break;
    case Op::PacketGet:
    case Op::CallOut:
    case Op::ExternOut: break; // made together with their operand
    case Op::Scatter: emit_scatter(i); break;
    case Op::ScatterInc: {
        Operand mask = value(in.arg[2]), out = m_w.fresh('r');
        m_w.line("mov.b32 {}, 0", out);
        m_value[i] = out;
        if (mask == False)
            break;
        std::string done = m_w.label();
        m_w.jump_unless(mask, done);
        Operand at = m_w.element_address(value(in.arg[0]), value(in.arg[1]), 4);
        call_helper(increment_function(m_w.module()), out, { { Type::Ptr, at } });
        m_w.place(done);
        break;
    }
    case Op::ArrayNew:
    case Op::ArrayGet:
    case Op::ArraySet: emit_array(i); break;
    case Op::Call: emit_call(i); break;
    case Op::Extern: emit_extern(i); break;
    case Op::LoopBegin: loop_begin(i); break;
    case Op::LoopWhile:
        m_w.jump_unless(value(in.arg[0]), m_labels[m_plan.partner[m_plan.partner[i]]].second);
        break;
    case Op::LoopEnd: loop_end(i); break;
    case Op::Phi: break; // made by LoopBegin
    case Op::IfBegin:
        m_labels[i] = { m_w.label(), m_w.label() };
        make_merges(i);
        m_w.jump_unless(value(in.arg[0]), m_labels[i].first);
        break;
    case Op::Else: {
        uint32_t begin = m_plan.partner[m_plan.partner[i]];
        merge_from(begin, 1);
        m_w.jump(m_labels[begin].second);
        m_w.place(m_labels[begin].first);
        break;
    }
    case Op::EndIf:
        merge_from(m_plan.partner[i], 2);
        m_w.place(m_labels[m_plan.partner[i]].second);
        break;
    case Op::Merge: break; // made by IfBegin
    default:
        check(is_elementwise(in.op));
        if (in.length)
            select_array(i, value(in.arg[0]), in.arg[1], in.arg[2]);
        else if (is_transcendental(in.op) || in.op == Op::Atan2 || in.op == Op::Pow)
            m_value[i] = m_w.math(in.op, in.type, arg(0), arg(1));
        else
            m_value[i] =
                m_w.elementwise(in.op, in.type, inst(in.arg[0]).type, arg(0), arg(1), arg(2));
    }
}

// Whether the launch may have put digits in the array's place; see jit/cuda/ptx_sum.h.
bool FunctionWriter::may_be_digits(uint32_t pointer) const {
    const Inst &in = inst(pointer);
    if (in.op == Op::ArgPtr)
        return m_scope.uses.args[in.imm].sums_only();
    return in.op != Op::Data || m_scope.uses.field(m_function, in.imm).sums_only();
}

void FunctionWriter::emit_scatter(uint32_t i) {
    const Inst &in = inst(i);
    Type t = inst(in.arg[2]).type;
    Operand mask = value(in.arg[3]), base = value(in.arg[0]), index = value(in.arg[1]),
            v = value(in.arg[2]);
    if (mask == False)
        return;
    bool adds = ReduceOp(in.imm) == ReduceOp::Add;
    bool is_exact = adds && is_float(t) && may_be_digits(in.arg[0]);
    bool may_meet = adds && is_int(t) && inst(in.arg[1]).op != Op::Lane; // in one word
    if (!is_exact && !may_meet)
        return m_w.reduce(ReduceOp(in.imm), t, m_w.element_address(base, index, bytes(t)), v, mask);
    std::string done = m_w.label();
    m_w.jump_unless(mask, done);
    if (is_exact) {
        call_helper(sum_function(m_w.module(), t), {},
                    { { Type::Ptr, base }, { Type::U32, index }, { t, v } });
    } else {
        Operand at = m_w.element_address(base, index, bytes(t));
        const Inst &added = inst(in.arg[2]);
        if (added.op == Op::Literal)
            call_helper(add_function(m_w.module(), t, &added.imm), {}, { { Type::Ptr, at } });
        else
            call_helper(add_function(m_w.module(), t), {}, { { Type::Ptr, at }, { t, v } });
    }
    m_w.place(done);
}

// `result` is a register of 32 bits, or empty.
void FunctionWriter::call_helper(const std::string &name, const Operand &result,
                                 std::initializer_list<std::pair<Type, Operand>> args) {
    m_w.raw("    {\n");
    std::string list;
    int count = 0;
    for (auto &[type, v] : args) {
        std::string place = fmt::format("a{}", count++);
        m_w.line(".param .{} {}", bits_suffix(type), place);
        m_w.line("st.param.{} [{}], {}", bits_suffix(type), place, v);
        list += (list.empty() ? "" : ", ") + place;
    }
    if (result.empty()) {
        m_w.line("call {}, ({})", name, list);
    } else {
        m_w.line(".param .b32 r");
        m_w.line("call (r), {}, ({})", name, list);
        m_w.line("ld.param.b32 {}, [r]", result);
    }
    m_w.raw("    }\n");
}

// The first operand of a selection is its mask: the type of its values is that of the result.
void FunctionWriter::emit_packet(uint32_t i) {
    const Inst &in = inst(i);
    uint32_t size = uint32_t(bytes(in.type)), record = uint32_t(in.imm) * size;
    uint32_t align = std::min<uint32_t>(record & -record, 16);
    Operand mask = value(in.arg[2]),
            at = m_w.element_address(value(in.arg[0]), value(in.arg[1]), record);
    uint32_t most = 0; // elements that anybody asks for come first
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        if (m_plan.uses[r])
            most = std::max(most, uint32_t(inst(r).imm) + 1);
    const char *space = only_read(in.arg[0]) ? "global.nc" : "global";
    std::vector<Operand> v = m_w.load(in.type, space, at, most, align, mask);
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        if (m_plan.uses[r])
            m_value[r] = v[inst(r).imm];
}

// ---- Loops

void FunctionWriter::loop_begin(uint32_t i) {
    std::vector<ArrayCopy> arrays;
    for (uint32_t k = i + 1; k < m_fn.insts.size() && inst(k).op == Op::Phi; ++k) {
        const Inst &phi = inst(k);
        if (phi.length) {
            const Inst &initial = inst(phi.arg[0]);
            if (initial.op != Op::ArrayNew || !initial.imm) // see jit/unset_array.h
                arrays.push_back({ m_plan.storage[phi.arg[0]], m_plan.storage[k] });
            continue;
        }
        m_value[k] = m_w.fresh(phi.type);
        m_w.move(phi.type, m_value[k], value(phi.arg[0]));
    }
    copy_arrays(arrays);
    m_labels[i] = { m_w.label(), m_w.label() };
    m_w.place(m_labels[i].first);
}

void FunctionWriter::loop_end(uint32_t i) {
    uint32_t begin = m_plan.partner[i];
    struct Move {
        Type type;
        Operand to, from;
    };
    std::vector<Move> moves;
    std::vector<ArrayCopy> arrays;
    for (uint32_t k = begin + 1; inst(k).op == Op::Phi; ++k) {
        const Inst &phi = inst(k);
        if (phi.length)
            arrays.push_back({ m_plan.storage[phi.arg[1]], m_plan.storage[k] });
        else if (m_value[k] != value(phi.arg[1]))
            moves.push_back({ phi.type, m_value[k], value(phi.arg[1]) });
    }
    // All at once: what another one overwrites is put aside first
    for (Move &m : moves)
        if (std::any_of(moves.begin(), moves.end(),
                        [&](const Move &o) { return o.to == m.from; })) {
            Operand aside = m_w.fresh(m.type);
            m_w.move(m.type, aside, m.from);
            m.from = aside;
        }
    for (const Move &m : moves)
        m_w.move(m.type, m.to, m.from);
    copy_arrays(arrays);
    m_w.jump(m_labels[begin].first);
    m_w.place(m_labels[begin].second);
}

// ---- Conditionals

void FunctionWriter::make_merges(uint32_t begin) {
    uint32_t end = m_plan.partner[m_plan.partner[begin]];
    for (uint32_t m = end + 1; m < m_fn.insts.size() && inst(m).op == Op::Merge; ++m)
        if (!inst(m).length)
            m_value[m] = m_w.fresh(inst(m).type);
}

void FunctionWriter::merge_from(uint32_t begin, int operand) {
    uint32_t end = m_plan.partner[m_plan.partner[begin]];
    std::vector<ArrayCopy> arrays;
    for (uint32_t m = end + 1; m < m_fn.insts.size() && inst(m).op == Op::Merge; ++m) {
        uint32_t from = inst(m).arg[operand];
        if (inst(m).length)
            arrays.push_back({ m_plan.storage[from], m_plan.storage[m] });
        else
            m_w.move(inst(m).type, m_value[m], value(from));
    }
    copy_arrays(arrays);
}

} // namespace umbel::jit::ptx
