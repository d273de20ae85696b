// tests/plugins/sobol_test.cpp: scrambled points of Sobol are nets, and another seed compiles nothing.
#include "support/scenes.h"
#include <set>

namespace umbel {
namespace {

using namespace test;

class BackendSobol : public VariantTest {
protected:
    static Ref<Sampler> sampler(int count) {
        return make_object<Sampler>(
            Properties("sampler", "sobol").set("sample_count", int64_t(count)));
    }
    /// Points of `n` samples of a pixel, in the dimension pair after `skip` others.
    static std::pair<std::vector<double>, std::vector<double>>
    points(const Sampler &s, uint32_t n, uint32_t seed, uint32_t pixel, int skip) {
        SamplerState state =
            s.begin(jit::opaque(seed), jit::opaque(pixel), UInt32(jit::lane_index(n)));
        for (int i = 0; i < skip; ++i)
            s.next_1d(state);
        Vector2 p = s.next_2d(state);
        return { values(p.x), values(p.y) };
    }
};
UMBEL_VARIANTS(BackendSobol, "interp_rgb", "interp_rgb_double", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendSobol, ScrambledPointsAreNets) {
    // For every way to cut the square into 2^m elementary intervals, each has one of 2^m points
    Ref<Sampler> s = sampler(64);
    for (uint32_t m : { 2u, 6u, 10u })
        for (uint32_t pixel : { 0u, 17u })
            for (int skip : { 0, 3 }) {
                auto [x, y] = points(*s, 1u << m, 5, pixel, skip);
                for (uint32_t a = 0; a <= m; ++a) {
                    std::set<std::pair<int, int>> cells;
                    for (size_t i = 0; i < x.size(); ++i)
                        cells.insert({ int(x[i] * (1 << a)), int(y[i] * (1 << (m - a))) });
                    EXPECT_EQ(cells.size(), size_t(1) << m)
                        << "2^" << a << " columns, pixel " << pixel << ", dimension " << skip;
                }
            }
}

TEST_P(BackendSobol, PointsOfOneDimensionVisitEachIntervalOnce) {
    Ref<Sampler> s = sampler(256);
    for (uint32_t pixel : { 3u, 4u }) {
        SamplerState state =
            s->begin(jit::opaque(9u), jit::opaque(pixel), UInt32(jit::lane_index(256)));
        std::set<int> cells;
        for (double x : values(s->next_1d(state)))
            cells.insert(int(256 * x));
        EXPECT_EQ(cells.size(), 256u);
    }
}

TEST_P(BackendSobol, DimensionsAreNotCorrelated) {
    // Points of one pixel, in coordinates of different pairs
    Ref<Sampler> s = sampler(4096);
    SamplerState state = s->begin(jit::opaque(1u), jit::opaque(2u), UInt32(jit::lane_index(4096)));
    std::vector<std::vector<double>> d;
    for (int i = 0; i < 6; ++i) {
        Vector2 p = s->next_2d(state);
        d.push_back(values(p.x));
        d.push_back(values(p.y));
    }
    for (size_t a = 0; a < d.size(); ++a)
        for (size_t b = 0; b < a; ++b) {
            double sum = 0;
            for (size_t i = 0; i < 4096; ++i)
                sum += (d[a][i] - 0.5) * (d[b][i] - 0.5);
            EXPECT_LT(std::abs(sum / 4096 * 12), 5 / std::sqrt(4096.0)) << a << " " << b;
        }
}

TEST_P(BackendSobol, OtherSeedsAndPixelsCompileNothing) {
    jit::Context &c = variant().context();
    Ref<Sampler> s = sampler(16);
    points(*s, 64, 1, 2, 1);
    c.set(jit::Flag::History, true);
    auto a = points(*s, 64, 2, 7, 1);
    c.set(jit::Flag::History, false);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.memory_hit) << k.name;
    EXPECT_EQ(a, points(*s, 64, 2, 7, 1));
    EXPECT_NE(a, points(*s, 64, 3, 7, 1));
}

TEST_P(BackendSobol, ScramblingGivesOtherPointsThatAreNetsToo) {
    auto scrambled = [](int scramble) {
        return make_object<Sampler>(
            Properties("sampler", "sobol").set("scramble", int64_t(scramble)));
    };
    auto plain = points(*sampler(16), 16, 1, 2, 0), zero = points(*scrambled(0), 16, 1, 2, 0),
         other = points(*scrambled(7), 16, 1, 2, 0);
    EXPECT_EQ(plain, zero);
    EXPECT_NE(plain, other);
    EXPECT_EQ(other, points(*scrambled(7)->clone(), 16, 1, 2, 0));
    std::set<std::pair<int, int>> cells;
    for (size_t i = 0; i < 16; ++i)
        cells.insert({ int(other.first[i] * 4), int(other.second[i] * 4) });
    EXPECT_EQ(cells.size(), 16u);
}

// The default: what sensors have that name no sampler, for any number of samples.
TEST_P(BackendSobol, ServesScenesThatNameNoSampler) {
    auto image = [](const char *sampler, int spp) {
        Ref<Scene> scene = scene_from(fmt::format(
            "<scene version='3.0.0'><integrator type='direct'/><sensor "
            "type='perspective'><transform "
            "name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform><film "
            "type='hdrfilm'><integer name='width' value='5'/><integer name='height' value='4'/>"
            "</film>{}</sensor><shape type='sphere'/><emitter type='constant'/></scene>",
            sampler));
        if (!*sampler) {
            EXPECT_EQ(scene->sensors()[0]->sampler().plugin(), "sobol");
        }
        RenderOptions options;
        options.spp = spp;
        return render_image(*scene, options);
    };
    for (int spp : { 1, 7, 16 })
        EXPECT_TRUE(same_pixels(image("", spp), image("<sampler type='sobol'/>", spp))) << spp;
    EXPECT_FALSE(same_pixels(image("", 7), image("<sampler type='independent'/>", 7)));
}

/// Mean squared difference of two renders of `scenes/cbox.xml` with a sampler, a measure of twice their variance, and their
/// mean.
struct Noise {
    double variance, mean;
};
Noise cbox_noise(const char *type, int spp) {
    Properties p = parse_scene_file("scenes/cbox.xml");
    PropertiesPtr sensor = p.objects("sensor").at(0), film = sensor->objects("film").at(0);
    film->set("width", int64_t(48));
    film->set("height", int64_t(48));
    sensor->objects("sampler").at(0)->type = type;
    Ref<Scene> scene = load_scene(p);
    RenderOptions options;
    options.spp = spp;
    options.seed = 1;
    Image a = render_image(*scene, options);
    options.seed = 2;
    Image b = render_image(*scene, options);
    double difference = 0, sum = 0;
    for (size_t i = 0; i < a.pixels() * a.channel_count(); ++i) {
        double d = double(a.data<float>()[i]) - b.data<float>()[i];
        difference += d * d;
        sum += 0.5 * (double(a.data<float>()[i]) + b.data<float>()[i]);
    }
    double n = double(a.pixels() * a.channel_count());
    return { difference / (2 * n), sum / n };
}

TEST(SobolSampler, HasLessVarianceThanIndependentSamplesOnTheSameImage) {
    VariantScope scope(find_variant("llvm_rgb"));
    Noise independent = cbox_noise("independent", 64), sobol = cbox_noise("sobol", 64);
    EXPECT_LT(sobol.variance, 0.7 * independent.variance)
        << sobol.variance << " instead of " << independent.variance;
    // The same expectation: the standard error of the mean, from independent samples' variance
    double error = std::sqrt(2 * independent.variance / (2 * 48 * 48));
    EXPECT_NEAR(sobol.mean, independent.mean, 4 * error);
    ::testing::Test::RecordProperty("ratio",
                                    fmt::format("{}", sobol.variance / independent.variance));
}

} // namespace
} // namespace umbel
