// tests/render/registry_phase_test.cpp: what holds for every phase function that there is; see support/registry.h.
#include "render/phase.h"
#include "support/media.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"
#include "support/scattering.h"

namespace umbel {
using namespace test;

namespace {

using Mode = PhaseFunctionContext::Mode;

const std::array<double, 3> Directions[] = { { 0, 0, 1 },
                                             { 0.6, -0.3, 0.5 },
                                             { -0.7, 0.4, -0.35 } };

/// A collision of light from a direction, in one place or in many.
MediumInteraction collision(const Vector3 &wi, const Vector3 &p) {
    MediumInteraction mei;
    mei.t = Float(1);
    mei.mint = Float(0);
    mei.p = p;
    mei.n = Vector3(Float(0));
    mei.time = Float(0);
    mei.medium = UInt32(1u);
    mei.wavelengths = ray_from(0, 1).wavelengths;
    mei.wi = wi;
    mei.sh_frame = Frame(wi);
    mei.sigma_s = mei.sigma_t = mei.majorant = Spectrum(1);
    mei.sigma_n = Spectrum(0);
    return mei;
}
Vector3 somewhere() { return { opaque_float(0.3), opaque_float(0.6), opaque_float(0.2) }; }
Vector3 many_places(size_t n) {
    return { make(uniform_numbers(21, n)), make(uniform_numbers(22, n)),
             make(uniform_numbers(23, n)) };
}

/// All of it, and each of its components.
std::vector<PhaseFunctionContext> all_contexts(const PhaseFunction &phase) {
    std::vector<PhaseFunctionContext> out(1);
    uint32_t count = uint32_t(phase.components().size());
    for (uint32_t i = 0; count > 1 && i < count; ++i)
        out.push_back({ .component = i });
    return out;
}

} // namespace

class BackendPhases : public ExampleTest {
protected:
    BackendPhases() : ExampleTest("llvm_rgb") {}
};
UMBEL_EXAMPLES(BackendPhases, "phase")

TEST_P(BackendPhases, SamplesFollowTheirDensity) {
    auto phase = load_example<PhaseFunction>(GetParam());
    Chi2 o{ .nx = 32, .ny = 48, .samples = 200000, .tests = 500 };
    for (const PhaseFunctionContext &ctx : all_contexts(*phase))
        for (const auto &w : Directions) {
            MediumInteraction mei = collision(opaque_direction(w), somewhere());
            auto draw = [&](const Vector2 &u2) {
                Float u1 = make(uniform_numbers(o.seed + 1000, o.samples));
                auto s = phase->sample(ctx, mei, u1, u2, true);
                return ValidDirection{ s.wo + Vector3(u2.x * 0), (s.pdf > 0) | (u2.x < 0) };
            };
            auto density = [&](const Vector3 &wo) {
                return phase->eval_pdf(ctx, mei, wo, true).second + wo.x * 0;
            };
            expect_chi2_directions(
                fmt::format("component {} from ({}, {}, {})", int(ctx.component), w[0], w[1], w[2]),
                draw, density, o);
            ++o.seed;
        }
}

TEST_P(BackendPhases, SampleWeightsAreValuesOverDensities) {
    const size_t n = 2000;
    for (const char *name : { "llvm_rgb", "interp_spectral_double", "interp_rgb_polarized" })
        for (Mode mode : { Mode::Radiance, Mode::Importance }) {
            VariantScope inner(find_variant(name));
            auto phase = load_example<PhaseFunction>(GetParam());
            MediumInteraction mei = collision(many_directions(5, n), many_places(n));
            Numbers u = many_numbers(9, n);
            for (PhaseFunctionContext ctx : all_contexts(*phase)) {
                ctx.mode = mode;
                auto s = phase->sample(ctx, mei, u.u1, u.u2, true);
                auto [value, pdf] = phase->eval_pdf(ctx, mei, s.wo, true);
                Float zero = u.u1 * 0;
                expect_equal("weight times density", all_numbers(s.weight.dense() * s.pdf, n),
                             all_numbers(value.dense(), n), scattering_tolerance());
                expect_equal("density", read_floats(s.pdf + zero), read_floats(pdf + zero),
                             scattering_tolerance());
            }
        }
}

// Absorption is the medium's business.
TEST_P(BackendPhases, GivesBackWhatArrives) {
    const size_t n = 100000;
    auto phase = load_example<PhaseFunction>(GetParam());
    for (const auto &w : Directions) {
        Numbers u = many_numbers(31, n);
        MediumInteraction mei = collision(opaque_direction(w), somewhere());
        auto s = phase->sample({}, mei, u.u1, u.u2, true);
        Spectrum weight = select(s.pdf > 0, unpolarized(s.weight), Spectrum(0));
        for (const Float &channel : weight.c)
            if (phase->loses_energy())
                EXPECT_LE(estimate(channel + u.u1 * 0).mean, 1) << "more than arrived";
            else
                expect_estimate(channel + u.u1 * 0, 1, "scattered");
    }
}

// Of microflakes, what is symmetric is scattering per unit of length: extinction is proportional to what they cover.
TEST_P(BackendPhases, IsReciprocal) {
    const size_t n = 4000;
    VariantScope inner(find_variant("llvm_spectral_double"));
    auto phase = load_example<PhaseFunction>(GetParam());
    Vector3 wi = many_directions(5, n), wo = many_directions(11, n), p = many_places(n);
    Numbers u = many_numbers(9, n);
    auto s = phase->sample({}, collision(wi, p), u.u1, u.u2, true);
    wo = select((u.u2.x < 0.5) & (s.pdf > 0), s.wo, wo);
    auto scattered = [&](Mode mode, const Vector3 &from, const Vector3 &to) {
        MediumInteraction mei = collision(from, p);
        Spectrum value = unpolarized(phase->eval_pdf({ .mode = mode }, mei, to, true).first);
        return all_numbers(value * phase->projected_area(mei, true), n);
    };
    std::vector<double> forth = scattered(Mode::Radiance, wi, wo);
    expect_equal("adjoint", scattered(Mode::Importance, wo, wi), forth, scattering_tolerance());
    expect_equal("reciprocal", scattered(Mode::Radiance, wo, wi), forth, scattering_tolerance());
}

TEST_P(BackendPhases, DoesWhatItsComponentsSay) {
    const size_t n = 4000;
    auto phase = load_example<PhaseFunction>(GetParam());
    uint32_t count = uint32_t(phase->components().size());
    ASSERT_GT(count, 0u);
    for (uint32_t flags : phase->components())
        EXPECT_TRUE(flags & PhaseFunctionFlags::All);
    MediumInteraction mei = collision(many_directions(5, n), many_places(n));
    Vector3 wo = many_directions(11, n);
    Numbers u = many_numbers(9, n);
    auto value = [&](const PhaseFunctionContext &ctx) {
        return phase->eval_pdf(ctx, mei, wo, true).first.dense() + Spectrum(u.u1 * 0);
    };
    Spectrum sum = value({ .component = 0 });
    for (uint32_t i = 1; i < count; ++i)
        sum += value({ .component = i });
    expect_equal("sum of components", all_numbers(sum, n), all_numbers(value({}), n), 1e-5);
    // And nothing where nothing is wanted
    for (PhaseFunctionContext none :
         { PhaseFunctionContext{ .type_mask = 0 }, PhaseFunctionContext{ .component = count } }) {
        expect_equal("nothing", all_numbers(value(none), n), std::vector<double>(3 * n), 0);
        EXPECT_EQ(read_floats(phase->sample(none, mei, u.u1, u.u2, true).pdf + u.u1 * 0),
                  std::vector<double>(n));
    }
    // What microflakes cover
    double most = phase->max_projected_area();
    for (double area : read_floats(phase->projected_area(mei, true) + u.u1 * 0)) {
        ASSERT_GE(area, 0);
        ASSERT_LE(area, most * (1 + 1e-5));
    }
}

TEST_P(BackendPhases, DerivativesMatchDifferences) {
    const size_t n = 200;
    for (const char *name : { "interp_ad_rgb_double", "interp_ad_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto phase = load_example<PhaseFunction>(GetParam());
        MediumInteraction mei = collision(many_directions(5, n), many_places(n));
        Vector3 wo = many_directions(11, n);
        expect_parameter_gradients(phase.object, [&] {
            std::vector<Float> out = phase->eval_pdf({}, mei, wo, true).first.c;
            out.push_back(phase->projected_area(mei, true));
            return out;
        });
    }
}

} // namespace umbel
