// tests/render/registry_medium_test.cpp: what holds for every medium and every volume that there is; see support/registry.h.
#include "support/media.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

namespace {

/// Of the box, and of as much around it as it is large.
Vector3 places_around(const BoundingBox &box, size_t n, double margin) {
    auto along = [&](size_t axis) {
        double low = box.min[axis], high = box.max[axis], more = margin * (high - low);
        return make(uniform_numbers(11 + axis, n)) * (high - low + 2 * more) + (low - more);
    };
    return { along(0), along(1), along(2) };
}
Interaction interaction_at(const Vector3 &p) {
    Interaction it{ Float(1), p, Vector3(Float(0)), Float(0), ray_from(0, 1).wavelengths };
    return it;
}
std::vector<double> read_lanes(const Float &v, size_t n) {
    std::vector<double> out = read_floats(v);
    return out.size() == 1 ? std::vector<double>(n, out[0]) : out;
}

} // namespace

// ---- volumes

class BackendVolumes : public ExampleTest {
protected:
    BackendVolumes() : ExampleTest("llvm_rgb_double") {}
};
UMBEL_EXAMPLES(BackendVolumes, "volume")

TEST_P(BackendVolumes, GradientMatchesDifferences) {
    const size_t n = 2000;
    const double h = 1e-6;
    auto volume = load_example<Volume>(GetParam());
    Vector3 p = places_around(volume->bounds(), n, 0);
    auto [value, gradient] = volume->eval_gradient(interaction_at(p), true);
    EXPECT_EQ(read_lanes(value, n), read_lanes(volume->eval_1(interaction_at(p), true), n));
    for (size_t axis = 0; axis < 3; ++axis) {
        auto at = [&](double d) {
            Vector3 step(Float(axis == 0 ? d : 0), Float(axis == 1 ? d : 0),
                         Float(axis == 2 ? d : 0));
            return read_lanes(volume->eval_1(interaction_at(p + step), true), n);
        };
        const Float &along = axis == 0 ? gradient.x : axis == 1 ? gradient.y : gradient.z;
        std::vector<double> got = read_lanes(along, n), after = at(h), before = at(-h);
        double largest = 0;
        for (size_t i = 0; i < n; ++i) {
            // Single steps of interpolated values are exact but for rounding
            double want = (after[i] - before[i]) / (2 * h);
            ASSERT_NEAR(got[i], want, 1e-6 * std::abs(want) + 1e-8) << "along " << "xyz"[axis];
            largest = std::max(largest, std::abs(want));
        }
        EXPECT_TRUE(volume->is_spatially_varying() || largest == 0);
    }
}

// Inside of its bounds and around them.
TEST_P(BackendVolumes, NothingIsAboveTheMaximum) {
    const size_t n = 20000;
    auto volume = load_example<Volume>(GetParam());
    BoundingBox box = volume->bounds();
    ASSERT_FALSE(box.is_empty());
    Vector3 p = places_around(box, n, 0.5);
    auto expect_below = [&](const std::vector<double> &v, double most) {
        double sum = 0;
        for (size_t i = 0; i < n; ++i) {
            ASSERT_LE(v[i], most * (1 + 1e-12));
            sum += std::abs(v[i]);
        }
        EXPECT_GT(sum, 0) << "nothing there";
    };
    Interaction it = interaction_at(p);
    for (const Float &v : volume->eval(it, true).c)
        expect_below(read_lanes(v, n), volume->max_value());
    std::vector<Float> numbers = volume->eval_n(it, true);
    std::vector<double> most = volume->max_per_channel();
    ASSERT_EQ(numbers.size(), volume->channel_count());
    ASSERT_EQ(most.size(), volume->channel_count());
    for (size_t c = 0; c < most.size(); ++c)
        expect_below(read_lanes(numbers[c], n), most[c]);
}

TEST_P(BackendVolumes, MeanIsTheAverage) {
    const size_t n = 400000;
    for (const char *name : { "llvm_rgb_double", "llvm_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto volume = load_example<Volume>(GetParam());
        Interaction it = interaction_at(places_around(volume->bounds(), n, 0));
        bool is_spectral = variant().colour == Colour::Spectral;
        for (size_t i = 0; i < it.wavelengths.c.size(); ++i)
            it.wavelengths[i] = make(uniform_numbers(20 + i, n)) * 470 + 360;
        Float v = is_spectral ? mean(volume->eval(it, true)) : volume->eval_1(it, true);
        Estimate e = estimate(v + it.p.x * 0);
        double mean = read_floats(volume->mean_value())[0];
        EXPECT_NEAR(mean, e.mean, 4 * e.error + 1e-6 * std::abs(mean)) << name;
    }
}

// A number is the mean of the spectrum there; of several numbers, such as a colour, it may be something else. What is said
// to be the same everywhere, is.
TEST_P(BackendVolumes, NumbersAndSpectraHaveTheSameMean) {
    const size_t n = 100000;
    auto volume = load_example<Volume>(GetParam());
    Interaction it = interaction_at(places_around(volume->bounds(), n, 0));
    Float zero = it.p.x * 0;
    Estimate spectrum = estimate(mean(volume->eval(it, true)) + zero);
    EXPECT_EQ(volume->is_spatially_varying(), spectrum.error > 1e-9 * std::abs(spectrum.mean));
    EXPECT_GT(std::abs(spectrum.mean), 0);
    if (volume->channel_count() == 1) {
        EXPECT_NEAR(estimate(volume->eval_1(it, true) + zero).mean, spectrum.mean,
                    1e-9 * std::abs(spectrum.mean));
    }
}

TEST_P(BackendVolumes, DerivativesMatchDifferences) {
    for (const char *name : { "interp_ad_rgb_double", "interp_ad_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto volume = load_example<Volume>(GetParam());
        Interaction it = interaction_at(places_around(volume->bounds(), 200, 0));
        expect_parameter_gradients(volume.object, [&] { return volume->eval(it, true).c; });
    }
}

// ---- media

class BackendMedia : public ExampleTest {
protected:
    BackendMedia() : ExampleTest("llvm_rgb") {}

    // Along many lines through the cube that the medium fills, [-1, 1]^3.
    static Ray many_rays(size_t n) {
        auto number = [&](uint64_t seed, double a) {
            return make(uniform_numbers(seed, n)) * (2 * a) - a;
        };
        Vector3 from{ number(1, 1), number(2, 1), number(3, 1) },
            to{ number(4, 1), number(5, 1), number(6, 1) };
        Ray ray = ray_from(0, 1);
        ray.o = from;
        ray.maxt = norm(to - from);
        ray.d = (to - from) / ray.maxt;
        compute(ray);
        return ray;
    }
};
UMBEL_EXAMPLES(BackendMedia, "medium")

TEST_P(BackendMedia, NothingExceedsTheMajorant) {
    const size_t n = 20000;
    for (const char *name : { "llvm_rgb", "llvm_spectral" }) {
        VariantScope inner(find_variant(name));
        auto medium = load_example<Medium>(GetParam());
        MediumInteraction mei =
            medium->sample_interaction(many_rays(n), make(uniform_numbers(7, n)), UInt32(0u), true);
        Float zero = make(uniform_numbers(7, n)) * 0;
        for (size_t c = 0; c < mei.sigma_t.c.size(); ++c) {
            auto numbers = [&](const Spectrum &s) {
                return read_floats(select(mei.is_valid(), s[c], Float(0)) + zero);
            };
            std::vector<double> scattering = numbers(mei.sigma_s),
                                extinction = numbers(mei.sigma_t), null = numbers(mei.sigma_n),
                                most = numbers(mei.majorant);
            for (size_t i = 0; i < n; ++i) {
                ASSERT_GE(scattering[i], 0);
                ASSERT_LE(scattering[i], extinction[i] * (1 + 1e-5));
                ASSERT_GE(null[i], 0);
                ASSERT_NEAR(extinction[i] + null[i], most[i], 1e-5 * most[i]);
            }
        }
    }
}

// What passes, and what does not, are all there is; what passes is the transmittance.
TEST_P(BackendMedia, WeightsAreUnbiased) {
    const uint32_t n = 1 << 16;
    for (const char *name : { "llvm_rgb", "llvm_spectral" }) {
        VariantScope inner(find_variant(name));
        auto medium = load_example<Medium>(GetParam());
        auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
        Ray ray = many_rays(n);
        SampleStream stream = sample_stream(*sampler, n);
        Spectrum through = medium->transmittance(ray, stream, true);
        MediumSample s = medium->sample(ray, stream, true);
        Mask collides = s.mei.is_valid();
        for (size_t c = 0; c < through.c.size(); ++c) {
            Float passes = select(collides, Float(0), s.weight[c]),
                  collided = select(collides, s.weight[c] * s.mei.sigma_t[c], Float(0));
            expect_estimate(passes + collided, 1, "all light");
            expect_estimate(passes - through[c], 0, "light that passes");
        }
    }
}

TEST_P(BackendMedia, DerivativesMatchDifferences) {
    const size_t n = 200;
    for (const char *name : { "interp_ad_rgb_double", "interp_ad_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto medium = load_example<Medium>(GetParam());
        MediumInteraction mei =
            medium->sample_interaction(many_rays(n), make(uniform_numbers(7, n)), UInt32(0u), true);
        compute(mei);
        expect_parameter_gradients(medium.object, [&] {
            auto [sigma_s, sigma_n, sigma_t] = medium->scattering_coefficients(mei, true);
            std::vector<Float> out = sigma_s.c;
            for (const Spectrum &s : { sigma_t, medium->emission(mei, true) })
                out.insert(out.end(), s.c.begin(), s.c.end());
            return out;
        });
    }
}

} // namespace umbel
