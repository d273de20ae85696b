// tests/plugins/wireframe_test.cpp: edges of triangles.
#include "render/texture.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendWireframe : public VariantTest {
protected:
    static Properties texture() {
        return Properties("texture", "wireframe")
            .set("interior_color", 0.75)
            .set("edge_color", 0.25);
    }
    // From above.
    static double seen(const Properties &texture, double x, double y,
                       const std::string &shape = "<shape type='rectangle'/>") {
        Ref<Scene> scene = scene_from(scene_xml(shape, 4, 1));
        Ray ray{ { opaque_float(x), opaque_float(y), Float(3) },
                 { Float(0), Float(0), Float(-1) },
                 Float(std::numeric_limits<double>::infinity()),
                 Float(0),
                 {} };
        auto t = make_object<Texture>(texture);
        return read_floats(t->eval_1(scene->ray_intersect(ray, true), true))[0];
    }
};
UMBEL_VARIANTS(BackendWireframe, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

// A rectangle from -1 to 1 has two triangles that share a diagonal.
TEST_P(BackendWireframe, ShowsEdges) {
    Properties p = texture().set("line_width", 0.2).set("step_width", 0.0);
    for (auto [x, y, edge] : { std::tuple(-0.9, 0.1, true), std::tuple(0.1, 0.85, true),
                               std::tuple(0.1, 0.75, false), std::tuple(0.05, -0.05, true) })
        EXPECT_EQ(seen(p, x, y), edge ? 0.25 : 0.75) << x << ", " << y;
    EXPECT_EQ(seen(p, 0.75, 0.0), 0.75);
    EXPECT_EQ(seen(p, 0.0, -0.75), 0.75);
}

TEST_P(BackendWireframe, GoesOverSmoothly) {
    Properties p = texture().set("line_width", 0.2); // from 0.1 to 0.2
    EXPECT_NEAR(seen(p, 0.95, 0.3), 0.25, 1e-6);
    EXPECT_NEAR(seen(p, 0.85, 0.3), 0.5, 1e-5);
    double t = 0.25, a = t * t * (3 - 2 * t);
    EXPECT_NEAR(seen(p, 0.875, 0.3), 0.25 + 0.5 * a, 1e-5);
}

// Two edges of 2, one of sqrt(8).
TEST_P(BackendWireframe, FindsAWidth) {
    double width = 0.1 * (4 + std::sqrt(8)) / 3;
    Properties p = texture().set("step_width", 0.0);
    EXPECT_EQ(seen(p, 1 - 0.99 * width, 0.2), 0.25);
    EXPECT_EQ(seen(p, 1 - 1.01 * width, 0.2), 0.75);
    EXPECT_EQ(seen(p, 1 - 0.51 * width, 0.1,
                   "<shape type='rectangle'><transform name='to_world'><scale "
                   "value='.5'/><translate x='.5'/></transform></shape>"),
              0.75)
        << "of each mesh";
}

TEST_P(BackendWireframe, HasNoEdgesOnOtherShapes) {
    EXPECT_EQ(seen(texture(), 0.1, 0.1, "<shape type='sphere'/>"), 0.75);
}

} // namespace umbel
