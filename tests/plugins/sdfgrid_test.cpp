// tests/plugins/sdfgrid_test.cpp: surfaces of distances on grids. In double precision they are met by recorded code, in single
// precision by Embree's callbacks.
#include "core/traverse.h"
#include "support/mesh_files.h"
#include "support/surface.h"
#include "support/volume_file.h"

namespace umbel {
using namespace test;

class SdfGrids : public MeshFileTest {
protected:
    std::string grid(const VolumeFile &file, const std::string &more = "") {
        return fmt::format("<shape type='sdfgrid'><string name='filename' value='{}'/>{}</shape>",
                           write("grid.vol", file.bytes()), more);
    }
    /// One voxel with these numbers.
    std::string voxel(const std::array<float, 8> &corners, const std::string &more = "") {
        return grid({ { 2, 2, 2 }, 1, { corners.begin(), corners.end() } }, more);
    }
    static constexpr const char *Analytic = "<string name='normals' value='analytic'/>";
    static double tolerance() {
        return variant().double_precision ? 1e-7 : 1e-5;
    } // files have floats
};

constexpr const char *BothPrecisions[] = { "interp_rgb_double", "llvm_rgb_double", "llvm_rgb",
                                           "interp_rgb" };

TEST_F(SdfGrids, PlanesAreExact) {
    for (const char *name : BothPrecisions) {
        VariantScope scope(find_variant(name));
        // x + y / 2 = 0.6
        std::array<float, 8> f;
        for (size_t k = 0; k < 8; ++k)
            f[k] = float(k & 1) + 0.5f * float(k >> 1 & 1) - 0.6f;
        std::string plane = voxel(f);
        SurfacePoint at = seen_along(plane, { 2, 0.4, 0.3 }, { -0.5, 0, 0 });
        EXPECT_NEAR(at.t, (2 - 0.4) / 0.5, tolerance()) << name;
        double n = std::hypot(1, 0.5);
        expect_vector(at.n, { 1 / n, 0.5 / n, 0 }, 1e-6);
        // From inside, too
        EXPECT_NEAR(seen_along(plane, { 0.1, 0.4, 0.3 }, { 1, 0, 0 }).t, 0.3, tolerance()) << name;
        // Along an axis in which nothing changes, and beside the voxel
        EXPECT_FALSE(seen_along(plane, { 0.4, 0.1, -1 }, { 0, 0, 1 }).is_hit) << name;
        EXPECT_FALSE(seen_along(plane, { 2, 1.2, 0.3 }, { -1, 0, 0 }).is_hit) << name;
    }
}

// Along a diagonal the numbers are a cubic with three zeros, of which the first one counts from either side.
TEST_F(SdfGrids, TheFirstOfThreeCrossingsCounts) {
    // f(s, s, s) with values a at (0, 0, 0), b where one coordinate is 1, c where two are, d at (1, 1, 1), is the Bernstein
    // polynomial of these: (s - .2)(s - .5)(s - .9) has these coefficients
    double r[3] = { 0.2, 0.5, 0.9 };
    double e1 = r[0] + r[1] + r[2], e2 = r[0] * r[1] + r[0] * r[2] + r[1] * r[2],
           e3 = r[0] * r[1] * r[2];
    double c[4] = { -e3, -e3 + e2 / 3, -e3 + 2 * e2 / 3 - e1 / 3, 1 - e1 + e2 - e3 };
    std::array<float, 8> f;
    for (size_t k = 0; k < 8; ++k)
        f[k] = float(c[(k & 1) + (k >> 1 & 1) + (k >> 2)]);
    for (const char *name : BothPrecisions) {
        VariantScope scope(find_variant(name));
        double d = 1 / std::sqrt(3.0);
        auto seen = [&](double from, double sign) {
            return seen_along(voxel(f), { from, from, from }, { sign * d, sign * d, sign * d }).t *
                       sign * d +
                   from;
        };
        EXPECT_NEAR(seen(-1, 1), 0.2, 1e-5) << name;
        EXPECT_NEAR(seen(0.3, 1), 0.5, 1e-5) << name;
        EXPECT_NEAR(seen(0.7, 1), 0.9, 1e-5) << name;
        EXPECT_NEAR(seen(2, -1), 0.9, 1e-5) << name;
        EXPECT_NEAR(seen(0.4, -1), 0.2, 1e-5) << name;
    }
}

TEST_F(SdfGrids, DistancesToABallAreABall) {
    for (const char *name : BothPrecisions) {
        VariantScope scope(find_variant(name));
        for (const char *more : { Analytic, "" }) {
            std::string ball =
                grid(ball_of_distances({ 41, 31, 37 }, 0.4, { 0.5, 0.5, 0.5 }),
                     std::string(more) + "<transform name='to_world'><translate x='-.5' y='-.5' "
                                         "z='-.5'/><scale value='2'/></transform>");
            SurfacePoint at = seen_along(ball, { 0.2, 3, 0.1 }, { 0, -1, 0 });
            double y = std::sqrt(0.64 - 0.04 - 0.01);
            EXPECT_NEAR(at.t, 3 - y, 2e-3) << name;
            expect_vector(at.n, { 0.2 / 0.8, y / 0.8, 0.1 / 0.8 }, 0.03);
        }
    }
}

// Rays through edges and corners of voxels, and almost along their faces.
TEST_F(SdfGrids, NoRaySlipsThrough) {
    for (const char *name : { "llvm_rgb_double", "llvm_rgb" }) {
        VariantScope scope(find_variant(name));
        Ref<Scene> scene = scene_from(
            scene_xml(grid(ball_of_distances({ 9, 9, 9 }, 0.42, { 0.5, 0.5, 0.5 })), 4, 1));
        const uint32_t n = 1 << 16;
        UInt32 lane(jit::lane_index(n));
        auto step = [&](uint32_t shift) {
            return Float((lane >> UInt32(shift)) & UInt32(255u)) / 256.0;
        };
        // Out of the middle, on a grid of directions that is finer than the voxels
        Vector3 d(Float(1), step(0) * 2 - 1, step(8) * 2 - 1);
        for (int axis = 0; axis < 3; ++axis) {
            d = Vector3(d.y, d.z, d.x);
            Ray ray{
                Vector3(Float(0.5)), d, Float(std::numeric_limits<double>::infinity()), Float(0), {}
            };
            Float t = scene->ray_intersect(ray, true).t;
            size_t lost = 0;
            for (double v : read_floats(t))
                lost += !std::isfinite(v);
            EXPECT_EQ(lost, 0u) << name << ", axis " << axis;
        }
    }
}

// Normals of shading are continuous where voxels meet; those of voxels are not.
TEST_F(SdfGrids, SmoothNormalsHaveNoJumps) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    VolumeFile file = ball_of_distances({ 7, 6, 8 });
    auto jump = [&](const char *normals) {
        Ref<Scene> scene = scene_from(scene_xml(
            grid(file, fmt::format("<string name='normals' value='{}'/>", normals)), 4, 1));
        const uint32_t n = 4096;
        Float x = 0.2 + 0.6 / n * Float(UInt32(jit::lane_index(n)));
        Ray ray{ Vector3(x, 0.31 + 0.4 * x, Float(3)),
                 Vector3(Float(0), Float(0), Float(-1)),
                 Float(std::numeric_limits<double>::infinity()),
                 Float(0),
                 {} };
        SurfaceInteraction si = scene->ray_intersect(ray, true);
        compute(si);
        std::vector<double> nx = read_floats(si.sh_frame.n.x), ny = read_floats(si.sh_frame.n.y);
        double most = 0;
        for (size_t i = 1; i < n; ++i)
            most = std::max({ most, std::abs(nx[i] - nx[i - 1]), std::abs(ny[i] - ny[i - 1]) });
        return most;
    };
    EXPECT_LT(jump("smooth"), 2e-3);
    EXPECT_GT(jump("analytic"), 2e-2);
}

TEST_F(SdfGrids, MayBeRotatedFlippedAndInstanced) {
    std::string placed = "<transform name='to_world'><translate x='-.5' y='-.5' z='-.5'/><scale "
                         "value='1.6'/><rotate x='1' y='.4' angle='40'/></transform>",
                body = "<shape type='shapegroup' id='g'>" + grid(ball_of_distances({ 12, 9, 10 })) +
                       "</shape><shape type='instance'><ref id='g'/>" + placed + "</shape>";
    auto depths = [&](const char *name, const std::string &shapes) {
        VariantScope scope(find_variant(name));
        return render_image(*scene_from(scene_xml(shapes, 24, 1, "depth")), { .spp = 1 });
    };
    Image a = depths("llvm_rgb", grid(ball_of_distances({ 12, 9, 10 }), placed)),
          b = depths("llvm_rgb_double", grid(ball_of_distances({ 12, 9, 10 }), placed)),
          c = depths("llvm_rgb", body);
    int seen = 0, differ = 0;
    for (size_t y = 0; y < 24; ++y)
        for (size_t x = 0; x < 24; ++x) {
            seen += b.get(x, y, 0) > 0;
            differ += std::abs(a.get(x, y, 0) - b.get(x, y, 0)) > 1e-3;
            differ += std::abs(c.get(x, y, 0) - b.get(x, y, 0)) > 1e-3;
        }
    EXPECT_GT(seen, 60);
    EXPECT_LE(differ, 4) << "at outlines";

    VariantScope scope(find_variant("llvm_rgb"));
    std::string ball = grid(ball_of_distances({ 12, 9, 10 })),
                flipped = grid(ball_of_distances({ 12, 9, 10 }),
                               "<boolean name='flip_normals' value='true'/>");
    auto n = seen_along(ball, { 0.4, 0.5, 3 }, { 0, 0, -1 }).n,
         m = seen_along(flipped, { 0.4, 0.5, 3 }, { 0, 0, -1 }).n;
    expect_vector(m, { -n[0], -n[1], -n[2] }, 1e-9);
    EXPECT_GT(n[2], 0.5) << "outwards";
}

TEST_F(SdfGrids, ChangesOfTheGridAreSeen) {
    VariantScope scope(find_variant("llvm_rgb"));
    Ref<Scene> scene = scene_from(scene_xml(grid(ball_of_distances({ 21, 21, 21 }, 0.3)), 4, 1));
    auto distance = [&] {
        Ray ray{ Vector3(Float(0.5), Float(0.48), Float(3)),
                 Vector3(Float(0), Float(0), Float(-1)),
                 Float(std::numeric_limits<double>::infinity()),
                 Float(0),
                 {} };
        return read_floats(scene->ray_intersect(ray, true).t)[0];
    };
    EXPECT_NEAR(distance(), 3 - 0.82, 2e-3);
    SceneParameters params(scene);
    for (const SceneParameter &p : params.all())
        if (p.param.name == "grid") {
            std::vector<double> larger;
            for (float v : ball_of_distances({ 21, 21, 21 }, 0.4).values)
                larger.push_back(double(v));
            std::vector<Value> values{ float_array(larger) };
            params.assign(p.key, values);
            params.update({ p.key });
            break;
        }
    EXPECT_NEAR(distance(), 3 - 0.92, 2e-3);
}

TEST_F(SdfGrids, SayWhatIsWrong) {
    VariantScope scope(find_variant("llvm_rgb"));
    expect_refused(voxel({ 1, 1, 1, 1, 1, 1, 1, 1 }), { "no surface" });
    expect_refused(grid({ { 2, 2, 1 }, 1, { 1, -1, 1, -1 } }), { "2 x 2 x 1", "two at least" });
    expect_refused(grid({ { 2, 2, 2 }, 2, std::vector<float>(16, 1.f) }), { "one channel" });
    expect_refused(grid({ { 2, 2, 2 }, 1, std::vector<float>(3, 1.f) }), { "grid.vol", "early" });
    expect_refused(voxel({ -1, 1, 1, 1, 1, 1, 1, 1 }, "<emitter type='area'/>"), { "emit" });
    expect_refused("<shape type='sdfgrid'/>", { "filename" });
}

} // namespace umbel
