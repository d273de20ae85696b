// tests/plugins/bsplinecurve_test.cpp: tubes along splines.
#include "support/mesh_files.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class BSplineCurves : public MeshFileTest {
protected:
    std::string curve(const std::string &points) {
        return fmt::format(
            "<shape type='bsplinecurve'><string name='filename' value='{}'/></shape>",
            write("curve.txt", points));
    }
};

TEST_F(BSplineCurves, AreCylindersWherePointsAreOnALine) {
    for (const char *name : { "interp_rgb_double", "llvm_rgb" }) {
        VariantScope scope(find_variant(name));
        double tolerance = variant().double_precision ? 1e-9 : 1e-4;
        std::string tube = curve("-3 0 0 .5\n-1 0 0 .5\n1 0 0 .5\n3 0 0 .5\n"); // from -1 to 1
        SurfacePoint side = seen_along(tube, { .5, 0, 5 }, { 0, 0, -1 });
        EXPECT_NEAR(side.t, 4.5, tolerance) << name;
        EXPECT_NEAR(side.uv[1], 0.75, tolerance) << name;
        expect_vector(side.n, { 0, 0, 1 }, tolerance);
        EXPECT_FALSE(seen_along(tube, { 1.1, 0, 5 }, { 0, 0, -1 }).is_hit) << "beyond its end";
        EXPECT_FALSE(seen_along(tube, { 0, 0, 0 }, { 0, 0, 1 }).is_hit) << "from inside";
    }
}

// In single precision by formulas of our own, as on GPUs: thin and far away, curves were once lost.
TEST_F(BSplineCurves, AreMetExactlyFromFarAway) {
    setenv("UMBEL_ACCELERATOR", "bvh", 1);
    VariantScope scope(find_variant("llvm_rgb"));
    std::string tube = curve("97 0 0 .01\n99 0 0 .01\n101 0 0 .01\n103 0 0 .01\n");
    for (double y : { 0.0, 0.005, 0.009 }) {
        SurfacePoint side = seen_along(tube, { 100.3, y, 50 }, { 0, 0, -1 });
        EXPECT_NEAR(side.t, 50 - std::sqrt(1e-4 - y * y), 1e-5) << y;
        EXPECT_NEAR(side.uv[1], 0.65, 1e-5) << y;
    }
    unsetenv("UMBEL_ACCELERATOR");
}

TEST_F(BSplineCurves, LookTheSameInBothPrecisions) {
    std::string body = curve(
        "-1.5 -1 0 .2\n-.7 .8 .4 .15\n.1 -.6 0 .25\n.6 .7 -.3 .1\n1.2 -.4 0 .2\n1.5 1 0 .1\n");
    auto picture = [&](const char *name, const char *integrator) {
        VariantScope scope(find_variant(name));
        return render_image(*scene_from(scene_xml(body, 48, 1, integrator)), { .spp = 1 });
    };
    Image a = picture("llvm_rgb", "depth"), b = picture("llvm_rgb_double", "depth");
    int differ = 0, seen = 0;
    for (size_t y = 0; y < 48; ++y)
        for (size_t x = 0; x < 48; ++x) {
            differ += std::abs(a.get(x, y, 0) - b.get(x, y, 0)) > 2e-3;
            seen += b.get(x, y, 0) > 0;
        }
    EXPECT_GT(seen, 200);
    EXPECT_LE(differ, seen / 50) << "at outlines, of " << seen;
}

TEST_F(BSplineCurves, NeedFourPoints) {
    expect_refused(curve("0 0 0 1\n1 0 0 1\n2 0 0 1\n"), { "curve.txt:3", "4 at least" });
}

} // namespace umbel
