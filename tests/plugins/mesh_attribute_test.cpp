// tests/plugins/mesh_attribute_test.cpp: how what vertices carry changes along a surface.
#include "support/scenes.h"
#include <fstream>

namespace umbel {
using namespace test;

class BackendMeshAttributes : public VariantTest {
protected:
    BackendMeshAttributes() {
        file = std::filesystem::temp_directory_path() /
               fmt::format("umbel-attribute-{}-{}.ply", getpid(), GetParam());
    }
    ~BackendMeshAttributes() override { std::filesystem::remove(file); }

    // A tilted square of two triangles, with colours at its corners and, if wanted, texture coordinates.
    std::string square(bool has_uv, bool flip) {
        std::ofstream out(file);
        out << "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
               "property float z\n"
            << (has_uv ? "property float u\nproperty float v\n" : "")
            << "property float r\nproperty float g\nproperty float b\nelement face 2\n"
               "property list uchar int vertex_indices\nend_header\n";
        const char *corners[][3] = { { "-1 -1 .2", " .1 .2", " .2 .4 .6\n" },
                                     { "1 -1 0", " .9 .1", " .6 .1 .2\n" },
                                     { "1 1 -.3", " 1.2 1", " .5 .9 .5\n" },
                                     { "-1 1 .1", " 0 .8", " .1 .3 .9\n" } };
        for (auto &c : corners)
            out << c[0] << (has_uv ? c[1] : "") << c[2];
        out << "3 0 1 2\n3 0 2 3\n";
        return fmt::format("<shape type='ply'><string name='filename' value='{}'/>"
                           "<boolean name='flip_normals' value='{}'/></shape>",
                           file.string(), flip);
    }
    // Between places that neighbouring rays meet, the value changes as its gradient says: it is linear.
    static void expect_gradient(const std::string &body, const std::string &name) {
        Ref<Scene> scene = scene_from(scene_xml(body, 8, 1));
        Ref<Texture> texture =
            make_object<Texture>(Properties("texture", "mesh_attribute").set("name", name));
        const size_t n = 500;
        Float x = make(uniform_numbers(1, n)) * 1.6 - 0.8,
              y = make(uniform_numbers(2, n)) * 1.6 - 0.8;
        auto meet = [&](double dx, double dy) {
            Float infinity(std::numeric_limits<double>::infinity());
            Ray ray{ { x + dx, y + dy, Float(5) },
                     { Float(0), Float(0), Float(-1) },
                     infinity,
                     Float(0),
                     {} };
            return scene->ray_intersect(ray, true);
        };
        SurfaceInteraction a = meet(0, 0);
        Vector2 gradient = texture->eval_1_grad(a, true);
        double largest = 0;
        for (auto [dx, dy] : { std::pair(1e-3, 0.0), std::pair(0.0, 1e-3) }) {
            SurfaceInteraction b = meet(dx, dy);
            Mask same = a.is_valid() & b.is_valid() & (a.prim == b.prim);
            Float change = texture->eval_1(b, same) - texture->eval_1(a, same);
            std::vector<double> want = read_floats(select(same, change, Float(0))),
                                got =
                                    read_floats(select(same, dot(gradient, b.uv - a.uv), Float(0)));
            for (size_t i = 0; i < n; ++i) {
                ASSERT_NEAR(got[i], want[i], 1e-12) << name << " of " << body;
                largest = std::max(largest, std::abs(want[i]));
            }
        }
        EXPECT_EQ(largest > 1e-5, name == "vertex_color");
    }

    std::filesystem::path file;
};
UMBEL_VARIANTS(BackendMeshAttributes, "llvm_rgb_double", "interp_rgb_double")

TEST_P(BackendMeshAttributes, HaveGradients) {
    for (bool has_uv : { true, false })
        for (bool flip : { false, true })
            expect_gradient(square(has_uv, flip), "vertex_color");
}
TEST_P(BackendMeshAttributes, HaveGradientsInInstances) {
    expect_gradient("<shape type='shapegroup' id='g'>" + square(true, false) +
                        "</shape><shape type='instance'><ref id='g'/><transform name='to_world'>"
                        "<rotate z='1' angle='30'/><rotate x='1' angle='20'/><scale value='1.3'/>"
                        "</transform></shape>",
                    "vertex_color");
}

TEST_P(BackendMeshAttributes, AreMultipliedByAFactor) {
    auto image = [&](const char *how) {
        std::string shape = square(false, false);
        shape.insert(shape.rfind("</shape>"),
                     fmt::format("<bsdf type='diffuse'><texture type='mesh_attribute' "
                                 "name='reflectance'><string name='name' value='vertex_color'/>{}"
                                 "</texture></bsdf>",
                                 how));
        return render_image(*scene_from(scene_xml(shape + "<emitter type='constant'/>", 8, 4)));
    };
    Image half = image("<float name='scale' value='.5'/>"); // to the bit, as a half is
    EXPECT_TRUE(same_pixels(half, image("<float name='factor' value='.5'/>")));
    EXPECT_TRUE(same_pixels(half, image("<rgb name='factor' value='.5,.5,.5'/>")));
    EXPECT_FALSE(same_pixels(half, image("<rgb name='factor' value='.5,.5,.25'/>")));
}

TEST_P(BackendMeshAttributes, AreCalledVertexcolorsWhereTheyAreColours) {
    auto image = [&](const char *texture) {
        std::string shape = square(false, false);
        shape.insert(shape.rfind("</shape>"),
                     fmt::format("<bsdf type='diffuse'>{}</bsdf>", texture));
        return render_image(*scene_from(scene_xml(shape + "<emitter type='constant'/>", 8, 4)));
    };
    EXPECT_TRUE(
        same_pixels(image("<texture type='vertexcolors' name='reflectance'/>"),
                    image("<texture type='mesh_attribute' name='reflectance'><string name='name' "
                          "value='vertex_color'/></texture>")));
}

} // namespace umbel
