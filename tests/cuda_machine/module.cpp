// tests/cuda_machine/module.cpp: reads the text of a module; runs its threads.
#include "machine.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace cuda_machine {

namespace {

std::string trimmed(std::string_view s) {
    size_t a = s.find_first_not_of(" \t\n"), b = s.find_last_not_of(" \t\n");
    return a == s.npos ? "" : std::string(s.substr(a, b - a + 1));
}

/// Parts between commas, those inside braces and parentheses kept together.
std::vector<std::string> split(std::string_view s) {
    std::vector<std::string> out;
    int depth = 0;
    size_t begin = 0;
    for (size_t k = 0; k <= s.size(); ++k) {
        if (k == s.size() || (s[k] == ',' && depth == 0)) {
            if (std::string part = trimmed(s.substr(begin, k - begin)); !part.empty())
                out.push_back(part);
            begin = k + 1;
        } else if (s[k] == '{' || s[k] == '(') {
            ++depth;
        } else if (s[k] == '}' || s[k] == ')') {
            --depth;
        }
    }
    return out;
}

uint32_t width_of(const std::string &type) { // "b32"
    return uint32_t(std::stoul(type.substr(1))) / 8;
}

class Parser {
public:
    explicit Parser(const std::string &text) : m_text(text) {
        m.cells.assign(6, 0);
        m.tid = 0, m.ctaid = 1, m.ntid = 2, m.base = 3, m.lanes_before = 4, m.lanes_after = 5;
    }
    std::unique_ptr<Module> parse();

private:
    struct Place {
        uint32_t at, bytes;
    };
    [[noreturn]] void refuse(const std::string &what) const {
        throw std::runtime_error("not understood: " + what);
    }
    void statement(std::string s);
    void declare_memory(const std::string &s);
    void begin_function(const std::string &s);
    std::vector<Function::Param> parameters(const std::string &list);
    uint32_t take_bytes(const std::string &declaration, std::string *name);
    void instruction(const std::string &opcode, const std::string &rest, Ins i);
    void call(const std::string &rest, Ins i);
    void address(const std::string &text, Ins &i);
    uint32_t operand(const std::string &text);
    uint32_t constant(uint64_t v) {
        auto [it, fresh] = m_constants.emplace(v, uint32_t(m.cells.size()));
        if (fresh)
            m.cells.push_back(v);
        return it->second;
    }
    void end_function();

    const std::string &m_text;
    Module m;
    std::map<uint64_t, uint32_t> m_constants;
    // Of the function that is being read
    std::map<std::string, uint32_t> m_registers;
    std::map<std::string, Place> m_bytes; // parameters and local memory
    std::map<std::string, uint32_t> m_labels;
    std::map<std::string, std::vector<std::string>> m_tables;
    std::vector<std::pair<size_t, std::string>> m_jumps;
    int m_depth = 0;
};

// ".param .align 8 .b8 in[24]" or ".param .b32 a"
uint32_t Parser::take_bytes(const std::string &declaration, std::string *name) {
    size_t last = declaration.find_last_of(' ');
    std::string what = declaration.substr(last + 1);
    size_t dot = declaration.rfind('.', last);
    uint32_t bytes = width_of(declaration.substr(dot + 1, last - dot - 1));
    if (size_t open = what.find('['); open != what.npos) {
        bytes *= uint32_t(std::stoul(what.substr(open + 1)));
        what.resize(open);
    }
    m.bytes = (m.bytes + 15) / 16 * 16;
    uint32_t at = m.bytes;
    m.bytes += bytes;
    m_bytes[what] = { at, bytes };
    *name = what;
    return at;
}

std::vector<Function::Param> Parser::parameters(const std::string &list) {
    std::vector<Function::Param> out;
    for (const std::string &p : split(list)) {
        std::string name;
        take_bytes(p, &name);
        out.push_back({ m_bytes[name].at, m_bytes[name].bytes });
    }
    return out;
}

// ".visible .entry k(.param .u32 size) .maxnreg 64", ".func (.param .b32 r) f(.param .b32 a)", ".func f(...)"
void Parser::begin_function(const std::string &s) {
    m_registers.clear(), m_bytes.clear(), m_labels.clear(), m_tables.clear(), m_jumps.clear();
    Function f;
    f.begin = uint32_t(m.code.size());
    std::string rest = trimmed(
        s.substr(s.find(s.starts_with(".func") ? ".func" : ".entry") + (s[1] == 'f' ? 5 : 6)));
    if (rest[0] == '(') {
        size_t close = rest.find(')');
        f.results = parameters(rest.substr(1, close - 1));
        rest = trimmed(rest.substr(close + 1));
    }
    size_t open = rest.find('('), close = rest.find(')');
    f.params = parameters(rest.substr(open + 1, close - open - 1));
    m.functions[trimmed(rest.substr(0, open))] = f;
}

// ".const .align 8 .b8 args[16]", ".global .align 4 .b32 t[3] = { 1, 2, 3 }"
void Parser::declare_memory(const std::string &s) {
    size_t end = s.find(" ="), open = s.find('['), space = s.rfind(' ', std::min(open, end) - 1),
           dot = s.rfind('.', space);
    std::string name = s.substr(space + 1, std::min(open, end) - space - 1);
    uint32_t width = width_of(s.substr(dot + 1, space - dot - 1));
    size_t count = open == s.npos ? 1 : std::stoul(s.substr(open + 1));
    std::vector<uint64_t> &memory = m.memory[name];
    memory.assign((count * width + 7) / 8 + 1, 0);
    size_t brace = s.find('{');
    if (brace == s.npos)
        return;
    auto *to = reinterpret_cast<char *>(memory.data());
    for (const std::string &v : split(s.substr(brace + 1, s.rfind('}') - brace - 1))) {
        uint64_t bits = std::stoull(v, nullptr, 0);
        std::memcpy(to, &bits, width);
        to += width;
    }
}

uint32_t Parser::operand(const std::string &t) {
    if (t == "%tid.x")
        return m.tid;
    if (t == "%ctaid.x")
        return m.ctaid;
    if (t == "%ntid.x")
        return m.ntid;
    if (t == "%lanemask_lt")
        return m.lanes_before;
    if (t == "%lanemask_gt")
        return m.lanes_after;
    if (t == "%ctaid.z")
        return constant(0);
    if (t[0] == '%') {
        auto [it, fresh] = m_registers.emplace(t, uint32_t(m.cells.size()));
        if (fresh)
            m.cells.push_back(0);
        return it->second;
    }
    if (t.starts_with("0f") || t.starts_with("0d"))
        return constant(std::stoull(t.substr(2), nullptr, 16));
    if (std::isdigit(t[0]))
        return constant(std::stoull(t, nullptr, 0));
    if (t[0] == '-')
        return constant(uint64_t(std::stoll(t)));
    refuse(t);
}

// "[%d1+8]", "[args+16]", "[local+4+0]"
void Parser::address(const std::string &text, Ins &i) {
    if (text.size() < 3 || text[0] != '[')
        refuse(text);
    std::string s = text.substr(1, text.size() - 2), base;
    for (size_t k = 0; k <= s.size();) {
        size_t plus = std::min(s.find('+', k), s.size());
        std::string part = trimmed(s.substr(k, plus - k));
        if (k == 0)
            base = part;
        else
            i.offset += std::stoll(part);
        k = plus + 1;
    }
    if (base[0] == '%') {
        i.address = operand(base);
    } else if (auto b = m_bytes.find(base); b != m_bytes.end()) {
        i.address = m.base;
        i.offset += b->second.at;
    } else if (auto g = m.memory.find(base); g != m.memory.end()) {
        i.address = constant(reinterpret_cast<uintptr_t>(g->second.data()));
    } else {
        refuse(text);
    }
}

// "(out_), name, (in_)" or "name, (in_)"
void Parser::call(const std::string &rest, Ins i) {
    std::vector<std::string> parts = split(rest);
    auto places = [&](const std::string &list) {
        std::vector<Place> out;
        for (const std::string &name : split(list.substr(1, list.size() - 2)))
            out.push_back(m_bytes.at(name));
        return out;
    };
    std::vector<Place> results;
    if (parts[0][0] == '(') {
        results = places(parts[0]);
        parts.erase(parts.begin());
    }
    const Function &callee = m.functions.at(parts[0]);
    std::vector<Place> in = parts.size() > 1 ? places(parts[1]) : std::vector<Place>();
    if (in.size() != callee.params.size() || results.size() != callee.results.size())
        refuse("call " + rest);
    for (size_t k = 0; k < in.size(); ++k)
        i.before.push_back({ in[k].at, callee.params[k].at, in[k].bytes });
    for (size_t k = 0; k < results.size(); ++k)
        i.after.push_back({ callee.results[k].at, results[k].at, results[k].bytes });
    i.kind = Ins::Call;
    i.target = callee.begin;
    m.code.push_back(std::move(i));
}

void Parser::instruction(const std::string &opcode, const std::string &rest, Ins i) {
    std::vector<std::string> parts = split(rest);
    if (opcode == "ret") {
        i.kind = Ins::Ret;
        m.code.push_back(i);
        return;
    }
    if (opcode == "call" || opcode == "call.uni")
        return call(rest, i);
    if (opcode == "bra" || opcode == "bra.uni") {
        i.kind = Ins::Bra;
        m_jumps.push_back({ m.code.size(), parts[0] });
        m.code.push_back(i);
        return;
    }
    if (opcode == "brx.idx") {
        i.kind = Ins::BraTable;
        i.s[0] = operand(parts[0]);
        m_jumps.push_back({ m.code.size(), parts[1] });
        m.code.push_back(i);
        return;
    }
    i.execute = find_instruction(opcode);
    if (!i.execute)
        refuse(opcode + " " + rest);
    i.execute_together = find_instruction_of_warps(opcode);
    auto list = [&](const std::string &t) {
        return t[0] == '{' ? split(t.substr(1, t.size() - 2)) : std::vector<std::string>{ t };
    };
    uint32_t next = 0;
    if (opcode.starts_with("st.") || opcode.starts_with("red.")) {
        address(parts[0], i);
        for (const std::string &v : list(parts[1]))
            i.s[next++] = operand(v);
        i.d[0] = operand("%nowhere");
    } else {
        for (const std::string &v :
             list(parts[0])) // "%r1|%p1": a shuffle's second result is dropped
            i.d[next++] = operand(v.substr(0, v.find('|')));
        next = 0;
        for (size_t k = 1; k < parts.size(); ++k) {
            const std::string &p = parts[k];
            if (p[0] == '[') {
                address(p, i);
            } else if (std::isalpha(p[0])) { // the address of a table, or of local memory
                if (auto g = m.memory.find(p); g != m.memory.end()) {
                    i.s[next++] = constant(reinterpret_cast<uintptr_t>(g->second.data()));
                } else {
                    i.execute = find_instruction("add.u64");
                    i.s[0] = m.base;
                    i.s[1] = constant(m_bytes.at(p).at);
                }
            } else {
                i.s[next++] = operand(p);
            }
        }
    }
    m.code.push_back(std::move(i));
}

void Parser::statement(std::string s) {
    if (s.empty() || s.starts_with(".reg") || s.starts_with(".pragma"))
        return;
    if (m_depth == 0)
        return declare_memory(s);
    if (size_t colon = s.find(':'); colon != s.npos && s[0] != '@') {
        std::string label = s.substr(0, colon);
        m_labels[label] = uint32_t(m.code.size());
        s = trimmed(s.substr(colon + 1));
        if (s.starts_with(".branchtargets")) {
            m_tables[label] = split(s.substr(14));
            return;
        }
        return statement(s);
    }
    if (s.starts_with(".param") || s.starts_with(".local")) {
        std::string name;
        take_bytes(s, &name);
        return;
    }
    Ins i;
    if (s[0] == '@') {
        size_t space = s.find(' ');
        i.guarded = true;
        i.guard_is_negated = s[1] == '!';
        i.guard =
            operand(s.substr(i.guard_is_negated ? 2 : 1, space - (i.guard_is_negated ? 2 : 1)));
        s = trimmed(s.substr(space));
    }
    size_t space = std::min(s.find(' '), s.size());
    instruction(s.substr(0, space), trimmed(s.substr(space)), std::move(i));
}

void Parser::end_function() {
    for (auto &[at, label] : m_jumps) {
        if (auto t = m_tables.find(label); t != m_tables.end()) {
            for (const std::string &l : t->second)
                m.code[at].table.push_back(m_labels.at(l));
        } else {
            m.code[at].target = m_labels.at(label);
        }
    }
}

// One statement, label, brace or head of a function a line.
std::unique_ptr<Module> Parser::parse() {
    std::string head;
    for (size_t at = 0; at < m_text.size() && m_text[at];) {
        size_t end = std::min(m_text.find('\n', at), m_text.size());
        std::string line = trimmed(std::string_view(m_text).substr(at, end - at));
        at = end + 1;
        if (line == "{") {
            if (m_depth++ == 0)
                begin_function(head);
        } else if (line == "}") {
            if (--m_depth == 0)
                end_function();
        } else if (line.ends_with(';')) {
            line.pop_back();
            statement(line);
        } else if (line.ends_with(':')) {
            statement(line);
        } else if (line.starts_with(".visible") || line.starts_with(".func")) {
            head = line;
        }
    }
    return std::make_unique<Module>(std::move(m));
}

} // namespace

std::unique_ptr<Module> parse(const std::string &text) { return Parser(text).parse(); }

// ---- Threads

namespace {

struct Thread {
    std::vector<uint64_t> cells, bytes;
    std::vector<uint32_t> calls;
    uint32_t at = 0;
};

// Whether the thread goes on.
bool step(const Module &m, Thread &t) {
    uint64_t *cells = t.cells.data();
    auto *bytes = reinterpret_cast<char *>(t.bytes.data());
    const Ins &i = m.code[t.at++];
    if (i.guarded && (cells[i.guard] != 0) == i.guard_is_negated)
        return true;
    switch (i.kind) {
    case Ins::Plain: i.execute(cells, i); break;
    case Ins::Bra: t.at = i.target; break;
    case Ins::BraTable: t.at = i.table.at(uint32_t(cells[i.s[0]])); break;
    case Ins::Call:
        for (const Ins::Move &b : i.before)
            std::memcpy(bytes + b.to, bytes + b.from, b.bytes);
        t.calls.push_back(t.at);
        t.at = i.target;
        break;
    case Ins::Ret:
        if (t.calls.empty())
            return false;
        t.at = t.calls.back();
        t.calls.pop_back();
        for (const Ins::Move &a : m.code[t.at - 1].after)
            std::memcpy(bytes + a.to, bytes + a.from, a.bytes);
        break;
    }
    return true;
}

// A launch, in one of the orders that a GPU may choose.
class Grid {
public:
    Grid(const Module &m, const Function &f, uint32_t threads, void **parameters)
        : m_module(m), m_function(f), m_threads(threads), m_parameters(parameters) {}

    void one_after_another(uint32_t blocks) {
        Thread t = make();
        for (uint32_t b = 0; b < blocks; ++b)
            for (uint32_t k = 0; k < m_threads; ++k) {
                begin(t, b, k);
                while (step(m_module, t)) {
                }
            }
    }

    // An instruction of each thread of a block in turn; the last block and the last thread first.
    void together(uint32_t blocks) {
        std::vector<Thread> all;
        for (uint32_t k = 0; k < m_threads; ++k)
            all.push_back(make());
        for (uint32_t b = blocks; b-- > 0;) {
            std::vector<Thread *> running;
            for (uint32_t k = m_threads; k-- > 0;) {
                begin(all[k], b, k);
                running.push_back(&all[k]);
            }
            while (!running.empty())
                std::erase_if(running, [&](Thread *t) { return !step(m_module, *t); });
        }
    }

    // Those of a warp that are at one instruction execute it together, the first ones in the text before others: where ways part,
    // they meet again where these end.
    void in_warps(uint32_t blocks) {
        std::vector<Thread> lanes;
        for (uint32_t k = 0; k < WarpLanes; ++k)
            lanes.push_back(make());
        for (uint32_t b = 0; b < blocks; ++b)
            for (uint32_t first = 0; first < m_threads; first += WarpLanes) {
                std::vector<uint32_t> running;
                for (uint32_t k = 0; k < std::min(WarpLanes, m_threads - first); ++k) {
                    begin(lanes[k], b, first + k);
                    lanes[k].cells[m_module.lanes_before] = (uint64_t(1) << k) - 1;
                    lanes[k].cells[m_module.lanes_after] = uint32_t(~((uint64_t(2) << k) - 1));
                    running.push_back(k);
                }
                while (!running.empty())
                    step_together(lanes, running);
            }
    }

private:
    void step_together(std::vector<Thread> &lanes, std::vector<uint32_t> &running) const {
        uint32_t at = ~0u;
        for (uint32_t k : running)
            at = std::min(at, lanes[k].at);
        const Ins &i = m_module.code[at];
        if (!i.execute_together) {
            std::erase_if(running, [&](uint32_t k) {
                return lanes[k].at == at && !step(m_module, lanes[k]);
            });
            return;
        }
        uint64_t *here[WarpLanes] = {};
        for (uint32_t k : running) {
            if (lanes[k].at != at)
                continue;
            ++lanes[k].at;
            uint64_t *cells = lanes[k].cells.data();
            if (!i.guarded || (cells[i.guard] != 0) != i.guard_is_negated)
                here[k] = cells;
        }
        i.execute_together(here, i);
    }
    Thread make() const {
        Thread t;
        t.cells = m_module.cells;
        t.bytes.assign(m_module.bytes / 8 + 8, 0);
        auto *base = reinterpret_cast<char *>(t.bytes.data());
        t.cells[m_module.base] = reinterpret_cast<uintptr_t>(base);
        t.cells[m_module.ntid] = m_threads;
        for (size_t k = 0; k < m_function.params.size(); ++k)
            std::memcpy(base + m_function.params[k].at, m_parameters[k],
                        m_function.params[k].bytes);
        return t; // moved, which leaves its bytes where they are
    }
    void begin(Thread &t, uint32_t block, uint32_t number) const {
        t.at = m_function.begin;
        t.cells[m_module.ctaid] = block;
        t.cells[m_module.tid] = number;
    }

    const Module &m_module;
    const Function &m_function;
    uint32_t m_threads;
    void **m_parameters;
};

} // namespace

void run(Module &m, const std::string &function, uint32_t blocks, uint32_t threads,
         void **parameters) {
    Grid grid(m, m.functions.at(function), threads, parameters);
    const char *order = std::getenv("UMBEL_CUDA_MACHINE_THREADS");
    if (order && std::string_view(order) == "together")
        grid.together(blocks);
    else if (order && std::string_view(order) == "warps")
        grid.in_warps(blocks);
    else
        grid.one_after_another(blocks);
}

} // namespace cuda_machine
