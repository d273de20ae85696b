// tests/plugins/rectangle_test.cpp: squares and parallelograms.
#include "core/traverse.h"
#include "support/compare.h"
#include "support/surface.h"

namespace umbel {
using namespace test;

TEST(Rectangle, FillsTheSquareAroundTheOrigin) {
    VariantScope scope(find_variant("interp_rgb_double"));
    SurfacePoint p = seen_along("<shape type='rectangle'/>", { 0.5, -0.9, 5 }, { 0, 0, -1 });
    EXPECT_NEAR(p.t, 5, 1e-12);
    EXPECT_NEAR(p.uv[0], 0.75, 1e-12);
    EXPECT_NEAR(p.uv[1], 0.05, 1e-12);
    expect_vector(p.n, { 0, 0, 1 });
    EXPECT_FALSE(seen_along("<shape type='rectangle'/>", { 1.01, 0, 5 }, { 0, 0, -1 }).is_hit);
    expect_vector(seen_along("<shape type='rectangle'><boolean name='flip_normals' value='true'/>"
                             "</shape>",
                             { 0, 0.1, 5 }, { 0, 0, -1 })
                      .n,
                  { 0, 0, -1 });
}

TEST(Rectangle, HasTheAreaOfAParallelogram) {
    VariantScope scope(find_variant("interp_rgb"));
    TransformData sheared;
    sheared(0, 1) = 1; // y pulls along x
    auto shape = make_object<Shape>(Properties("shape", "rectangle").set("to_world", sheared));
    EXPECT_NEAR(shape->area(), 4, 1e-9);
    EXPECT_EQ(shape->bounds().max, (std::array<double, 3>{ 2, 1, 0 }));
}

// What is the same in all of them exists once, and what few need only where it is needed.
TEST(Rectangle, TakesLittleMemory) {
    EXPECT_LE(sizeof(Mesh), 400u);
    VariantScope scope(find_variant("interp_rgb"));
    auto a = make_object<Shape>(Properties("shape", "rectangle")),
         b = make_object<Shape>(Properties("shape", "rectangle"));
    auto &first = dynamic_cast<const Mesh &>(*a), &second = dynamic_cast<const Mesh &>(*b);
    EXPECT_EQ(&first.uvs.get(), &second.uvs.get());
    EXPECT_EQ(&first.indices.get(), &second.indices.get());
    dynamic_cast<Mesh &>(*a).uvs[0] = 0.5; // from now on its own
    EXPECT_EQ(first.uvs[0], 0.5);
    EXPECT_EQ(second.uvs[0], 0);
    EXPECT_EQ(first.uvs.size(), second.uvs.size());
}

TEST(Rectangle, HasAMaterialInCommonWithOthersUntilItMayBeChanged) {
    VariantScope scope(find_variant("llvm_rgb"));
    std::string xml;
    for (const char *x : { "-1", "1" })
        xml += fmt::format("<shape type='rectangle'><transform name='to_world'><scale value='.9'/>"
                           "<translate x='{}'/></transform></shape>",
                           x);
    auto scene = scene_from(scene_xml(xml + "<emitter type='constant'/>", 8, 4));
    const Ref<Shape> &a = scene->shapes()[0], &b = scene->shapes()[1];
    EXPECT_EQ(a->bsdf(), b->bsdf());
    EXPECT_EQ(scene->bsdfs().objects().size(), 1u);
    Image before = render_image(*scene);

    SceneParameters params(scene);
    EXPECT_NE(a->bsdf(), b->bsdf());
    EXPECT_EQ(scene->bsdfs().objects().size(), 2u); // without being told
    Image again = render_image(*scene);
    for (size_t i = 0; i < 64; ++i)
        EXPECT_EQ(again.get(i % 8, i / 8, 0), before.get(i % 8, i / 8, 0));
    params.assign("rectangle.bsdf.reflectance.value", std::vector<Value>{ opaque_float(0) });
    params.update({ "rectangle.bsdf.reflectance.value" });
    Image after = render_image(*scene);
    double left = 0, right = 0; // what has changed
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 8; ++x)
            (x < 4 ? left : right) += std::abs(after.get(x, y, 0) - before.get(x, y, 0));
    EXPECT_GT(std::max(left, right), 1);
    EXPECT_LT(std::min(left, right), 1e-6);
}

} // namespace umbel
