// tests/jit/recording_test.cpp: launches that are recorded once and replayed with other data.
#include "jit/control.h"
#include "jit/lane_list.h"
#include "jit/recording.h"
#include "support/backend_fixture.h"

using namespace umbel;
using namespace umbel::jit;

namespace {

class Recorded : public test::BackendTest {
protected:
    using Fn = std::function<std::vector<Value>(const std::vector<Value> &)>;
    std::shared_ptr<Recording> record(const Fn &f, std::vector<Value> inputs, bool found = false) {
        Recorder recorder(context, inputs, found);
        return recorder.finish(f(inputs));
    }
    std::vector<float> floats(const Value &v) { return Float32(v).read(); }
};

Value numbers(std::vector<float> v) { return copy(v); }

TEST_P(Recorded, KernelsRunWithNewInputs) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]), y(in[1]);
        Float32 z = opaque(sin(x)) * y;
        return std::vector<Value>{ z, x };
    };
    auto r = record(f, { numbers({ 1, 2, 3 }), numbers({ 4, 5, 6 }) });
    EXPECT_EQ(r->launches(), 2u);
    std::vector<Value> in = { numbers({ 3, 1, 2 }), numbers({ 1, -1, 2 }) };
    auto out = r->replay(in);
    EXPECT_EQ(floats(out[0]), floats(f(in)[0]));
    EXPECT_EQ(out[1].id(), in[0].id());
}

TEST_P(Recorded, EveryAlgorithmIsReplayed) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]);
        Float32 cells = zeros<float>(4);
        UInt32 lane = arange<uint32_t>(x.size());
        scatter_add(cells, x, lane % 3u);
        scatter_add(cells, x * 2.f, UInt32(3u));
        scatter(cells, Float32(7.f), UInt32(2u));
        UInt32 order(sort_permutation(x, true));
        return std::vector<Value>{ reduce(ReduceOp::Add, x),
                                   reduce(ReduceOp::Max, x),
                                   block_reduce(ReduceOp::Add, x, 2),
                                   prefix_sum(x, true),
                                   dot(x, x + 1.f),
                                   gather(x, order),
                                   cells };
    };
    auto r = record(f, { numbers({ 1, 2, 3, 4, 5, 6 }) });
    std::vector<Value> in = { numbers({ 6, -1, 4, 2, 9, 3 }) };
    auto out = r->replay(in), expected = f(in);
    for (size_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(floats(out[i]), floats(expected[i])) << i;
}

TEST_P(Recorded, InputsAreNeverWrittenTo) {
    auto f = [](const std::vector<Value> &in) {
        Value x = in[0];
        scatter(x, literal(Type::F32, to_bits(9.f)), UInt32(0u), Mask(true));
        return std::vector<Value>{ x };
    };
    std::vector<Value> in = { numbers({ 1, 2 }) };
    auto r = record(f, in);
    EXPECT_EQ(floats(in[0]), (std::vector<float>{ 1, 2 }));
    in = { numbers({ 3, 4 }) };
    EXPECT_EQ(floats(r->replay(in)[0]), (std::vector<float>{ 9, 4 }));
    EXPECT_EQ(floats(in[0]), (std::vector<float>{ 3, 4 }));
}

TEST_P(Recorded, ArraysThatAreMadeAndChangedStartAnew) {
    auto f = [](const std::vector<Value> &in) {
        Value counter = opaque(UInt32(5u));
        Value rank = scatter_inc(counter, UInt32(0u), Float32(in[0]) > 0.f);
        return std::vector<Value>{ counter, reduce(ReduceOp::Max, rank) };
    };
    auto r = record(f, { numbers({ 1, 2, -1 }) });
    for (int i = 0; i < 3; ++i) {
        std::vector<Value> in = { numbers({ 1, 2, 3 }) };
        auto out = r->replay(in);
        EXPECT_EQ(item(UInt32(out[0])), 8u);
        EXPECT_EQ(item(UInt32(out[1])), 7u);
    }
}

TEST_P(Recorded, SizesFollowOnceTheyAreUnderstood) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]);
        Float32 half = gather(x, arange<uint32_t>(x.size() / 2) * 2u); // no array fixes its lanes
        Float32 cells = zeros<float>(5);                               // always five
        scatter_add(cells, half, arange<uint32_t>(half.size()) % 5u);
        Float32 mean = Float32(reduce(ReduceOp::Add, x)) / Float32(UInt32(recorded_size(x)));
        return std::vector<Value>{ half, cells, mean, zeros<float>(x.size()) };
    };
    auto make = [](uint32_t n) { return std::vector<Value>{ opaque(arange<float>(n) + 1.f) }; };
    auto r = record(f, make(10));
    EXPECT_TRUE(r->covers(make(10)));
    EXPECT_FALSE(r->covers(make(14)));
    ASSERT_TRUE(r->generalize(*record(f, make(14))));
    for (uint32_t n : { 10u, 14u, 40u }) {
        auto in = make(n);
        ASSERT_TRUE(r->covers(in));
        auto out = r->replay(in), expected = f(in);
        for (size_t i = 0; i < out.size(); ++i)
            EXPECT_EQ(floats(out[i]), floats(expected[i])) << n << ", " << i;
    }
}

// Also where a device has more rounds, or longer runs, for more elements.
TEST_P(Recorded, AlgorithmsFollowSizes) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]);
        UInt32 order(sort_permutation(x, false));
        return std::vector<Value>{
            reduce(ReduceOp::Add, x), reduce(ReduceOp::Min, x), dot(x, x),
            prefix_sum(x, false),     prefix_sum(x, true, 8),   gather(x, order)
        };
    };
    auto make = [](uint32_t n) {
        UInt32 lane = arange<uint32_t>(n);
        return std::vector<Value>{ opaque(Float32((lane * 2654435761u) >> UInt32(24u)) - 100.f) };
    };
    auto r = record(f, make(12));
    ASSERT_TRUE(r->generalize(*record(f, make(300))));
    for (uint32_t n : { 12u, 1u, 257u, 5000u }) {
        auto in = make(n);
        ASSERT_TRUE(r->covers(in));
        auto out = r->replay(in), expected = f(in);
        context.synchronize();
        for (size_t i = 0; i < out.size(); ++i) {
            if (context.backend().device()) { // nothing came to the host and back
                EXPECT_TRUE(context.graph.buffer_of(out[i].id())->is_on_device()) << i;
            }
            EXPECT_EQ(floats(out[i]), floats(expected[i])) << n << ", " << i;
        }
    }
}

// The last of them may be shorter, in some replays and not in others.
TEST_P(Recorded, RunsAreReducedHoweverManyThereAre) {
    auto f = [](const std::vector<Value> &in) {
        return std::vector<Value>{ block_reduce(ReduceOp::Add, in[0], 4),
                                   block_reduce(ReduceOp::Max, in[0], 4) };
    };
    auto make = [](uint32_t n) { return std::vector<Value>{ opaque(arange<float>(n) + 1.f) }; };
    auto r = record(f, make(8));
    ASSERT_TRUE(r->generalize(*record(f, make(14))));
    for (uint32_t n : { 8u, 14u, 3u, 41u }) {
        auto in = make(n);
        ASSERT_TRUE(r->covers(in));
        auto out = r->replay(in), expected = f(in);
        for (size_t i = 0; i < out.size(); ++i)
            EXPECT_EQ(floats(out[i]), floats(expected[i])) << n << ", " << i;
    }
}

TEST_P(Recorded, ASizeThatBecameALiteralIsNoticed) {
    auto f = [](const std::vector<Value> &in) {
        return std::vector<Value>{ Float32(in[0]) * float(in[0].size()) };
    };
    auto r = record(f, { numbers({ 1, 2 }) });
    EXPECT_FALSE(r->generalize(*record(f, { numbers({ 1, 2, 3 }) })));
}

TEST_P(Recorded, SizesMayDependOnData) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]);
        UInt32 found(compress(x > 0.f));
        return std::vector<Value>{ gather(x, found) * 2.f };
    };
    auto r = record(f, { numbers({ 1, -2, 3 }) });
    ASSERT_TRUE(r->generalize(*record(f, { numbers({ 1, -2, 3, 4 }) })));
    std::vector<Value> in = { numbers({ 1, 2, 3, -5, 6 }) };
    EXPECT_EQ(floats(r->replay(in)[0]), (std::vector<float>{ 2, 4, 6, 12 }));
    in = { numbers({ -1, -1 }) };
    EXPECT_EQ(r->replay(in)[0].size(), 0u);
}

TEST_P(Recorded, ListsOfLanesHaveTheirSizeWhateverTheData) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]);
        LaneList found = compress(x > 0.f, 3);
        return std::vector<Value>{ gather(x, found.lanes) * 2.f, Float32(found.count) };
    };
    auto r = record(f, { numbers({ 1, -2, 3 }) });
    ASSERT_TRUE(r->generalize(*record(f, { numbers({ 1, -2, 3, 4 }) })));
    for (auto v : { std::vector<float>{ 1, 2, 3, -5, 6 }, { -1, -1 }, { -1, 5, -3, -2, -7, 9 } }) {
        std::vector<Value> in = { numbers(v) }, expected = f(in);
        ASSERT_TRUE(r->covers(in));
        auto out = r->replay(in);
        EXPECT_EQ(floats(out[0]), floats(expected[0]));
        EXPECT_EQ(floats(out[1]), floats(expected[1]));
        if (context.backend().device()) { // neither came to the host and back
            auto again = r->replay(in);
            context.synchronize();
            for (const Value &v : again)
                EXPECT_TRUE(context.graph.buffer_of(v.id())->is_on_device());
        }
    }
}

TEST_P(Recorded, LoopsAndHostCallsAreReplayed) {
    static int calls;
    calls = 0;
    auto count = [](void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
        auto *x = static_cast<float *>(frame);
        for (uint32_t i = 0; i < lanes; ++i)
            x[lanes + i] = mask[i] ? x[i] * *static_cast<float *>(user) : 0;
        ++calls;
    };
    static float factor = 3;
    auto f = [&](const std::vector<Value> &in) {
        Type type = Type::F32;
        Value y = call_host("scale", count, &factor, { &in[0], 1 }, { &type, 1 },
                            literal(Type::Bool, 1))[0];
        struct State {
            UInt32 i;
            Float32 x;
            UMBEL_STRUCT(i, x)
        };
        State s = loop(
            State{ 0u, Float32(y) }, [](const State &s) { return s.i < 3u; },
            [](State &s) {
                s.x += 1.f;
                s.i += 1u;
            });
        return std::vector<Value>{ s.x };
    };
    auto r = record(f, { numbers({ 1, 2 }) });
    std::vector<Value> in = { numbers({ 5, 7 }) };
    EXPECT_EQ(floats(r->replay(in)[0]), (std::vector<float>{ 18, 24 }));
    EXPECT_GE(calls, 2);
}

// Data of instances is part of a launch: whoever replaces or changes it makes the recording useless.
TEST_P(Recorded, SingleElementsOfInstancesAreWatched) {
    std::vector<Float32> data = { opaque(2.f), opaque(3.f) };
    auto f = [&](const std::vector<Value> &in) {
        Value x = in[1];
        std::vector<Value *> args = { &x };
        return detail::call("scale", in[0], Mask(true), args, 2, [&](uint32_t i) {
            return std::optional(std::vector<Value>{ Float32(x) * data[i] });
        });
    };
    std::vector<Value> in = { copy(std::vector<uint32_t>{ 1, 2, 2, 0 }), numbers({ 1, 2, 3, 4 }) },
                       other = { copy(std::vector<uint32_t>{ 2, 1, 0, 1 }), in[1] };
    EXPECT_THROW(record(f, in), UserError) << "found without leave";
    auto r = record(f, in, true);
    EXPECT_EQ(floats(r->replay(other)[0]), (std::vector<float>{ 3, 4, 0, 8 }));
    EXPECT_TRUE(context.graph.is_single(data[0].id())) << "no array was made of it";
    EXPECT_FALSE(r->stale());
    data[1] = opaque(5.f);
    EXPECT_TRUE(r->stale()) << "replaced";

    r = record(f, in, true);
    EXPECT_EQ(floats(r->replay(other)[0]), (std::vector<float>{ 5, 4, 0, 8 }));
    EXPECT_FALSE(r->stale());
    scatter(data[0], Float32(7), UInt32(0u));
    EXPECT_EQ(item(data[0]), 7);
    EXPECT_TRUE(r->stale()) << "written to";
}

TEST_P(Recorded, ReadingIsRefused) {
    Value x = numbers({ 1, 2 });
    Recorder recorder(context, { &x, 1 }, false);
    EXPECT_THROW(floats(Float32(x) + 1.f), umbel::UserError);
    EXPECT_THROW(any(Float32(x) > 1.f), umbel::UserError);
}

TEST_P(Recorded, ForgottenArraysAreRefused) {
    Value x = numbers({ 1, 2 }), forgotten = numbers({ 3, 4 });
    {
        Recorder recorder(context, { &x, 1 }, false);
        Value y = Float32(x) + Float32(forgotten);
        EXPECT_THROW(recorder.finish({ &y, 1 }), umbel::UserError);
    }
    Recorder recorder(context, { &x, 1 }, true);
    scatter(forgotten, x, arange<uint32_t>(2), Mask(true));
    EXPECT_THROW(recorder.finish({}), umbel::UserError);
}

TEST_P(Recorded, FoundArraysThatAreReplacedMakeItStale) {
    Value found = numbers({ 10, 20 });
    auto f = [&](const std::vector<Value> &in) {
        return std::vector<Value>{ Float32(in[0]) + Float32(found) };
    };
    auto r = record(f, { numbers({ 1, 2 }) }, true),
         second = record(f, { numbers({ 1, 2 }) }, true);
    EXPECT_FALSE(r->stale());
    found = numbers({ 11, 21 });
    EXPECT_TRUE(r->stale());
    EXPECT_TRUE(second->stale());
}

TEST_P(Recorded, WhoReplacesWhatItFoundCannotBeReplayed) {
    Value state = numbers({ 1, 2 });
    auto f = [&](const std::vector<Value> &in) {
        state = opaque(Float32(state) + Float32(in[0]));
        return std::vector<Value>{ state };
    };
    EXPECT_TRUE(record(f, { numbers({ 1, 2 }) }, true)->stale());
}

TEST_P(Recorded, ReplaysHoldNoMemoryAndAddNoNodes) {
    auto f = [](const std::vector<Value> &in) {
        Float32 x(in[0]), y = opaque(x + 1.f), z = opaque(y * y);
        return std::vector<Value>{ reduce(ReduceOp::Add, z) };
    };
    auto r = record(f, { numbers(std::vector<float>(10'000, 1.f)) });
    std::vector<Value> in = { numbers(std::vector<float>(10'000, 2.f)) };
    context.synchronize();
    uint64_t bytes = memory_stats().in_use;
    size_t nodes = context.graph.live_nodes();
    for (int i = 0; i < 100; ++i)
        r->replay(in);
    context.synchronize();
    EXPECT_EQ(memory_stats().in_use, bytes);
    EXPECT_EQ(context.graph.live_nodes(), nodes);
}

TEST_P(Recorded, HistoriesOfRecordingAndReplayAreAlike) {
    context.set(Flag::History, true);
    auto f = [](const std::vector<Value> &in) {
        return std::vector<Value>{ reduce(ReduceOp::Add, Float32(in[0]) * 2.f) };
    };
    std::vector<Value> in = { numbers({ 1, 2, 3 }) };
    auto r = record(f, in);
    auto first = context.take_history();
    r->replay(in);
    auto second = context.take_history();
    if (!context.backend().device()) { // which sums in rounds
        EXPECT_EQ(first.size(), 2u);
    }
    ASSERT_EQ(second.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(first[i].name, second[i].name);
        EXPECT_EQ(first[i].size, second[i].size);
    }
}

UMBEL_BACKENDS(Recorded)

} // namespace
