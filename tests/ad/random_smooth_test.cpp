// tests/ad/random_smooth_test.cpp: random programs, forward, backward and by differences.
#include "support/random_smooth.h"
#include <cstdlib>

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class RandomSmooth : public AdTest {
protected:
    RandomSmooth() { context.set(Flag::Verify, true); }

    // Along a random direction of all inputs; lane by lane for the forward derivative.
    void expect_agreement(uint64_t seed, int operations) {
        SmoothProgram f(seed, operations);
        std::vector<List> at = SmoothProgram::points(seed + 17), direction;
        for (size_t k = 0; k < at.size(); ++k)
            direction.push_back(random_points(seed + 50 + k, at[k].size(), -1, 1));
        std::string what = fmt::format("seed {}, {} operations, {}", seed, operations, GetParam());
        SCOPED_TRACE(what);

        // Differences of fourth order
        const double h = 1e-3, steps[] = { 1, -1, 2, -2 };
        List shifted[4];
        for (int s = 0; s < 4; ++s) {
            std::vector<List> moved = at;
            for (size_t k = 0; k < at.size(); ++k)
                for (size_t i = 0; i < at[k].size(); ++i)
                    moved[k][i] += steps[s] * h * direction[k][i];
            shifted[s] = f(copy_all(moved)).read();
        }
        size_t n = shifted[0].size();
        List want(n), w = random_points(seed + 99, n, 0.5, 1.5);
        double total = 0, size = 0;
        for (size_t i = 0; i < n; ++i) {
            want[i] = difference(shifted[0][i], shifted[1][i], shifted[2][i], shifted[3][i], h);
            total += w[i] * want[i];
            size += std::abs(w[i] * want[i]);
        }

        // Forward
        Inputs in = enabled(at);
        Float64 y = f(in);
        ASSERT_TRUE(grad_enabled(y));
        for (size_t k = 0; k < in.size(); ++k) {
            set_grad(in[k], copy(direction[k]));
            enqueue(Mode::Forward, in[k]);
        }
        traverse(Mode::Forward);
        List got = grad(y).read();
        for (size_t i = 0; i < n; ++i)
            EXPECT_NEAR(got[i], want[i], 1e-6 * std::abs(want[i]) + 1e-9) << "forward, lane " << i;

        // Backward
        in = enabled(at);
        y = f(in);
        set_grad(y, copy(w));
        backward_from(y);
        double along = 0;
        for (size_t k = 0; k < in.size(); ++k) {
            List g = grad(in[k]).read();
            for (size_t i = 0; i < g.size(); ++i)
                along += g[i] * direction[k][i];
        }
        EXPECT_NEAR(along, total, 1e-6 * size + 1e-9) << "backward";
    }
};

int seeds(int usual) { // UMBEL_SMOOTH_SEEDS=1000: a longer hunt
    const char *more = std::getenv("UMBEL_SMOOTH_SEEDS");
    return more ? std::atoi(more) : usual;
}

TEST_P(RandomSmooth, ProgramsOf50To500OperationsAgreeWithDifferences) {
    int loops = 0, ifs = 0, calls = 0;
    int n =
        seeds(std::string(GetParam()) == "interp" ? 60 : 3); // what compiles them takes 9 s each
    for (int i = 0; i < n && !HasFailure(); ++i) {
        int operations = 50 + int((i * 131) % 451);
        SmoothProgram f(1000 + i, operations);
        loops += f.loops();
        ifs += f.ifs();
        calls += f.calls();
        expect_agreement(1000 + i, operations);
    }
    EXPECT_GE(loops, n);
    EXPECT_GE(ifs, n);
    EXPECT_GE(calls, n);
}

UMBEL_BACKENDS(RandomSmooth)

} // namespace
