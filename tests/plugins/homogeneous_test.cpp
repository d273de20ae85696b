// tests/plugins/homogeneous_test.cpp: distances in media follow their densities, and weights are unbiased in all channels.
#include "core/file_text.h"
#include "core/medium_presets.h"
#include "support/media.h"
#include "support/volume_file.h"

#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

const char *Coloured =
    "<medium type='homogeneous' id='filling'>"
    "<rgb name='sigma_t' value='.3,.9,2.7'/><rgb name='albedo' value='.2,.5,.8'/>"
    "<float name='scale' value='1.5'/></medium>";
constexpr uint32_t Lanes = 1 << 16;

std::vector<double> coefficients(const Spectrum &s) {
    std::vector<double> out;
    for (const Float &c : s.c)
        out.push_back(read_floats(c)[0]);
    return out;
}

} // namespace

class BackendHomogeneous : public VariantTest {};
UMBEL_VARIANTS(BackendHomogeneous, "llvm_rgb", "llvm_mono", "llvm_spectral", "llvm_rgb_double",
               "interp_rgb")

TEST_P(BackendHomogeneous, TentativeDistancesMatchTheirDensity) {
    Ref<Medium> medium = medium_from(Coloured);
    Ray ray = ray_from(0, 1e3);
    for (uint32_t c : { 0u, uint32_t(variant().channels()) - 1 }) {
        auto distance = [&](const Float &u) {
            return medium->sample_interaction(ray, u, UInt32(c), true).t;
        };
        auto density = [&](const Float &t) {
            MediumInteraction mei =
                medium->sample_interaction(ray, Float(0.5) + t * 0, UInt32(c), true);
            mei.t = t;
            return medium->transmittance_eval_pdf(mei, Float(1e3)).second[c];
        };
        MediumInteraction mei = medium->sample_interaction(ray, Float(0.5), UInt32(c), true);
        double sigma = read_floats(mei.majorant[c])[0], end = 3 / sigma;
        Chi2 o;
        o.mass = 1 - std::exp(-3.0);
        expect_chi2_1d(fmt::format("channel {}", c), distance, density, 0, end, o);
    }
}

// Of a ray of length 1, the part exp(-sigma_t) passes; of what collides before, the albedo is scattered.
TEST_P(BackendHomogeneous, WeightsAreUnbiasedInAllChannels) {
    Ref<Medium> medium = medium_from(Coloured);
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    Ray ray = ray_from(0, 1);
    SampleStream stream = sample_stream(*sampler, Lanes);
    Spectrum passes = medium->transmittance(ray, stream, true);
    MediumSample s = medium->sample(ray, stream, true);
    Mask collides = s.mei.is_valid();
    auto scattering =
        coefficients(medium->sample_interaction(ray_from(0, 1e9), Float(0.5), 0u, true).sigma_s);
    auto extinction =
        coefficients(medium->sample_interaction(ray_from(0, 1e9), Float(0.5), 0u, true).sigma_t);
    for (size_t c = 0; c < passes.c.size(); ++c) {
        double through = std::exp(-extinction[c]);
        EXPECT_NEAR(read_floats(passes[c])[0], through, 1e-5);
        expect_estimate(select(collides, Float(0), s.weight[c]), through, "passes");
        expect_estimate(select(collides, s.weight[c] * s.mei.sigma_s[c], Float(0)),
                        (1 - through) * scattering[c] / extinction[c], "scatters");
        // No weight exceeds the number of channels
        for (double w : read_floats(select(collides, s.weight[c] * s.mei.sigma_t[c], s.weight[c])))
            ASSERT_LE(w, double(passes.c.size()) * 1.001);
    }
}

TEST_P(BackendHomogeneous, ScatteringAndAbsorptionSayTheSameAsAlbedoAndExtinction) {
    Ref<Medium> a = medium_from("<medium type='homogeneous'><float name='sigma_t' value='2'/>"
                                "<float name='albedo' value='.75'/></medium>"),
                b = medium_from("<medium type='homogeneous'><float name='sigma_s' value='1.5'/>"
                                "<float name='sigma_a' value='.5'/></medium>");
    for (auto &m : { a, b }) {
        MediumInteraction mei = m->sample_interaction(ray_from(0, 1e9), Float(0.5), 0u, true);
        for (double v : coefficients(mei.sigma_s))
            EXPECT_FLOAT_EQ(v, 1.5);
        for (double v : coefficients(mei.sigma_t))
            EXPECT_FLOAT_EQ(v, 2);
        for (double v : coefficients(mei.sigma_n))
            EXPECT_EQ(v, 0);
        EXPECT_FLOAT_EQ(read_floats(mei.t)[0], std::log(2.0) / 2);
    }
}

// The first channel's distances, weighted for the others: unbiased as long as the first one's light gets through.
TEST_P(BackendHomogeneous, SamplesTheFirstChannelAloneIfToldTo) {
    std::string xml = Coloured;
    xml.insert(xml.find("<rgb"), "<boolean name='has_spectral_extinction' value='false'/>");
    Ref<Medium> medium = medium_from(xml);
    EXPECT_FALSE(medium->has_spectral_extinction());
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    SampleStream stream = sample_stream(*sampler, Lanes);
    Ray ray = ray_from(0, 1);
    Spectrum passes = medium->transmittance(ray, stream, true);
    MediumSample s = medium->sample(ray, stream, true);
    for (size_t c = 0; c < passes.c.size(); ++c)
        expect_estimate(select(s.mei.is_valid(), Float(0), s.weight[c]), read_floats(passes[c])[0],
                        "passes");
}

// Seen along z, they cover a fifth in the lower half of the unit cube, and all of it above.
TEST_P(BackendHomogeneous, FlakesMayVaryInSpace) {
    std::string file = testing::TempDir() + fmt::format("umbel_flakes_{}.vol", getpid());
    write_file(file,
               VolumeFile{ { 1, 1, 2 }, 6, { 1, 1, 0.04f, 0, 0, 0, 1, 1, 1, 0, 0, 0 } }.bytes());
    auto flakes = [&](const std::string &coefficients) {
        return medium_from("<medium type='homogeneous'>" + coefficients +
                           "<phase type='sggx'><volume type='gridvolume' name='S'><string "
                           "name='filename' value='" +
                           file +
                           "'/><string name='filter_type' value='nearest'/></volume></phase>"
                           "</medium>");
    };
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    for (const char *coefficients :
         { "<float name='sigma_t' value='2'/><float name='albedo' value='.75'/>",
           "<float name='sigma_s' value='.75'/><float name='sigma_a' value='.25'/>"
           "<float name='scale' value='2'/>" }) {
        Ref<Medium> medium = flakes(coefficients);
        EXPECT_FALSE(medium->is_homogeneous());
        Ray ray = ray_from(0, 1);
        ray.o.x = ray.o.y = make(std::vector<double>(Lanes, 0.5));
        SampleStream stream = sample_stream(*sampler, Lanes);
        double half = std::exp(-2 * 0.5 * 0.2), all = half * std::exp(-2 * 0.5);
        expect_estimate(medium->transmittance(ray, stream, true)[0] + ray.o.x * 0, all, "passes");
        MediumSample s = medium->sample(ray, stream, true);
        Float scattered = s.weight[0] * s.mei.sigma_s[0];
        expect_estimate(select(s.mei.is_valid(), Float(0), s.weight[0]) + ray.o.x * 0, all,
                        "does not collide");
        expect_estimate(select(s.mei.t < 0.5, scattered, Float(0)) + ray.o.x * 0, 0.75 * (1 - half),
                        "scatters below");
        expect_estimate(select((s.mei.t >= 0.5) & s.mei.is_valid(), scattered, Float(0)) +
                            ray.o.x * 0,
                        0.75 * (half - all), "scatters above");
    }
    std::filesystem::remove(file);
}

TEST_P(BackendHomogeneous, EmptySpaceIsPassed) {
    Ref<Medium> medium =
        medium_from("<medium type='homogeneous'><float name='sigma_t' value='0'/></medium>");
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    SampleStream stream = sample_stream(*sampler, 1000);
    for (double length : { 1.0, std::numeric_limits<double>::infinity() }) {
        MediumSample s = medium->sample(ray_from(0, length), stream, true);
        EXPECT_FALSE(jit::any(s.mei.is_valid()));
        for (double w : read_floats(s.weight[0]))
            ASSERT_EQ(w, 1);
        EXPECT_EQ(read_floats(medium->transmittance(ray_from(0, length), stream, true)[0])[0], 1);
    }
}

TEST(Homogeneous, SaysWhatItCannotBe) {
    VariantScope scope(find_variant("llvm_rgb"));
    auto expect_error = [](const std::string &inside, const std::string &word) {
        try {
            medium_from("<medium type='homogeneous'>" + inside + "</medium>");
            ADD_FAILURE() << inside << " was taken";
        } catch (const UserError &e) {
            EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
        }
    };
    expect_error("<float name='sigma_t' value='-1'/>", "negative");
    expect_error("<rgb name='sigma_t' value='1,-1,1'/>", "components must lie");
    expect_error("<float name='albedo' value='2'/>", "between 0 and 1");
    expect_error("<rgb name='albedo' value='2,0,0'/>", "between 0 and 1");
    expect_error("<float name='scale' value='-1'/>", "scale");
    expect_error("<float name='sigma_s' value='1'/>", "sigma_a is missing");
    expect_error("<float name='sigma_s' value='1'/><float name='sigma_a' value='1'/><float "
                 "name='albedo' value='1'/>",
                 "not some of both");
    expect_error("<float name='sigmat' value='1'/>", "sigma_t");
    expect_error("<phase type='isotropik'/>", "isotropic");
    expect_error("<phase type='isotropic'/><phase type='isotropic'/>", "only 1");
    expect_error("<volume name='sigma_t' type='constvolum'/>", "constvolume");
    expect_error("<phase name='sigma_t' type='isotropic'/>", "sigma_t");
}

// Per millimetre; scattering forwards as measured.
TEST(Homogeneous, KnowsMeasuredMedia) {
    VariantScope scope(find_variant("llvm_rgb"));
    Ref<Medium> medium =
        medium_from("<medium type='homogeneous'><string name='material' "
                    "value='Regular Milk'/><float name='scale' value='10'/></medium>");
    auto at = medium->sample_interaction(ray_from(0, 1e9), Float(0.5), 0u, true);
    std::vector<double> s = coefficients(at.sigma_s), t = coefficients(at.sigma_t);
    EXPECT_NEAR(s[0], 182.052, 1e-3);
    EXPECT_NEAR(t[2] - s[2], 0.1993, 1e-4);
    EXPECT_EQ(medium->phase_function().plugin(), "hg");
    Ref<Medium> skin = medium_from("<medium type='homogeneous'><string name='material' "
                                   "value='skin1'/><phase type='rayleigh'/></medium>");
    EXPECT_EQ(skin->phase_function().plugin(), "rayleigh");
    for (const std::string &name : medium_preset_names()) {
        std::string xml = name; // as in files
        if (size_t i = xml.find('&'); i != std::string::npos)
            xml.replace(i, 1, "&amp;");
        Ref<Medium> m = medium_from("<medium type='homogeneous'><string name='material' value='" +
                                    xml + "'/></medium>");
        auto there = m->sample_interaction(ray_from(0, 1e9), Float(0.5), 0u, true);
        const MediumPreset &want = medium_preset(name);
        for (size_t c = 0; c < 3; ++c) {
            EXPECT_FLOAT_EQ(coefficients(there.sigma_s)[c], want.sigma_s[c]) << name;
            EXPECT_FLOAT_EQ(coefficients(there.sigma_t)[c], want.sigma_s[c] + want.sigma_a[c]);
        }
    }
    for (const char *bad :
         { "<string name='material' value='milc'/>",
           "<string name='material' value='cream'/><float name='albedo' value='1'/>" })
        EXPECT_THROW(medium_from(fmt::format("<medium type='homogeneous'>{}</medium>", bad)),
                     UserError);
}

} // namespace umbel
