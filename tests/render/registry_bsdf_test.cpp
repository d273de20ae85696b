// tests/render/registry_bsdf_test.cpp: what holds for every BSDF that there is; see support/registry.h.
#include "render/plate.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"
#include "support/scattering.h"

namespace umbel {
using namespace test;

namespace {

using Mode = BSDFContext::Mode;

// Where light may come from: both sides, steep and grazing.
const std::array<double, 3> Directions[] = { { 0.05, 0.1, 1 },
                                             { 0.6, -0.3, 0.5 },
                                             { -0.2, 0.9, 0.2 },
                                             { 0.3, 0.2, -0.9 },
                                             { -0.7, 0.4, -0.35 } };

/// All of it, and each of its components.
std::vector<BSDFContext> all_contexts(const BSDF &bsdf, Mode mode = Mode::Radiance) {
    std::vector<BSDFContext> out(1, { .mode = mode });
    uint32_t count = uint32_t(bsdf.components().size());
    for (uint32_t i = 0; count > 1 && i < count; ++i)
        out.push_back({ .mode = mode, .component = i });
    return out;
}

} // namespace

class BackendBsdfs : public ExampleTest {
protected:
    BackendBsdfs() : ExampleTest("llvm_rgb") {}
};
UMBEL_EXAMPLES(BackendBsdfs, "bsdf")

// Delta lobes, and directions that a sample may not take, are no samples.
TEST_P(BackendBsdfs, SamplesFollowTheirDensity) {
    auto bsdf = load_example<BSDF>(GetParam());
    Chi2 o{ .nx = 32, .ny = 48, .samples = 200000, .tests = 500 };
    for (const BSDFContext &ctx : all_contexts(*bsdf))
        for (const auto &w : Directions) {
            SurfaceInteraction si = hit_from(opaque_direction(w));
            auto draw = [&](const Vector2 &u2) {
                Float u1 = make(uniform_numbers(o.seed + 1000, o.samples));
                BSDFSample s = bsdf->sample(ctx, si, u1, u2, true);
                return ValidDirection{ s.wo, (s.pdf > 0) & !s.is_delta() };
            };
            auto density = [&](const Vector3 &wo) { return bsdf->pdf(ctx, si, wo, true); };
            expect_chi2_directions(
                fmt::format("component {} from ({}, {}, {})", int(ctx.component), w[0], w[1], w[2]),
                draw, density, o);
            ++o.seed;
        }
}

TEST_P(BackendBsdfs, SampleWeightsAreValuesOverDensities) {
    const size_t n = 2000;
    for (const char *name : { "llvm_rgb", "interp_spectral_double", "interp_rgb_polarized" })
        for (Mode mode : { Mode::Radiance, Mode::Importance }) {
            VariantScope inner(find_variant(name));
            auto bsdf = load_example<BSDF>(GetParam());
            SurfaceInteraction si = hit_from(many_directions(5, n));
            Numbers u = many_numbers(9, n);
            for (const BSDFContext &ctx : all_contexts(*bsdf, mode)) {
                BSDFSample s = bsdf->sample(ctx, si, u.u1, u.u2, true);
                // Out of the horizon, where roundings grow
                Mask steep = (s.pdf > 0) & (abs(s.wo.z) > 0.05), smooth = steep & !s.is_delta();
                auto [value, pdf] = bsdf->eval_pdf(ctx, si, s.wo, smooth);
                Spectrum delta = bsdf->eval_delta(ctx, si, s, steep & s.is_delta());
                Spectrum none = Spectrum(0).dense(),
                         got = select(steep, s.weight.dense() * s.pdf, none),
                         want = select(smooth, value.dense(), select(steep, delta.dense(), none));
                Float density = select(smooth, s.pdf, Float(0)),
                      again = select(smooth, pdf, Float(0));
                compute(got, want, density, again);
                expect_equal("weight times density", all_numbers(got, n), all_numbers(want, n),
                             scattering_tolerance());
                expect_equal("density", read_floats(density), read_floats(again),
                             scattering_tolerance());
            }
        }
}

// Importance is scattered as energy is; radiance is also compressed where it enters a denser material. What leaves a fiber has come
// in at another place, so that there is a bound for radiance only.
TEST_P(BackendBsdfs, GivesBackNoMoreThanArrives) {
    const size_t n = 100000;
    auto bsdf = load_example<BSDF>(GetParam());
    bool is_fiber = false; // one lobe all around it
    for (uint32_t c : bsdf->components())
        is_fiber |= (c & BSDFFlags::Reflection) && (c & BSDFFlags::Transmission);
    Mode mode = is_fiber ? Mode::Radiance : Mode::Importance;
    for (const auto &w : Directions) {
        SurfaceInteraction si = hit_from(opaque_direction(w));
        Numbers u = many_numbers(31, n);
        BSDFSample s = bsdf->sample({ .mode = mode }, si, u.u1, u.u2, true);
        Spectrum weight = select(s.pdf > 0, unpolarized(s.weight), Spectrum(0));
        for (const Float &channel : weight.c) {
            double sum = 0, squares = 0, least = 0;
            for (double v : read_floats(channel + Float(0) * u.u1))
                sum += v, squares += v * v, least = std::min(least, v);
            double mean = sum / n, error = std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
            EXPECT_GE(least, 0);
            EXPECT_LE(mean, 1 + 4 * error + 1e-5)
                << "from " << w[0] << ", " << w[1] << ", " << w[2];
        }
    }
}

// By definition light that travels the other way meets the adjoint, which is what importance is scattered by. Lobes that
// do not say otherwise are symmetric: their own adjoint.
TEST_P(BackendBsdfs, IsReciprocal) {
    const size_t n = 4000;
    VariantScope inner(find_variant("llvm_spectral_double"));
    auto bsdf = load_example<BSDF>(GetParam());
    // Half of them by sampling, so that narrow lobes are met
    Vector3 wi = many_directions(5, n), wo = many_directions(11, n);
    Numbers u = many_numbers(9, n);
    BSDFSample s = bsdf->sample({}, hit_from(wi), u.u1, u.u2, true);
    wo = select((u.u2.x < 0.5) & (s.pdf > 0) & (abs(s.wo.z) > 0.05), s.wo, wo);
    for (uint32_t i = 0; i < bsdf->components().size(); ++i) {
        auto f = [&](Mode mode, const Vector3 &from, const Vector3 &to) {
            BSDFContext ctx{ .mode = mode, .component = i };
            Spectrum value = unpolarized(bsdf->eval(ctx, hit_from(from), to, true));
            return all_numbers(value / abs(to.z), n);
        };
        std::vector<double> forth = f(Mode::Radiance, wi, wo);
        expect_equal("adjoint", f(Mode::Importance, wo, wi), forth, scattering_tolerance());
        if (!(bsdf->components()[i] & BSDFFlags::NonSymmetric))
            expect_equal("reciprocal", f(Mode::Radiance, wo, wi), forth, scattering_tolerance());
    }
}

TEST_P(BackendBsdfs, DoesWhatItsComponentsSay) {
    const size_t n = 4000;
    auto bsdf = load_example<BSDF>(GetParam());
    uint32_t count = uint32_t(bsdf->components().size());
    ASSERT_GT(count, 0u);
    Vector3 wi = many_directions(5, n), wo = many_directions(11, n);
    SurfaceInteraction si = hit_from(wi);
    Numbers u = many_numbers(9, n);
    std::vector<double> from = read_floats(wi.z);

    // One at a time, and all of them
    Spectrum sum = Spectrum(0).dense();
    for (uint32_t i = 0; i <= count; ++i) {
        BSDFContext ctx;
        if (i < count)
            ctx.component = i;
        BSDFSample s = bsdf->sample(ctx, si, u.u1, u.u2, true);
        compute(s);
        std::vector<double> pdf = read_floats(s.pdf + Float(0) * u.u1),
                            to = read_floats(s.wo.z + Float(0) * u.u1),
                            eta = read_floats(s.eta + Float(0) * u.u1);
        UInt32 zero = to_uint(u.u1 * 0); // as many lanes
        std::vector<uint32_t> type = UInt32(s.sampled_type + zero).read(),
                              component = UInt32(s.sampled_component + zero).read();
        for (size_t k = 0; k < n; ++k) {
            if (!(pdf[k] > 0))
                continue;
            ASSERT_LT(component[k], count);
            if (i < count) {
                ASSERT_EQ(component[k], i);
            }
            uint32_t flags = bsdf->components()[component[k]], bit = type[k];
            ASSERT_TRUE((bit & flags & BSDFFlags::All) && !(bit & (bit - 1)))
                << "type " << bit << " of a component that is " << flags;
            ASSERT_TRUE(flags & (from[k] > 0 ? BSDFFlags::FrontSide : BSDFFlags::BackSide))
                << "a sample from a side that the component does not have";
            ASSERT_EQ(bool(bit & BSDFFlags::Reflection), from[k] * to[k] > 0);
            if (bit & (BSDFFlags::Reflection | BSDFFlags::Null)) {
                ASSERT_EQ(eta[k], 1);
            }
        }
        Spectrum value = bsdf->eval(ctx, si, wo, true).dense();
        if (i < count)
            sum += value;
        else
            expect_equal("sum of components", all_numbers(sum + Spectrum(u.u1 * 0), n),
                         all_numbers(value + Spectrum(u.u1 * 0), n), 1e-5);
    }
    // And nothing where nothing is wanted
    BSDFContext none{ .type_mask = 0 };
    EXPECT_EQ(read_floats(max(bsdf->sample(none, si, u.u1, u.u2, true).pdf + u.u1 * 0, 0)),
              std::vector<double>(n));
}

// Of light that is not polarized, as much goes on as if nobody asked.
TEST_P(BackendBsdfs, PolarizationDoesNotChangeTheIntensity) {
    const size_t n = 2000;
    auto intensities = [&](const char *name) {
        VariantScope inner(find_variant(name));
        auto bsdf = load_example<BSDF>(GetParam());
        SurfaceInteraction si = hit_from(many_directions(5, n));
        Numbers u = many_numbers(9, n);
        BSDFSample s = bsdf->sample({}, si, u.u1, u.u2, true);
        std::vector<double> out;
        for (const Spectrum &v :
             { s.weight * s.pdf, bsdf->eval({}, si, many_directions(11, n), true),
               bsdf->eval_delta({}, si, s, s.pdf > 0), bsdf->eval_null_transmission(si, true) })
            for (double x : all_numbers(unpolarized(v), n))
                out.push_back(x);
        return out;
    };
    expect_equal("intensity", intensities("interp_mono_polarized_double"),
                 intensities("interp_mono_double"), 1e-9);
}

TEST_P(BackendBsdfs, DerivativesMatchDifferences) {
    const size_t n = 200;
    for (const char *name :
         { "llvm_ad_rgb_double", "interp_ad_spectral_double", "interp_ad_mono_polarized_double" }) {
        VariantScope inner(find_variant(name));
        auto bsdf = load_example<BSDF>(GetParam());
        SurfaceInteraction si = hit_from(many_directions(5, n));
        Numbers u = many_numbers(9, n);
        BSDFContext ctx;
        BSDFSample s = bsdf->sample(ctx, si, u.u1, u.u2, true);
        compute(s);
        auto values = [&] {
            std::vector<Float> out;
            for (const Spectrum &value :
                 { bsdf->eval(ctx, si, s.wo, s.pdf > 0), bsdf->eval_delta(ctx, si, s, s.pdf > 0),
                   bsdf->eval_null_transmission(si, true) })
                for (const Float &v : value.c)
                    out.push_back(v);
            return out;
        };
        // How such a plate is turned, and what it delays, is seen by polarized light alone
        std::set<std::string> unseen;
        if (!variant().polarized && dynamic_cast<const PolarizingPlate *>(bsdf.object.get()))
            unseen = { "theta.value", "delta.value" };
        expect_parameter_gradients(bsdf.object, values, nullptr, unseen);
    }
}

} // namespace umbel
