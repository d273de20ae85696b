// tests/render/medium_sum_test.cpp: distances and transmittance where several media are in one place.
#include "core/file_text.h"
#include "render/channel_choice.h"
#include "render/medium_sum.h"
#include "support/media.h"
#include "support/volume_file.h"
#include <filesystem>
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendMediumSum : public VariantTest {
protected:
    BackendMediumSum()
        : m_ramp(write("ramp", { { 1, 1, 4 }, 1, { 0, 1, 0.5f, 3 } })),
          m_colours(
              write("colours",
                    { { 1, 1, 3 }, 3, { 0.2f, 0.9f, 0.5f, 0.7f, 0.1f, 0.4f, 0.6f, 0.6f, 0 } })) {}
    ~BackendMediumSum() override {
        std::filesystem::remove(m_ramp);
        std::filesystem::remove(m_colours);
    }
    static std::string write(const char *name, const VolumeFile &volume) {
        std::string file = testing::TempDir() + fmt::format("umbel_sum_{}_{}.vol", name, getpid());
        write_file(file, volume.bytes());
        return file;
    }
    /// From z on, over the given length.
    static Ref<Medium> grid(const std::string &file, double z, double length,
                            const std::string &more = "") {
        return medium_from(fmt::format(
            "<medium type='heterogeneous'><volume type='gridvolume' name='sigma_t'><string "
            "name='filename' value='{}'/><transform name='to_world'><translate x='-.5' y='-.5'/>"
            "<scale x='4' y='4' z='{}'/><translate z='{}'/></transform></volume>{}</medium>",
            file, length, z, more));
    }
    static Ref<Medium> mist(const char *sigma) {
        return medium_from(fmt::format(
            "<medium type='homogeneous'><rgb name='sigma_t' value='{}'/></medium>", sigma));
    }

    static constexpr uint32_t Lanes = 1 << 15, Steps = 1 << 13;
    static Float zeros() { return Float(UInt32(jit::lane_index(Lanes))) * 0; }
    /// Up to a distance, by many places.
    static std::vector<double> transmittances(const Medium &medium, const Ray &ray, double end) {
        MediumInteraction at;
        Float t = (Float(UInt32(jit::lane_index(Steps))) + 0.5) * (end / Steps);
        at.p = ray(t);
        at.wi = -ray.d;
        at.time = Float(0);
        at.wavelengths = ray.wavelengths;
        std::vector<double> out;
        for (const Float &c : medium.scattering_coefficients(at, true).sigma_t.c) {
            double depth = 0;
            for (double s : read_floats(c + t * 0))
                depth += s * end / Steps;
            out.push_back(std::exp(-depth));
        }
        return out;
    }
    static void expect_unbiased(const Medium &medium, const std::string &what) {
        SCOPED_TRACE(what);
        auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
        const double length = 3;
        Ray ray = ray_from(-0.5, length);
        std::vector<double> all = transmittances(medium, ray, length),
                            half = transmittances(medium, ray, 1.3);
        SampleStream stream = sample_stream(*sampler, Lanes);
        Spectrum through = medium.transmittance(ray, stream, true);
        for (size_t c = 0; c < all.size(); ++c)
            expect_estimate(through[c] + zeros(), all[c], "transmittance");

        // Channels together, and each by itself
        UInt32 lane(jit::lane_index(Lanes)), n(uint32_t(all.size())), channel = lane % n;
        for (bool alone : { false, true }) {
            MediumSample s =
                medium.sample(ray, stream, true, { .channel = alone ? &channel : nullptr });
            stream.state = s.state;
            Float inverse = alone ? rcp(mean(s.ratio)) : Float(1);
            Mask collides = s.mei.is_valid();
            for (size_t c = 0; c < all.size(); ++c) {
                Float passed = select(collides, Float(0), s.weight[c] * inverse),
                      met = select(collides & (s.mei.t < 1.3),
                                   s.weight[c] * s.mei.sigma_t[c] * inverse, Float(0));
                expect_estimate(passed + zeros(), all[c], "passes");
                expect_estimate(met + zeros(), 1 - half[c], "collides before");
            }
        }
    }

    std::string m_ramp, m_colours;
};
UMBEL_VARIANTS(BackendMediumSum, "llvm_rgb", "llvm_spectral", "llvm_mono_double")

TEST_P(BackendMediumSum, DistancesAndTransmittanceAreThoseOfAllExtinctions) {
    Ref<Medium> ramp = grid(m_ramp, 0, 1), colours = grid(m_colours, 0.6, 1.4),
                grey = mist(".4,.4,.4"), blue = mist(".1,.3,.8");
    auto expect = [](const std::vector<const Medium *> &parts, const std::string &what) {
        expect_unbiased(MediumSum(parts), what);
    };
    expect({ ramp.get(), grey.get() }, "a grid in mist");
    expect({ blue.get(), colours.get() }, "colours in coloured mist");
    expect({ ramp.get(), colours.get() }, "two grids");
    expect({ ramp.get(), blue.get(), colours.get(), grey.get() }, "four");
    expect({ ramp.get(), colours.get(), ramp.get() }, "one of them twice");
}

// What is dense elsewhere, and what is the same everywhere, make no noise.
TEST_P(BackendMediumSum, PartsHaveBoundsOfTheirOwn) {
    std::vector<float> corner(32 * 32, 0.f);
    corner.back() = 50;
    std::string file = write("corner", { { 32, 1, 32 }, 1, corner });
    Ref<Medium> cloud = grid(file, 0, 1, "<float name='scale' value='3'/>"), fog = mist("1,.5,.2");
    MediumSum sum({ cloud.get(), fog.get() });
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    Ray ray = ray_from(-0.5, 2);
    SampleStream stream = sample_stream(*sampler, Lanes);
    Spectrum through = sum.transmittance(ray, stream, true);
    std::vector<double> want = transmittances(*fog, ray, 2);
    for (size_t c = 0; c < want.size(); ++c)
        for (double t : read_floats(through[c] + zeros()))
            ASSERT_NEAR(t, want[c], 1e-5);
    std::filesystem::remove(file);
}

TEST_P(BackendMediumSum, OfNoneIsEmptySpace) {
    expect_unbiased(MediumSum({}), "nothing");
    EXPECT_TRUE(MediumSum({}).is_homogeneous());
}

} // namespace umbel
