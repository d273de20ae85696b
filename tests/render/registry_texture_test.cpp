// tests/render/registry_texture_test.cpp: what holds for every texture that there is; see support/registry.h.
#include "render/texture.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"

namespace umbel {
using namespace test;

namespace {

// Places on the first surface of the scene, with texture coordinates, and wavelengths, of our own choice: in
// [low, high]^2, and all that the texture covers.
SurfaceInteraction many_places(const Tried<Texture> &texture, size_t n, double low, double high) {
    auto numbers = [&](uint64_t seed, double a, double b) {
        return make(uniform_numbers(seed, n)) * (b - a) + a;
    };
    Ray ray{ { numbers(1, -0.4, 0.4), numbers(2, -0.8, 0.1), Float(3) },
             { Float(0), Float(0), Float(-1) },
             Float(std::numeric_limits<double>::infinity()),
             Float(0),
             {} };
    SurfaceInteraction si = texture.scene->ray_intersect(ray, true);
    si.uv = { numbers(3, low, high), numbers(4, low, high) };
    if (variant().colour == Colour::Spectral) {
        auto [first, last] = texture->wavelength_range();
        for (uint64_t i = 0; i < 4; ++i)
            si.wavelengths.c.push_back(numbers(5 + i, first, last));
    }
    compute(si);
    return si;
}

// The same a little further along u and v.
SurfaceInteraction moved(SurfaceInteraction si, double du, double dv) {
    Vector3 step = si.dp_du * Float(du) + si.dp_dv * Float(dv);
    si.p += step;
    si.object_p += step;
    si.uv = si.uv + Vector2{ Float(du), Float(dv) };
    return si;
}

Estimate mean_of(const Float &v) {
    double sum = 0, squares = 0;
    std::vector<double> numbers = read_floats(v);
    double n = double(numbers.size());
    for (double x : numbers)
        sum += x, squares += x * x;
    double mean = sum / n;
    return { mean, std::sqrt(std::max(0.0, squares / n - mean * mean) / n) };
}

// Of those that know nothing of means and maxima: what they show has nothing to do with texture coordinates.
void expect_same_at_all_coordinates(const Tried<Texture> &texture) {
    SurfaceInteraction si = many_places(texture, 1000, 0, 1), other = si;
    other.uv = { si.uv.y * 3, si.uv.x - 1 };
    Spectrum a = texture->eval(si, true), b = texture->eval(other, true);
    for (size_t c = 0; c < a.c.size(); ++c)
        EXPECT_EQ(read_floats(a[c]), read_floats(b[c]));
}

} // namespace

class BackendTextures : public ExampleTest {
protected:
    BackendTextures() : ExampleTest("llvm_rgb_double") {}
};
UMBEL_EXAMPLES(BackendTextures, "texture")

TEST_P(BackendTextures, GradientMatchesDifferences) {
    auto texture = load_example<Texture>(GetParam());
    SurfaceInteraction si = many_places(texture, 2000, -1.5, 2.5);
    Vector2 gradient = texture->eval_1_grad(si, true);
    const double h = 1e-6;
    for (int axis : { 0, 1 }) {
        auto at = [&](double d) {
            Float v = texture->eval_1(moved(si, axis ? 0 : d, axis ? d : 0), true);
            return read_floats(v + si.p.x * 0); // as many as there are places
        };
        std::vector<double> after = at(h), before = at(-h), next = at(h / 2), last = at(-h / 2),
                            got = read_floats((axis ? gradient.y : gradient.x) + si.p.x * 0);
        double largest = 0;
        for (size_t i = 0; i < got.size(); ++i) {
            // Single steps of textures are exact but for rounding, unless they cross a bend, as half of a step shows
            double want = (after[i] - before[i]) / (2 * h), half = (next[i] - last[i]) / h;
            ASSERT_NEAR(got[i], want, 1e-6 * std::abs(want) + 1e-8 + 4 * std::abs(want - half))
                << "along " << "uv"[axis];
            largest = std::max(largest, std::abs(want));
        }
        EXPECT_TRUE(texture->is_spatially_varying() || largest == 0);
    }
}

// Over the unit square; what repeats itself, and is transformed, may have that mean over the whole plane instead. What is
// different on each shape, wherever it is in texture coordinates, may have none.
TEST_P(BackendTextures, MeanIsTheAverage) {
    for (const char *name : { "llvm_rgb_double", "llvm_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto texture = load_example<Texture>(GetParam());
        double mean = 0;
        try {
            mean = read_floats(texture->mean_value())[0];
        } catch (const UserError &) {
            expect_same_at_all_coordinates(texture);
            continue;
        }
        std::string text;
        bool found = false;
        for (double extent : { 1.0, 1000.0 }) {
            SurfaceInteraction si = many_places(texture, 400000, 0, extent);
            si.p = { make(uniform_numbers(11, 400000)), make(uniform_numbers(12, 400000)),
                     make(uniform_numbers(13, 400000)) };
            si.p = si.p * Float(2) - Vector3(Float(1)); // the cube that volumes fill in examples
            Estimate e =
                mean_of(variant().colour == Colour::Spectral ? umbel::mean(texture->eval(si, true))
                                                             : texture->eval_1(si, true));
            found = found || std::abs(mean - e.mean) <= 4 * e.error + 1e-6 * std::abs(mean);
            text += fmt::format(", {} +- {}", e.mean, e.error);
        }
        EXPECT_TRUE(found) << name << ": " << mean << " instead of" << text.substr(1);
    }
}

TEST_P(BackendTextures, NothingIsAboveTheMaximum) {
    auto texture = load_example<Texture>(GetParam());
    double most = 0;
    try {
        most = texture->max_value();
    } catch (const UserError &) {
        expect_same_at_all_coordinates(texture);
        return;
    }
    for (double v : read_floats(texture->eval_1(many_places(texture, 20000, 0, 1), true)))
        ASSERT_LE(v, most * (1 + 1e-12));
}

TEST_P(BackendTextures, PositionsFollowTheirDensity) {
    auto texture = load_example<Texture>(GetParam());
    expect_chi2(
        "positions", [&](const Vector2 &u) { return texture->sample_position(u, true).first; },
        [&](const Vector2 &p) { return texture->pdf_position(p, true) + p.x * 0; }, {});
    Vector2 u{ make(uniform_numbers(1, 1000)), make(uniform_numbers(2, 1000)) };
    auto [p, pdf] = texture->sample_position(u, true);
    std::vector<double> got = read_floats(pdf), want = read_floats(texture->pdf_position(p, true));
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-6);
}

// Wavelengths that a texture prefers, where it has a preference.
TEST_P(BackendTextures, WavelengthsFollowTheirDensity) {
    VariantScope inner(find_variant("llvm_spectral_double"));
    auto texture = load_example<Texture>(GetParam());
    SurfaceInteraction si = many_places(texture, 1, 0, 1);
    auto at = [&](const Float &wavelength) {
        SurfaceInteraction there = si;
        there.wavelengths = Spectrum(wavelength);
        return there;
    };
    auto sample = [&](const Float &u) { return texture->sample_spectrum(si, Spectrum(u), true); };
    Float u = make(uniform_numbers(3, 1000));
    std::pair<Wavelengths, Spectrum> some;
    try {
        some = sample(u);
    } catch (const UserError &e) {
        EXPECT_NE(std::string(e.what()).find("sample_spectrum"), std::string::npos) << e.what();
        return;
    }
    auto [first, last] = texture->wavelength_range();
    auto density = [&](const Float &wavelength) {
        return texture->pdf_spectrum(at(wavelength), true)[0] + wavelength * 0;
    };
    expect_chi2_1d(
        "wavelengths", [&](const Float &v) { return sample(v).first[0]; }, density, first, last);
    auto &[wavelengths, weight] = some;
    std::vector<double> got = read_floats(weight[0] * density(wavelengths[0])),
                        want = read_floats(texture->eval(at(wavelengths[0]), true)[0] + u * 0);
    for (size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 1e-6 * want[i]);
}

TEST_P(BackendTextures, DerivativesMatchDifferences) {
    for (const char *name : { "interp_ad_rgb_double", "interp_ad_spectral_double" }) {
        VariantScope inner(find_variant(name));
        auto texture = load_example<Texture>(GetParam());
        SurfaceInteraction si = many_places(texture, 100, 0, 1);
        expect_parameter_gradients(texture.object, [&] { return texture->eval(si, true).c; });
    }
}

} // namespace umbel
