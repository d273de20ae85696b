// support/gradient_check.h: derivatives in both directions against differences, in one call.
//
//     class Gathers : public umbel::test::AdTest {};
//     TEST_P(Gathers, AreLinear) { expect_gradient("gather", [&](auto &in) { ... }, { points }); }
#pragma once
#include "ad/ad.h"
#include "support/backend_fixture.h"
#include <cmath>
#include <random>

namespace umbel::test {

using Inputs = std::vector<jit::Float64>;
using Function = std::function<jit::Float64(const Inputs &)>;
using List = std::vector<double>;

/// A test that leaves part of the tape behind fails: its values are gone by then.
class AdTest : public BackendTest {
protected:
    void TearDown() override {
        EXPECT_EQ(ad::live_nodes(), 0u) << ad::listing();
        BackendTest::TearDown();
    }
};

inline List random_points(uint64_t seed, size_t n, double low, double high) {
    std::mt19937_64 rng(seed);
    std::uniform_real_distribution<double> u(low, high);
    List out(n);
    for (double &x : out)
        x = u(rng);
    return out;
}

inline Inputs copy_all(const std::vector<List> &points) {
    Inputs out;
    for (const List &p : points)
        out.push_back(jit::copy(p));
    return out;
}

inline Inputs enabled(const std::vector<List> &points) {
    Inputs in = copy_all(points);
    for (jit::Float64 &x : in)
        ad::enable_grad(x);
    return in;
}

struct Tolerance {
    double relative = 1e-6, absolute = 1e-11;
    double step = 1e-3; // of the differences
};

inline void expect_close(const char *what, const char *direction, size_t at, double got,
                         double want, double scale, const Tolerance &t) {
    double allowed = t.relative * std::abs(want) + t.absolute * std::max(1.0, scale);
    EXPECT_TRUE(std::abs(got - want) <= allowed)
        << what << ", " << direction << ", element " << at << ": " << got << " instead of " << want;
}

/// Central differences of fourth order: f at +h, -h, +2h, -2h.
inline double difference(double p1, double m1, double p2, double m2, double h) {
    return (8 * (p1 - m1) - (p2 - m2)) / (12 * h);
}

/// Lane i of f depends on lane i of the inputs alone: derivatives with respect to each input.
inline void expect_lanewise(const char *what, const Function &f, const std::vector<List> &points,
                            const Tolerance &t = {}) {
    size_t n = points[0].size();
    List value = f(copy_all(points)).read();
    for (size_t k = 0; k < points.size(); ++k) {
        List shifted[4], want(n);
        const double steps[] = { 1, -1, 2, -2 };
        for (int s = 0; s < 4; ++s) {
            std::vector<List> moved = points;
            for (double &x : moved[k])
                x += steps[s] * t.step;
            shifted[s] = f(copy_all(moved)).read();
        }
        for (size_t i = 0; i < n; ++i)
            want[i] =
                difference(shifted[0][i], shifted[1][i], shifted[2][i], shifted[3][i], t.step);

        // Backward reaches all inputs, forward starts from this one
        Inputs in = enabled(points);
        jit::Float64 y = f(in);
        List backward(n, 0), forward(n, 0);
        if (ad::grad_enabled(y)) {
            ad::backward(y);
            backward = ad::grad(in[k]).read();
        }
        in = enabled(points);
        y = f(in);
        ad::forward(in[k]);
        forward = ad::grad(y).read();
        for (size_t i = 0; i < n && !testing::Test::HasFailure(); ++i) {
            std::string where = fmt::format("{} (input {} at", what, k);
            for (const List &p : points)
                where += fmt::format(" {}", p[i]);
            where += ")";
            expect_close(where.c_str(), "backward", i, backward[i], want[i], std::abs(value[i]), t);
            expect_close(where.c_str(), "forward", i, forward[i], want[i], std::abs(value[i]), t);
        }
    }
}

/// Any f: gradient of a random weighted sum of its results with respect to every element of every input,
/// and the derivative along a random direction.
inline void expect_gradient(const char *what, const Function &f, const std::vector<List> &points,
                            const Tolerance &t = {}) {
    size_t results = f(copy_all(points)).size();
    List w = random_points(77, results, 0.5, 1.5);
    auto objective = [&](const std::vector<List> &at) {
        List y = f(copy_all(at)).read();
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i)
            sum += w[i] * y[i];
        return sum;
    };
    Inputs in = enabled(points);
    jit::Float64 y = f(in);
    ASSERT_TRUE(ad::grad_enabled(y)) << what;
    ad::set_grad(y, jit::copy(w));
    ad::backward_from(y);
    double along = 0, scale = std::abs(objective(points));
    std::vector<List> direction;
    for (size_t k = 0; k < points.size(); ++k) {
        List got = ad::grad(in[k]).read();
        ASSERT_EQ(got.size(), points[k].size()) << what;
        direction.push_back(random_points(99 + k, points[k].size(), -1, 1));
        for (size_t i = 0; i < points[k].size(); ++i) {
            double at[4];
            const double steps[] = { 1, -1, 2, -2 };
            for (int s = 0; s < 4; ++s) {
                std::vector<List> moved = points;
                moved[k][i] += steps[s] * t.step;
                at[s] = objective(moved);
            }
            double want = difference(at[0], at[1], at[2], at[3], t.step);
            expect_close(fmt::format("{}, input {}", what, k).c_str(), "backward", i, got[i], want,
                         scale, t);
            along += want * direction[k][i];
        }
    }
    in = enabled(points);
    y = f(in);
    for (size_t k = 0; k < in.size(); ++k) {
        ad::set_grad(in[k], jit::copy(direction[k]));
        ad::enqueue(ad::Mode::Forward, in[k]);
    }
    ad::traverse(ad::Mode::Forward);
    List tangent = ad::grad(y).read();
    double got = 0;
    for (size_t i = 0; i < tangent.size(); ++i)
        got += w[i] * tangent[i];
    expect_close(what, "forward", 0, got, along, std::max(scale, 10.0), t);
}

} // namespace umbel::test
