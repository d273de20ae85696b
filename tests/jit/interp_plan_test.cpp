// tests/jit/interp_plan_test.cpp: register assignment of the interpreter, and random programs.
#include "interp_support.h"
#include "jit/interp/fold.h"
#include "jit/interp/plan.h"
#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace umbel::jit;
using namespace umbel::jit::testing;

namespace {
constexpr Type U32 = Type::U32, F32 = Type::F32, Bool = Type::Bool;
}

TEST(InterpPlan, AChainOfAMillionInstructionsNeedsFewRegisters) {
    size_t n = 1000, ops = 1'000'000;
    std::vector<float> x(n, 1.f), out(n);
    Builder b;
    Value first = b.input(x), v = first;
    Value half_value = b.lit(0.5f);
    b.program.functions[0].insts.reserve(ops + 10);
    for (size_t i = 0; i < ops; i += 2)
        v = b.add(Op::Add, F32, { b.add(Op::Mul, F32, { v, half_value }), first });
    b.output(v, out);
    auto start = std::chrono::steady_clock::now();
    Plan plan = make_plan(b.program, "chain", false);
    double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    RecordProperty("plan_ns_per_instruction", int(ns / double(ops)));
    EXPECT_LE(plan.functions[0].units, 16u);
    b.run(n);
    for (float y : out)
        ASSERT_EQ(y, 2.f);
}

TEST(InterpPlan, ProgramsWithManyLiveValuesUseSmallerBlocks) {
    size_t n = 500;
    std::vector<uint32_t> out(n);
    Builder b;
    Value lane = b.lane();
    std::vector<Value> live;
    for (uint32_t i = 0; i < 400; ++i)
        live.push_back(b.add(Op::Mul, U32, { lane, b.lit(i) }));
    Value sum = live[0];
    for (uint32_t i = 1; i < 400; ++i)
        sum = b.add(Op::Add, U32, { sum, live[400 - i] });
    b.output(sum, out);
    EXPECT_LT(b.compile()->width(), 256u);
    b.run(n);
    for (uint32_t i = 0; i < n; ++i)
        ASSERT_EQ(out[i], i * (399 * 400 / 2));
}

// ---- random programs against an evaluator that runs one lane at a time

namespace {

struct RandomProgram : Builder {
    std::mt19937 random;
    std::vector<Value> numbers;
    std::vector<Value> arrays;
    int budget = 120;

    explicit RandomProgram(unsigned seed) : random(seed) {}
    uint32_t below(size_t n) { return uint32_t(random() % n); }
    Value any() { return numbers[below(numbers.size())]; }
    Value condition() {
        Op op = below(2) ? Op::Lt : Op::Ne;
        Value mask = add(Op::And, U32, { any(), lit(3u) });
        return add(op, Bool, { mask, add(Op::And, U32, { any(), lit(3u) }) });
    }
    void statement(int depth) {
        switch (below(depth < 3 ? 9 : 6)) {
        case 0:
        case 1: numbers.push_back(add(Op::Add, U32, { any(), any() })); break;
        case 2:
            numbers.push_back(add(Op::Xor, U32, { any(), below(2) ? any() : lit(below(99)) }));
            break;
        case 3: numbers.push_back(add(Op::Fma, U32, { any(), lit(3u + below(9)), any() })); break;
        case 4: {
            Value a = arrays[below(arrays.size())], i = add(Op::And, U32, { any(), lit(7u) });
            arrays.push_back(add(Op::ArraySet, U32, { a, i, any(), active() }, 0, 6));
            break;
        }
        case 5: {
            Value a = arrays[below(arrays.size())], i = add(Op::And, U32, { any(), lit(7u) });
            numbers.push_back(add(Op::ArrayGet, U32, { a, i, active() }));
            break;
        }
        case 6:
        case 7: conditional(depth); break;
        default: loop(depth); break;
        }
    }
    void block(int depth) {
        for (int i = 0, n = 2 + int(below(5)); i < n && budget-- > 0; ++i)
            statement(depth);
    }
    void conditional(int depth) {
        Value c = condition();
        size_t count = numbers.size(), array_count = arrays.size();
        add(Op::IfBegin, Type::Void, { c });
        block(depth + 1);
        Value yes = any(), yes_array = arrays[below(arrays.size())];
        numbers.resize(count);
        arrays.resize(array_count);
        add(Op::Else, Type::Void);
        block(depth + 1);
        Value no = any(), no_array = arrays[below(arrays.size())];
        numbers.resize(count);
        arrays.resize(array_count);
        add(Op::EndIf, Type::Void);
        numbers.push_back(add(Op::Merge, U32, { c, yes, no }));
        arrays.push_back(add(Op::Merge, U32, { c, yes_array, no_array }, 0, 6));
    }
    void loop(int depth) {
        Value limit = add(Op::And, U32, { any(), lit(3u) }), zero = lit(0u);
        Value x = any(), y = any(), a = arrays[below(arrays.size())];
        size_t count = numbers.size(), array_count = arrays.size();
        add(Op::LoopBegin, Type::Void);
        Value i = phi(U32, zero), p = phi(U32, x), q = phi(U32, y), array = phi(U32, a, 6);
        numbers.insert(numbers.end(), { p, q });
        arrays.push_back(array);
        add(Op::LoopWhile, Type::Void, { add(Op::Lt, Bool, { i, limit }) });
        block(depth + 1);
        next(i, add(Op::Add, U32, { i, lit(1u) }));
        next(p, any());
        next(q, below(2) ? p : any());
        next(array, below(3) ? arrays.back() : arrays[below(arrays.size())]);
        add(Op::LoopEnd, Type::Void);
        numbers.resize(count);
        arrays.resize(array_count);
        numbers.insert(numbers.end(), { p, q });
        arrays.push_back(array);
    }
};

/// One lane, values by instruction; arrays are vectors.
struct LaneEvaluator {
    const std::vector<Inst> &insts;
    std::vector<std::vector<uint64_t>> v;
    uint32_t lane;

    explicit LaneEvaluator(const Program &p, uint32_t l)
        : insts(p.functions[0].insts), v(insts.size()), lane(l) {}

    uint32_t skip(uint32_t i, Op up, Op down, Op also) const {
        for (int depth = 0;; ++i) {
            depth += insts[i].op == up;
            if (depth == 1 && insts[i].op == also)
                return i;
            depth -= insts[i].op == down;
            if (!depth)
                return i;
        }
    }
    void run() {
        std::vector<uint32_t> loops;
        for (uint32_t i = 0; i < insts.size(); ++i) {
            const Inst &in = insts[i];
            auto arg = [&](int k) -> std::vector<uint64_t> & { return v[in.arg[k]]; };
            switch (in.op) {
            case Op::Literal: v[i] = { in.imm }; break;
            case Op::Lane: v[i] = { lane }; break;
            case Op::Active: v[i] = { 1 }; break;
            case Op::ArrayNew: v[i].assign(in.length, arg(0)[0]); break;
            case Op::ArrayGet: v[i] = { arg(1)[0] < arg(0).size() ? arg(0)[arg(1)[0]] : 0 }; break;
            case Op::ArraySet:
                v[i] = arg(0);
                if (arg(1)[0] < v[i].size())
                    v[i][arg(1)[0]] = arg(2)[0];
                break;
            case Op::Select:
            case Op::Merge: v[i] = arg(0)[0] ? arg(1) : arg(2); break;
            case Op::IfBegin:
                if (!arg(0)[0])
                    i = skip(i, Op::IfBegin, Op::EndIf, Op::Else);
                break;
            case Op::Else: {
                int depth = 1;
                while (depth) {
                    ++i;
                    depth += insts[i].op == Op::IfBegin;
                    depth -= insts[i].op == Op::EndIf;
                }
                break;
            }
            case Op::LoopBegin:
                for (uint32_t p = i + 1; insts[p].op == Op::Phi; ++p)
                    v[p] = v[insts[p].arg[0]];
                loops.push_back(i);
                break;
            case Op::LoopWhile:
                if (!arg(0)[0]) {
                    i = skip(loops.back(), Op::LoopBegin, Op::LoopEnd, Op::LoopEnd);
                    loops.pop_back();
                }
                break;
            case Op::LoopEnd: {
                uint32_t head = loops.back();
                std::vector<std::vector<uint64_t>> next;
                for (uint32_t p = head + 1; insts[p].op == Op::Phi; ++p)
                    next.push_back(v[insts[p].arg[1]]);
                for (uint32_t p = head + 1; insts[p].op == Op::Phi; ++p)
                    v[p] = next[p - head - 1];
                i = head;
                break;
            }
            case Op::Phi:
            case Op::EndIf:
            case Op::StoreLane: break;
            default: {
                uint64_t operand[3], result = 0;
                for (int k = 0; k < operands(in.op); ++k)
                    operand[k] = arg(k)[0];
                ASSERT_TRUE(fold(in.op, in.type, insts[in.arg[0]].type, operand, result));
                v[i] = { result };
            }
            }
        }
    }
};

} // namespace

TEST(InterpPlan, RandomProgramsAgreeWithALaneByLaneEvaluator) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        size_t n = 90;
        RandomProgram b(seed);
        b.numbers = { b.lane(), b.lit(5u), b.lit(17u) };
        b.numbers.push_back(b.add(Op::Mul, U32, { b.numbers[0], b.lit(2654435761u) }));
        b.arrays = { b.add(Op::ArrayNew, U32, { b.numbers[3] }, 0, 6) };
        while (b.budget > 0)
            b.block(0);
        std::vector<Value> results(b.numbers.end() - std::min<size_t>(b.numbers.size(), 6),
                                   b.numbers.end());
        for (uint32_t k = 0; k < 6; ++k)
            results.push_back(b.add(Op::ArrayGet, U32, { b.arrays.back(), b.lit(k), b.lit(true) }));
        std::vector<std::vector<uint32_t>> out(results.size(), std::vector<uint32_t>(n));
        for (size_t r = 0; r < results.size(); ++r)
            b.output(results[r], out[r]);
        b.run(n);
        std::vector<std::vector<uint32_t>> plain = out;
        Log log;
        b.run(n, &log, checking_backend());
        for (const std::string &e : log.errors) // indices 6 and 7 are meant to miss
            ASSERT_NE(e.find("out of range"), std::string::npos) << e << " seed " << seed;
        ASSERT_EQ(plain, out) << "checking mode, seed " << seed;
        for (uint32_t lane = 0; lane < n; lane += 7) {
            LaneEvaluator reference(b.program, lane);
            reference.run();
            for (size_t r = 0; r < results.size(); ++r)
                ASSERT_EQ(out[r][lane], reference.v[results[r]][0])
                    << "seed " << seed << ", lane " << lane << ", value %" << results[r] << "\n"
                    << b.program.text();
        }
    }
}
