// support/random_smooth.h: random smooth programs with loops, conditionals and calls, for derivatives.
//
// A program is planned from a seed and then played as often as needed, with the same result. All of its
// operations have slopes of about 1 or less, so that values and derivatives of all orders stay moderate
// and differences are a good reference; all branches depend on the lane alone, so that there are no kinks.
#pragma once
#include "support/gradient_check.h"

namespace umbel::test {

class SmoothProgram {
public:
    /// Inputs: two of one element a lane, two uniform ones, a table of `TableSize`.
    static constexpr uint32_t Lanes = 33, TableSize = 8;
    static std::vector<List> points(uint64_t seed) {
        return { random_points(seed, Lanes, -1.5, 1.5), random_points(seed + 1, Lanes, -1.5, 1.5),
                 random_points(seed + 2, 1, 0.5, 1.5), random_points(seed + 3, 1, 0.5, 1.5),
                 random_points(seed + 4, TableSize, -1, 1) };
    }

    /// `storing`: also loops whose reverse derivative stores their state.
    SmoothProgram(uint64_t seed, int operations, bool storing = true)
        : m_rng(seed), m_budget(operations), m_storing(storing) {
        m_main = block(4, 0);
    }

    jit::Float64 operator()(const Inputs &in) const {
        // Arrays that recorded code gathers from are computed before it
        Env env{
            { in.begin(), in.begin() + 4 }, in[4], sin(in[4] * 0.7), jit::arange<uint32_t>(Lanes)
        };
        return play<0>(m_main, env);
    }
    /// One line a step.
    std::string describe() const { return describe(m_main, 4, 0); }
    int operations() const { return m_made; }
    int loops() const { return m_loops; }
    int ifs() const { return m_ifs; }
    int calls() const { return m_calls; }

private:
    using Float64 = jit::Float64;
    using UInt32 = jit::UInt32;
    enum class Do {
        Unary,
        Add,
        Mul,
        Div,
        Fma,
        Atan2,
        Select,
        Gather,
        Local,
        Sum,
        Accumulate,
        Affine,
        Store,
        If,
        Call
    };
    struct Block;
    struct Step {
        Do what;
        int a = 0, b = 0, c = 0; // values so far, by number
        uint32_t n = 0;
        double k = 0;
        std::vector<Block> blocks = {};
    };
    struct Block { // its result is the mean of its last values
        std::vector<Step> steps;
    };
    struct Env {
        std::vector<Float64> values;
        Float64 table, other;
        UInt32 lane;
    };

    // ---- planning

    uint32_t pick(uint32_t n) { return uint32_t(m_rng() % n); }

    // `size` values are visible at the start; each step adds one.
    Block block(int size, int depth) {
        Block b;
        int steps = depth == 0 ? m_budget : int(4 + pick(6));
        for (int i = 0; depth == 0 ? m_made < m_budget : i < steps; ++i) {
            b.steps.push_back(step(size, depth));
            ++size;
            ++m_made;
        }
        return b;
    }

    Step step(int size, int depth) {
        Step s{ .what = Do::Unary };
        // Recent values more often: chains, not bushes
        auto operand = [&] {
            return pick(2) ? int(size - 1 - pick(uint32_t(std::min(size, 6))))
                           : int(pick(uint32_t(size)));
        };
        s.a = operand();
        s.b = operand();
        s.c = operand();
        s.n = pick(1000);
        s.k = 0.3 + 0.001 * pick(500);
        uint32_t r = pick(100);
        bool construct = depth < 3 && r >= 78;
        if (!construct) {
            const Do simple[] = { Do::Unary,  Do::Unary,  Do::Unary, Do::Add, Do::Add,
                                  Do::Mul,    Do::Mul,    Do::Div,   Do::Fma, Do::Atan2,
                                  Do::Select, Do::Gather, Do::Local };
            s.what = simple[pick(std::size(simple))];
            if (depth == 0 && pick(40) == 0)
                s.what = Do::Sum;
            return s;
        }
        switch (pick(3)) {
        case 0: {
            bool stored = depth == 0 && m_storing && pick(2);
            s.what = stored                               ? Do::Store
                     : depth == 0 && m_storing && pick(2) ? Do::Affine
                                                          : Do::Accumulate;
            ++m_loops;
            s.blocks.push_back(block(size + 2, depth + 1));
            break;
        }
        case 1:
            s.what = Do::If;
            ++m_ifs;
            s.blocks.push_back(block(size, depth + 1));
            s.blocks.push_back(block(size, depth + 1));
            break;
        default:
            s.what = Do::Call;
            ++m_calls;
            s.blocks.push_back(block(size + 3, depth + 1));
            s.blocks.push_back(block(size + 3, depth + 1));
            break;
        }
        return s;
    }

    static std::string describe(const Block &b, int size, int indent) {
        static const char *names[] = { "unary",      "add",    "mul",    "div",   "fma",
                                       "atan2",      "select", "gather", "local", "sum",
                                       "accumulate", "affine", "store",  "if",    "call" };
        std::string out;
        for (const Step &s : b.steps) {
            out += fmt::format("{:{}}v{} = {}(v{}, v{}, v{}; {}, {})\n", "", indent, size,
                               names[int(s.what)], s.a, s.b, s.c, s.n, s.k);
            int params = s.what == Do::Call ? 3 : s.what == Do::If ? 0 : 2;
            for (const Block &inner : s.blocks)
                out += describe(inner, size + params, indent + 4) +
                       fmt::format("{:{}}--\n", "", indent);
            ++size;
        }
        return out;
    }

    // ---- playing

    template <int Depth> Float64 play(const Block &b, Env env) const {
        for (const Step &s : b.steps)
            env.values.push_back(perform<Depth>(s, env));
        size_t n = env.values.size(), last = std::min<size_t>(n, 3);
        Float64 mean = 0.0;
        for (size_t i = 0; i < last; ++i)
            mean += env.values[n - 1 - i] / double(last);
        return mean;
    }

    static Float64 unary(uint32_t n, const Float64 &x) {
        switch (n % 12) {
        case 0: return sin(x);
        case 1: return cos(x);
        case 2: return tanh(x);
        case 3: return atan(x);
        case 4: return sqrt(x * x + 1.0);
        case 5: return exp(-(x * x)) * 1.5;
        case 6: return log(x * x + 1.5);
        case 7: return erf(x) - 0.2;
        case 8: return rcp(x * x + 1.0);
        case 9: return asinh(x);
        case 10: return pow(x * x + 1.0, Float64(0.3)) - 1.0;
        default: return -x * rsqrt(x * x + 1.0);
        }
    }

    template <int Depth> Float64 perform(const Step &s, const Env &env) const {
        const Float64 &a = env.values[s.a], &b = env.values[s.b], &c = env.values[s.c];
        const UInt32 &lane = env.lane;
        switch (s.what) {
        case Do::Unary: return unary(s.n, a);
        case Do::Add: return (a + b) * s.k;
        case Do::Mul: return tanh(a) * b * s.k;
        case Do::Div: return a / (b * b + 1.5);
        case Do::Fma: return fma(sin(a), tanh(b), c * 0.3);
        case Do::Atan2: return atan2(a, b * b + 1.0);
        case Do::Select: return select((lane + s.n) % 3u == 0u, a, b * s.k);
        case Do::Gather: // from the table, under a mask
            return gather(env.table, (lane + s.n) % TableSize, (lane ^ s.n) % 5u != 0u) * s.k +
                   a * 0.5;
        case Do::Local: {
            // Of the lane, so that the array is the body's own: calls take no arrays from outside
            jit::LocalArray<double> array(a + Float64(lane % 2u) * 0.1, 3);
            array.set((lane + s.n) % 3u, b * s.k);
            return array.get(s.n % 3u) * 0.6 + array.get(lane % 3u) * 0.3;
        }
        case Do::Sum: return a * 0.5 + sum(b) * (0.5 / Lanes);
        case Do::If:
            return jit::if_((lane + s.n) % 3u == 0u,
                            [&] { return play<std::min(Depth + 1, 3)>(s.blocks[0], env); },
                            [&] { return play<std::min(Depth + 1, 3)>(s.blocks[1], env); });
        case Do::Call: return call<Depth>(s, env);
        default: return repeat<Depth>(s, env);
        }
    }

    struct State {
        UInt32 i;
        Float64 x, y;
        UMBEL_STRUCT(i, x, y)
    };
    template <int Depth> Float64 repeat(const Step &s, const Env &env) const {
        if constexpr (Depth < 3) {
            UInt32 steps = s.n & 1 ? (env.lane + s.n) % 4u : UInt32(1 + s.n % 3);
            State end = jit::loop(
                State{ 0u, env.values[s.a], env.values[s.b] },
                [&](const State &t) { return t.i < steps; },
                [&](State &t) {
                    Env inner = env;
                    inner.lane = env.lane + t.i;
                    bool whole = s.what == Do::Store; // else: independent of the state
                    inner.values.push_back(whole ? t.x : Float64(t.i) * 0.1);
                    inner.values.push_back(whole ? t.y : Float64(t.i) * 0.2);
                    Float64 f = play<Depth + 1>(s.blocks[0], inner);
                    if (s.what == Do::Accumulate) {
                        t.x += f * 0.3;
                        t.y += f * s.k;
                    } else if (s.what == Do::Affine) {
                        Float64 x = t.x;
                        t.x = t.x * 0.8 + t.y * 0.3 + f * 0.2;
                        t.y = t.y * 0.7 - x * f * 0.2;
                    } else {
                        Float64 x = t.x;
                        t.x = sin(t.x) * 0.7 + f * 0.4;
                        t.y = t.y * 0.5 + tanh(x) * f * 0.5;
                    }
                    t.i += 1u;
                });
            return (end.x + end.y) * 0.5;
        } else {
            return env.values[s.a];
        }
    }

    // Two codes, three instances with members of their own: a uniform value and a table.
    template <int Depth> struct Object : jit::Instance<Object<Depth>> {
        const Block *code;
        Float64 member, table;
        Object(const Block *code, Float64 member, Float64 table)
            : code(code), member(std::move(member)), table(std::move(table)) {}
    };
    template <int Depth> Float64 call(const Step &s, const Env &env) const {
        if constexpr (Depth < 3) {
            using O = Object<Depth>;
            O first(&s.blocks[0], env.values[2], env.table),
                second(&s.blocks[0], env.values[3], env.other),
                third(&s.blocks[1], env.values[2] * s.k, env.table);
            return jit::call(
                jit::Pointer<O>((env.lane + s.n) % 4u), // 0: nobody
                [&](O *o, const Float64 &x, const UInt32 &lane) {
                    Env inner = env;
                    inner.lane = lane;
                    inner.values.push_back(x);
                    inner.values.push_back(o->member * x);
                    inner.values.push_back(gather(o->table, (lane + s.n) % TableSize) +
                                           o->member * 0.2);
                    return play<Depth + 1>(*o->code, inner);
                },
                env.values[s.a], env.lane);
        } else {
            return env.values[s.a];
        }
    }

    std::mt19937_64 m_rng;
    int m_budget, m_made = 0, m_loops = 0, m_ifs = 0, m_calls = 0;
    bool m_storing;
    Block m_main;
};

} // namespace umbel::test
