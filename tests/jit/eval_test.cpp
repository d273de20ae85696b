// tests/jit/eval_test.cpp: kernels: how many, of what, when they run, when they are compiled, what they say.
#include "jit/control.h"
#include "jit/lane_list.h"
#include "jit/launch.h"
#include "jit/launch_log.h"
#include "jit/warning.h"
#include "support/backend_fixture.h"
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace umbel;
using namespace umbel::jit;

namespace {

template <class T> std::vector<T> list(std::initializer_list<T> v) { return v; }

class EvalTest : public test::BackendTest {
protected:
    EvalTest() { context.set(Flag::History, true); }
    // Kernels launched by f, built-in algorithms left out.
    template <class F> std::vector<KernelRecord> kernels(F &&f) {
        context.take_history();
        f();
        std::vector<KernelRecord> r = context.take_history();
        std::erase_if(r, [](const KernelRecord &k) { return k.backend == "builtin"; });
        return r;
    }
};

// ---- grouping

TEST_P(EvalTest, OutputsOfOneSizeAreOneKernel) {
    Float32 x = opaque(arange<float>(10));
    Float32 a = sin(x), b = a * a, c = x + 1.f;
    auto k = kernels([&] { eval(a, b, c); });
    ASSERT_EQ(k.size(), 1u);
    EXPECT_EQ(k[0].outputs, 3u);
    EXPECT_EQ(k[0].inputs, 1u);
    EXPECT_EQ(k[0].size, 10u);
    EXPECT_TRUE(a.is_evaluated() && b.is_evaluated() && c.is_evaluated());
}

// Large launches write past the caches (jit/llvm/memory.cpp).
TEST_P(EvalTest, OutputsOfEveryWidthArriveFromSmallAndLargeLaunchesOfOneKernel) {
    auto run = [&](uint32_t n) {
        UInt32 i = arange<uint32_t>(n);
        Mask odd = (i & 1u) == 1u;
        Array<uint8_t> bytes(i);
        Array<uint16_t> halves(i);
        UInt64 wide = UInt64(i) * UInt64(uint64_t(3) << 32);
        auto k = kernels([&] { eval(i, odd, bytes, halves, wide); });
        EXPECT_EQ(k.size(), 1u);
        std::vector<uint32_t> hi = i.read();
        auto ho = odd.read();
        auto hb = bytes.read();
        auto hh = halves.read();
        auto hw = wide.read();
        for (uint32_t l = 0; l < n; ++l)
            if (hi[l] != l || bool(ho[l]) != bool(l & 1) || hb[l] != uint8_t(l) ||
                hh[l] != uint16_t(l) || hw[l] != uint64_t(l) * (uint64_t(3) << 32))
                return l;
        return n;
    };
    for (uint32_t n : { 37u, (1u << 22) + 21 })
        EXPECT_EQ(run(n), n) << "the first wrong lane";
}

// Large launches look at indices ahead, up to the last one.
TEST_P(EvalTest, GathersByAnArrayOfIndicesFetchTheSameInSmallAndLargeLaunches) {
    UInt32 table = opaque(arange<uint32_t>(4096) * 3u);
    for (uint32_t n : { 5u, 37u, (1u << 22) + 21 }) {
        UInt32 index = opaque((arange<uint32_t>(n) * 2654435761u) >> 22u);
        UInt32 one = gather(table, index);
        auto four = gather_packet<uint32_t, 4>(table, index);
        EXPECT_TRUE(all(one == index * 3u)) << n;
        EXPECT_TRUE(all(four[0] == index * 12u) && all(four[3] == index * 12u + 9u)) << n;
    }
}

TEST_P(EvalTest, EachSizeIsAKernel) {
    Float32 x = opaque(arange<float>(10)), y = opaque(arange<float>(20));
    Float32 a = x + 1.f, b = y + 1.f, c = x * 2.f;
    auto k = kernels([&] { eval(a, b, c); });
    ASSERT_EQ(k.size(), 2u);
    EXPECT_EQ(k[0].size + k[1].size, 30u);
    EXPECT_EQ(item(b, 19), 20.f);
}

TEST_P(EvalTest, SideEffectsAndOutputsShareAKernel) {
    UInt32 lane = opaque(arange<uint32_t>(10)), target = opaque(zeros<uint32_t>(10));
    UInt32 x = lane * 3u;
    scatter(target, x, 9u - lane);
    auto k = kernels([&] { eval(x); });
    EXPECT_EQ(k.size(), 1u);
    EXPECT_EQ(target.read(), list<uint32_t>({ 27, 24, 21, 18, 15, 12, 9, 6, 3, 0 }));
}

TEST_P(EvalTest, EvaluatedValuesAreNotComputedAgain) {
    Float32 x = sqrt(opaque(arange<float>(4)));
    x.read();
    EXPECT_TRUE(kernels([&] {
                    eval(x);
                    x.read();
                }).empty());
}

TEST_P(EvalTest, ScheduledValuesComeWithTheNextEvaluation) {
    Float32 x = opaque(arange<float>(4)), a = x + 1.f, b = x + 2.f;
    schedule(a);
    auto k = kernels([&] { eval(b); });
    ASSERT_EQ(k.size(), 1u);
    EXPECT_EQ(k[0].outputs, 2u);
    EXPECT_TRUE(a.is_evaluated());
}

TEST_P(EvalTest, UnusedWorkIsNotDone) {
    Float32 x = opaque(arange<float>(4));
    Float32 unused = exp(x), y = x + 1.f;
    y.read();
    EXPECT_EQ(context.last_program_text().find("= Exp"), std::string::npos);
}

// ---- recompilation

TEST_P(EvalTest, TheSameProgramIsTheSameKernel) {
    auto run = [](float seed, bool keep, std::vector<Float32> &kept) {
        Float32 x = opaque(seed) + arange<float>(100), y = x * x, z = y + sqrt(x);
        if (keep)
            kept = { x, y };
        z.read();
    };
    std::vector<Float32> kept;
    auto k = kernels([&] {
        run(1, false, kept);
        run(2, true, kept);
        Float32 something_else = opaque(3.f) * 2.f; // other nodes in between
        run(3, false, kept);
    });
    ASSERT_EQ(k.size(), 3u);
    EXPECT_EQ(k[0].name, k[1].name);
    EXPECT_EQ(k[0].name, k[2].name);
    EXPECT_TRUE(k[1].memory_hit && k[2].memory_hit);
    EXPECT_EQ(k[1].backend_seconds, 0);
}

TEST_P(EvalTest, OpaqueConstantsAndSizesAreNotPartOfTheProgram) {
    auto run = [](uint32_t seed, uint32_t n) {
        (opaque(seed) * 747796405u + arange<uint32_t>(n)).read();
    };
    auto k = kernels([&] {
        run(1, 10);
        run(2, 10);
        run(3, 1000);
    });
    ASSERT_EQ(k.size(), 3u);
    EXPECT_TRUE(k[1].memory_hit && k[2].memory_hit);
}

TEST_P(EvalTest, LiteralsArePartOfTheProgram) {
    auto run = [](float c) { (arange<float>(10) * c + 0.125f).read(); };
    auto k = kernels([&] {
        run(3);
        run(5);
    });
    ASSERT_EQ(k.size(), 2u);
    EXPECT_NE(k[0].name, k[1].name);
}

TEST_P(EvalTest, WithoutTheCacheEveryKernelIsCompiled) {
    FlagScope off(Flag::KernelCache, false);
    auto run = [] { (arange<float>(10) * 0.375f).read(); };
    for (const KernelRecord &r : kernels([&] { run(), run(); }))
        EXPECT_FALSE(r.memory_hit || r.disk_hit);
}

// ---- asynchrony and errors

struct Gate {
    std::atomic<bool> open{ false };
    static void wait(void *user, uint64_t, uint32_t, const int32_t *, void *) {
        auto *gate = static_cast<Gate *>(user);
        for (int i = 0; i < 5000 && !gate->open; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

TEST_P(EvalTest, TracingGoesOnWhileAKernelRuns) {
    context.set(Flag::History, false);
    Gate gate;
    Value lane = lane_index(64);
    call_host("gate", Gate::wait, &gate, { &lane, 1 }, {}, literal(Type::Bool, 1), true);
    context.evaluate({});
    EXPECT_FALSE(context.stream().idle());
    Float32 x = sqrt(arange<float>(5)); // recorded, even queued, meanwhile
    eval(x);
    gate.open = true;
    EXPECT_EQ(x.read()[4], 2.f);
    EXPECT_TRUE(context.stream().idle());
}

// Neither the list nor its length is needed to go on.
TEST_P(EvalTest, LanesAreListedBehindAKernelThatRuns) {
    context.set(Flag::History, false);
    if (context.backend().device())
        GTEST_SKIP() << "kernels there call no functions of the host";
    UInt32 x = opaque(arange<uint32_t>(1000));
    Gate gate;
    Value lane = lane_index(64);
    call_host("gate", Gate::wait, &gate, { &lane, 1 }, {}, literal(Type::Bool, 1), true);
    context.evaluate({});
    LaneList even = compress(x % 2u == 0u, 600);
    UInt32 squares = even.lanes * even.lanes;
    eval(squares);
    EXPECT_FALSE(context.stream().idle());
    gate.open = true;
    EXPECT_EQ(item(even.count), 500u);
    EXPECT_EQ(item(squares, 499), 998u * 998u);
}

// Results of queued kernels take memory that nobody has counted on.
TEST_P(EvalTest, ResultsOfQueuedKernelsAreBounded) {
    context.set(Flag::History, false);
    if (context.backend().device())
        GTEST_SKIP() << "jobs end when the device has them, before they have run";
    uint64_t before = std::exchange(most_in_flight, 1 << 20);
    Gate gate;
    Value lane = lane_index(64);
    call_host("gate", Gate::wait, &gate, { &lane, 1 }, {}, literal(Type::Bool, 1), true);
    context.evaluate({});
    std::thread opens([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        gate.open = true;
    });
    std::vector<Float32> kept;
    uint64_t most = 0;
    for (int i = 0; i < 64; ++i) {
        kept.push_back(arange<float>(1 << 16) + float(i));
        eval(kept.back());
        most = std::max(most, bytes_in_flight());
    }
    opens.join();
    synchronize();
    most_in_flight = before;
    EXPECT_LE(most, (1u << 20) + (1u << 18));
    EXPECT_EQ(bytes_in_flight(), 0u);
    EXPECT_EQ(item(kept[63], 2), 65.f);
}

TEST_P(EvalTest, WithoutTheFlagEvaluationWaits) {
    FlagScope off(Flag::Async, false);
    Float32 x = sqrt(arange<float>(100000));
    eval(x);
    EXPECT_TRUE(context.stream().idle());
}

TEST_P(EvalTest, ErrorsSurfaceAtSynchronizationWithTheKernelsName) {
    UInt32 lane = arange<uint32_t>(100);
    assert_lanes(lane != 42u, "the answer is not allowed");
    auto k = kernels([&] {
        std::string message = test::user_error([&] {
            context.evaluate({}); // does not throw
            synchronize();
        });
        EXPECT_EQ(message.rfind("kernel_", 0), 0u) << message;
        EXPECT_NE(message.find("lane 42"), std::string::npos) << message;
        EXPECT_NE(message.find("the answer is not allowed"), std::string::npos) << message;
    });
    ASSERT_EQ(k.size(), 1u);
    synchronize(); // reported once
    EXPECT_EQ(item(sum(lane)), 4950u);
}

TEST_P(EvalTest, AssertionsNameTheFirstLaneAndCountTheOthers) {
    UInt32 lane = arange<uint32_t>(5000);
    assert_lanes(lane < 1234u, "too large", lane % 2u == 1u);
    std::string message = test::user_error([&] {
        context.evaluate({});
        synchronize();
    });
    EXPECT_NE(message.find("lane 1235 (1883 in all)"), std::string::npos) << message;
}

TEST_P(EvalTest, AssertionsThatHoldAreSilent) {
    assert_lanes(arange<uint32_t>(50) < 50u, "never");
    assert_lanes(Mask(true), "never");
    context.evaluate({});
    synchronize();
}

// Were they kept apart, all that both depend on would be computed twice.
TEST_P(EvalTest, ScattersShareAKernelWithHostFunctionsThatDoNotWriteToTheirTarget) {
    auto nothing = [](void *, uint64_t, uint32_t, const int32_t *, void *) {};
    auto k = kernels([&] {
        UInt32 lane = arange<uint32_t>(1000);
        Float32 x = sqrt(Float32(lane));
        const Value inputs[] = { x };
        call_host("nothing", nothing, nullptr, inputs, {}, x > 3.f, true);
        Value out = full(Type::F32, 0, 2000);
        scatter(out, x, lane * 2u, Mask(true));
        scatter(out, x + 1.f, lane * 2u + 1u, Mask(true));
        EXPECT_EQ(Float32(out).read()[19], 4.f);
    });
    std::erase_if(k, [](const KernelRecord &r) { return r.backend == "builtin"; });
    EXPECT_EQ(k.size(), 1u);
}

void refuse(void *, uint64_t first, uint32_t, const int32_t *, void *) {
    if (first >= 512)
        fail("no more than 512 lanes");
}

TEST_P(EvalTest, ErrorsOfHostFunctionsSurfaceAtSynchronization) {
    Value lane = lane_index(5000);
    Type type = Type::F32;
    Float32 x(call_host("refuse", refuse, nullptr, { &lane, 1 }, { &type, 1 },
                        literal(Type::Bool, 1))[0]);
    eval(x);
    std::string message = test::user_error([&] { synchronize(); });
    EXPECT_NE(message.find("no more than 512 lanes"), std::string::npos) << message;
    EXPECT_EQ(item(sum(UInt32(lane))), 12497500u);
}

TEST_P(EvalTest, ResultsOfFailedKernelsAndWhatFollowsFromThemCannotBeRead) {
    Value lane = lane_index(5000);
    Type type = Type::F32;
    Float32 x(call_host("refuse", refuse, nullptr, { &lane, 1 }, { &type, 1 },
                        literal(Type::Bool, 1))[0]);
    eval(x);
    Float32 y = x + 1.f, z = Float32(UInt32(lane)) + 1.f;
    eval(y, z); // may be dropped, as the other failed before
    EXPECT_THROW(synchronize(), UserError);
    EXPECT_THROW(x.read(), DeviceError);
    EXPECT_THROW((x + 2.f).read(), DeviceError);
    synchronize(); // reported once
    EXPECT_EQ((Float32(UInt32(lane)) + 2.f).read()[3], 5.f);
}

// Leaves so much address space, beyond what is mapped, while it exists.
struct LittleMemory {
    rlimit before;
    explicit LittleMemory(uint64_t bytes) {
        getrlimit(RLIMIT_AS, &before);
        unsigned long pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        rlimit little = before;
        little.rlim_cur = pages * 4096 + bytes;
        setrlimit(RLIMIT_AS, &little);
    }
    ~LittleMemory() { setrlimit(RLIMIT_AS, &before); }
};

TEST_P(EvalTest, EffectsWaitUntilThereIsMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "address space is the sanitizer's";
#endif
    constexpr uint32_t Many = 1 << 24;
    auto values = [](uint32_t n) { return arange<double>(n) * 3.0; };
    auto add = [](UInt32 &target, uint32_t n) {
        UInt32 lane = arange<uint32_t>(n);
        scatter_add(target, lane & 1u, lane & 3u);
    };
    values(100).read(); // compiled before memory is short
    UInt32 before = opaque(zeros<uint32_t>(4)), target = opaque(zeros<uint32_t>(4));
    add(before, 200);
    before.read();

    add(target, Many + 4); // comes after the values, which are fewer
    Float64 x = values(Many);
    trim();
    {
        LittleMemory little(100 << 20);
        EXPECT_THROW(eval(x), DeviceError);
    }
    EXPECT_EQ(target.read(), (std::vector<uint32_t>{ 0, Many / 4 + 1, 0, Many / 4 + 1 }));
    EXPECT_EQ(item(x, Many - 1), 3.0 * (Many - 1));
}

// ---- messages

struct Printed {
    std::vector<std::string> lines;
    Printed() {
        set_print_sink([this](const std::string &s) { lines.push_back(s); });
    }
    ~Printed() { set_print_sink(nullptr); }
};

TEST_P(EvalTest, MessagesOfTheFirstLanesAreShownAndTheOthersCounted) {
    constexpr uint32_t Most = CollectingLog::MostLines, More = 23'456;
    Printed printed;
    UInt32 lane = arange<uint32_t>(2 * Most + More);
    print("{}", true, lane);
    context.evaluate({});
    synchronize();
    ASSERT_EQ(printed.lines.size(), Most + 1);
    for (uint32_t i : { 0u, 1u, 99u, Most - 1 })
        EXPECT_EQ(printed.lines[i], std::to_string(i));
    EXPECT_EQ(printed.lines[Most], fmt::format("({} more lines are not shown)", Most + More));
}

/// More than the log of a device holds, where each lane tells so many numbers: some 33,000.
constexpr uint32_t ManyTellers = 60'000;
std::vector<Value> many_numbers(const Value &v) { return std::vector<Value>(30, v); }

TEST_P(EvalTest, AssertionsFailAlthoughMessagesFillTheLog) {
    Printed printed;
    UInt32 lane = arange<uint32_t>(ManyTellers);
    print("{}", many_numbers(lane), literal(Type::Bool, 1));
    assert_lanes(lane < ManyTellers - 7u, "too large");
    std::string message = test::user_error([&] {
        context.evaluate({});
        synchronize();
    });
    EXPECT_NE(message.find("lane 59993 (7 in all): too large"), std::string::npos) << message;
    // All messages are there, or counted
    size_t shown = printed.lines.size(), more = 0;
    ASSERT_GT(shown, 0u);
    if (std::sscanf(printed.lines.back().c_str(), "(%zu more lines are not shown)", &more) == 1)
        --shown;
    EXPECT_EQ(shown + more, ManyTellers);
}

TEST_P(EvalTest, SumsOfDevicesThatAreNotExactAreTold) {
    static std::string told;
    set_warning_sink([](const std::string &text) { told += text; });
    auto add = [](uint32_t cells) {
        told.clear();
        Float64 target = opaque(zeros<double>(cells));
        auto s = loop(
            std::tuple(zeros<uint32_t>(100)), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                scatter_add(target, Float64(0.5), arange<uint32_t>(100) & 1u);
                std::get<0>(s) += 1u;
            });
        EXPECT_EQ(item(target, 1), 50.0);
        return told;
    };
    bool on_device = context.backend().device();
    EXPECT_EQ(add(1000), "");
    EXPECT_EQ(test::occurrences(add(4'000'000), "4000000 f64"), on_device ? 1 : 0) << told;
    EXPECT_EQ(add(4'000'000), ""); // once
    set_warning_sink(nullptr);
}

TEST_P(EvalTest, CallsWithoutRoomInTheLogAreCountedOrAnError) {
    static std::atomic<uint64_t> calls;
    ExternFn count = [](void *, uint64_t, uint32_t lanes, const int32_t *mask, void *) {
        for (uint32_t i = 0; i < lanes; ++i)
            calls += mask[i] != 0;
    };
    auto launch = [&](const char *name) {
        calls = 0;
        UInt32 lane = arange<uint32_t>(ManyTellers);
        call_host(name, count, nullptr, many_numbers(lane), {}, lane > 0u, true);
        // A later site, which is told all the same
        assert_lanes(lane != opaque(ManyTellers), "never");
        context.evaluate({});
        synchronize();
    };
    allow_missed_calls("count or miss", [](uint64_t missed) { calls += missed; });
    launch("count or miss");
    EXPECT_EQ(calls, ManyTellers - 1);
    if (!context.backend().device())
        return;
    try {
        launch("count");
        FAIL() << "nothing was thrown";
    } catch (const DeviceError &e) {
        EXPECT_GT(test::occurrences(e.what(), "\"count\""), 0) << e.what();
    }
    EXPECT_GT(calls, 0u); // what had room was carried out
}

TEST_P(EvalTest, MessagesComeInTheOrderOfLanes) {
    Printed printed;
    UInt32 lane = arange<uint32_t>(3000);
    print("lane {}: {} and {}", lane % 1000u == 7u, lane, Float32(lane) * 0.5f, lane > 1000u);
    context.evaluate({});
    synchronize();
    EXPECT_EQ(printed.lines,
              list<std::string>({ "lane 7: 3.5 and false", "lane 1007: 503.5 and true",
                                  "lane 2007: 1003.5 and true" }));
}

TEST_P(EvalTest, MessagesOfALaneKeepProgramOrder) {
    Printed printed;
    UInt32 n = arange<uint32_t>(3);
    auto s = loop(
        std::tuple(zeros<uint32_t>(3)), [&](const auto &s) { return std::get<0>(s) < n; },
        [&](auto &s) {
            print("{}/{}", true, n, std::get<0>(s));
            std::get<0>(s) += 1u;
        });
    print("{} done {}", true, n, Int32(n) - 2);
    context.evaluate({});
    synchronize();
    EXPECT_EQ(printed.lines,
              list<std::string>({ "0 done -2", "1/0", "1 done -1", "2/0", "2/1", "2 done 0" }));
}

UMBEL_BACKENDS(EvalTest)

// ---- the cache on disk: two processes

// Run by the test below in a process of its own, with a folder of its own.
TEST(DiskCacheChild, DISABLED_RunsAProgram) {
    setenv("UMBEL_CACHE", getenv("UMBEL_TEST_CACHE"), 1);
    const char *backend = getenv("UMBEL_TEST_BACKENDS");
    Context context(find_backend(backend ? backend : "llvm"));
    ContextScope scope(context);
    context.set(Flag::History, true);
    Float32 x = arange<float>(100), y = sin(x) * x + opaque(float(getpid()));
    assert_lanes(x != 42.f, "not this one");
    eval(y);
    std::string message = test::user_error([] { synchronize(); });
    EXPECT_NE(message.find("lane 42 (1 in all): not this one"), std::string::npos) << message;
    auto r = context.take_history();
    std::printf("hit=%d\n", int(r.back().disk_hit));
}

TEST(DiskCache, TheSecondRunOfAProgramCompilesNothingAndTellsTheSame) {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("umbel-eval-test-" + std::to_string(getpid()));
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string command = "UMBEL_TEST_CACHE='" + folder.string() + "' '" + program +
                          "' --gtest_also_run_disabled_tests --gtest_filter='DiskCacheChild.*'";
    std::vector<std::string> answers;
    for (int i = 0; i < 2; ++i) {
        FILE *pipe = popen(command.c_str(), "r");
        ASSERT_TRUE(pipe);
        std::string output;
        for (std::array<char, 256> line; fgets(line.data(), line.size(), pipe);)
            output += line.data();
        EXPECT_EQ(pclose(pipe), 0) << output;
        answers.push_back(output.substr(output.find("hit=") + 4, 1));
    }
    std::filesystem::remove_all(folder);
    EXPECT_EQ(answers, list<std::string>({ "0", "1" }));
}

} // namespace
