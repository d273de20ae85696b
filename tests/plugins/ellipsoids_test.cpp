// tests/plugins/ellipsoids_test.cpp: clouds of ellipsoids, and of shells around them: where rays enter, files, attributes, messages.
#include "core/image.h"
#include "core/quaternion.h"
#include "render/ellipsoid_shape.h"
#include "support/ellipsoid_files.h"
#include "support/mesh_files.h"
#include "support/surface.h"
#include <random>

namespace umbel {
using namespace test;

class EllipsoidClouds : public MeshFileTest {
protected:
    std::string cloud(const std::string &type, const std::string &ply,
                      const std::string &more = "") {
        return fmt::format("<shape type='{}'><string name='filename' value='{}'/>{}</shape>", type,
                           write("cloud.ply", ply), more);
    }
    /// Vertices with what ellipsoids take; rows of x y z, logarithms of radii, and a rotation with its real part first.
    static std::string plain(const std::string &rows, size_t count, const char *more = "") {
        std::string out = fmt::format("ply\nformat ascii 1.0\nelement vertex {}\n", count);
        for (const char *name :
             { "x", "y", "z", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3" })
            out += fmt::format("property float {}\n", name);
        return out + more + "end_header\n" + rows;
    }
    static std::shared_ptr<const Image> table(size_t columns, const std::vector<double> &values) {
        auto image = std::make_shared<Image>(columns, values.size() / columns,
                                             std::vector<std::string>{ "Y" }, Component::F64);
        for (size_t i = 0; i < values.size(); ++i)
            image->set(i % columns, i / columns, 0, values[i]);
        return image;
    }
    static SurfaceInteraction hit_of(uint32_t prim) {
        SurfaceInteraction si;
        si.prim = UInt32(prim);
        return si;
    }
    static std::vector<double> attribute(const Shape &shape, const std::string &name,
                                         uint32_t prim) {
        std::vector<double> out;
        for (const Float &v : shape.eval_attribute_x(name, hit_of(prim), true))
            out.push_back(read_floats(v)[0]);
        return out;
    }
    static constexpr const char *Unit = "<float name='extent' value='1'/>";
};

constexpr const char *Variants[] = { "interp_rgb_double", "llvm_rgb_double", "llvm_rgb",
                                     "interp_rgb" };

TEST_F(EllipsoidClouds, AreEnteredWhereTheirEquationSays) {
    // Radii 2, 1 and 0.5, turned by 90 degrees around z: 2 is along y
    std::string rows =
        fmt::format("1 2 3 {} 0 {} .70710678 0 0 .70710678\n", std::log(2.), std::log(.5));
    for (const char *name : Variants) {
        VariantScope scope(find_variant(name));
        double tolerance = variant().double_precision ? 1e-6 : 1e-5; // the file's digits
        std::string body = cloud("ellipsoids", plain(rows, 1), Unit);
        SurfacePoint x = seen_along(body, { 6, 2, 3 }, { -1, 0, 0 }),
                     y = seen_along(body, { 1, 7, 3 }, { 0, -2, 0 }),
                     z = seen_along(body, { 1, 2, 9 }, { 0, 0, -1 });
        EXPECT_NEAR(x.t, 4, tolerance) << name;
        EXPECT_NEAR(y.t, 1.5, tolerance) << name;
        EXPECT_NEAR(z.t, 5.5, tolerance) << name;
        expect_vector(x.n, { 1, 0, 0 }, 1e-5);
        // Off the axis: at x = 1.6, y^2 / 4 = 1 - 0.36
        SurfacePoint side = seen_along(body, { 1.6, 7, 3 }, { 0, -1, 0 });
        EXPECT_NEAR(side.t, 7 - 2 - 1.6, tolerance) << name;
        double length = std::hypot(0.6, 1.6 / 4);
        expect_vector(side.n, { 0.6 / length, 0.4 / length, 0 }, 1e-5);
        EXPECT_FALSE(seen_along(body, { 1, 2, 3 }, { 1, 0, 0 }).is_hit) << name << " from inside";
        // What counts is `extent` times as large
        EXPECT_NEAR(seen_along(cloud("ellipsoids", plain(rows, 1)), { 16, 2, 3 }, { -1, 0, 0 }).t,
                    12, tolerance);
    }
}

// In front of a shell there is nothing of the ellipsoid, if it is around it; and it is not far from it.
TEST_F(EllipsoidClouds, ShellsAreAroundEllipsoids) {
    std::string rows = "0 0 0 -.5 -1 -.7 .9 .1 -.2 .3\n.3 .5 -.2 -1 -.8 -1.2 .2 .5 .1 -.4\n";
    for (const char *name : { "llvm_rgb_double", "llvm_rgb" }) {
        VariantScope scope(find_variant(name));
        for (const char *shell : { "ico_sphere", "uv_sphere", "box" }) {
            auto distances = [&](const std::string &body) {
                Ref<Scene> scene = scene_from(scene_xml(body, 4, 1));
                const size_t n = 2000;
                Ray ray{ Vector3(make(uniform_numbers(1, n)) - 0.5,
                                 make(uniform_numbers(2, n)) - 0.5, Float(4)),
                         normalize(Vector3(Float(0.1), Float(-0.05), Float(-1))),
                         Float(std::numeric_limits<double>::infinity()),
                         Float(0),
                         {} };
                return read_floats(scene->ray_intersect(ray, true).t);
            };
            std::vector<double> inner = distances(cloud("ellipsoids", plain(rows, 2), Unit)),
                                outer = distances(cloud("ellipsoidsmesh", plain(rows, 2),
                                                        std::string(Unit) +
                                                            "<string name='shell' value='" + shell +
                                                            "'/>"));
            size_t hits = 0, wrong = 0;
            // Centroids of triangles touch the ellipsoid, as in Mitsuba; where triangles are not regular, other points lie inside
            double slack = std::string(shell) == "ico_sphere" ? 1e-4 : 0.2;
            for (size_t i = 0; i < inner.size(); ++i) {
                hits += std::isfinite(inner[i]);
                wrong += std::isfinite(inner[i]) &&
                         !(outer[i] <= inner[i] + slack && outer[i] > inner[i] - 1.5);
            }
            EXPECT_GT(hits, 500u);
            EXPECT_EQ(wrong, 0u) << name << ", " << shell;
        }
    }
}

TEST_F(EllipsoidClouds, AMeshMayBeTheShell) {
    VariantScope scope(find_variant("llvm_rgb"));
    // A cube of half the size is made as large as one that is not
    std::string small = "<shape name='shell' type='cube'><transform name='to_world'><scale "
                        "value='.5'/></transform></shape>";
    SurfacePoint box = seen_along(cloud("ellipsoidsmesh", plain("0 0 0 0 0 0 1 0 0 0\n", 1),
                                        std::string(Unit) + "<string name='shell' value='box'/>"),
                                  { 0.1, 0.2, 5 }, { 0, 0, -1 }),
                 mesh = seen_along(
                     cloud("ellipsoidsmesh", plain("0 0 0 0 0 0 1 0 0 0\n", 1), Unit + small),
                     { 0.1, 0.2, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(box.t, mesh.t, 1e-5);
    expect_vector(mesh.n, { 0, 0, 1 }, 1e-6);
    EXPECT_NEAR(5 - box.t, 1 / std::sqrt(11.) * 3, 1e-5) << "centroids on the unit sphere";
    expect_refused(cloud("ellipsoidsmesh", plain("0 0 0 0 0 0 1 0 0 0\n", 1),
                         "<shape name='shell' type='sphere'/>"),
                   { "shell", "mesh" });
}

TEST_F(EllipsoidClouds, FilesOfRadianceFieldsHaveHarmonicsAndOpacities) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    Ref<Shape> shape = load("ellipsoids", write("gaussians.ply", gaussians_ply()));
    // Channel by channel in the file, coefficient by coefficient here
    std::vector<double> want{ .1, .2, .3, 1, 4, 7, 2, 5, 8, 3, 6, 9 },
        got = attribute(*shape, "sh_coeffs", 0);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-6) << i;
    EXPECT_NEAR(attribute(*shape, "opacities", 1)[0], 1 / (1 + std::exp(1.)), 1e-6);
    EXPECT_NEAR(attribute(*shape, "scale", 2)[1], std::exp(-1.8), 1e-6);
    EXPECT_NEAR(attribute(*shape, "center", 1)[0], -0.5, 1e-6);
    EXPECT_NEAR(attribute(*shape, "quaternion", 1)[3], 0.5, 1e-6);
    EXPECT_EQ(attribute(*shape, "ellipsoid", 1).size(), 10u);
    EXPECT_EQ(shape->primitive_count(), 3u);

    Ref<Shape> other = load("ellipsoids", write("other.ply", ellipsoids_ply()));
    EXPECT_NEAR(attribute(*other, "heat", 1)[1], 0.7, 1e-6);
    EXPECT_NEAR(attribute(*other, "tag", 1)[0], 6, 1e-6);
    EXPECT_TRUE(other->has_attribute("heat"));
    EXPECT_FALSE(other->has_attribute("sh_coeffs"));
}

TEST_F(EllipsoidClouds, OpacitiesMayBoundTheExtent) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    auto shape = make_object<Shape>(Properties("shape", "ellipsoids")
                                        .set("filename", write("g.ply", gaussians_ply()))
                                        .set("extent_adaptive_clamping", true));
    double o = 1 / (1 + std::exp(-1.5));
    EXPECT_NEAR(attribute(*shape, "extent", 0)[0], std::sqrt(2 * std::log(o / 0.01)), 1e-6);
    expect_refused(cloud("ellipsoids", ellipsoids_ply(),
                         "<boolean name='extent_adaptive_clamping' value='true'/>"),
                   { "opacities" });
}

// Arrays of scripts; what is left of them are attributes.
TEST_F(EllipsoidClouds, MayComeAsArrays) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    auto parts = make_object<Shape>(Properties("shape", "ellipsoids")
                                        .set("centers", table(3, { 1, 2, 3, 4, 5, 6 }))
                                        .set("scales", table(3, { 1, 2, 1, 3, 1, 1 }))
                                        .set("quaternions", table(4, { 0, 0, 0, 1, 0, 0, 1, 0 }))
                                        .set("weight", table(2, { 1, 2, 3, 4 })));
    auto data = make_object<Shape>(Properties("shape", "ellipsoidsmesh")
                                       .set("data", table(20, { 1, 2, 3, 1, 2, 1, 0, 0, 0, 1,
                                                                4, 5, 6, 3, 1, 1, 0, 0, 1, 0 })));
    for (uint32_t i = 0; i < 2; ++i)
        EXPECT_EQ(attribute(*parts, "ellipsoid", i), attribute(*data, "ellipsoid", i));
    EXPECT_EQ(attribute(*parts, "weight", 1), (std::vector<double>{ 3, 4 }));

    auto refused = [&](Properties p, const char *what) {
        std::string message = user_error([&] { make_object<Shape>(std::move(p)); });
        EXPECT_NE(message.find(what), std::string::npos) << message;
    };
    Properties none("shape", "ellipsoids");
    refused(none, "give either a filename");
    refused(Properties(none).set("data", table(9, std::vector<double>(9))), "10 an ellipsoid");
    refused(Properties(none).set("centers", table(3, { 1, 2, 3 })), "N x 4");
    refused(Properties(none)
                .set("data", table(10, { 0, 0, 0, 1, 1, 1, 0, 0, 0, 1 }))
                .set("weight", table(1, { 1, 2 })),
            "\"weight\" has 2 rows");
    refused(Properties(none).set("data", table(10, { 0, 0, 0, 1, -1, 1, 0, 0, 0, 1 })),
            "radii positive");
    refused(Properties(none)
                .set("data", table(10, { 0, 0, 0, 1, 1, 1, 0, 0, 0, 1 }))
                .set("scale_factor", 2.0),
            "scale_factor");
}

// Moved, turned and scaled as a whole, an ellipsoid is where its points go.
TEST_F(EllipsoidClouds, TransformsMoveAll) {
    VariantScope scope(find_variant("llvm_rgb_double"));
    std::string file = plain(".2 .1 0 -.5 -1 -.7 .9 .1 -.2 .3\n", 1),
                placed = "<transform name='to_world'><rotate x='1' y='2' z='-1' angle='70'/><scale "
                         "value='1.5'/><translate x='.3' y='-.2'/></transform>";
    auto shape = scene_from(scene_xml(cloud("ellipsoids", file, Unit + placed), 4, 1));
    auto still = scene_from(scene_xml(cloud("ellipsoids", file, Unit), 4, 1));
    Properties root = parse_scene_string("<scene version='3.0.0'><shape type='sphere'>" + placed +
                                         "</shape></scene>");
    TransformData m = root.objects("shape")[0]->get<TransformData>("to_world");
    auto along = [&](const Ref<Scene> &scene, const std::array<double, 3> &o,
                     const std::array<double, 3> &d) {
        Ray ray{ Vector3(Float(o[0]), Float(o[1]), Float(o[2])),
                 Vector3(Float(d[0]), Float(d[1]), Float(d[2])),
                 Float(std::numeric_limits<double>::infinity()),
                 Float(0),
                 {} };
        return read_floats(scene->ray_intersect(ray, true).t)[0];
    };
    std::array<double, 3> o{ 0.3, 0.2, 4 }, d{ -0.02, 0.01, -1 };
    double here = along(still, o, d), there = along(shape, m.apply_point(o), m.apply_vector(d));
    EXPECT_LT(here, 5);
    EXPECT_NEAR(here, there, 1e-6);
}

TEST_F(EllipsoidClouds, SayWhatIsWrong) {
    VariantScope scope(find_variant("llvm_rgb"));
    expect_refused(cloud("ellipsoids", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float "
                                       "x\nend_header\n1\n"),
                   { "cloud.ply", "no \"y\"" });
    expect_refused(cloud("ellipsoids", "ply\nformat ascii 1.0\nelement face 1\nproperty float "
                                       "x\nend_header\n1\n"),
                   { "no vertices" });
    expect_refused(cloud("ellipsoids", plain("0 0 0 0\n", 1)), { "cloud.ply", "early" });
    expect_refused(cloud("ellipsoids", plain("", 1000000)), { "do not fit" });
    expect_refused(cloud("ellipsoids", plain("0 0 0 0 0 0 1 0 0 0\n", 1), "<emitter type='area'/>"),
                   { "emit" });
}

} // namespace umbel
