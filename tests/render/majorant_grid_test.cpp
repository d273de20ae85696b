// tests/render/majorant_grid_test.cpp: bounds of a volume cell by cell, and rays through them.
#include "core/file_text.h"
#include "render/majorant_grid.h"
#include "support/media.h"
#include "support/volume_file.h"
#include <unistd.h>

namespace umbel {
using namespace test;

namespace {

/// A winding plume, thin and mostly empty around, with denser slices.
VolumeFile plume() {
    VolumeFile volume{ { 40, 9, 70 }, 1 };
    for (int z = 0; z < 70; ++z)
        for (int y = 0; y < 9; ++y)
            for (int x = 0; x < 40; ++x) {
                double d = std::hypot(x - 20 - 9 * std::sin(0.15 * z), 2.0 * (y - 4));
                volume.values.push_back(float(std::max(0.0, 1 - d / 5) * (z % 11 == 3 ? 3 : 0.4)));
            }
    return volume;
}

struct Line {
    std::array<double, 3> o, d;
};
// Across, along, from inside, along an axis and along two sides
const Line Lines[] = { { { -2, 0.4, -1 }, { 1, 0.1, 1.2 } },
                       { { 0.2, 0.5, 3.5 }, { 0.1, 0, -1 } },
                       { { 0.4, 0.45, 1.2 }, { 0.3, 0.4, 0.6 } },
                       { { -3, 0.5, 1.5 }, { 1, 0, 0 } },
                       { { 0.5, 2, 1.4 }, { 0, -1, 0 } },
                       { { 0, 0.5, 4 }, { 0, 0, -1 } },
                       { { 5, 5, 5 }, { 1, 0, 0 } } };

} // namespace

class BackendMajorantGrid : public VariantTest {
protected:
    BackendMajorantGrid()
        : m_file(testing::TempDir() + fmt::format("umbel_plume_{}.vol", getpid())) {
        write_file(m_file, plume().bytes());
    }
    ~BackendMajorantGrid() override { std::filesystem::remove(m_file); }

    Ref<Volume> volume(const char *filter, const TransformData &to_world) const {
        Properties p("volume", "gridvolume");
        p.set("filename", m_file).set("filter_type", std::string(filter)).set("to_world", to_world);
        return make_object<Volume>(p);
    }
    static TransformData askew() {
        return TransformData::translate({ -1, 0, 0 }) * TransformData::rotate({ 0, 1, 0 }, 30) *
               TransformData::scale({ 2, 1, 3 });
    }
    static Ray ray(const Line &line) {
        Ray r = ray_from(0, 8);
        r.o = { opaque_float(line.o[0]), opaque_float(line.o[1]), opaque_float(line.o[2]) };
        r.d = normalize(
            Vector3(opaque_float(line.d[0]), opaque_float(line.d[1]), opaque_float(line.d[2])));
        return r;
    }
    std::string m_file;
};
UMBEL_VARIANTS(BackendMajorantGrid, "llvm_rgb", "llvm_rgb_double", "interp_rgb")

// Until nothing is left of the ray: bounds hold where collisions are, and all of them add up to no less than the volume's values.
// Raised ones are greater, also where there is nothing.
TEST_P(BackendMajorantGrid, BoundsHoldAlongRays) {
    const uint32_t lanes = 512;
    for (const char *filter : { "trilinear", "nearest" })
        for (const TransformData &place : { askew(), TransformData::scale({ 1, 1, 3 }) }) {
            Ref<Volume> v = volume(filter, place);
            MajorantGrid grid(*v, 2, 2);
            for (const Line &line : Lines) {
                Ray r = ray(line);
                MajorantGrid::Path path = grid.path_of(r);
                // Collisions at depths 0.01, 0.02 ... of the bounds
                Float depth = (Float(UInt32(jit::lane_index(lanes))) + 1) * 0.01;
                MajorantGrid::Walk walk = grid.enter(path, r), other = walk;
                Float bound = grid.follow(path, walk, depth, false, true);
                Float raised = grid.follow(path, other, depth, true, true);
                MediumInteraction at;
                at.p = r(path.mint + walk.t);
                std::vector<double> b = read_floats(bound), t = read_floats(walk.t + bound * 0),
                                    x = read_floats(v->eval_1(at, true));
                at.p = r(path.mint + other.t);
                std::vector<double> more = read_floats(raised),
                                    there = read_floats(v->eval_1(at, true));
                double length = read_floats(path.length)[0];
                for (uint32_t i = 0; i < lanes; ++i) {
                    if (b[i] == 0)
                        EXPECT_EQ(t[i], length);
                    else
                        EXPECT_GE(b[i] * (1 + 1e-5), 2 * x[i]) << t[i];
                    if (more[i] != 0) {
                        EXPECT_GT(more[i], 2 * there[i]);
                    }
                    if (i > 0) {
                        EXPECT_GE(t[i], t[i - 1]);
                    }
                }
            }
        }
}

TEST_P(BackendMajorantGrid, RaysThatMissHaveNoLength) {
    Ref<Volume> v = volume("trilinear", TransformData());
    MajorantGrid grid(*v, 1, 1);
    for (const Line &line : { Line{ { 5, 5, 5 }, { 1, 0, 0 } },
                              { { 0.5, 0.5, -1 }, { 0, 0, -1 } },
                              { { 0.5, 1.5, 0.5 }, { 1, 0, 0 } } })
        EXPECT_EQ(read_floats(grid.path_of(ray(line)).length)[0], 0);
    MajorantGrid::Path path = grid.path_of(ray({ { 0.5, 0.5, -1 }, { 0, 0, 1 } }));
    EXPECT_NEAR(read_floats(path.mint)[0], 1, 1e-6);
    EXPECT_NEAR(read_floats(path.length)[0], 1, 1e-6);
}

// Of a medium, against a sum of many places along the ray.
TEST_P(BackendMajorantGrid, NothingOfAThinPlumeIsMissed) {
    const uint32_t lanes = 1 << 12, steps = 1 << 13;
    auto sampler = make_object<Sampler>(Properties("sampler", "independent"));
    Properties p("medium", "heterogeneous");
    p.set("scale", 3.0);
    Properties grid("volume", "gridvolume");
    p.set("sigma_t", grid.set("filename", m_file).set("to_world", askew()));
    auto medium = make_object<Medium>(p);
    Ref<Volume> v = volume("trilinear", askew());
    for (const Line &line : Lines) {
        Ray r = ray(line);
        Medium::Extent e = medium->extent(r);
        Float length = select(e.is_met, e.maxt - e.mint, Float(0));
        MediumInteraction at;
        at.p = r(e.mint + (Float(UInt32(jit::lane_index(steps))) + 0.5) * length * (1.0 / steps));
        double depth = 0;
        for (double x : read_floats(v->eval_1(at, true)))
            depth += 3 * x * read_floats(length)[0] / steps;
        Float zero = Float(UInt32(jit::lane_index(lanes))) * 0;
        SampleStream stream = sample_stream(*sampler, lanes);
        expect_estimate(medium->transmittance(r, stream, true)[0] + zero, std::exp(-depth),
                        "ratios");
        MediumSample s = medium->sample(r, stream, true);
        expect_estimate(select(s.mei.is_valid(), Float(0), s.weight[0]) + zero, std::exp(-depth),
                        "no collision");
    }
}

// Where a mean free path is less than the spacing of numbers along the ray, or collisions are null ones for a long way: rays get
// through nevertheless, and see what they see of a little less density.
TEST_P(BackendMajorantGrid, AnyDensityEnds) {
    VolumeFile uneven{ { 2, 2, 2 }, 1, { .13f, .85f, .76f, .26f, .5f, .45f, .65f, .79f } };
    VolumeFile empty = uneven; // but for one corner
    std::fill(empty.values.begin() + 1, empty.values.end(), 0.f);
    VolumeFile coloured{ { 2, 2, 2 }, 3 };
    for (float v : uneven.values) // nothing of blue
        coloured.values.insert(coloured.values.end(), { v, v * v, 0 });
    auto grid = [&](const VolumeFile &file, const char *filter) {
        write_file(m_file, file.bytes());
        return fmt::format("<volume type='gridvolume' name='sigma_t'><string name='filename' "
                           "value='{}'/><string name='filter_type' value='{}'/><transform "
                           "name='to_world'><scale value='2'/><translate x='-1' y='-1' z='-1'/>"
                           "</transform></volume>",
                           m_file, filter);
    };
    auto filled = [](const std::string &sigma_t, const char *scale, const char *more = "") {
        return fmt::format("<shape type='cube'><bsdf type='null'/><medium type='heterogeneous' "
                           "name='interior'><float name='albedo' value='0.9'/><float name='scale' "
                           "value='{}'/>{}{}</medium></shape>",
                           scale, sigma_t, more);
    };
    auto mean_of = [&](const std::string &body, const char *integrator) {
        std::string xml = scene_xml(body + "<emitter type='constant'/>", 2, 1, integrator);
        std::string type = fmt::format("<integrator type='{}'", integrator);
        xml.replace(xml.find(type + "/>"), type.size() + 2,
                    type + "><integer name='max_depth' value='3'/></integrator>");
        Image image = render_image(*scene_from(xml));
        double sum = 0;
        for (size_t c = 0; c < 3; ++c)
            sum += channel_mean(image, c).mean;
        EXPECT_TRUE(sum >= 0 && sum < 10) << sum << " " << integrator << " " << body;
    };
    std::string constant = "<rgb name='sigma_t' value='1,0.5,0'/>";
    const char *steps = "<string name='method' value='simpson'/><float name='step_size' "
                        "value='1e-9'/>";
    if (variant().name.starts_with("llvm")) { // millions of steps
        mean_of(filled(grid(uneven, "trilinear"), "0.1", steps), "volpath");
        mean_of(filled(grid(coloured, "trilinear"), "1e8"), "volpath");
        mean_of(filled(constant, "1e8"), "volpath");
        mean_of(filled(grid(uneven, "trilinear"), "1e8") + filled(constant, "1"), "volpath");
    }
    const char *glow = "<rgb name='emission' value='0.5,0.5,0.5'/>";
    for (const char *integrator : { "volpath", "volpathmis", "prbvolpath" }) {
        mean_of(filled(grid(uneven, "trilinear"), "1e8"), integrator);
        mean_of(filled(grid(uneven, "trilinear"), "1e20", glow), integrator);
    }
    mean_of(filled(grid(empty, "nearest"), "1e8"), "volpath");
}

} // namespace umbel
