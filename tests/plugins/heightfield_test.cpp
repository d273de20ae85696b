// tests/plugins/heightfield_test.cpp: images as landscapes.
#include "core/image_io.h"
#include "support/mesh_files.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

class Heightfields : public MeshFileTest {
protected:
    // A ramp from 0 to 1 along x, and one row more that is 3 higher.
    std::string ramp() {
        Image image(5, 3, { "Y" }, Component::F32);
        for (size_t y = 0; y < 3; ++y)
            for (size_t x = 0; x < 5; ++x)
                image.set(x, y, 0, double(x) / 4 + (y == 2 ? 3 : 0));
        write_image(folder / "ramp.exr", image);
        return (folder / "ramp.exr").string();
    }
    std::string field(const std::string &more) {
        return fmt::format(
            "<shape type='heightfield'><string name='filename' value='{}'/>{}</shape>", ramp(),
            more);
    }
};

TEST_F(Heightfields, StandOnTheSquareAroundTheOrigin) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint p = seen_along(field(""), { 0.5, -0.5, 9 }, { 0, 0, -1 });
    EXPECT_NEAR(9 - p.t, 0.75, 1e-9);
    EXPECT_NEAR(p.uv[0], 0.75, 1e-9);
    EXPECT_NEAR(p.uv[1], 0.25, 1e-9);
    expect_vector(p.n, { -1 / std::sqrt(5.0), 0, 2 / std::sqrt(5.0) });
    EXPECT_FALSE(seen_along(field(""), { 1.01, 0, 9 }, { 0, 0, -1 }).is_hit);
    // The last row is at y = 1
    EXPECT_NEAR(
        9 - seen_along(field("<float name='scale' value='2'/>"), { 0, 0.999999, 9 }, { 0, 0, -1 })
                .t,
        7, 1e-4);
}

TEST_F(Heightfields, HaveSmoothNormalsUnlessTold) {
    auto normals = [&](bool smooth) {
        auto s = make_object<Shape>(Properties("shape", "heightfield")
                                        .set("filename", ramp())
                                        .set("shading_normals", smooth));
        return mesh(s).normals.size();
    };
    EXPECT_EQ(normals(true), 45u);
    EXPECT_EQ(normals(false), 0u);
}

TEST_F(Heightfields, TakeTextures) {
    VariantScope scope(find_variant("interp_rgb_double"));
    std::string checks = "<shape type='heightfield'><integer name='width' value='8'/><integer "
                         "name='height' value='8'/><texture type='checkerboard'><float "
                         "name='color0' value='1'/><float name='color1' value='2'/></texture>"
                         "</shape>";
    EXPECT_NEAR(9 - seen_along(checks, { -0.9, -0.9, 9 }, { 0, 0, -1 }).t, 1, 1e-6);
    EXPECT_NEAR(9 - seen_along(checks, { 0.9, -0.9, 9 }, { 0, 0, -1 }).t, 2, 1e-6);
    expect_refused("<shape type='heightfield'><texture type='checkerboard'/></shape>", { "width" });
    expect_refused("<shape type='heightfield'/>", { "filename or a texture" });
}

} // namespace umbel
