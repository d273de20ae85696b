// support/random_player.cpp: playing planned programs, and comparing what comes out.
#include "jit/control.h"
#include "support/random_program.h"
#include "support/random_values.h"
#include <cmath>

namespace umbel::test {

using namespace jit;

namespace {

template <int K> struct Thing : Instance<Thing<K>> {
    std::vector<Value> members;
    const Block *code = nullptr;
};

class Player {
public:
    Player(const Plan &plan, Context &context) : p(plan), c(context), m_slots(plan.slots.size()) {}

    std::vector<Outcome::Output> run() {
        for (const ArrayPlan &a : p.arrays)
            m_arrays.push_back(a.adds_floats() ? multiples(a)
                                               : data(a.type, a.size ? a.size : p.lanes, a.seed));
        make<0>(m_things0);
        make<1>(m_things1);
        make<2>(m_things2);
        play(p.main);

        std::vector<Outcome::Output> out;
        std::vector<const Value *> values;
        for (int s : p.main.results)
            values.push_back(&m_slots[size_t(s)]);
        if (p.together)
            eval(std::span<const Value *const>(values));
        for (size_t k = 0; k < values.size(); ++k)
            out.push_back(output(fmt::format("slot {}", p.main.results[k]), *values[k], p.lanes));
        for (size_t a = 0; a < p.arrays.size(); ++a)
            if (p.arrays[a].use != ArrayPlan::Source)
                out.push_back(output(fmt::format("array {}", a), m_arrays[a], m_arrays[a].size()));
        synchronize();
        return out;
    }

private:
    Value data(Type t, uint32_t size, uint64_t seed) {
        Random r(seed);
        std::vector<uint8_t> memory(size * bytes(t));
        for (uint32_t i = 0; i < size; ++i) {
            uint64_t v = random_bits(r, t);
            std::memcpy(&memory[i * bytes(t)], &v, bytes(t));
        }
        return copy_from(t, memory.data(), size);
    }
    // One of -4 to 4 times a power of two; no zero is negative.
    static Value multiples(const ArrayPlan &a) {
        Random r(a.seed);
        std::vector<uint8_t> memory(a.size * bytes(a.type));
        for (uint32_t i = 0; i < a.size; ++i) {
            uint64_t v = float_bits(a.type, std::ldexp(r.between(-4, 4), a.scale));
            std::memcpy(&memory[i * bytes(a.type)], &v, bytes(a.type));
        }
        return copy_from(a.type, memory.data(), a.size);
    }
    // The same, by any number.
    static Value multiple(Type t, const Value &of, int scale) {
        Value small = binary(Op::Sub, cast(Type::I32, modulo(of, 9)), literal(Type::I32, 4));
        return binary(Op::Mul, cast(t, small), literal(t, float_bits(t, std::ldexp(1.0, scale))));
    }
    Value added(const ArrayPlan &a, const Value &of) {
        Value v = multiple(a.type, of, a.scale);
        if (!a.infinite)
            return v;
        // Of both signs: what meets is NaN, in any order
        auto put = [&](uint32_t remainder, double infinity) {
            v = ternary(Op::Select, binary(Op::Eq, modulo(of, 251), literal(Type::U32, remainder)),
                        literal(a.type, float_bits(a.type, infinity)), v);
        };
        put(5, INFINITY);
        put(7, -INFINITY);
        return v;
    }
    template <int K> void make(std::vector<std::unique_ptr<Thing<K>>> &things) {
        const ClassPlan &plan = p.classes[K];
        for (auto &i : plan.instances) {
            auto thing = std::make_unique<Thing<K>>();
            Random r(i.seed);
            for (size_t m = 0; m < plan.members.size(); ++m) {
                Value v = literal(plan.members[m], random_bits(r, plan.members[m]));
                thing->members.push_back(i.literals >> m & 1 ? v : opaque(v));
            }
            thing->members.push_back(data(plan.buffer, i.buffer_size, i.seed));
            thing->code = &plan.codes[i.code];
            things.push_back(std::move(thing));
        }
        for (size_t i = 0; i < things.size(); ++i)
            if (plan.instances[i].deleted)
                things[i].reset();
    }
    static Outcome::Output output(std::string name, const Value &v, uint32_t size) {
        Outcome::Output out{ v.type(), std::move(name), std::vector<uint64_t>(size, 0) };
        size_t width = bytes(v.type());
        std::vector<uint8_t> memory(v.size() * width);
        read(v, memory.data(), 0, v.size());
        for (uint32_t i = 0; i < size; ++i)
            std::memcpy(&out.elements[i], &memory[(v.size() == 1 ? 0 : i) * width], width);
        return out;
    }

    Value &at(int slot) { return m_slots[size_t(slot)]; }
    void bind(const std::vector<int> &slots, const std::vector<Value> &values, size_t from = 0) {
        for (size_t i = 0; i < values.size(); ++i)
            at(slots[from + i]) = values[i];
    }
    std::vector<Value> take(const std::vector<int> &slots) {
        std::vector<Value> out;
        for (int s : slots)
            out.push_back(at(s));
        return out;
    }
    void play(const Block &b) {
        for (const Step &s : b.steps)
            play(s);
    }
    std::vector<Value> play_for_results(const Block &b) {
        play(b);
        std::vector<Value> out = take(b.results);
        forget(b);
        return out;
    }
    // Values of a region must not outlive it.
    void forget(const Block &b) {
        for (int s : b.params)
            at(s) = Value();
        for (const Step &s : b.steps)
            for (int o : s.out)
                at(o) = Value();
    }

    static Value modulo(const Value &index, uint32_t n) {
        return binary(Op::Mod, index, literal(Type::U32, n));
    }
    // Effects take their width from the lane, not from operands that may or may not be constants.
    Value target_index(const Step &s) {
        const ArrayPlan &a = p.arrays[s.number];
        const Value &lane = at(s.in[2]);
        if (a.use == ArrayPlan::Exclusive)
            return modulo(binary(Op::Add, lane, literal(Type::U32, a.shift)), p.lanes);
        return modulo(binary(Op::Add, at(s.in[0]), lane), m_arrays[s.number].size());
    }

    void play(const Step &s);
    void play_loop(const Step &s);
    template <int K>
    std::vector<Value> call_class(const Step &s, std::vector<std::unique_ptr<Thing<K>>> &) {
        const ClassPlan &plan = p.classes[K];
        size_t n = plan.params.size();
        std::vector<Value> in = take(s.in), args(in.begin() + 2, in.begin() + 2 + long(n));
        std::vector<Value> captures(in.begin() + 2 + long(n), in.end());
        return call_masked(
            Pointer<Thing<K>>(UInt32(in[0])), Mask(in[1]),
            [&](Thing<K> *t, std::vector<Value> &a) {
                bind(t->code->params, a);
                bind(t->code->params, captures, n);
                bind(t->code->params, t->members, n + captures.size());
                return play_for_results(*t->code);
            },
            args);
    }

    const Plan &p;
    Context &c;
    std::vector<Value> m_slots, m_arrays;
    std::vector<std::unique_ptr<Thing<0>>> m_things0;
    std::vector<std::unique_ptr<Thing<1>>> m_things1;
    std::vector<std::unique_ptr<Thing<2>>> m_things2;
};

void Player::play_loop(const Step &s) {
    const Block &condition = s.blocks[0], &body = s.blocks[1];
    std::vector<Value> state = take(s.in);
    Value bound = modulo(state[0], s.number + 1);
    state[0] = literal(Type::U32, 0);
    auto go_on = [&](const std::vector<Value> &now) {
        bind(condition.params, now);
        play(condition);
        Value c = binary(Op::Lt, now[0], bound);
        return Mask(condition.results.empty() ? c : binary(Op::And, c, at(condition.results[0])));
    };
    auto iterate = [&](std::vector<Value> &now) {
        bind(body.params, now);
        play(body);
        now[0] = binary(Op::Add, now[0], literal(Type::U32, 1));
        for (size_t k = 1; k < now.size(); ++k)
            now[k] = at(body.results[k - 1]);
        forget(body);
    };
    bind(s.out, loop(state, go_on, iterate));
    forget(condition);
}

void Player::play(const Step &s) {
    auto in = [&](size_t i) -> const Value & { return at(s.in[i]); };
    auto give = [&](Value v) { at(s.out[0]) = std::move(v); };
    if (s.off) {
        for (int o : s.out) {
            Value zero = literal(p.slots[size_t(o)].type, 0);
            at(o) = p.slots[size_t(o)].length ? local_array(zero, p.slots[size_t(o)].length) : zero;
        }
        return;
    }
    switch (s.what) {
    case Do::Literal: give(literal(s.type, s.bits, s.wide ? p.lanes : 1)); break;
    case Do::Opaque: give(opaque(literal(s.type, s.bits))); break;
    case Do::Input: give(m_arrays[s.number]); break;
    case Do::Lane: give(lane_index(p.lanes)); break;
    case Do::Elementwise:
        give(s.in.size() == 1   ? unary(s.op, in(0))
             : s.in.size() == 2 ? binary(s.op, in(0), in(1))
                                : ternary(s.op, in(0), in(1), in(2)));
        break;
    case Do::Cast: give(cast(s.type, in(0))); break;
    case Do::Bitcast: {
        Value v = in(0);
        if (is_float(v.type())) // the bits of a NaN are open
            v = ternary(Op::Select, binary(Op::Eq, v, v), v, literal(v.type(), 0));
        give(bitcast(s.type, v));
        break;
    }
    case Do::Gather:
        give(gather(m_arrays[s.number], modulo(in(0), m_arrays[s.number].size()), in(1)));
        break;
    case Do::GatherSlot: give(gather(in(0), modulo(in(1), in(0).size()), in(2))); break;
    case Do::Packet: {
        const Value &source = m_arrays[s.number];
        uint32_t n = uint32_t(s.bits);
        bind(s.out, gather_packet(source, modulo(in(0), source.size() / n), n, in(1)));
        break;
    }
    case Do::ArrayNew: give(local_array(in(0), s.number)); break;
    case Do::ArrayGet: give(local_get(in(0), in(1), in(2))); break;
    case Do::ArraySet: give(local_set(in(0), in(1), in(2), in(3))); break;
    case Do::Scatter: {
        const ArrayPlan &a = p.arrays[s.number];
        scatter(m_arrays[s.number], a.adds_floats() ? added(a, in(3)) : in(3), target_index(s),
                in(1), s.reduce);
        break;
    }
    case Do::Count: {
        Value index = target_index(s), rank = scatter_inc(m_arrays[s.number], index, in(1));
        scatter(m_arrays[s.number + 1], rank, index, in(1), ReduceOp::Add);
        break;
    }
    case Do::Loop: play_loop(s); break;
    case Do::If:
        bind(s.out, if_(
                        Mask(in(0)), [&] { return play_for_results(s.blocks[0]); },
                        [&] { return play_for_results(s.blocks[1]); }));
        break;
    case Do::Call: {
        std::vector<Value> results = s.number == 0   ? call_class(s, m_things0)
                                     : s.number == 1 ? call_class(s, m_things1)
                                                     : call_class(s, m_things2);
        bind(s.out, results);
        break;
    }
    case Do::Switch: {
        std::vector<std::function<std::vector<Value>(const std::vector<Value> &)>> functions;
        for (const Block &b : s.blocks)
            functions.push_back([this, &b](const std::vector<Value> &args) {
                bind(b.params, args);
                return play_for_results(b);
            });
        std::vector<Value> all = take(s.in), args(all.begin() + 1, all.end());
        bind(s.out, switch_(UInt32(all[0]), functions, args));
        break;
    }
    case Do::Eval: {
        std::vector<const Value *> values;
        for (int i : s.in)
            values.push_back(&at(i));
        eval(std::span<const Value *const>(values));
        break;
    }
    case Do::Snapshot: give(m_arrays[s.number]); break;
    case Do::Reduce: // over all lanes, also where the operand is a constant
        give(reduce(s.reduce, is_float(s.type) ? multiple(s.type, binary(Op::Add, in(0), in(1)), 0)
                                               : binary(Op::Add, in(0), cast(s.type, in(1)))));
        break;
    }
}

constexpr uint32_t bit(Flag f) { return uint32_t(f); }

} // namespace

std::string flag_names(uint32_t flags) {
    constexpr const char *Names[] = { "ValueNumbering", "Simplify",       "RecordLoops",
                                      "RecordIfs",      "RecordCalls",    "OptimizeLoops",
                                      "OptimizeCalls",  "MergeFunctions", "CodeMotion",
                                      "FlattenIfs",     "KernelCache",    "History",
                                      "Async",          "Verify" };
    std::string off;
    for (uint32_t i = 0; i < 13; ++i)
        if (DefaultFlags >> i & 1 && !(flags >> i & 1))
            off += fmt::format(" -{}", Names[i]);
    return off.empty() ? "default" : off.substr(1);
}

Outcome play(const Plan &plan, Backend &backend, uint32_t flags) {
    Outcome out;
    if (plan.captures)
        flags |= bit(Flag::RecordCalls);
    if (plan.array_state)
        flags |= bit(Flag::RecordLoops);
    Context context(backend);
    ContextScope scope(context);
    for (uint32_t i = 0; i < 13; ++i)
        context.set(Flag(1u << i), flags >> i & 1);
    context.set(Flag::Verify, true);
    try {
        out.outputs = Player(plan, context).run();
        if (size_t n = context.graph.live_nodes())
            out.error = fmt::format("{} nodes are left behind", n);
    } catch (const std::exception &e) {
        out.error = e.what();
    }
    out.program_text = context.last_program_text();
    return out;
}

std::optional<std::string> difference(const Outcome &a, const Outcome &b) {
    if (a.error != b.error)
        return fmt::format("errors \"{}\" and \"{}\"", a.error, b.error);
    for (size_t k = 0; k < a.outputs.size(); ++k) {
        const auto &x = a.outputs[k], &y = b.outputs[k];
        for (size_t i = 0; i < x.elements.size(); ++i) {
            uint64_t u = x.elements[i], v = y.elements[i];
            if (u != v && !(is_nan(x.type, u) && is_nan(x.type, v)))
                return fmt::format("{} ({}), element {}: {} and {}", x.name, name(x.type), i,
                                   text_of(x.type, u), text_of(x.type, v));
        }
    }
    return std::nullopt;
}

} // namespace umbel::test
