// jit/verify.cpp: the rules of programs (jit/program.h) and operand types (jit/op.h), checked.
//
// One pass over each function: a stack of open regions tells which values are visible. Nothing here
// recurses, so that a program of a million instructions can be checked.
#include "jit/error.h"
#include "jit/program.h"
#include <array>
#include <cstring>
#include <string_view>

namespace umbel::jit {

std::string instruction_text(const Program &, const Function &, uint32_t); // program.cpp

namespace {

// ---- Types by operation

// Result: - none   ? not looked at   v any value   n number   f float   i integer   m mask   u u32
//         l integer or mask   c number or mask   p pointer
// Operand: t the result's type   T the same, maybe a local array   A local array of t   v any value
//          n number   c number or mask   s type of operand 0   b as many bits as the result
//          m mask   u u32   p pointer   # packet of t   C call   X host function call
struct Rule {
    Op first, last; // a range of operations, in the order of op.h
    char result;
    const char *operands;
    bool may_be_uniform;
};

constexpr Rule rules[] = {
    // clang-format off
    { Op::Literal,    Op::Literal,    'v', "",     true },
    { Op::Lane,       Op::Lane,       'u', "",     false },
    { Op::Active,     Op::Active,     'm', "",     false },
    { Op::Neg,        Op::Abs,        'n', "t",    true },
    { Op::Not,        Op::Not,        'l', "t",    true },
    { Op::Sqrt,       Op::Round,      'f', "t",    true },
    { Op::Popcount,   Op::Ctz,        'i', "t",    true },
    { Op::Cast,       Op::Cast,       'c', "c",    true },
    { Op::Bitcast,    Op::Bitcast,    'v', "b",    true },
    { Op::Sin,        Op::Lgamma,     'f', "t",    true },
    { Op::Add,        Op::Div,        'n', "tt",   true },
    { Op::Mod,        Op::MulHi,      'i', "tt",   true },
    { Op::Min,        Op::Max,        'n', "tt",   true },
    { Op::And,        Op::Xor,        'l', "tt",   true },
    { Op::Shl,        Op::Rotr,       'i', "tt",   true },
    { Op::Eq,         Op::Ne,         'm', "vs",   true },
    { Op::Lt,         Op::Le,         'm', "ns",   true },
    { Op::Atan2,      Op::Pow,        'f', "tt",   true },
    { Op::Fma,        Op::Fma,        'n', "ttt",  true },
    { Op::Select,     Op::Select,     'v', "mTT",  true },
    { Op::Gather,     Op::Packet,     'v', "pum",  true },
    { Op::PacketGet,  Op::PacketGet,  'v', "#",    true },
    { Op::Scatter,    Op::Scatter,    '-', "puvm", false },
    { Op::ScatterInc, Op::ScatterInc, 'u', "pum",  false },
    { Op::ArrayNew,   Op::ArrayNew,   'v', "t",    true },
    { Op::ArrayGet,   Op::ArrayGet,   'v', "Aum",  true },
    { Op::ArraySet,   Op::ArraySet,   'v', "Autm", true },
    { Op::Phi,        Op::Phi,        'v', "",     false }, // its two values: check_phi, close_loop
    { Op::Param,      Op::Param,      'v', "",     false },
    { Op::Call,       Op::Call,       '?', "um",   false },
    { Op::CallOut,    Op::CallOut,    'v', "C",    false },
    { Op::Extern,     Op::Extern,     '?', "",     false },
    { Op::ExternOut,  Op::ExternOut,  'v', "X",    false },
    { Op::LoadLane,   Op::LoadLane,   'v', "",     false },
    { Op::LoadScalar, Op::LoadScalar, 'v', "",     true },
    { Op::ArgPtr,     Op::ArgPtr,     'p', "",     true },
    { Op::Data,       Op::Data,       'v', "",     false },
    { Op::StoreLane,  Op::StoreLane,  '-', "v",    false },
    { Op::LoopBegin,  Op::LoopBegin,  '-', "",     false },
    { Op::LoopWhile,  Op::LoopWhile,  '-', "m",    false },
    { Op::LoopEnd,    Op::LoopEnd,    '-', "",     false },
    { Op::IfBegin,    Op::IfBegin,    '-', "m",    false },
    { Op::Else,       Op::EndIf,      '-', "",     false },
    { Op::Merge,      Op::Merge,      'v', "mTT",  true },
    // clang-format on
};

// Null for operations that only the graph has.
constexpr auto rule_of = [] {
    std::array<const Rule *, OpCount> table{};
    for (const Rule &r : rules)
        for (int op = int(r.first); op <= int(r.last); ++op)
            table[op] = &r;
    return table;
}();

// Call has an operand (its mask) that op.h does not count.
static_assert([] {
    for (const Rule &r : rules)
        for (int op = int(r.first); op <= int(r.last); ++op)
            if (Op(op) != Op::Call &&
                std::string_view(r.operands).size() != size_t(operands(Op(op))))
                return false;
    return true;
}());

bool in_class(Type t, char c) {
    switch (c) {
    case 'v': return t != Type::Void;
    case 'n': return is_number(t);
    case 'f': return is_float(t);
    case 'i': return is_int(t);
    case 'l': return is_int(t) || t == Type::Bool;
    case 'c': return is_number(t) || t == Type::Bool;
    case 'm': return t == Type::Bool;
    case 'u': return t == Type::U32;
    case 'p': return t == Type::Ptr;
    default: return true;
    }
}

const char *class_name(char c) {
    switch (c) {
    case 'v': return "a value";
    case 'n': return "a number";
    case 'f': return "a float";
    case 'i': return "an integer";
    case 'l': return "an integer or a mask";
    case 'c': return "a number or a mask";
    case 'm': return "bool";
    case 'u': return "u32";
    default: return "ptr";
    }
}

bool is_type(Type t) { return t != Type::Void && int(t) < TypeCount; }

/// Whether instructions of this kind may be read as ordinary operands.
bool is_value(Op op) {
    return rule_of[int(op)]->result != '-' && op != Op::Call && op != Op::Extern &&
           op != Op::Packet;
}

/// Whether the result may be a local array, its length in Inst::length.
bool may_have_length(Op op) {
    return op == Op::ArrayNew || op == Op::ArraySet || op == Op::Phi || op == Op::Merge ||
           op == Op::Select;
}

// ---- One function

class FunctionVerifier {
public:
    FunctionVerifier(const Program &program, uint32_t function)
        : m_program(program), m_number(function), m_function(program.functions[function]) {}

    /// Appends the functions that this one calls.
    void run(std::vector<uint32_t> &callees);

private:
    // The root, a loop, or one branch of a conditional.
    enum class RegionKind { Root, Loop, Then, Else };
    struct Region {
        RegionKind kind;
        uint32_t begin, parent;  // its marker, the region around it
        uint32_t then = NoValue; // of an Else: the other branch
        bool open = true;
        bool while_seen = false; // of a Loop
    };

    const Inst &inst(uint32_t i) const { return m_function.insts[i]; }
    Region &innermost() { return m_regions[m_innermost]; }

    template <class... Args>
    [[noreturn]] void error(fmt::format_string<Args...> f, Args &&...args) const {
        std::string where = m_at < m_function.insts.size()
                                ? fmt::format("instruction {}: {}", m_at,
                                              instruction_text(m_program, m_function, m_at))
                                : "as a whole";
        throw InternalError(fmt::format("function {}, {}: {}", m_number, where,
                                        fmt::format(f, std::forward<Args>(args)...)));
    }

    void check_fields();
    void check_operands();
    void check_operand(int k, char want);
    void check_uniform();
    void check_details(std::vector<uint32_t> &callees);
    void check_arg(ArgKind kind);
    void check_call(std::vector<uint32_t> &callees);
    void check_extern();
    void check_result_of(size_t count, const std::vector<Type> &types);
    void check_phi();
    void check_merge();
    void check_marker();
    void open(RegionKind kind);
    void close() {
        innermost().open = false;
        m_innermost = innermost().parent;
    }
    void close_loop();
    void check_outputs();
    const Inst &use(uint32_t value, std::string_view what, uint32_t closed_region = NoValue);
    void expect_type(uint32_t value, std::string_view what, Type type);

    const Program &m_program;
    uint32_t m_number;
    const Function &m_function;
    uint32_t m_at = 0; // the instruction being checked
    std::vector<Region> m_regions;
    std::vector<uint32_t> m_home; // of each instruction: the region in which its value lives
    uint32_t m_innermost = 0;
    uint32_t m_last_then = NoValue, m_last_else = NoValue; // of the last EndIf
};

void FunctionVerifier::run(std::vector<uint32_t> &callees) {
    m_home.reserve(m_function.insts.size());
    m_regions.push_back({ .kind = RegionKind::Root, .begin = 0, .parent = 0 });
    m_at = NoValue; // complaints about the function as a whole
    if (m_number == 0 && !(m_function.params.empty() && m_function.outputs.empty()))
        error("the kernel has neither parameters nor outputs");
    if (m_number == 0 && m_function.data_bytes)
        error("the kernel has no record of data");
    for (Type t : m_function.params)
        if (!is_type(t))
            error("a parameter is declared with no type");

    for (m_at = 0; m_at < m_function.insts.size(); ++m_at) {
        check_fields();
        check_operands();
        check_uniform();
        check_details(callees);
        check_marker();
        // A Phi lives on after its loop, as if it had been made outside.
        m_home.push_back(inst(m_at).op == Op::Phi ? innermost().parent : m_innermost);
    }

    if (m_innermost != 0)
        error("the region begun by instruction {} does not end", innermost().begin);
    check_outputs();
}

void FunctionVerifier::check_fields() {
    const Inst &i = inst(m_at);
    if (int(i.op) >= OpCount)
        error("there is no such operation");
    if (int(i.type) >= TypeCount)
        error("there is no such type");
    const Rule *rule = rule_of[int(i.op)];
    if (!rule)
        error("this operation belongs to the graph, not to programs");
    if (!in_class(i.type, rule->result))
        error("the result is {}, must be {}", name(i.type), class_name(rule->result));
    if (i.length && !may_have_length(i.op))
        error("the result cannot be a local array");
    if (i.uniform > 1)
        error("the uniform flag is {}, must be 0 or 1", i.uniform);
    // Equal programs must have equal bytes.
    int used = i.op == Op::Phi ? 2 : int(std::strlen(rule->operands));
    for (int k = used; k < 4; ++k)
        if (i.arg[k] != NoValue)
            error("operand {} is set, but the operation has {}", k, used);
}

/// The instruction behind an operand, once it is known to be visible here. `closed_region` is a
/// branch that has ended and may be read all the same.
const Inst &FunctionVerifier::use(uint32_t value, std::string_view what, uint32_t closed_region) {
    if (value == NoValue)
        error("{} is missing", what);
    if (value >= m_at)
        error("{} (%{}) is not defined before its use", what, value);
    if (!m_regions[m_home[value]].open && m_home[value] != closed_region)
        error("{} (%{}) was made inside a region that has ended or is another branch", what, value);
    return inst(value);
}

/// A plain value of a given type.
void FunctionVerifier::expect_type(uint32_t value, std::string_view what, Type type) {
    if (!is_type(type))
        error("{} is declared with no type", what);
    const Inst &v = use(value, what);
    if (!is_value(v.op))
        error("{} (%{}) is {}, which has no value", what, value, name(v.op));
    if (v.length)
        error("{} (%{}) is a local array, must be a plain value", what, value);
    if (v.type != type)
        error("{} (%{}) is {}, must be {}", what, value, name(v.type), name(type));
}

void FunctionVerifier::check_operands() {
    const char *wanted = rule_of[int(inst(m_at).op)]->operands;
    for (int k = 0; wanted[k]; ++k)
        check_operand(k, wanted[k]);
}

void FunctionVerifier::check_operand(int k, char want) {
    const Inst &i = inst(m_at);
    uint32_t value = i.arg[k];
    constexpr std::string_view names[] = { "operand 0", "operand 1", "operand 2", "operand 3" };
    std::string_view what = names[k];
    bool merged = i.op == Op::Merge && k > 0;
    const Inst &v = use(value, what, merged ? (k == 1 ? m_last_then : m_last_else) : NoValue);

    // Operands that are not values, but name the instruction that made several
    Op maker = want == '#' ? Op::Packet : want == 'C' ? Op::Call : Op::Extern;
    if (want == '#' || want == 'C' || want == 'X') {
        if (v.op != maker)
            error("{} (%{}) is {}, must be {}", what, value, name(v.op), name(maker));
        if (want == '#' && v.type != i.type)
            error("the result is {}, the packet's elements are {}", name(i.type), name(v.type));
        return;
    }
    if (!is_value(v.op))
        error("{} (%{}) is {}, which has no value", what, value, name(v.op));

    // Local arrays
    if (want == 'A' && v.length == 0)
        error("{} (%{}) is a plain value, must be a local array", what, value);
    uint32_t length = want == 'T' || (want == 'A' && i.op == Op::ArraySet) ? i.length
                      : want == 'A'                                        ? v.length
                                                                           : 0;
    if (v.length != length)
        error("{} (%{}) has length {}, must have {}", what, value, v.length, length);

    // Types
    if (want == 'b') {
        if (bits(v.type) != bits(i.type))
            error("{} (%{}) is {}, of another width than {}", what, value, name(v.type),
                  name(i.type));
        return;
    }
    bool as_result = want == 't' || want == 'T' || want == 'A';
    if (as_result || want == 's') {
        Type type = as_result ? i.type : inst(i.arg[0]).type;
        if (v.type != type)
            error("{} (%{}) is {}, must be {}", what, value, name(v.type), name(type));
    } else if (!in_class(v.type, want)) {
        error("{} (%{}) is {}, must be {}", what, value, name(v.type), class_name(want));
    }
}

void FunctionVerifier::check_uniform() {
    const Inst &i = inst(m_at);
    if (!i.uniform)
        return;
    const Rule &rule = *rule_of[int(i.op)];
    if (!rule.may_be_uniform)
        error("this operation is never uniform");
    for (int k = 0; rule.operands[k]; ++k)
        if (!inst(i.arg[k]).uniform)
            error("it is uniform, but operand {} (%{}) is not", k, i.arg[k]);
}

// ---- What single operations ask for besides operand types

void FunctionVerifier::check_details(std::vector<uint32_t> &callees) {
    const Inst &i = inst(m_at);
    switch (i.op) {
    case Op::Literal:
        if (bits(i.type) < 64 && i.imm >> bits(i.type))
            error("the bits {:#x} do not fit {}", i.imm, name(i.type));
        break;
    case Op::Packet:
        if (uint32_t(i.imm) == 0) // above it: see jit/place.h
            error("the packet has no elements");
        break;
    case Op::PacketGet:
        if (uint32_t n = uint32_t(inst(i.arg[0]).imm); i.imm >= n)
            error("element {} of a packet of {}", i.imm, n);
        break;
    case Op::Scatter: {
        if (uint32_t(i.imm) > uint32_t(ReduceOp::Or))
            error("there is no reduction {}", uint32_t(i.imm));
        Type t = inst(i.arg[2]).type;
        ReduceOp reduce = ReduceOp(i.imm);
        bool bitwise = reduce == ReduceOp::And || reduce == ReduceOp::Or;
        if (reduce != ReduceOp::Store && !in_class(t, bitwise ? 'l' : 'n'))
            error("{} cannot be reduced by {}", name(t), name(reduce));
        break;
    }
    case Op::ArrayNew:
    case Op::ArraySet:
        if (i.length == 0)
            error("the local array has no length");
        break;
    case Op::Param:
        if (m_number == 0 || i.imm >= m_function.params.size())
            error("there is no parameter {}", i.imm);
        if (i.type != m_function.params[i.imm])
            error("parameter {} is {}", i.imm, name(m_function.params[i.imm]));
        break;
    case Op::Data:
        if (i.imm > m_function.data_bytes || m_function.data_bytes - i.imm < bytes(i.type))
            error("the field is outside the record of {} bytes", m_function.data_bytes);
        break;
    case Op::LoadLane: check_arg(ArgKind::Input); break;
    case Op::LoadScalar: check_arg(ArgKind::Scalar); break;
    case Op::ArgPtr: check_arg(ArgKind::Pointer); break;
    case Op::StoreLane:
        check_arg(ArgKind::Output);
        // It has no mask: lanes that do not run the region would store garbage.
        if (m_number != 0 || m_innermost != 0)
            error("lanes are stored only by the kernel, outside of regions");
        break;
    case Op::Call: check_call(callees); break;
    case Op::Extern: check_extern(); break;
    case Op::CallOut: check_result_of(i.imm, m_program.calls[inst(i.arg[0]).imm].out_types); break;
    case Op::ExternOut:
        check_result_of(i.imm, m_program.externs[inst(i.arg[0]).imm].out_types);
        break;
    case Op::Phi: check_phi(); break;
    case Op::Merge: check_merge(); break;
    default: break;
    }
}

void FunctionVerifier::check_arg(ArgKind kind) {
    const Inst &i = inst(m_at);
    if (i.imm >= m_program.args.size())
        error("there is no argument {}", i.imm);
    const Arg &arg = m_program.args[i.imm];
    if (arg.kind != kind)
        error("argument {} is of another kind", i.imm);
    Type t = i.op == Op::StoreLane ? inst(i.arg[0]).type : i.type;
    if (kind != ArgKind::Pointer && arg.type != t)
        error("argument {} is {}, not {}", i.imm, name(arg.type), name(t));
}

void FunctionVerifier::check_call(std::vector<uint32_t> &callees) {
    uint64_t number = inst(m_at).imm;
    if (number >= m_program.calls.size())
        error("there is no call site {}", number);
    const CallSite &site = m_program.calls[number];
    auto is_arg = [&](uint32_t arg, ArgKind kind) {
        return arg < m_program.args.size() && m_program.args[arg].kind == kind;
    };
    if (!is_arg(site.table, ArgKind::CallTable))
        error("argument {} is not a call table", site.table);
    for (Type t : site.out_types)
        if (!is_type(t))
            error("an output is declared with no type");

    for (uint32_t c : site.callees) {
        if (c == 0 || c >= m_program.functions.size())
            error("function {} cannot be called", c);
        const Function &callee = m_program.functions[c];
        if (callee.data_bytes && !is_arg(site.data, ArgKind::CallData))
            error("argument {} does not hold call data", site.data);
        if (callee.params.size() != site.args.size())
            error("function {} takes {} arguments, not {}", c, callee.params.size(),
                  site.args.size());
        for (size_t k = 0; k < site.args.size(); ++k)
            expect_type(site.args[k], fmt::format("argument {} of function {}", k, c),
                        callee.params[k]);
        if (callee.outputs.size() != site.out_types.size())
            error("function {} has {} outputs, not {}", c, callee.outputs.size(),
                  site.out_types.size());
        for (size_t k = 0; k < site.out_types.size(); ++k) {
            uint32_t v = callee.outputs[k];
            // An output out of range is reported when its function is looked at.
            if (v < callee.insts.size() && callee.insts[v].type != site.out_types[k])
                error("output {} of function {} is not {}", k, c, name(site.out_types[k]));
        }
        callees.push_back(c);
    }
}

void FunctionVerifier::check_extern() {
    uint64_t number = inst(m_at).imm;
    if (number >= m_program.externs.size())
        error("there is no host function site {}", number);
    const ExternSite &site = m_program.externs[number];
    if (site.kind > ExternSite::Assert)
        error("there is no host function kind {}", int(site.kind));
    expect_type(site.mask, "the mask", Type::Bool);
    if (site.inputs.size() != site.in_types.size())
        error("{} inputs, but {} types of inputs", site.inputs.size(), site.in_types.size());
    for (size_t k = 0; k < site.inputs.size(); ++k)
        expect_type(site.inputs[k], fmt::format("input {}", k), site.in_types[k]);
    for (Type t : site.out_types)
        if (!is_type(t))
            error("an output is declared with no type");

    if (site.kind == ExternSite::Function) {
        expect_type(site.fn, "the function", Type::Ptr);
        expect_type(site.user, "the user pointer", Type::Ptr);
    } else if (!site.out_types.empty()) {
        error("a print or an assertion has no outputs");
    }
    if (site.kind == ExternSite::Assert && (site.inputs.empty() || site.in_types[0] != Type::Bool))
        error("the first input of an assertion is its condition, a mask");
}

void FunctionVerifier::check_result_of(size_t number, const std::vector<Type> &types) {
    if (number >= types.size())
        error("result {} of {}", number, types.size());
    if (types[number] != inst(m_at).type)
        error("result {} is {}", number, name(types[number]));
}

void FunctionVerifier::check_outputs() {
    for (size_t k = 0; k < m_function.outputs.size(); ++k) {
        uint32_t value = m_function.outputs[k];
        std::string what = fmt::format("output {}", k);
        const Inst &v = use(value, what);
        if (!is_value(v.op))
            error("{} (%{}) is {}, which has no value", what, value, name(v.op));
        if (v.length)
            error("{} (%{}) is a local array, must be a plain value", what, value);
    }
}

// ---- Regions

void FunctionVerifier::check_phi() {
    const Inst &i = inst(m_at);
    Op before = m_at ? inst(m_at - 1).op : Op::Literal;
    if (before != Op::LoopBegin && before != Op::Phi)
        error("a Phi follows LoopBegin or another Phi");
    const Inst &initial = use(i.arg[0], "the initial value");
    if (i.arg[0] >= innermost().begin)
        error("the initial value (%{}) is made inside the loop", i.arg[0]);
    if (!is_value(initial.op) || initial.type != i.type || initial.length != i.length)
        error("the initial value (%{}) is of another type or length", i.arg[0]);
}

/// Next values may be made anywhere in the loop, so they are looked at when it ends.
void FunctionVerifier::close_loop() {
    uint32_t end = m_at;
    for (uint32_t p = innermost().begin + 1; inst(p).op == Op::Phi; ++p) {
        const Inst &phi = inst(p);
        if (phi.arg[1] == NoValue || phi.arg[1] >= end) {
            m_at = p;
            error("the next value ({}) is not defined in the loop or before it",
                  phi.arg[1] == NoValue ? "none" : fmt::format("%{}", phi.arg[1]));
        }
        bool visible = m_regions[m_home[phi.arg[1]]].open;
        const Inst &next = inst(phi.arg[1]);
        m_at = p; // a complaint shows the Phi
        if (!visible)
            error("the next value (%{}) was made inside a region that has ended", phi.arg[1]);
        if (!is_value(next.op) || next.type != phi.type || next.length != phi.length)
            error("the next value (%{}) is of another type or length", phi.arg[1]);
        m_at = end;
    }
    close();
}

void FunctionVerifier::check_merge() {
    const Inst &i = inst(m_at);
    Op before = m_at ? inst(m_at - 1).op : Op::Literal;
    if (before != Op::EndIf && before != Op::Merge)
        error("a Merge follows EndIf or another Merge");
    uint32_t mask = inst(m_regions[m_last_then].begin).arg[0];
    if (i.arg[0] != mask)
        error("the mask is %{}, the conditional's is %{}", i.arg[0], mask);
}

void FunctionVerifier::open(RegionKind kind) {
    m_regions.push_back({ .kind = kind, .begin = m_at, .parent = m_innermost });
    m_innermost = uint32_t(m_regions.size() - 1);
}

void FunctionVerifier::check_marker() {
    RegionKind kind = innermost().kind;
    switch (inst(m_at).op) {
    case Op::LoopBegin: open(RegionKind::Loop); break;
    case Op::LoopWhile:
        if (kind != RegionKind::Loop)
            error("LoopWhile stands outside of a loop or inside a branch");
        if (innermost().while_seen)
            error("the loop has a second LoopWhile");
        innermost().while_seen = true;
        break;
    case Op::LoopEnd:
        if (kind != RegionKind::Loop)
            error("LoopEnd does not close a loop");
        if (!innermost().while_seen)
            error("the loop has no LoopWhile");
        close_loop();
        break;
    case Op::IfBegin: open(RegionKind::Then); break;
    case Op::Else:
        if (kind != RegionKind::Then)
            error("Else does not follow the first branch of a conditional");
        open(RegionKind::Else);
        innermost().then = innermost().parent;
        m_regions[innermost().then].open = false;
        innermost().parent = m_regions[innermost().then].parent;
        break;
    case Op::EndIf:
        if (kind != RegionKind::Else)
            error("EndIf does not close a conditional with two branches");
        m_last_then = innermost().then;
        m_last_else = m_innermost;
        close();
        break;
    default: break;
    }
}

// ---- Calls among functions

/// Depth-first over the calls, with a stack of our own.
void check_acyclic(const std::vector<std::vector<uint32_t>> &callees) {
    enum Mark : uint8_t { New, Open, Done };
    std::vector<Mark> marks(callees.size(), New);
    std::vector<std::pair<uint32_t, size_t>> path; // function, next callee to look at
    for (uint32_t start = 0; start < callees.size(); ++start) {
        if (marks[start] != New)
            continue;
        marks[start] = Open;
        path.push_back({ start, 0 });
        while (!path.empty()) {
            auto &[function, next] = path.back();
            if (next == callees[function].size()) {
                marks[function] = Done;
                path.pop_back();
                continue;
            }
            uint32_t callee = callees[function][next++];
            if (marks[callee] == Open)
                throw InternalError(fmt::format("function {} calls function {}, which is running: "
                                                "calls must not form a cycle",
                                                function, callee));
            if (marks[callee] == New) {
                marks[callee] = Open;
                path.push_back({ callee, 0 });
            }
        }
    }
}

} // namespace

void verify(const Program &program) {
    if (program.functions.empty())
        throw InternalError("the program has no functions");
    for (size_t k = 0; k < program.args.size(); ++k)
        if (program.args[k].kind > ArgKind::CallData || int(program.args[k].type) >= TypeCount)
            throw InternalError(fmt::format("argument {} has no such kind or type", k));
    std::vector<std::vector<uint32_t>> callees(program.functions.size());
    for (uint32_t f = 0; f < program.functions.size(); ++f)
        FunctionVerifier(program, f).run(callees[f]);
    check_acyclic(callees);
}

} // namespace umbel::jit
