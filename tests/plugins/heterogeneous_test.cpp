// tests/plugins/heterogeneous_test.cpp: media whose density varies.
#include "core/file_text.h"
#include "render/marching.h"
#include "support/media.h"
#include "support/volume_file.h"
#include "support/warnings.h"

#include <unistd.h>

namespace umbel {
using namespace test;

class BackendHeterogeneous : public VariantTest {
protected:
    BackendHeterogeneous()
        : m_file(testing::TempDir() + fmt::format("umbel_ramp_{}.vol", getpid())) {
        // Density 0 to 3 along z, in the unit cube; voxels are at their centres
        VolumeFile volume{ { 1, 1, 4 }, 1, { 0, 1, 2, 3 } };
        write_file(m_file, volume.bytes());
    }
    ~BackendHeterogeneous() override { std::filesystem::remove(m_file); }
    std::string ramp(const std::string &more = "") const {
        return "<medium type='heterogeneous'>" + more +
               "<float name='scale' value='0.5'/><volume "
               "name='sigma_t' type='gridvolume'><string name='filename' value='" +
               m_file + "'/></volume></medium>";
    }
    std::string m_file;
};
UMBEL_VARIANTS(BackendHeterogeneous, "llvm_rgb", "llvm_spectral", "llvm_mono", "llvm_rgb_double",
               "interp_rgb")

// Of the ramp, clamped at its ends: 0 up to 1/8, then linear, 3 from 7/8 on.
static double depth_until(double z) {
    double slope = std::clamp(z - 0.125, 0.0, 0.75);
    return 0.5 * (4 * slope * slope / 2 + 3 * std::max(z - 0.875, 0.0));
}

TEST_P(BackendHeterogeneous, TransmittanceIsThatOfTheIntegral) {
    auto medium = medium_from(ramp());
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    for (auto [from, length] : { std::pair(-1.0, 3.0), { 0.25, 0.5 }, { -2.0, 1.5 } }) {
        double want = std::exp(depth_until(std::clamp(from, 0.0, 1.0)) -
                               depth_until(std::clamp(from + length, 0.0, 1.0)));
        Ray ray = ray_from(from, length);
        ray.o.x = ray.o.y = make(std::vector<double>(1 << 15, 0.5));
        SampleStream stream = sample_stream(*sampler, 1 << 15);
        Spectrum through = medium->transmittance(ray, stream, true);
        expect_estimate(through[0] + ray.o.x * 0, want, "ratio tracking");
        MediumSample s = medium->sample(ray, stream, true);
        expect_estimate(select(s.mei.is_valid(), Float(0), s.weight[0]) + ray.o.x * 0, want,
                        "delta tracking");
    }
}

TEST_P(BackendHeterogeneous, DistancesFollowTheDensity) {
    auto medium = medium_from(ramp());
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    Ray ray = ray_from(-0.5, 2);
    ray.o.x = ray.o.y = make(std::vector<double>(1 << 15, 0.5));
    MediumSample s = medium->sample(ray, sample_stream(*sampler, 1 << 15), true);
    for (double z : { 0.3, 0.6, 0.9 }) // weighted, the part that collides before
        expect_estimate(select(s.mei.t < z + 0.5, s.weight[0] * s.mei.sigma_t[0], Float(0)),
                        1 - std::exp(-depth_until(z)), fmt::format("before {}", z));
}

static const char *Simpson = "<string name='method' value='simpson'/>";

// Without noise; up to what the rule misses where the slope changes.
TEST_P(BackendHeterogeneous, SimpsonsTransmittanceIsTheIntegral) {
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    for (double step : { 0.0, 0.02 }) {
        auto medium =
            medium_from(ramp(Simpson + fmt::format("<float name='step_size' value='{}'/>", step)));
        for (auto [from, length] :
             { std::pair(-1.0, 3.0), { 0.25, 0.5 }, { 0.3, 0.01 }, { -2.0, 1.5 }, { 2.0, 1.0 } }) {
            double want = std::exp(depth_until(std::clamp(from, 0.0, 1.0)) -
                                   depth_until(std::clamp(from + length, 0.0, 1.0)));
            Ray ray = ray_from(from, length);
            ray.o.x = ray.o.y = Float(0.5);
            SampleStream stream = sample_stream(*sampler, 1);
            for (const Float &c : medium->transmittance(ray, stream, true).c)
                EXPECT_NEAR(read_floats(c)[0], want, step ? 1e-4 : 5e-3) << from;
        }
    }
}

TEST_P(BackendHeterogeneous, SimpsonsDistancesFollowTheDensity) {
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    for (double step : { 0.02, 0.125 }) {
        auto medium =
            medium_from(ramp(Simpson + fmt::format("<float name='step_size' value='{}'/>", step)));
        Ray ray = ray_from(-0.5, 2);
        ray.o.x = ray.o.y = make(std::vector<double>(1 << 15, 0.5));
        MediumSample s = medium->sample(ray, sample_stream(*sampler, 1 << 15), true);
        double bias = step < 0.1 ? 1e-4 : 2e-3;
        auto expect = [&](const Float &numbers, double want, const std::string &what) {
            Estimate e = estimate(numbers + ray.o.x * 0);
            EXPECT_LT(std::abs(e.mean - want), 4 * e.error + bias)
                << what << ": " << e.mean << " +- " << e.error << " instead of " << want;
        };
        for (double z : { 0.3, 0.6, 0.9 })
            expect(select(s.mei.t < z + 0.5, s.weight[0] * s.mei.sigma_t[0], Float(0)),
                   1 - std::exp(-depth_until(z)), fmt::format("before {}", z));
        expect(select(s.mei.is_valid(), Float(0), s.weight[0]), std::exp(-depth_until(1)), "after");
    }
}

// Both methods make the same image, in integrators that follow one channel, too.
TEST_P(BackendHeterogeneous, SimpsonsImageIsThatOfTracking) {
    for (const char *integrator : { "volpath", "volpathmis" }) {
        auto image = [&](const std::string &method) {
            std::string cloud = ramp(method + "<float name='albedo' value='.8'/>");
            cloud.insert(cloud.find('>'), " id='filling'");
            return render_image(*scene_from(scene_xml(
                "<shape type='cube'><transform name='to_world'><scale value='.5'/><translate "
                "value='.5,.5,.5'/></transform><bsdf type='null'/><ref name='interior' "
                "id='filling'/></shape>" +
                    cloud + Sky,
                8, 256, integrator, "<lookat origin='.5,.5,-2' target='.5,.5,.5' up='0,1,0'/>")));
        };
        Estimate a = channel_mean(image(""), 0), b = channel_mean(image(Simpson), 0);
        EXPECT_LT(std::abs(a.mean - b.mean), 4 * std::hypot(a.error, b.error) + 2e-3)
            << integrator << ": " << a.mean << " and " << b.mean;
    }
}

// As in files of version 0.5.
TEST_P(BackendHeterogeneous, OldNamesAreTaken) {
    Properties root = parse_scene_string(
        "<scene version='0.5.0'><medium type='heterogeneous'><string name='method' "
        "value='simpson'/><float name='stepSize' value='.1'/><volume name='density' "
        "type='gridvolume'><string name='filename' value='" +
        m_file + "'/></volume></medium></scene>");
    auto medium = make_object<Medium>(*root.objects("medium").at(0));
    auto *marched = dynamic_cast<const Marched *>(medium.get());
    ASSERT_TRUE(marched && marched->march_step());
    EXPECT_NEAR(read_floats(*marched->march_step())[0], 0.1, 1e-7);
}

// Extinction and scattering are those of a phase function with the same orientation of its own, in files of all versions.
TEST_P(BackendHeterogeneous, OrientationReachesThePhaseFunctions) {
    const std::string along_x = "<volume name='orientation' type='constvolume'><vector "
                                "name='value' x='1' y='0' z='0'/></volume>",
                      along_y = "<volume name='orientation' type='constvolume'><vector "
                                "name='value' x='0' y='1' z='0'/></volume>";
    auto medium = [](const char *version, const std::string &inside) {
        Properties root = parse_scene_string(
            fmt::format("<scene version='{}'><medium type='heterogeneous'>{}<volume name='{}' "
                        "type='constvolume'/></medium></scene>",
                        version, inside, version[0] == '0' ? "density" : "sigma_t"));
        return make_object<Medium>(*root.objects("medium").at(0));
    };
    auto numbers = [](const Medium &m) {
        MediumInteraction mei =
            m.sample_interaction(ray_from(0, 1e9), Float(0.5), UInt32(0u), Mask(true));
        mei.wi = normalize(Vector3(Float(0.8), Float(0.1), Float(0.3)));
        mei.sh_frame = Frame(mei.wi);
        Vector3 wo = normalize(Vector3(Float(-0.7), Float(0.2), Float(0.4)));
        return std::pair(read_floats(m.extinction(mei, true)[0])[0],
                         read_floats(m.phase_function().eval_pdf({}, mei, wo, true).first[0])[0]);
    };
    auto mixed = [](const std::string &a, const std::string &b) {
        return "<phase type='mixturephase'><string name='weights' value='.5, .5'/><phase "
               "type='microflake'>" +
               a + "</phase><phase type='kkay'>" + b + "</phase></phase>";
    };
    auto inside = [](const std::string &axis) {
        return "<phase type='microflake'>" + axis + "</phase>";
    };
    for (const char *version : { "0.5.0", "3.0.0" }) {
        EXPECT_EQ(numbers(*medium(version, along_x + inside(""))),
                  numbers(*medium("3.0.0", inside(along_x))));
        EXPECT_EQ(numbers(*medium(version, mixed("", along_y) + along_x)),
                  numbers(*medium("3.0.0", mixed(along_x, along_y))));
        EXPECT_NE(numbers(*medium(version, along_x + inside(""))),
                  numbers(*medium(version, along_y + inside(""))));
    }
    Warnings seen;
    medium("3.0.0", along_x + inside(""));
    EXPECT_EQ(seen.text, "");
    medium("0.5.0", along_x);
    EXPECT_TRUE(seen.tell("no phase function here asks along what fibres lie")) << seen.text;
    EXPECT_NE(user_error([&] {
                  medium("3.0.0", inside("") + "<volume name='orientation' type='constvolume'>"
                                               "<float name='value' value='1'/></volume>");
              }).find("vectors have three"),
              std::string::npos);
}

TEST_P(BackendHeterogeneous, APhaseFunctionHasOneOrientation) {
    auto load = [](const std::string &first, const std::string &second) {
        auto shape = [](const std::string &axis) {
            return "<shape type='cube'><bsdf type='null'/><medium type='heterogeneous' "
                   "name='interior'><ref id='flakes'/>" +
                   axis + "</medium></shape>";
        };
        auto along = [](const char *x) {
            return fmt::format("<volume type='constvolume' id='along {0}'><vector name='value' "
                               "x='{0}' y='1' z='0'/></volume>",
                               x);
        };
        scene_from(scene_xml("<phase type='microflake' id='flakes'/>" + along("0") + along("1") +
                                 shape(first) + shape(second) + Sky,
                             4, 1, "volpath"));
    };
    const std::string a = "<ref name='orientation' id='along 0'/>",
                      b = "<ref name='orientation' id='along 1'/>";
    EXPECT_NO_THROW(load(a, a));
    EXPECT_NE(user_error([&] { load(a, b); }).find("give each medium a phase function of its own"),
              std::string::npos);
}

// With the file, the place in it, and what to do.
TEST_P(BackendHeterogeneous, NumbersThatCannotBeAreRefused) {
    auto error = [&](const char *name, const VolumeFile &file) {
        write_file(m_file, file.bytes());
        return user_error([&] {
            medium_from("<medium type='heterogeneous'><volume type='gridvolume' name='" +
                        std::string(name) + "'><string name='filename' value='" + m_file +
                        "'/></volume></medium>");
        });
    };
    VolumeFile bad{ { 1, 1, 3 }, 1, { 0.5f, -0.25f, 1.5f } };
    EXPECT_NE(error("sigma_t", bad)
                  .find(fmt::format("sigma_t must not be negative, and is -0.25 "
                                    "at byte 52 of {}; repair or clamp",
                                    m_file)),
              std::string::npos);
    EXPECT_NE(error("emission", bad).find("emission must not be negative"), std::string::npos);
    VolumeFile bright{ { 1, 1, 3 }, 1, { 0.5f, 0.25f, 1.5f } };
    EXPECT_NE(
        error("albedo", bright).find("albedo must lie between 0 and 1, and is 1.5 at byte 56"),
        std::string::npos);
    std::string homogeneous = user_error([&] {
        medium_from("<medium type='homogeneous'><volume type='gridvolume' name='albedo'><string "
                    "name='filename' value='" +
                    m_file + "'/></volume></medium>");
    });
    EXPECT_NE(homogeneous.find("is 1.5 at byte 56"), std::string::npos) << homogeneous;
    // Spectra of colours have bounds of twice their brightness: that is no reason to refuse them
    VolumeFile white{ { 1, 1, 2 }, 3, { 1, 0.9f, 0.8f, 0.7f, 0.8f, 0.9f } };
    write_file(m_file, white.bytes());
    for (const char *type : { "heterogeneous", "homogeneous" })
        EXPECT_NO_THROW(medium_from("<medium type='" + std::string(type) +
                                    "'><volume type='gridvolume' name='albedo'><string "
                                    "name='filename' value='" +
                                    m_file + "'/></volume></medium>"));
}

// A white cloud in white light cannot be seen.
TEST_P(BackendHeterogeneous, AWhiteCloudIsInvisible) {
    for (const char *phase :
         { "", "<phase type='sggx'><string name='matrix' value='.9 .5 .3 .1 -.05 .1'/></phase>",
           "<phase type='microflake'/>" }) {
        std::string cloud = ramp();
        cloud.insert(cloud.find('>'), " id='filling'");
        cloud.replace(cloud.find("</medium>"), 0,
                      std::string("<float name='albedo' value='1'/>") + phase);
        Image image = render_image(*scene_from(scene_xml(
            "<shape type='cube'><transform name='to_world'><scale value='.6'/><translate "
            "value='.5,.5,.5'/></transform><bsdf type='null'/><ref name='interior' "
            "id='filling'/></shape>" +
                cloud + Sky,
            12, 64, "volpath", "<lookat origin='.5,.5,-2' target='.5,.5,.5' up='0,1,0'/>")));
        for (size_t c = 0; c < image.channel_count(); ++c) {
            Estimate e = channel_mean(image, c);
            EXPECT_GT(e.error, 0) << "nothing was scattered";
            EXPECT_LT(std::abs(e.mean - 1), 3 * e.error) << e.mean << " +- " << e.error;
        }
    }
}

} // namespace umbel
