// tests/plugins/linearcurve_test.cpp: tubes along straight lines. In double precision they are met by formulas of Umbel's own,
// in single precision by Embree.
#include "support/mesh_files.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class LinearCurves : public MeshFileTest {
protected:
    std::string curve(const std::string &points) {
        return fmt::format("<shape type='linearcurve'><string name='filename' value='{}'/></shape>",
                           write("curve.txt", points));
    }
};

TEST_F(LinearCurves, AreConesBetweenSpheres) {
    for (const char *name : { "interp_rgb_double", "llvm_rgb" }) {
        VariantScope scope(find_variant(name));
        double tolerance = variant().double_precision ? 1e-9 : 2e-5;
        std::string tube = curve("-2 0 0 .5\n2 0 0 .5\n");
        SurfacePoint side = seen_along(tube, { 1, 0, 5 }, { 0, 0, -1 });
        EXPECT_NEAR(side.t, 4.5, tolerance) << name;
        EXPECT_NEAR(side.uv[1], 0.75, tolerance) << name;
        expect_vector(side.n, { 0, 0, 1 }, tolerance);
        // Onto its end, not quite along the axis, where Embree finds nothing
        double a = 1.0005, b = 2.997, c = 9.09 - .25;
        EXPECT_NEAR(seen_along(tube, { 5, .3, 0 }, { -1, .01, .02 }).t,
                    (b - std::sqrt(b * b - a * c)) / a, tolerance)
            << name;
        EXPECT_FALSE(seen_along(tube, { 0, 0, 0 }, { 0, 0, 1 }).is_hit) << "from inside";
        EXPECT_FALSE(seen_along(tube, { 1, 0.51, 5 }, { 0, 0, -1 }).is_hit);

        // A cone that touches spheres of radius 1 and 2, five apart: its sine is 1 / 5
        std::string cone = curve("0 0 0 1\n5 0 0 2\n");
        SurfacePoint on = seen_along(cone, { 2.5, 0, 9 }, { 0, 0, -2 });
        double cosine = std::sqrt(1 - 1 / 25.0);
        EXPECT_NEAR(9 - 2 * on.t, 1.5 / cosine, tolerance) << name;
        expect_vector(on.n, { -0.2, 0, cosine }, tolerance);
    }
}

TEST_F(LinearCurves, HaveOneCoordinateAlongAllSegments) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string three = curve("-2 0 0 .1\n0 0 0 .1\n2 0 0 .1\n\n-2 3 0 .1\n2 3 0 .1\n");
    EXPECT_NEAR(seen_along(three, { -1, 0, 5 }, { 0, 0, -1 }).uv[1], 0.5 / 3, 1e-5);
    EXPECT_NEAR(seen_along(three, { 1, 0, 5 }, { 0, 0, -1 }).uv[1], 1.5 / 3, 1e-5);
    EXPECT_NEAR(seen_along(three, { 1, 3, 5 }, { 0, 0, -1 }).uv[1], 2.75 / 3, 1e-5);
}

// Trees of Embree's curves, of its own and of instances, find what the formulas find.
TEST_F(LinearCurves, LookTheSameInBothPrecisions) {
    std::string body =
        "<shape type='shapegroup' id='g'><shape type='cube'><transform name='to_world'>"
        "<scale value='.2'/></transform></shape>" +
        curve("-.5 -1 0 .1\n0 0 .3 .2\n.5 1 0 .05\n") +
        "</shape><shape type='instance'><ref id='g'/></shape><shape type='instance'>"
        "<ref id='g'/><transform name='to_world'><rotate z='1' angle='60'/><translate "
        "x='.7'/></transform></shape><shape type='sphere'><float name='radius' "
        "value='.3'/><point name='center' x='-1' y='.5' z='0'/></shape>" +
        fmt::format("<shape type='linearcurve'><string name='filename' value='{}'/>"
                    "</shape>",
                    write("second.txt", "-1 -1 0 .1\n1 -1 0 .2\n"));
    auto depths = [&](const char *name) {
        VariantScope scope(find_variant(name));
        return render_image(*scene_from(scene_xml(body, 32, 1, "depth")), { .spp = 1 });
    };
    Image a = depths("llvm_rgb"), b = depths("llvm_rgb_double");
    int differ = 0, seen = 0;
    for (size_t y = 0; y < 32; ++y)
        for (size_t x = 0; x < 32; ++x) {
            differ += std::abs(a.get(x, y, 0) - b.get(x, y, 0)) > 1e-3;
            seen += b.get(x, y, 0) > 0;
        }
    EXPECT_GT(seen, 200);
    EXPECT_LE(differ, 8) << "at outlines";
}

TEST_F(LinearCurves, SayWhatIsWrong) {
    expect_refused(curve("0 0 0 1\n"), { "curve.txt:1", "2 at least" });
    expect_refused(curve("0 0 0 1\n1 2 3\n"), { "curve.txt:2", "4" });
    expect_refused(curve("0 0 0 1\n1 2 3 -1\n"), { "curve.txt:2", "radius" });
    expect_refused(curve("0 0 0 1\n1 2 nought 1\n"), { "curve.txt:2" });
    expect_refused(curve("\n"), { "no control points" });
}

} // namespace umbel
