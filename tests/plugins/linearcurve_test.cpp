// tests/plugins/linearcurve_test.cpp: tubes along straight lines. In double precision and on GPUs they are met by formulas of
// Umbel's own, in single precision on CPUs by Embree.
#include "support/mesh_files.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

/// Whether rays are traced by recorded code in single precision, too, as on GPUs.
struct OwnTree {
    explicit OwnTree(bool on) : is_on(on) { setenv("UMBEL_ACCELERATOR", on ? "bvh" : "", 1); }
    ~OwnTree() { unsetenv("UMBEL_ACCELERATOR"); }
    bool is_on;
};

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

// Digits of long ways once ate those of thin hairs: of a tube a thousandth of its distance wide, one point in four was off.
TEST_F(LinearCurves, AreMetExactlyFromFarAway) {
    OwnTree in_use(true); // Embree has fewer digits
    VariantScope scope(find_variant("llvm_rgb"));
    std::string tube = curve("-2 0 0 .01\n2 0 0 .01\n");
    for (double y : { 0.0, 0.005, 0.009, -0.0099 }) {
        double height = std::sqrt(1e-4 - y * y);
        SurfacePoint side = seen_along(tube, { .3, y, 10 }, { 0, 0, -1 });
        EXPECT_NEAR(side.t, 10 - height, 2e-6) << y;
        expect_vector(side.n, { 0, y / 0.01, height / 0.01 }, 2e-4);
    }
    EXPECT_FALSE(seen_along(tube, { .3, .01001, 10 }, { 0, 0, -1 }).is_hit);
    // Its end, a sphere
    EXPECT_NEAR(seen_along(tube, { 12, .006, 0 }, { -1, 0, 0 }).t, 10 - .008, 2e-6);
}

// Segments overlap at joints. What of one is inside of the next is not there: light that is in a hair leaves it at its surface.
TEST_F(LinearCurves, HaveNoWallsAtJoints) {
    for (const char *name : { "llvm_rgb", "own tree", "interp_rgb_double" }) {
        OwnTree in_use(name == std::string("own tree"));
        VariantScope scope(find_variant(in_use.is_on ? "llvm_rgb" : name));
        std::string bent = curve("-2 0 0 .5\n0 0 0 .5\n.1 .1 0 .5\n2 2 0 .5\n");
        EXPECT_FALSE(seen_along(bent, { -1, 0, .1 }, { 1, 0.1, 0 }).is_hit) << name;
        EXPECT_FALSE(seen_along(bent, { 1, 1, .1 }, { -1, -1.1, 0.1 }).is_hit) << name;
        SurfacePoint in = seen_along(bent, { 1, -2, 0 }, { 0, 1, 0 });
        EXPECT_NEAR(in.t, 3 - std::sqrt(.5), 1e-5) << name;
        // Out of the first, through the air, and into the last
        SurfacePoint again = seen_along(bent, { -1, 0.3, 0 }, { 1, .7, 0 });
        ASSERT_TRUE(again.is_hit) << name;
        EXPECT_NEAR(again.t, (1.3 - std::sqrt(.5)) / .3, 1e-5) << name;
        // Joints are whole from outside
        EXPECT_NEAR(seen_along(bent, { .05, -.05, 9 }, { 0, 0, -1 }).t, 8.5, 0.02) << name;
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
