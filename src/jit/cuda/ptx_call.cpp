// jit/cuda/ptx_call.cpp: polymorphic calls, messages to the host, and whole modules.
#include "jit/cuda/ptx_function.h"
#include <cstddef>

namespace umbel::jit::ptx {

namespace {
/// Up to so many callees are tested one after another; beyond, a table of jumps leads to them.
constexpr size_t MostTested = 4;

/// Functions of the host that have instructions of their own here; see jit/exchange.h.
bool is_exchange(const ExternSite &site) {
    return site.kind == ExternSite::Function && site.out_types.size() == 1 &&
           (site.text == "scatter_exch" || site.text == "scatter_cas");
}
} // namespace

void FunctionWriter::call_one(const CallSite &site, size_t k, const Operand &data,
                              const std::vector<Operand> &results) {
    const Function &callee = m_program.functions[site.callees[k]];
    if (m_scope.inlined[site.callees[k]]) {
        std::vector<Operand> params;
        for (uint32_t a : site.args)
            params.push_back(value(a));
        FunctionWriter body(*this, site.callees[k], std::move(params), data);
        for (uint32_t i = 0; i < callee.insts.size(); ++i)
            body.emit(i);
        for (size_t r = 0; r < results.size(); ++r)
            if (!results[r].empty())
                m_w.move(site.out_types[r], results[r], body.value(callee.outputs[r]));
        return;
    }
    ParamLayout in(callee.params, ParamHeader), out(site.out_types, 0);
    m_w.raw("    {\n");
    m_w.line(".param .align 8 .b8 in_[{}]", in.bytes);
    m_w.line("st.param.b32 [in_], {}", m_lane);
    m_w.line("st.param.b64 [in_+8], {}", data);
    for (size_t a = 0; a < site.args.size(); ++a)
        store_param(inst(site.args[a]).type, fmt::format("in_+{}", in.offsets[a]),
                    value(site.args[a]));
    std::string name = symbol(m_scope.kernel_name, site.callees[k]);
    if (out.bytes) {
        m_w.line(".param .align 8 .b8 out_[{}]", out.bytes);
        m_w.line("call (out_), {}, (in_)", name);
    } else {
        m_w.line("call {}, (in_)", name);
    }
    for (size_t r = 0; r < results.size(); ++r)
        if (!results[r].empty())
            m_w.move(site.out_types[r], results[r],
                     load_param(site.out_types[r], fmt::format("out_+{}", out.offsets[r])));
    m_w.raw("    }\n");
}

void FunctionWriter::emit_call(uint32_t i) {
    const Inst &in = inst(i);
    const CallSite &site = m_program.calls[in.imm];
    // Results of lanes that call nothing
    std::vector<Operand> results(site.out_types.size());
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r]) {
        if (!m_plan.uses[r])
            continue;
        Operand &v = results[inst(r).imm];
        if (v.empty()) {
            v = m_w.fresh(inst(r).type);
            m_w.move(inst(r).type, v, inst(r).type == Type::F16 ? "0" : immediate(inst(r).type, 0));
        }
        m_value[r] = v;
    }
    Operand mask = value(in.arg[1]), id = value(in.arg[0]);
    if (mask == False || site.callees.empty())
        return;

    // Which callee, and where its data
    std::string done = m_w.label();
    m_w.jump_unless(mask, done);
    Operand table = argument(site.table, Type::Ptr);
    m_w.line("@{} bra {}", m_w.make('p', "setp.eq.u64", table, "0"), done); // no table: no ids
    Operand count = m_w.make('r', "ld.global.nc.b32", "[" + table + "]");
    Operand index = m_w.make('r', "sub.u32", id, "1");
    m_w.line("@{} bra {}", m_w.make('p', "setp.ge.u32", index, count), done);
    Operand entry = m_w.element_address(table, id, 8), callee = m_w.fresh('r'), at = m_w.fresh('r');
    m_w.line("ld.global.nc.v2.b32 {{{}, {}}}, [{}]", callee, at, entry);
    Operand data = m_w.element_address(argument(site.data, Type::Ptr), at, 1);
    size_t n = site.callees.size();
    m_w.line("@{} bra {}", m_w.make('p', "setp.ge.u32", callee, std::to_string(n)), done);

    std::vector<std::string> labels;
    if (n > MostTested) {
        std::string list;
        for (size_t k = 0; k < n; ++k) {
            labels.push_back(m_w.label());
            list += (k ? ", " : "") + labels.back();
        }
        std::string targets = m_w.label();
        m_w.raw(fmt::format("{}: .branchtargets {};\n", targets, list));
        m_w.line("brx.idx {}, {}", callee, targets);
    }
    for (size_t k = 0; k < n; ++k) {
        std::string next;
        if (!labels.empty()) {
            m_w.place(labels[k]);
        } else if (k + 1 < n) {
            next = m_w.label();
            m_w.line("@{} bra {}", m_w.make('p', "setp.ne.u32", callee, std::to_string(k)), next);
        }
        call_one(site, k, data, results);
        if (k + 1 < n)
            m_w.jump(done);
        if (!next.empty())
            m_w.place(next);
    }
    m_w.place(done);
}

// {index, bits of the value, bits to compare with}; the result is what was there.
void FunctionWriter::emit_exchange(uint32_t i, bool compares) {
    const ExternSite &site = m_program.externs[inst(i).imm];
    Type t = site.out_types[0];
    bool wide = bytes(t) == 8, part = bytes(t) < 4;
    char reg = wide ? 'd' : 'r';
    const char *b = wide ? "b64" : "b32";
    Operand before = m_w.fresh(reg);
    m_w.line("mov.{} {}, 0", b, before);
    for (uint32_t r = m_plan.first_result[i]; r != NoValue; r = m_plan.next_result[r])
        m_value[r] = before;
    Operand mask = value(site.mask);
    if (mask == False)
        return;
    std::string done = m_w.label();
    m_w.jump_unless(mask, done);
    auto in_register = [&](uint32_t v) {
        Operand r = m_w.fresh(reg);
        m_w.line("mov.{} {}, {}", b, r, value(v));
        return r;
    };
    Operand at = m_w.element_address(value(site.user), value(site.inputs[0]), bytes(t)),
            fresh = in_register(site.inputs[1]),
            expected = compares ? in_register(site.inputs[2]) : Operand();
    if (!part) {
        if (compares)
            m_w.line("atom.global.cas.{} {}, [{}], {}, {}", b, before, at, expected, fresh);
        else
            m_w.line("atom.global.exch.{} {}, [{}], {}", b, before, at, fresh);
        m_w.place(done);
        return;
    }
    // A part of a word, until nobody else has changed the word meanwhile
    std::string ones = bytes(t) == 1 ? "255" : "65535", again = m_w.label();
    Operand word = m_w.make('d', "and.b64", at, "0xfffffffffffffffc");
    Operand shift = m_w.make('r', "shl.b32",
                             m_w.make('r', "and.b32", m_w.make('r', "cvt.u32.u64", at), "3"), "3");
    Operand kept = m_w.make('r', "not.b32", m_w.make('r', "shl.b32", ones, shift));
    Operand placed = m_w.make('r', "shl.b32", fresh, shift);
    Operand seen = m_w.make('r', "ld.relaxed.gpu.global.b32", "[" + word + "]");
    m_w.place(again);
    m_w.line("shr.u32 {}, {}, {}", before, seen, shift);
    m_w.line("and.b32 {}, {}, {}", before, before, ones);
    if (compares)
        m_w.line("@{} bra {}", m_w.make('p', "setp.ne.u32", before, expected), done);
    Operand next = m_w.make('r', "or.b32", m_w.make('r', "and.b32", seen, kept), placed);
    Operand found = m_w.make('r', "atom.global.cas.b32", "[" + word + "]", seen, next);
    m_w.line("@{} bra {}", m_w.make('p', "setp.eq.u32", found, seen), done);
    m_w.line("mov.b32 {}, {}", seen, found);
    m_w.jump(again);
    m_w.place(done);
}

// The host hears of it when the kernel has ended.
void FunctionWriter::emit_extern(uint32_t i) {
    const ExternSite &site = m_program.externs[inst(i).imm];
    if (is_exchange(site))
        return emit_exchange(i, site.inputs.size() == 3);
    if (!site.out_types.empty())
        fail("the function \"{}\" of the host cannot be called on a CUDA device", site.text);
    Operand mask = value(site.mask);
    bool assertion = site.kind == ExternSite::Assert;
    if (assertion)
        mask = m_w.mask_and(mask, m_w.mask_not(value(site.inputs[0])));
    if (mask == False)
        return;
    std::string done = m_w.label();
    m_w.jump_unless(mask, done);
    Operand log = argument(m_program.args.size(), Type::Ptr);
    uint64_t tally = sizeof(LogHeader) + sizeof(LogTally) * inst(i).imm;
    m_w.line("red.global.add.u32 [{}+{}], 1", log, tally + offsetof(LogTally, count));
    if (assertion) {
        // The first lane: only those before all that were seen to fail write
        std::string first = fmt::format("[{}+{}]", log, tally + offsetof(LogTally, first_lane));
        Operand own = m_w.make('r', "not.b32", m_lane),
                seen = m_w.make('r', "ld.relaxed.gpu.global.b32", first),
                is_earlier = m_w.make('p', "setp.lt.u32", seen, own);
        m_w.line("@{} red.global.max.u32 {}, {}", is_earlier, first, own);
        m_w.place(done);
        return;
    }
    bool function = site.kind == ExternSite::Function;
    size_t inputs = site.inputs.size() + (function ? 2 : 0);
    uint32_t bytes = LogRecordBytes + 8 * uint32_t(inputs);
    // Lanes ask for room where they see some: a full log is only read
    Operand room = m_w.make('r', "ld.global.b32", "[" + log + "+4]");
    auto leave_without_room = [&](const Operand &used) {
        Operand end = m_w.make('r', "add.u32", used, std::to_string(bytes));
        m_w.line("@{} bra {}", m_w.make('p', "setp.gt.u32", end, room), done);
    };
    leave_without_room(m_w.make('r', "ld.relaxed.gpu.global.b32", "[" + log + "]"));
    Operand at = m_w.make('r', "atom.global.add.u32", "[" + log + "]", std::to_string(bytes));
    leave_without_room(at);
    Operand place = m_w.element_address(log, at, 1);
    uint32_t offset = log_header_bytes(m_program.externs.size());
    auto put = [&](Type t, const Operand &v) {
        m_w.store(t, "global", fmt::format("{}+{}", place, offset), v, True);
    };
    put(Type::U32, immediate(Type::U32, inst(i).imm));
    offset += 4;
    put(Type::U32, immediate(Type::U32, bytes));
    offset += 4;
    put(Type::U64, m_w.make('d', "cvt.u64.u32", m_lane));
    offset += 8;
    auto put_value = [&](uint32_t v) {
        put(inst(v).type, value(v));
        offset += 8;
    };
    if (function) {
        put_value(site.fn);
        put_value(site.user);
    }
    for (uint32_t v : site.inputs)
        put_value(v);
    m_w.place(done);
}

// ---- Modules

namespace {

// Which arrays scatters go to.
void find_writes(ModuleScope &scope) {
    scope.written_args.assign(scope.program.args.size(), 0);
    for (const Function &f : scope.program.functions)
        for (const Inst &in : f.insts) {
            uint32_t written = in.arg[0];
            if (in.op == Op::Extern && is_exchange(scope.program.externs[in.imm]))
                written = scope.program.externs[in.imm].user;
            else if (in.op != Op::Scatter && in.op != Op::ScatterInc)
                continue;
            const Inst &pointer = f.insts[written];
            if (pointer.op == Op::ArgPtr) {
                scope.written_args[pointer.imm] = 1;
                scope.writes_args = true;
            } else {
                scope.writes_elsewhere = true;
            }
        }
}

// A call costs what lives across it a way through memory; text costs time of the assembler. So functions that are called in one place
// are written there, and short ones everywhere. In long programs, whose text takes the assembler a second and more, longer ones stay
// functions, which it works on at the same time.
void choose_inlined(ModuleScope &scope) {
    constexpr size_t FewInstructions = 100, MoreInstructions = 150, LongProgram = 6000;
    const Program &p = scope.program;
    bool is_long = p.instruction_count() > LongProgram;
    std::vector<uint32_t> calls(p.functions.size());
    for (const Function &f : p.functions)
        for (const Inst &in : f.insts)
            if (in.op == Op::Call)
                for (uint32_t callee : p.calls[in.imm].callees)
                    ++calls[callee];
    scope.inlined.assign(p.functions.size(), 0);
    for (size_t f = 1; f < p.functions.size(); ++f)
        scope.inlined[f] =
            (calls[f] == 1 && (!is_long || p.functions[f].insts.size() <= MoreInstructions)) ||
            p.functions[f].insts.size() <= FewInstructions;
}

} // namespace

Text write_module(const Program &program, const std::string &kernel_name) {
    ModuleScope scope{ program, kernel_name };
    scope.lanes = lanes_of_a_thread(program);
    scope.module.is_fast = program.is_fast && !computes_in_double(program);
    find_writes(scope);
    choose_inlined(scope);
    for (const Function &f : program.functions)
        for (const Inst &in : f.insts)
            if (is_transcendental(in.op) || in.op == Op::Atan2 || in.op == Op::Pow)
                ++scope.module.math_uses[{ in.op, in.type == Type::F16 ? Type::F32 : in.type }];
    // Callees come after their callers in programs, and before them in the text
    std::string functions;
    for (uint32_t f = uint32_t(program.functions.size()); f-- > 0;)
        if (!scope.inlined[f])
            functions += FunctionWriter(scope, f).run();
    std::string ptx = fmt::format(".version {}\n.target {}\n.address_size 64\n\n"
                                  ".const .align 8 .b8 args[{}];\n\n",
                                  PtxVersion, TargetArchitecture, 8 * (program.args.size() + 1));
    ptx += scope.module.head + functions;
    return { std::move(ptx), kernel_name, scope.lanes };
}

} // namespace umbel::jit::ptx
