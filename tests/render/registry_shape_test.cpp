// tests/render/registry_shape_test.cpp: what holds for every shape that there is, as a surface; as lights they are in
// registry_endpoint_test.cpp. See support/registry.h.
#include "render/ellipsoid_shape.h"
#include "support/parameter_gradients.h"
#include "support/registry.h"
#include <set>

namespace umbel {
using namespace test;

class BackendSurfaces : public ExampleTest {
protected:
    BackendSurfaces() : ExampleTest("interp_ad_rgb_double") {}
};
UMBEL_EXAMPLES(BackendSurfaces, "shape")

// Objects are nested by any name: no parameter of a shape may be called what people call their surfaces.
TEST_P(BackendSurfaces, TakesSurfacesByAnyName) {
    const std::set<std::string> made_of_shapes{ "instance", "merge", "shapegroup" };
    if (made_of_shapes.count(GetParam().plugin->name))
        return; // which have surfaces of their own
    for (const char *name : { "bsdf", "material", "mat", "surface", "brdf", "color" }) {
        std::string xml = with_parameter(scene_of(GetParam()),
                                         fmt::format("<bsdf type='twosided' name='{}'><bsdf "
                                                     "type='diffuse'/></bsdf>",
                                                     name));
        EXPECT_NO_THROW(scene_from(xml)) << name;
    }
}

// By vertices and transforms: where rays meet the surface, and its normals, texture coordinates and attributes there.
TEST_P(BackendSurfaces, DerivativesMatchDifferences) {
    const size_t n = 100;
    auto tried = load_example<Shape>(GetParam());
    const Ref<Scene> &scene = tried.scene;
    const Ref<Shape> &shape = tried.object;
    Vector3 d = normalize(Vector3(2, 1, -1)),
            through{ make(uniform_numbers(1, n)) * 0.6 - 0.3,
                     make(uniform_numbers(2, n)) * 0.6 - 0.6, Float(0) };
    Ray ray{
        through - d * Float(5), d, Float(std::numeric_limits<double>::infinity()), Float(0), {}
    };
    std::vector<std::string> names;
    if (auto *mesh = dynamic_cast<Mesh *>(shape.get()))
        for (auto &[name, attribute] : mesh->attributes())
            names.push_back(name);
    if (auto *cloud = dynamic_cast<EllipsoidShape *>(shape.get()))
        names = cloud->attribute_names();
    auto seen = [&] {
        Hit hit = scene->trace(ray, true);
        SurfaceInteraction si = scene->interaction(ray, hit, true, Scene::Follow::Ray);
        std::vector<Float> out{ si.t,    si.p.x,          si.p.y,          si.p.z,
                                si.uv.x, si.uv.y,         si.n.x,          si.n.y,
                                si.n.z,  si.sh_frame.n.x, si.sh_frame.n.y, si.sh_frame.n.z };
        for (const std::string &name : names)
            for (const Float &v : shape->eval_attribute_x(name, si, hit.is_valid()))
                out.push_back(v);
        for (Float &v : out)
            v = select(hit.is_valid(), v, through.x * 0);
        return out;
    };
    expect_parameter_gradients(scene, seen, shape.get());
}

// Whether something is in the way is the same question as where it is, also along rays without end that touch its box only.
TEST_P(BackendSurfaces, IsInTheWayWhereItIsMet) {
    const size_t n = 2000;
    for (const char *name : { "llvm_rgb", "llvm_rgb_double" })
        for (double end : { 4.0, 1e6, std::numeric_limits<double>::infinity() }) {
            VariantScope scope(find_variant(name));
            Ref<Scene> scene = load_example<Shape>(GetParam()).scene;
            Vector3 d = normalize(Vector3(make(uniform_numbers(3, n)) - 0.5,
                                          make(uniform_numbers(4, n)) - 0.5, Float(-1)));
            Vector3 through{ make(uniform_numbers(1, n)) * 3 - 1.5,
                             make(uniform_numbers(2, n)) * 3 - 1.5, Float(0) };
            Ray ray{ through - d * Float(5), d, Float(end), Float(0), {} };
            auto flags = [](const Mask &m) { return read_floats(select(m, Float(1), Float(0))); };
            EXPECT_EQ(flags(scene->ray_test(ray, true)), flags(scene->trace(ray, true).is_valid()))
                << name << ", up to " << end;
        }
}

} // namespace umbel
