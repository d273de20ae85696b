// tests/smoke/tiny_test.cpp: one small program through every part of the compiler; run this first.
#include "jit/control.h"
#include <gtest/gtest.h>

using namespace umbel::jit;

namespace {

class Tiny : public testing::TestWithParam<const char *> {
protected:
    Tiny()
        : context(std::string(GetParam()) == "llvm" ? llvm_backend() : interp_backend()),
          scope(context) {}
    Context context;
    ContextScope scope;
};

TEST_P(Tiny, AddsTwoArrays) {
    Float32 x = arange<float>(5), y = copy(std::vector<float>{ 1, 2, 3, 4, 5 });
    EXPECT_EQ((x * 2.f + y).read(), (std::vector<float>{ 1, 4, 7, 10, 13 }));
}

TEST_P(Tiny, RunsALoopPerLane) {
    struct State {
        UInt32 i, sum;
        UMBEL_STRUCT(i, sum)
    };
    UInt32 n = arange<uint32_t>(6);
    State s = loop(
        State{ 0u, zeros<uint32_t>(6) }, [&](const State &s) { return s.i < n; },
        [](State &s) {
            s.sum += s.i;
            s.i += 1u;
        });
    EXPECT_EQ(s.sum.read(), (std::vector<uint32_t>{ 0, 0, 1, 3, 6, 10 }));
}

TEST_P(Tiny, BranchesPerLane) {
    UInt32 n = arange<uint32_t>(4);
    UInt32 source = copy(std::vector<uint32_t>{ 10, 20 });
    UInt32 r = if_(n < 2u, [&] { return gather(source, n); }, [&] { return n * 100u; });
    EXPECT_EQ(r.read(), (std::vector<uint32_t>{ 10, 20, 200, 300 }));
}

struct Shape : Instance<Shape> {
    virtual Float32 area(const Float32 &scale) const = 0;
};
struct Square : Shape {
    Float32 side;
    explicit Square(float s) : side(opaque(s)) {}
    Float32 area(const Float32 &scale) const override { return side * side * scale; }
};
struct Circle : Shape {
    Float32 radius;
    explicit Circle(float r) : radius(opaque(r)) {}
    Float32 area(const Float32 &scale) const override { return radius * radius * 3.f * scale; }
};

TEST_P(Tiny, CallsTheRightMethod) {
    Square a(1), b(2);
    Circle c(1);
    Pointer<Shape> p(copy(std::vector<uint32_t>{ a.id(), b.id(), c.id(), 0 }));
    Float32 scale = copy(std::vector<float>{ 1, 1, 2, 2 });
    Float32 area = call(p, [](Shape *s, const Float32 &k) { return s->area(k); }, scale);
    EXPECT_EQ(area.read(), (std::vector<float>{ 1, 4, 6, 0 }));
}

TEST_P(Tiny, ScattersAndReduces) {
    UInt32 bins = zeros<uint32_t>(3);
    scatter_add(bins, UInt32(1u), arange<uint32_t>(10) % 3u);
    EXPECT_EQ(bins.read(), (std::vector<uint32_t>{ 4, 3, 3 }));
    EXPECT_EQ(item(sum(arange<uint32_t>(100))), 4950u);
}

TEST_P(Tiny, LeavesNothingBehind) {
    {
        Float32 x = sqrt(arange<float>(10));
        x.read();
    }
    EXPECT_EQ(context.graph.live_nodes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Backends, Tiny, testing::Values("interp", "llvm"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
