// tests/render/bvh_test.cpp: trees that recorded code traverses name what they hold exactly, however much that is.
#include "render/accelerator.h"
#include "support/scenes.h"
#include <cstring>

namespace umbel {
using namespace test;

class BackendBvh : public VariantTest {};
UMBEL_VARIANTS(BackendBvh, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

// Numbers lie among coordinates: as floats, those of leaves would be wrong from 2^8 on, and those of triangles from 2^24 on.
TEST_P(BackendBvh, NumbersBeyondTheDigitsOfAFloatAreExact) {
    constexpr uint32_t First = (1u << 24) + 1, Count = 2000;
    auto meshes = std::make_shared<PackedMeshes>();
    meshes->stride = PackedMeshes::Bare;
    meshes->vertex_count = 3 * Count;
    meshes->triangle_count = First + Count;
    meshes->vertices = jit::allocate(meshes->vertex_count * meshes->vertex_bytes());
    meshes->triangles =
        jit::allocate(meshes->triangle_count * 16); // of which most is never touched
    auto *p = static_cast<float *>(meshes->vertices->data());
    auto *t = static_cast<uint32_t *>(meshes->triangles->data()) + 4 * size_t(First);
    std::vector<double> x;
    for (uint32_t i = 0; i < Count; ++i) { // a row along x
        const float corners[12] = { float(i), 0, 0, 0, i + 0.9f, 0, 0, 0, float(i), 1, 0, 0 };
        std::memcpy(p + 12 * i, corners, sizeof corners);
        const uint32_t triangle[4] = { 3 * i, 3 * i + 1, 3 * i + 2, 1 };
        std::memcpy(t + 4 * i, triangle, sizeof triangle);
        x.push_back(i + 0.2);
    }
    InstanceTable none;
    Geometry g;
    g.meshes = meshes;
    g.parts = { { .first_triangle = First, .triangles = Count } };
    g.table = &none;
    std::unique_ptr<Accelerator> tree = make_bvh_accelerator(g);

    Ray ray;
    ray.o = { float_array(x), Float(0.2), Float(1) };
    ray.d = { Float(0), Float(0), Float(-1) };
    ray.maxt = Float(std::numeric_limits<double>::infinity());
    std::vector<uint32_t> found = tree->trace(ray, true, true).prim.read();
    ASSERT_EQ(found.size(), Count);
    for (uint32_t i = 0; i < Count; ++i)
        ASSERT_EQ(found[i], First + i) << "triangle " << i;
}

} // namespace umbel
