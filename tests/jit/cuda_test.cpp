// tests/jit/cuda_test.cpp: what can be said of the CUDA backend on any machine.
#include "jit/cuda/present.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/launch_log.h"
#include "jit/unset_array.h"
#include "support/backend_fixture.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace umbel;
using namespace umbel::jit;

TEST(Cuda, MachinesWithoutADeviceSayWhatIsMissing) {
    if (cuda_is_present())
        GTEST_SKIP() << "this machine has a device";
    try {
        find_backend("cuda");
        FAIL() << "nothing was thrown";
    } catch (const DeviceError &e) {
        EXPECT_GT(test::occurrences(e.what(), "llvm variants need no GPU"), 0) << e.what();
    }
}

namespace {

std::string ptx_of_last_program(const Context &c) {
    return ptx::write_module(c.last_program(), "kernel").ptx;
}

struct Ptx : testing::Test {
    Context context{ interp_backend() };
    ContextScope scope{ context };
};

} // namespace

TEST_F(Ptx, ProductsAndSumsAreNotFused) {
    Float32 a = opaque(2.f), x = arange<float>(10);
    eval(a * x + 1.f);
    std::string text = ptx_of_last_program(context);
    EXPECT_GT(test::occurrences(text, "mul.rn.f32"), 0);
    EXPECT_GT(test::occurrences(text, "add.rn.f32"), 0);
}

TEST_F(Ptx, FastMathLeavesRoundingToTheAssemblerInSinglePrecision) {
    Float32 a = opaque(2.f), x = arange<float>(10);
    FlagScope fast(Flag::FastMath, true);
    eval(sqrt(a * x + 1.f) / x);
    std::string text = ptx_of_last_program(context);
    for (const char *op : { "mul.f32", "add.f32", "sqrt.approx.f32", "div.full.f32" })
        EXPECT_EQ(test::occurrences(text, op), 1) << op;
    for (const char *op : { "mul.rn.f32", "add.rn.f32", "sqrt.rn.f32", "div.rn.f32" })
        EXPECT_EQ(test::occurrences(text, op), 0) << op;

    // What is computed in double precision has the bits that CPUs have
    eval(Float64(a * x) + Float64(x));
    text = ptx_of_last_program(context);
    EXPECT_EQ(test::occurrences(text, "mul.rn.f32"), 1);
    EXPECT_EQ(test::occurrences(text, "add.rn.f64"), 1);
}

// The assembler refused `cvt.rzi.f32.f32 %r0, 0x100`
TEST_F(Ptx, NumbersThatAreReadAsAnotherTypeAreInRegisters) {
    FlagScope simplify(Flag::Simplify, false);
    Value bits = literal(Type::U32, 0x100), lanes = arange<uint32_t>(10);
    Float32 x(bitcast(Type::F32, bits));
    eval(floor(x) + Float32(cast(Type::F32, lanes)));
    std::string text = ptx_of_last_program(context);
    EXPECT_EQ(test::occurrences(text, "cvt.rmi.f32.f32"), 1) << text;
    EXPECT_EQ(test::occurrences(text, ", 0x100;"), 1) << text;
    size_t number = text.find(", 0x100;"), line = text.rfind('\n', number);
    EXPECT_NE(text.substr(line, number - line).find("mov.b32"), std::string::npos) << text;
}

// Which know what they do with roundings.
TEST_F(Ptx, FastMathLeavesTranscendentalFunctionsAlone) {
    auto roundings = [&] {
        eval(sin(arange<float>(10)));
        return test::occurrences(ptx_of_last_program(context), ".rn.f32");
    };
    int exact = int(roundings());
    FlagScope fast(Flag::FastMath, true);
    EXPECT_EQ(int(roundings()), exact);
    EXPECT_GT(exact, 0);
}

TEST_F(Ptx, ScalarsAreConstantsOfTheLaunch) {
    Float32 a = opaque(2.f);
    eval(arange<float>(10) * a);
    EXPECT_GT(test::occurrences(ptx_of_last_program(context), "ld.const.b32"), 0);
    std::string before = ptx_of_last_program(context);
    eval(arange<float>(10) * opaque(3.f));
    EXPECT_EQ(ptx_of_last_program(context), before);
}

TEST_F(Ptx, LoadsSayThatAnArrayIsOnlyRead) {
    UInt32 i = arange<uint32_t>(10), source = opaque(arange<uint32_t>(10));
    eval(gather(source, i));
    EXPECT_GT(test::occurrences(ptx_of_last_program(context), "ld.global.nc"), 0);
}

// Two loops that begin with the same array: there is nothing to copy into either.
TEST_F(Ptx, ArraysThatAreNotSetYetAreNotCopiedIntoLoops) {
    struct State {
        UInt32 i;
        LocalArray<uint32_t> a;
        UInt32 sum;
        UMBEL_STRUCT(i, a, sum)
    };
    LocalArray<uint32_t> stack(unset_array(Type::U32, 16));
    UInt32 n = arange<uint32_t>(10), sum(0u);
    for (int k = 0; k < 2; ++k) {
        State s{ UInt32(0u), stack, sum };
        s = loop(
            s, [&](const State &s) { return s.i < n; },
            [](State &s) {
                s.a.set(s.i, s.sum + s.i);
                s.sum = s.a.get(s.i);
                s.i = s.i + UInt32(1u);
            });
        sum = s.sum;
    }
    eval(sum);
    std::string text = ptx_of_last_program(context);
    EXPECT_EQ(test::occurrences(text, "st.local"), 2);
    EXPECT_EQ(test::occurrences(text, "ld.local"), 2);
}

TEST_F(Ptx, FunctionsOfTheHostThatReturnSomethingAreRefused) {
    UInt32 i = arange<uint32_t>(4);
    const Value inputs[] = { i };
    const Type outputs[] = { Type::U32 };
    ExternFn fn = [](void *, uint64_t, uint32_t lanes, const int32_t *, void *frame) {
        auto *v = static_cast<uint32_t *>(frame);
        for (uint32_t k = 0; k < lanes; ++k)
            v[lanes + k] = 2 * v[k];
    };
    auto out = call_host("twice", fn, nullptr, inputs, outputs, Mask(true));
    eval(out[0]);
    std::string message = test::user_error([&] { ptx_of_last_program(context); });
    EXPECT_GT(test::occurrences(message, "\"twice\""), 0);
}

TEST_F(Ptx, MessagesGoThroughTheLog) {
    print("lane {}", Mask(true), arange<uint32_t>(4));
    set_print_sink([](const std::string &) {});
    eval();
    synchronize();
    set_print_sink(nullptr);
    EXPECT_GT(test::occurrences(ptx_of_last_program(context), "atom.global.add.u32"), 0);
}

TEST_F(Ptx, IntegersMeetInTheirWarpBeforeTheyMeetInMemory) {
    struct Step {
        UInt32 k;
        UMBEL_STRUCT(k)
    };
    UInt32 lane = arange<uint32_t>(64), target = opaque(zeros<uint32_t>(64));
    auto matches =
        [&](auto &&effect) { // in a loop, where effects are part of all backends' programs
            loop(
                Step{ lane }, [](const Step &s) { return s.k < 64u; },
                [&](Step &s) {
                    effect(s.k);
                    s.k += 64u;
                });
            eval();
            return test::occurrences(ptx_of_last_program(context), "match.any.sync");
        };
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_add(target, k, k % 7u); }), 1);
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_add(target, UInt32(3u), k % 7u); }), 1);
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_inc(target, k % 7u); }), 1);
    // The digits of floats
    Float32 single = opaque(zeros<float>(64));
    Float64 twice = opaque(zeros<double>(64));
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_add(single, Float32(k), k % 7u); }), 1);
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_add(twice, Float64(k), k % 7u); }), 1);
    // What gains nothing: lanes have cells of their own, or no sum
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_add(target, k, lane); }), 0);
    EXPECT_EQ(matches([&](const UInt32 &k) { scatter_reduce(ReduceOp::Min, target, k, k % 7u); }),
              0);
}

TEST_F(Ptx, AssertionsNeedNoRoomInTheLog) {
    assert_lanes(arange<uint32_t>(4) < opaque(4u), "too large");
    eval();
    synchronize();
    std::string text = ptx_of_last_program(context);
    EXPECT_EQ(test::occurrences(text, "atom.global.add.u32"), 0); // which asks for some
    EXPECT_EQ(test::occurrences(text, "red.global.max.u32"), 1);
}

// Lanes without number would count it past 2^32, and write over what others have told.
TEST_F(Ptx, LanesThatSeeAFullLogLeaveItAlone) {
    print("lane {}", Mask(true), arange<uint32_t>(4));
    set_print_sink([](const std::string &) {});
    eval();
    synchronize();
    set_print_sink(nullptr);
    std::string text = ptx_of_last_program(context);
    size_t seen = text.find("ld.relaxed.gpu.global.b32"), asked = text.find("atom.global.add.u32");
    ASSERT_NE(seen, std::string::npos);
    ASSERT_NE(asked, std::string::npos);
    EXPECT_LT(seen, asked);
    EXPECT_LT(text.find("bra", seen), asked);
}

// ---- With a device; see cuda_machine.memory in tests/CMakeLists.txt

TEST(CudaMemory, CachesAreFreedBeforeMemoryIsSaidToBeMissing) {
    if (!std::getenv("UMBEL_DEVICE_MEMORY"))
        GTEST_SKIP() << "UMBEL_DEVICE_MEMORY=64M limits the memory of a device";
    constexpr uint32_t MiB = 1 << 20;
    Context context(find_backend("cuda"));
    ContextScope scope(context);
    auto last_of = [](uint32_t mib) {
        uint32_t n = mib * (MiB / 4);
        UInt32 x = arange<uint32_t>(n) + opaque(1u);
        eval(x);
        return item(x, n - 1);
    };
    // Sizes that do not fit into each other's blocks: together more than there is
    for (uint32_t mib : { 20, 24, 28, 40, 12 })
        EXPECT_EQ(last_of(mib), mib * (MiB / 4));
    try {
        last_of(100);
        FAIL() << "nothing was thrown";
    } catch (const DeviceError &e) {
        EXPECT_GT(test::occurrences(e.what(), "cannot allocate 100.0 MiB"), 0) << e.what();
    }
    EXPECT_EQ(last_of(48), 48 * (MiB / 4));
}

TEST(CudaMemory, DriversThatLackMemoryForKernelsAreAskedAgainWithoutTheCache) {
    if (!std::getenv("UMBEL_CUDA_MACHINE_MEMORY"))
        GTEST_SKIP() << "UMBEL_CUDA_MACHINE_MEMORY=64 makes the machine of the tests small";
    Context context(find_backend("cuda"));
    ContextScope scope(context);
    Device &device = *context.backend().device();
    std::vector<std::pair<uint64_t, uint64_t>> blocks;
    auto take_all = [&] {
        for (uint64_t bytes = 16 << 20; bytes >= 4096; bytes /= 2)
            try {
                while (true)
                    blocks.push_back({ device.allocate(bytes), bytes });
            } catch (const DeviceError &) {
            }
    };
    auto let_go = [&] {
        for (auto [address, bytes] : blocks)
            device.release(address, bytes);
        blocks.clear();
    };
    auto last_of_kernel = [](uint32_t k) { // one for each number
        UInt32 x = arange<uint32_t>(8) * k;
        eval(x);
        return item(x, 7);
    };
    take_all();
    let_go();
    EXPECT_EQ(last_of_kernel(3), 21u);
    take_all();
    try {
        last_of_kernel(5);
        FAIL() << "nothing was thrown";
    } catch (const DeviceError &e) {
        EXPECT_GT(test::occurrences(e.what(), "out of memory: loading a kernel of "), 0)
            << e.what();
        EXPECT_GT(test::occurrences(e.what(), " KiB failed on emulated; "), 0) << e.what();
    }
    let_go();
    EXPECT_EQ(last_of_kernel(7), 49u);
}
