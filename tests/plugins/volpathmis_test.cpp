// tests/plugins/volpathmis_test.cpp: all ways of weighting paths in media give the same image; where channels differ, one is better.
#include "core/file_text.h"
#include "support/media.h"
#include "support/volume_file.h"
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

/// Of a scene's images with different seeds: mean and standard error of all pixels of each channel.
std::vector<Estimate> means(const std::string &xml, const char *integrator, int count) {
    Ref<Scene> scene = scene_from(xml);
    auto tracer =
        make_object<Integrator>(Properties("integrator", integrator).set("max_depth", int64_t(6)));
    std::vector<double> sum, squares;
    for (int i = 0; i < count; ++i) {
        RenderOptions o;
        o.seed = uint32_t(100 + i);
        o.integrator = tracer;
        Image image = render_image(*scene, o);
        sum.resize(image.channel_count());
        squares.resize(image.channel_count());
        for (size_t c = 0; c < sum.size(); ++c) {
            double m = channel_mean(image, c).mean;
            sum[c] += m;
            squares[c] += m * m;
        }
    }
    std::vector<Estimate> out;
    for (size_t c = 0; c < sum.size(); ++c) {
        double m = sum[c] / count;
        out.push_back({ m, std::sqrt(std::max(0.0, squares[c] / count - m * m) / (count - 1)) });
    }
    return out;
}

const char *Lights =
    "<emitter type='point'><point name='position' x='2' y='2' z='2'/><rgb "
    "name='intensity' value='8,8,8'/></emitter><shape type='rectangle'><transform "
    "name='to_world'><rotate x='1' angle='90'/><translate y='2'/></transform><emitter "
    "type='area'><rgb name='radiance' value='3,2,1'/></emitter></shape>";
const char *Camera = "<lookat origin='0,0,4' target='0,0,0' up='0,1,0'/>";

std::string ball(const std::string &inside, const std::string &bsdf = "<bsdf type='null'/>") {
    return "<shape type='sphere'>" + bsdf + "<medium name='interior' " + inside +
           "</medium></shape>";
}
const char *Coloured = "type='homogeneous'><rgb name='sigma_t' value='.3,1,6'/><rgb name='albedo' "
                       "value='.9,.8,.7'/><phase type='hg'><float name='g' value='.5'/></phase>";

} // namespace

class BackendVolPathMis : public VariantTest {
protected:
    BackendVolPathMis() : m_file(testing::TempDir() + fmt::format("umbel_mis_{}.vol", getpid())) {
        VolumeFile volume{ { 3, 2, 3 }, 3 };
        for (double u : uniform_numbers(3, 54))
            volume.values.push_back(float(u * u * u));
        write_file(m_file, volume.bytes());
    }
    ~BackendVolPathMis() override { std::filesystem::remove(m_file); }
    std::string cloud() const {
        return ball("type='heterogeneous'><float name='scale' value='6'/><volume name='sigma_t' "
                    "type='gridvolume'><string name='filename' value='" +
                    m_file +
                    "'/><transform name='to_world'><scale value='1.4'/><translate x='-.7' y='-.7' "
                    "z='-.7'/></transform></volume><float name='albedo' value='.9'/>");
    }
    std::string m_file;
};
UMBEL_VARIANTS(BackendVolPathMis, "llvm_rgb", "llvm_spectral", "llvm_rgb_polarized")

TEST_P(BackendVolPathMis, AllWeightsGiveTheSameImage) {
    std::string glass =
        ball(Coloured, "<bsdf type='roughdielectric'><float name='alpha' value='.4'/></bsdf>");
    std::string mask = ball(Coloured, "<bsdf type='mask'><float name='opacity' value='.3'/><bsdf "
                                      "type='diffuse'/></bsdf>");
    for (const std::string &shape : { ball(Coloured), cloud(), glass, mask }) {
        std::string xml = scene_xml(shape + Lights, 8, 16, "volpath", Camera);
        std::vector<Estimate> a = means(xml, "volpath", 12);
        for (const char *other : { "volpathmis", "volpath_simple" }) {
            std::vector<Estimate> b = means(xml, other, 12);
            for (size_t c = 0; c < a.size(); ++c)
                EXPECT_LT(std::abs(a[c].mean - b[c].mean), 4.5 * std::hypot(a[c].error, b[c].error))
                    << other << ", channel " << c << ": " << b[c].mean << " instead of "
                    << a[c].mean;
        }
    }
}

TEST(VolPathMis, IsBetterWhereChannelsDiffer) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string xml =
        scene_xml(ball("type='homogeneous'><rgb name='sigma_t' value='.1,2,20'/><rgb name='albedo' "
                       "value='.99,.99,.99'/>") +
                      Lights,
                  8, 16, "volpath", Camera);
    std::vector<Estimate> plain = means(xml, "volpath", 24),
                          spectral = means(xml, "volpathmis", 24);
    double a = 0, b = 0;
    for (size_t c = 0; c < plain.size(); ++c) {
        a += plain[c].error / plain[c].mean;
        b += spectral[c].error / spectral[c].mean;
    }
    EXPECT_LT(b, a);
}

// What is inside of something opaque changes nothing: light of the sky reaches its surface.
TEST_P(BackendVolPathMis, OpaqueShapesMayBeFilled) {
    auto mean_of = [&](const char *inside, const char *integrator) {
        std::string xml = scene_xml(
            fmt::format("<shape type='sphere'><bsdf type='diffuse'/>{}</shape>", inside) + Sky, 8,
            16, "volpath", Camera);
        return means(xml, integrator, 8)[0];
    };
    const char *fog = "<medium name='interior' type='homogeneous'/>";
    for (const char *integrator : { "volpath", "volpathmis", "volpath_simple" }) {
        Estimate empty = mean_of("", integrator), filled = mean_of(fog, integrator);
        EXPECT_NEAR(empty.mean, filled.mean, 4.5 * std::hypot(empty.error, filled.error) + 1e-6)
            << integrator;
    }
}

} // namespace umbel
