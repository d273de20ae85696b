// tests/core/quaternion_test.cpp: quaternions of plain and of traced numbers, and transforms that move.
#include "core/animated_transform.h"
#include "core/scene_file.h"
#include "support/variant_fixture.h"
#include <random>

namespace umbel {
namespace {

using namespace test;
using Quat = Quaternion<double>;
using Vec = std::array<double, 3>;

Quat random_rotation(std::mt19937 &rng) {
    std::normal_distribution<double> n;
    return Quat{ n(rng), n(rng), n(rng), n(rng) }.normalized();
}

void expect_close(const Quat &a, const Quat &b, double eps = 1e-13) {
    EXPECT_NEAR(a.x, b.x, eps);
    EXPECT_NEAR(a.y, b.y, eps);
    EXPECT_NEAR(a.z, b.z, eps);
    EXPECT_NEAR(a.w, b.w, eps);
}
void expect_same_rotation(const Quat &a, const Quat &b, double eps = 1e-13) {
    expect_close(a, dot(a, b) < 0 ? b * -1.0 : b, eps);
}
void expect_close(const TransformData &a, const TransformData &b, double eps) {
    for (size_t i = 0; i < 16; ++i)
        EXPECT_NEAR(a.m[i], b.m[i], eps) << "entry " << i;
}
TransformData matrix(const Matrix3x3<double> &m) {
    return { { m[0], m[1], m[2], 0, m[3], m[4], m[5], 0, m[6], m[7], m[8], 0, 0, 0, 0, 1 } };
}

TEST(Quaternions, ObeyHamiltonsRules) {
    Quat i{ 1, 0, 0, 0 }, j{ 0, 1, 0, 0 }, k{ 0, 0, 1, 0 }, minus_one{ 0, 0, 0, -1 };
    for (const Quat &product : { i * i, j * j, k * k, i * j * k })
        expect_close(product, minus_one);
    expect_close(i * j, k);
    expect_close(j * i, k * -1.0);
    Quat q{ 1, -2, 0.5, 3 };
    expect_close(q * q.inverse(), Quat::identity());
    expect_close(q.inverse() * q, Quat::identity());
}

TEST(Quaternions, RotateAsTheirMatricesDo) {
    std::mt19937 rng(1);
    for (double degrees : { 0.0, 30.0, 90.0, 180.0, 200.0, -75.0 })
        for (Vec axis : { Vec{ 1, 0, 0 }, Vec{ 0, 1, 0 }, Vec{ 0, 0, 1 }, Vec{ 0.6, 0, -0.8 } }) {
            Quat q = Quat::rotation(axis, degrees * Pi / 180);
            TransformData want = TransformData::rotate(axis, degrees);
            expect_close(matrix(q.to_matrix()), want, 1e-14);
            Vec v = { 1, -2, 3 }, a = q.rotate(v), b = want.apply_vector(v);
            for (size_t i = 0; i < 3; ++i)
                EXPECT_NEAR(a[i], b[i], 1e-14);
        }
    for (int n = 0; n < 100; ++n) {
        Quat a = random_rotation(rng), b = random_rotation(rng);
        expect_close(matrix((a * b).to_matrix()), matrix(a.to_matrix()) * matrix(b.to_matrix()),
                     1e-14);
    }
}

TEST(Quaternions, ComeBackFromMatricesAndEulerAngles) {
    std::mt19937 rng(2);
    for (int n = 0; n < 1000; ++n) {
        Quat q = random_rotation(rng);
        expect_same_rotation(Quat::from_matrix(q.to_matrix()), q, 1e-14);
        expect_same_rotation(Quat::from_euler(q.to_euler()), q, 1e-14);
        EXPECT_LE(std::abs(q.to_euler()[1]), Pi / 2 + 1e-15);
    }
    for (const Quat &half_turn :
         { Quat{ 1, 0, 0, 0 }, Quat{ 0, 1, 0, 0 }, Quat{ 0, 0, 1, 0 }, Quat{ 0.6, 0.8, 0, 0 } })
        expect_same_rotation(Quat::from_matrix(half_turn.to_matrix()), half_turn);

    // Where roll and yaw turn about the same axis
    for (double pitch : { Pi / 2, -Pi / 2 })
        for (double roll : { 0.0, 0.5, -2.0 }) {
            Quat q = Quat::from_euler({ roll, pitch, 0.3 });
            expect_same_rotation(Quat::from_euler(q.to_euler()), q, 1e-14);
        }
    Vec e = Quat::from_euler({ 0.3, -0.4, 2.5 }).to_euler();
    EXPECT_NEAR(e[0], 0.3, 1e-14);
    EXPECT_NEAR(e[1], -0.4, 1e-14);
    EXPECT_NEAR(e[2], 2.5, 1e-14);
}

TEST(Quaternions, ExpUndoesLog) {
    std::mt19937 rng(3);
    for (int n = 0; n < 100; ++n) {
        Quat q = random_rotation(rng) * std::exp(0.02 * (n - 50));
        expect_close(exp(log(q)), q, 1e-13);
    }
    expect_close(log(Quat::identity()), Quat{ 0, 0, 0, 0 });
    expect_close(exp(Quat{ 0, 0, 0, 0 }), Quat::identity());
    expect_close(exp(Quat{ 0, 0, 0.25 * Pi, 0 }), Quat::rotation({ 0, 0, 1 }, 0.5 * Pi));
    Quat tiny{ 1e-9, 0, 0, 1 };
    expect_close(log(tiny), Quat{ 1e-9, 0, 0, 0 }, 1e-17);
}

/// Between rotations, from lengths: the inverse cosine would be good to half of the digits only.
double angle_between(const Quat &a, const Quat &b) {
    auto length = [](const Quat &q) { return std::sqrt(q.squared_norm()); };
    double small = length(a - b), large = length(a + b);
    return 2 * std::atan2(std::min(small, large), std::max(small, large));
}

TEST(Quaternions, SlerpTurnsAtConstantSpeedTheShorterWay) {
    std::mt19937 rng(4);
    for (int n = 0; n < 100; ++n) {
        Quat a = random_rotation(rng), b = random_rotation(rng);
        double whole = angle_between(a, b);
        for (double t : { 0.0, 0.25, 0.5, 1.0 }) {
            Quat q = slerp(a, b, t);
            EXPECT_NEAR(q.squared_norm(), 1, 1e-14);
            EXPECT_NEAR(angle_between(a, q), t * whole, 1e-14);
        }
        expect_same_rotation(slerp(a, b, 1.0), b);
        expect_close(slerp(a, a * -1.0, 0.5), a);
    }
    Quat a = Quat::identity(), b = Quat::rotation({ 0, 1, 0 }, 1e-7);
    EXPECT_NEAR(slerp(a, b, 0.5).y, 2.5e-8, 1e-20);
}

TEST(TransformParts, ComposeToWhatWasTakenApart) {
    std::mt19937 rng(5);
    std::normal_distribution<double> n;
    for (int i = 0; i < 300; ++i) {
        TransformData m;
        double scale = std::pow(10.0, i % 9 - 4);
        for (int e = 0; e < 12; ++e)
            m.m[size_t(e)] = scale * n(rng);
        TransformParts p = decompose(m);
        EXPECT_NEAR(p.rotation.squared_norm(), 1, 1e-14);
        expect_close(p.compose(), m, 1e-12 * scale);
        EXPECT_EQ(p.stretch[1], p.stretch[3]);
    }
    // A scale between rotations stays a scale
    TransformData rotate = TransformData::rotate({ 0, 0, 1 }, 30);
    TransformParts p = decompose(rotate * TransformData::scale({ 2, 3, 1e-3 }));
    expect_same_rotation(p.rotation, Quat::rotation({ 0, 0, 1 }, Pi / 6));
    EXPECT_NEAR(p.stretch[0], 2, 1e-13);
    EXPECT_NEAR(p.stretch[8], 1e-3, 1e-13);
    EXPECT_NEAR(p.stretch[1], 0, 1e-13);
    TransformData mirror = TransformData::scale({ -1, 2, 3 });
    expect_close(decompose(mirror).compose(), mirror, 1e-14);
}

class BackendAnimatedTransform : public VariantTest {};
UMBEL_VARIANTS(BackendAnimatedTransform, "interp_rgb", "interp_rgb_double", "llvm_rgb",
               "llvm_rgb_double")

AnimationData keys(size_t n) {
    std::mt19937 rng(6);
    AnimationData a;
    for (size_t i = 0; i < n; ++i) {
        a.times.push_back(double(i * i) - 1);
        a.transforms.push_back(TransformData::translate({ double(i), -1, 0.5 }) *
                               matrix(random_rotation(rng).to_matrix()) *
                               TransformData::scale({ 1 + double(i), 1, 0.5 }));
    }
    return a;
}

TEST_P(BackendAnimatedTransform, TracedTimesGiveWhatTheHostComputes) {
    double eps = variant().double_precision ? 1e-12 : 2e-5;
    std::vector<double> times;
    for (double t = -3; t < 20; t += 0.37)
        times.push_back(t);
    for (size_t n : { 1u, 2u, 3u, 5u }) {
        AnimatedTransform motion(keys(n));
        EXPECT_EQ(motion.is_static(), n == 1);
        Transform t = motion.at(make(times));
        Vector3 v{ 1, -2, 3 }, p = t.point(v), back = t.inverse().point(p), d = t.vector(v),
                               normal = t.normal(v);
        std::vector<double> px = values(p.x), py = values(p.y), pz = values(p.z), dz = values(d.z),
                            bx = values(back.x), by = values(back.y), nx = values(normal.x);
        for (size_t i = 0; i < times.size(); ++i) {
            TransformData want = motion.at(times[i]), inverse = *want.inverse();
            Vec q = want.apply_point({ 1, -2, 3 }), w = want.apply_vector({ 1, -2, 3 });
            size_t k = px.size() == 1 ? 0 : i;
            EXPECT_NEAR(px[k], q[0], 30 * eps) << "at " << times[i];
            EXPECT_NEAR(py[k], q[1], 30 * eps) << "at " << times[i];
            EXPECT_NEAR(pz[k], q[2], 30 * eps) << "at " << times[i];
            EXPECT_NEAR(dz[k], w[2], 30 * eps) << "at " << times[i];
            EXPECT_NEAR(bx[k], 1, 30 * eps) << "at " << times[i];
            EXPECT_NEAR(by[k], -2, 30 * eps) << "at " << times[i];
            double n0 = inverse(0, 0) * 1 - inverse(1, 0) * 2 + inverse(2, 0) * 3;
            EXPECT_NEAR(nx[k], n0, 30 * eps) << "at " << times[i];
        }
    }
}

TEST_P(BackendAnimatedTransform, KeysAreReachedAndHeldBeyondTheEnds) {
    AnimationData k = keys(4);
    AnimatedTransform motion(k);
    for (size_t i = 0; i < k.times.size(); ++i)
        expect_close(motion.at(k.times[i]), k.transforms[i], 1e-12);
    expect_close(motion.at(-100.0), k.transforms.front(), 0);
    expect_close(motion.at(100.0), k.transforms.back(), 0);

    // Halfway between two turns about one axis: half of the turn, half of the way, the mean of the scales
    TransformData a, b = TransformData::translate({ 2, 0, 0 }) *
                         TransformData::rotate({ 0, 1, 0 }, 90) * TransformData::scale({ 3, 3, 3 });
    TransformData middle = TransformData::translate({ 1, 0, 0 }) *
                           TransformData::rotate({ 0, 1, 0 }, 45) *
                           TransformData::scale({ 2, 2, 2 });
    expect_close(AnimatedTransform(AnimationData{ { 0, 1 }, { a, b } }).at(0.5), middle, 1e-14);
}

TEST_P(BackendAnimatedTransform, MovedKeysCompileNothing) {
    jit::Context &c = variant().context();
    auto x = [&](double shift) {
        AnimationData a = { { 0, 1, 4 }, { {}, TransformData::translate({ shift, 0, 0 }), {} } };
        return values(AnimatedTransform(a).at(make({ 0.5, 2.5 })).point({ 0, 0, 0 }).x);
    };
    EXPECT_NEAR(x(2)[0], 1, 1e-6);
    c.set(jit::Flag::History, true);
    EXPECT_NEAR(x(3)[1], 1.5, 1e-6);
    c.set(jit::Flag::History, false);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.memory_hit) << k.name;
}

TEST(AnimatedTransforms, BadKeysAreRefused) {
    VariantScope scope(find_variant("interp_rgb"));
    auto refuse = [](AnimationData a, const char *why) {
        try {
            AnimatedTransform t(a);
            ADD_FAILURE() << "accepted; should say " << why;
        } catch (const UserError &e) {
            EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
        }
    };
    TransformData flat = TransformData::scale({ 1, 1, 0 }),
                  mirror = TransformData::scale({ -1, 1, 1 });
    TransformData perspective;
    perspective(3, 2) = 1;
    refuse({}, "at least one key");
    refuse({ { 0, 0 }, { {}, {} } }, "must increase");
    refuse({ { 0, NAN }, { {}, {} } }, "must increase");
    refuse({ { 0 }, { flat } }, "singular");
    refuse({ { 0 }, { perspective } }, "affine");
    refuse({ { 0, 1 }, { {}, mirror } }, "handedness");
}

TEST(AnimatedTransforms, ComeFromSceneFilesOfBothForms) {
    VariantScope scope(find_variant("interp_rgb"));
    for (auto [version, name] : { std::pair{ "0.5.0", "toWorld" }, { "3.0.0", "to_world" } }) {
        Properties p = parse_scene_string(
            fmt::format("<scene version='{}'><shape type='sphere'><animation name='{}'>"
                        "<transform time='0'/><transform time='2'><translate x='4'/></transform>"
                        "</animation></shape></scene>",
                        version, name));
        auto motion = p.objects("shape").at(0)->get<AnimationData>("to_world");
        EXPECT_NEAR(AnimatedTransform(motion).at(0.5)(0, 3), 1, 1e-14);
    }
}

} // namespace
} // namespace umbel
