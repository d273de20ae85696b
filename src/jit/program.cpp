// jit/program.cpp: a program as bytes for the kernel cache, as text and as a drawing for people.
//
// Text and drawing must survive malformed programs: verify() prints them in its complaints.
#include "jit/program.h"
#include <bit>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <type_traits>

namespace umbel::jit {

size_t Program::instruction_count() const {
    size_t n = 0;
    for (const Function &f : functions)
        n += f.insts.size();
    return n;
}

// ---- Bytes

namespace {

// An instruction is serialized in three pieces: op, type and uniform; length and arg; imm. What
// lies between them is padding, whose bytes are unspecified.
constexpr size_t HeadBytes = 4, MiddleBytes = 20, RecordBytes = 32;
static_assert(offsetof(Inst, type) == 2 && offsetof(Inst, uniform) == 3);
static_assert(offsetof(Inst, arg) == offsetof(Inst, length) + 4 && sizeof(Inst::arg) == 16);
static_assert(sizeof(Arg) == 3 && std::has_unique_object_representations_v<Arg>);

// Both sinks see the same traversal, so that the bytes are allocated once.
struct CountingSink {
    size_t size = 0;
    void raw(const void *, size_t n) { size += n; }
    void insts(const std::vector<Inst> &v) { size += v.size() * RecordBytes; }
};

struct CopyingSink {
    char *at;
    void raw(const void *p, size_t n) {
        if (n)
            std::memcpy(at, p, n);
        at += n;
    }
    void insts(const std::vector<Inst> &v) {
        char *to = at; // in a register: `at` itself might be among the bytes written
        for (const Inst &i : v) {
            const char *from = reinterpret_cast<const char *>(&i);
            std::memcpy(to, from, HeadBytes);
            std::memcpy(to + HeadBytes, from + offsetof(Inst, length), MiddleBytes);
            std::memcpy(to + HeadBytes + MiddleBytes, &i.imm, sizeof i.imm);
            to += RecordBytes;
        }
        at = to;
    }
};

template <class Sink> class Serializer {
public:
    explicit Serializer(Sink &sink) : m_sink(sink) {}

    void program(const Program &p) {
        number(p.functions.size());
        for (const Function &f : p.functions) {
            number(f.insts.size());
            m_sink.insts(f.insts);
            array(f.outputs);
            array(f.params);
            number(f.data_bytes);
        }
        number(p.calls.size());
        for (const CallSite &c : p.calls) {
            array(c.callees);
            array(c.args);
            array(c.out_types);
            number(c.table);
            number(c.data);
        }
        number(p.externs.size());
        for (const ExternSite &e : p.externs) {
            number(e.kind);
            array(e.text);
            number(e.fn);
            number(e.user);
            number(e.mask);
            array(e.inputs);
            array(e.in_types);
            array(e.out_types);
        }
        array(p.args);
        if (p.is_fast)
            number(1);
    }

private:
    void number(uint64_t n) { m_sink.raw(&n, sizeof n); }

    // The length in front keeps neighbouring arrays from running into each other.
    template <class T> void array(const T &v) {
        static_assert(std::has_unique_object_representations_v<typename T::value_type>);
        number(v.size());
        m_sink.raw(v.data(), v.size() * sizeof(typename T::value_type));
    }

    Sink &m_sink;
};

} // namespace

std::string Program::serialize() const {
    CountingSink count;
    Serializer(count).program(*this);
    std::string bytes(count.size, '\0');
    CopyingSink copy{ bytes.data() };
    Serializer(copy).program(*this);
    return bytes;
}

// ---- Text

namespace {

using Out = std::back_insert_iterator<std::string>;

std::string op_name(Op op) { return int(op) < OpCount ? name(op) : fmt::format("op({})", int(op)); }

std::string type_name(Type t) {
    return int(t) < TypeCount ? name(t) : fmt::format("type({})", int(t));
}

const char *kind_name(ArgKind k) {
    constexpr const char *names[] = { "input", "scalar", "pointer", "output", "table", "data" };
    return size_t(k) < std::size(names) ? names[size_t(k)] : "unknown";
}

const char *kind_name(ExternSite::Kind k) {
    constexpr const char *names[] = { "function", "print", "assert" };
    return size_t(k) < std::size(names) ? names[size_t(k)] : "unknown";
}

std::string value_name(uint32_t v) { return v == NoValue ? "none" : fmt::format("%{}", v); }

std::string value_list(const std::vector<uint32_t> &values) {
    std::string s;
    for (uint32_t v : values)
        s += (s.empty() ? "" : ", ") + value_name(v);
    return s;
}

std::string type_list(const std::vector<Type> &types) {
    std::string s;
    for (Type t : types)
        s += (s.empty() ? "" : ", ") + type_name(t);
    return s;
}

// A print format may hold anything; it must stay on one line.
std::string quoted(const std::string &text) {
    std::string s = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            (s += '\\') += c;
        else if (c == '\n')
            s += "\\n";
        else if (uint8_t(c) < 32)
            s += fmt::format("\\x{:02x}", uint8_t(c));
        else
            s += c;
    }
    return s + '"';
}

float half_to_float(uint16_t h) {
    uint32_t exponent = (h >> 10) & 31, fraction = h & 1023;
    float magnitude;
    if (exponent == 0)
        magnitude = float(fraction) * 0x1p-24f;
    else if (exponent == 31)
        magnitude = std::bit_cast<float>(0x7f800000u | fraction << 13);
    else
        magnitude = std::bit_cast<float>((exponent + 112) << 23 | fraction << 13);
    return h & 0x8000 ? -magnitude : magnitude;
}

// NaNs differ in their bits only, and two that look alike would hide why two programs differ.
template <class T> std::string float_text(T value, uint64_t bits) {
    return value != value ? fmt::format("nan({:#x})", bits) : fmt::format("{}", value);
}

std::string literal_text(Type t, uint64_t imm) {
    switch (t) {
    case Type::Bool: return imm == 0 ? "false" : imm == 1 ? "true" : fmt::format("{:#x}", imm);
    case Type::I8: return fmt::format("{}", int8_t(imm));
    case Type::I16: return fmt::format("{}", int16_t(imm));
    case Type::I32: return fmt::format("{}", int32_t(imm));
    case Type::I64: return fmt::format("{}", int64_t(imm));
    case Type::U8:
    case Type::U16:
    case Type::U32:
    case Type::U64: return fmt::format("{}", imm);
    case Type::F16: return float_text(half_to_float(uint16_t(imm)), imm);
    case Type::F32: return float_text(std::bit_cast<float>(uint32_t(imm)), imm);
    case Type::F64: return float_text(std::bit_cast<double>(imm), imm);
    default: return fmt::format("{:#x}", imm);
    }
}

bool has_result(Op op) {
    return !(op == Op::Scatter || op == Op::StoreLane || (op >= Op::LoopBegin && op <= Op::EndIf));
}

// Call's mask and Phi's values are operands that op.h does not count.
int operand_count(Op op) {
    return op == Op::Call || op == Op::Phi ? 2 : int(op) < OpCount ? operands(op) : 4;
}

// What an instruction says besides its operands.
std::string details(const Program &p, const Inst &i) {
    switch (i.op) {
    case Op::Literal: return literal_text(i.type, i.imm);
    case Op::Active: return fmt::format("region {}", i.imm);
    case Op::Packet: return fmt::format("x{}", uint32_t(i.imm)); // above it: see jit/place.h
    case Op::PacketGet:
    case Op::CallOut:
    case Op::ExternOut:
    case Op::Param: return fmt::format("[{}]", i.imm);
    case Op::Data: return fmt::format("+{}", i.imm);
    case Op::Scatter:
        return uint32_t(i.imm) < 7 ? name(ReduceOp(i.imm)) : fmt::format("{}", uint32_t(i.imm));
    case Op::LoadLane:
    case Op::LoadScalar:
    case Op::ArgPtr:
    case Op::StoreLane: return fmt::format("arg {}", i.imm);
    case Op::Call: {
        if (i.imm >= p.calls.size())
            return fmt::format("site {}", i.imm);
        const CallSite &c = p.calls[i.imm];
        return fmt::format("site {} of {{{}}} ({}) -> ({}), table {}, data {}", i.imm,
                           fmt::join(c.callees, ", "), value_list(c.args), type_list(c.out_types),
                           c.table, c.data);
    }
    case Op::Extern: {
        if (i.imm >= p.externs.size())
            return fmt::format("site {}", i.imm);
        const ExternSite &e = p.externs[i.imm];
        std::string target =
            e.kind == ExternSite::Function
                ? fmt::format(" at {} with {}", value_name(e.fn), value_name(e.user))
                : "";
        return fmt::format("site {} {} {}{}, mask {}, ({}) -> ({})", i.imm, kind_name(e.kind),
                           quoted(e.text), target, value_name(e.mask), value_list(e.inputs),
                           type_list(e.out_types));
    }
    default: return {};
    }
}

// Nesting depth of an instruction's line, and what it makes of the lines after it.
struct Nesting {
    int depth = 1;
    int enter(Op op) {
        bool closes = op == Op::LoopEnd || op == Op::Else || op == Op::EndIf;
        bool opens = op == Op::LoopBegin || op == Op::IfBegin || op == Op::Else;
        int line = depth -= closes && depth > 1;
        depth += opens;
        return line;
    }
};

} // namespace

/// One instruction as text() prints it, without its indentation. Also for verify().
std::string instruction_text(const Program &program, const Function &function, uint32_t index) {
    const Inst &i = function.insts[index];
    std::string s;
    if (has_result(i.op))
        fmt::format_to(Out(s), "%{} = ", index);
    s += op_name(i.op);
    if (i.uniform)
        s += " uniform";
    if (has_result(i.op) && i.type != Type::Void) {
        (s += ' ') += type_name(i.type);
        if (i.length)
            fmt::format_to(Out(s), "[{}]", i.length);
    }

    std::string list;
    for (int k = 0; k < operand_count(i.op); ++k) {
        list += k ? ", " : "";
        list += i.op == Op::Phi && k == 1 ? "next " : "";
        list += value_name(i.arg[k]);
    }
    std::string more = details(program, i);
    if (!list.empty())
        (s += ' ') += list;
    if (!more.empty())
        (s += list.empty() ? " " : ", ") += more;
    return s;
}

std::string Program::text() const {
    std::string s;
    for (size_t k = 0; k < args.size(); ++k)
        fmt::format_to(Out(s), "arg {}: {} {}{}\n", k, kind_name(args[k].kind),
                       type_name(args[k].type),
                       args[k].kind == ArgKind::Pointer && !args[k].small ? ", large" : "");
    for (size_t k = 0; k < functions.size(); ++k) {
        const Function &f = functions[k];
        if (k == 0)
            s += "kernel:\n";
        else
            fmt::format_to(Out(s), "function {} ({}), {} bytes of data:\n", k, type_list(f.params),
                           f.data_bytes);
        Nesting nesting;
        for (uint32_t i = 0; i < f.insts.size(); ++i) {
            s.append(4 * size_t(nesting.enter(f.insts[i].op)), ' ');
            s += instruction_text(*this, f, i);
            s += '\n';
        }
        if (k > 0)
            fmt::format_to(Out(s), "    return ({})\n", value_list(f.outputs));
    }
    return s;
}

// ---- Drawing

namespace {

// Graphviz reads HTML entities and backslashes in labels.
std::string escaped(const std::string &text) {
    std::string s;
    for (char c : text) {
        switch (c) {
        case '&': s += "&amp;"; break;
        case '<': s += "&lt;"; break;
        case '>': s += "&gt;"; break;
        case '"': s += "&quot;"; break;
        case '\\': s += "\\\\"; break;
        default: s += c;
        }
    }
    return s;
}

class Drawing {
public:
    explicit Drawing(const Program &program) : m_program(program) {}

    std::string draw() {
        m_text = "digraph program {\n    node [shape=box, fontname=monospace, fontsize=10];\n";
        for (uint32_t f = 0; f < m_program.functions.size(); ++f)
            function(f);
        // Edges come last: inside a cluster they would pull their ends into it.
        return m_text + m_edges + "}\n";
    }

private:
    void function(uint32_t f) {
        const Function &fn = m_program.functions[f];
        open(f ? fmt::format("function {}", f) : "kernel");
        fmt::format_to(Out(m_text), "f{} [label=\"entry\", shape=ellipse];\n", f);
        size_t outside = m_depth;
        for (uint32_t i = 0; i < fn.insts.size(); ++i) {
            Op op = fn.insts[i].op;
            if ((op == Op::Else || op == Op::EndIf) && m_depth > outside)
                close();
            if (op == Op::LoopBegin)
                open("loop");
            node(f, i);
            edges(f, i);
            if (op == Op::IfBegin || op == Op::Else)
                open(op == Op::Else ? "else" : "then");
            if (op == Op::LoopEnd && m_depth > outside)
                close();
        }
        while (m_depth > outside)
            close();
        if (f) {
            fmt::format_to(Out(m_text), "f{}_out [label=\"return\", shape=ellipse];\n", f);
            for (size_t k = 0; k < fn.outputs.size(); ++k)
                edge(f, fn.outputs[k], fmt::format("f{}_out", f), fmt::format("label={}", k));
        }
        close();
    }

    void node(uint32_t f, uint32_t i) {
        const Function &fn = m_program.functions[f];
        fmt::format_to(Out(m_text), "f{}_{} [label=\"{}\"{}];\n", f, i,
                       escaped(instruction_text(m_program, fn, i)),
                       fn.insts[i].uniform ? ", style=dashed" : "");
    }

    void edges(uint32_t f, uint32_t i) {
        const Inst &inst = m_program.functions[f].insts[i];
        std::string here = fmt::format("f{}_{}", f, i);
        for (int k = 0; k < operand_count(inst.op); ++k)
            edge(f, inst.arg[k], here,
                 inst.op == Op::Phi && k == 1 ? "style=dashed, constraint=false" : "");
        if (inst.op == Op::Call && inst.imm < m_program.calls.size()) {
            const CallSite &c = m_program.calls[inst.imm];
            for (uint32_t v : c.args)
                edge(f, v, here, "style=dotted");
            for (uint32_t callee : c.callees)
                if (callee < m_program.functions.size())
                    fmt::format_to(Out(m_edges), "    {} -> f{} [style=bold];\n", here, callee);
        }
        if (inst.op == Op::Extern && inst.imm < m_program.externs.size()) {
            const ExternSite &e = m_program.externs[inst.imm];
            for (uint32_t v : { e.fn, e.user, e.mask })
                edge(f, v, here, "style=dotted");
            for (uint32_t v : e.inputs)
                edge(f, v, here, "style=dotted");
        }
    }

    void edge(uint32_t f, uint32_t value, const std::string &to, const std::string &style) {
        if (value < m_program.functions[f].insts.size())
            fmt::format_to(Out(m_edges), "    f{}_{} -> {}{};\n", f, value, to,
                           style.empty() ? "" : " [" + style + "]");
    }

    void open(const std::string &label) {
        fmt::format_to(Out(m_text), "subgraph cluster_{} {{ label=\"{}\";\n", m_clusters++, label);
        ++m_depth;
    }

    void close() {
        m_text += "}\n";
        --m_depth;
    }

    const Program &m_program;
    std::string m_text, m_edges;
    size_t m_clusters = 0, m_depth = 0;
};

} // namespace

std::string Program::dot() const { return Drawing(*this).draw(); }

} // namespace umbel::jit
