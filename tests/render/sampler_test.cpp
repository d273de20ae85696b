// tests/render/sampler_test.cpp: what holds for every sampler that there is.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendSamplers : public VariantTest {};
UMBEL_VARIANTS(BackendSamplers, "interp_rgb", "interp_rgb_double", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendSamplers, EachPointIsUniformOverSeeds) {
    // What makes an estimate unbiased: sample 0 alone, over many seeds and in a pair of dimensions
    for (const Plugin *plugin : PluginRegistry::instance().all("sampler")) {
        Ref<Sampler> s = make_object<Sampler>(
            Properties("sampler", plugin->name).set("sample_count", int64_t(16)));
        for (uint32_t sample : { 0u, 5u }) {
            constexpr uint32_t n = 1 << 18;
            SamplerState state =
                s->begin(UInt32(jit::lane_index(n)), jit::opaque(3u), jit::opaque(sample));
            Vector2 p = s->next_2d(state), q = s->next_2d(state);
            auto expect_uniform = [&](const std::vector<double> &x, const std::vector<double> &y) {
                std::vector<double> observed(256, 0), expected(256, n / 256.0);
                for (size_t i = 0; i < n; ++i)
                    observed[size_t(x[i] * 16) * 16 + size_t(y[i] * 16)] += 1;
                expect_p_value(plugin->name, chi2_p_value(observed, expected), 100);
            };
            std::vector<double> px = values(p.x), py = values(p.y), qx = values(q.x);
            expect_uniform(px, py);
            expect_uniform(px, qx);
        }
    }
}

// Rounded up, they are still a number; more are refused, wherever they are asked for.
TEST_P(BackendSamplers, CountsAreSaneUpToTheMost) {
    constexpr int64_t Most = 1 << 30;
    for (const Plugin *plugin : PluginRegistry::instance().all("sampler")) {
        auto loaded = [&](int64_t count) {
            return make_object<Sampler>(
                Properties("sampler", plugin->name).set("sample_count", count));
        };
        Ref<Sampler> s = loaded(Most), other = loaded(1);
        EXPECT_GE(s->sample_count(), Most) << plugin->name;
        other->set_sample_count(int(Most));
        EXPECT_EQ(other->sample_count(), s->sample_count()) << plugin->name;
        for (int64_t count : { int64_t(0), Most + 1, int64_t(std::numeric_limits<int>::max()) }) {
            std::string range = std::to_string(Most);
            EXPECT_NE(user_error([&] { loaded(count); }).find(range), std::string::npos)
                << plugin->name << " " << count;
            EXPECT_NE(user_error([&] { other->set_sample_count(int(count)); }).find(range),
                      std::string::npos)
                << plugin->name << " " << count;
            EXPECT_EQ(other->sample_count(), s->sample_count()) << plugin->name; // as it was
        }
        std::string xml = scene_xml("<emitter type='constant'/>", 2, int(Most));
        xml.replace(xml.find("independent"), 11, plugin->name);
        EXPECT_EQ(Render(*scene_from(xml)).spp(), s->sample_count()) << plugin->name;
    }
}

} // namespace umbel
