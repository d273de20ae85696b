// tests/render/bvh_test.cpp: trees that recorded code traverses name what they hold exactly, however much that is.
#include "render/accelerator.h"
#include "support/scenes.h"
#include <cmath>
#include <cstring>
#include <random>

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

namespace {

// A tilted sheet of triangles.
Geometry sheet(const InstanceTable &none, bool robust) {
    constexpr uint32_t N = 12;
    auto meshes = std::make_shared<PackedMeshes>();
    meshes->is_double = variant().double_precision;
    meshes->stride = PackedMeshes::Bare;
    meshes->vertex_count = (N + 1) * (N + 1);
    meshes->triangle_count = 2 * N * N;
    meshes->vertices = jit::allocate(meshes->vertex_count * meshes->vertex_bytes());
    meshes->triangles = jit::allocate(meshes->triangle_count * 16);
    auto *t = static_cast<uint32_t *>(meshes->triangles->data());
    for (uint32_t i = 0; i < meshes->vertex_count; ++i) {
        double x = i % (N + 1) / 6.0 - 1, y = i / (N + 1) / 6.0 - 1,
               p[4] = { x, y, 0.3 * x - 0.4 * y + 0.1 * std::sin(5 * x + 3 * y), 0 };
        for (size_t k = 0; k < 4; ++k)
            if (meshes->is_double)
                static_cast<double *>(meshes->vertices->data())[4 * i + k] = p[k];
            else
                static_cast<float *>(meshes->vertices->data())[4 * i + k] = float(p[k]);
    }
    for (uint32_t i = 0; i < N * N; ++i) {
        uint32_t a = i / N * (N + 1) + i % N, b = a + N + 1;
        const uint32_t corners[8] = { a, a + 1, b, 1, b, a + 1, b + 1, 1 };
        std::memcpy(t + 8 * i, corners, sizeof corners);
    }
    Geometry g;
    g.meshes = meshes;
    g.parts = { { .first_triangle = 0, .triangles = 2 * N * N } };
    g.table = &none;
    g.robust = robust;
    return g;
}

// From far away towards places on edges between triangles, or anywhere on the sheet.
Ray towards(const PackedMeshes &m, bool edges) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<double> o[3], d[3];
    while (o[0].size() < 50'000) {
        const uint32_t *t = m.triangle(random() % m.triangle_count);
        double u = unit(random), v = edges ? 0 : (1 - u) * unit(random), target[3], from[3],
               length = 0;
        size_t k = random() % 3;
        for (size_t j = 0; j < 3; ++j) {
            target[j] = (1 - u - v) * m.number(t[k], j) + u * m.number(t[(k + 1) % 3], j) +
                        v * m.number(t[(k + 2) % 3], j);
            from[j] = j < 2 ? 200 * unit(random) - 100 : 200 + 400 * unit(random);
        }
        if (std::max(std::abs(target[0]), std::abs(target[1])) > 0.99)
            continue; // where the sheet ends
        for (size_t j = 0; j < 3; ++j)
            length += (target[j] - from[j]) * (target[j] - from[j]);
        for (size_t j = 0; j < 3; ++j) {
            o[j].push_back(from[j]);
            d[j].push_back((target[j] - from[j]) / std::sqrt(length));
        }
    }
    Ray ray;
    ray.o = { float_array(o[0]), float_array(o[1]), float_array(o[2]) };
    ray.d = { float_array(d[0]), float_array(d[1]), float_array(d[2]) };
    ray.maxt = Float(std::numeric_limits<double>::infinity());
    return ray;
}

size_t missed(const Accelerator &tree, const Ray &ray) {
    size_t out = 0;
    for (double t : read_floats(tree.trace(ray, true, false).t))
        out += std::isinf(t);
    return out;
}

} // namespace

TEST_P(BackendBvh, RobustTestsLeaveNoGapBetweenTriangles) {
    InstanceTable none;
    Geometry plain = sheet(none, false), robust = sheet(none, true);
    auto quick = make_bvh_accelerator(plain), sure = make_bvh_accelerator(robust);
    Ray at_edges = towards(*plain.meshes, true);
    EXPECT_EQ(missed(*sure, at_edges), 0u);
    if (!variant().double_precision) {
        EXPECT_GT(missed(*quick, at_edges), 0u) << "says nothing: no gap is met";
    }

    Ray anywhere = towards(*plain.meshes, false);
    Hit a = quick->trace(anywhere, true, false), b = sure->trace(anywhere, true, false);
    std::vector<uint32_t> prim_a = a.prim.read(), prim_b = b.prim.read();
    std::vector<double> at_a[3] = { read_floats(a.t), read_floats(a.u), read_floats(a.v) },
                        at_b[3] = { read_floats(b.t), read_floats(b.u), read_floats(b.v) };
    double tolerance = variant().double_precision ? 1e-10 : 2e-2; // 500 away, with triangles of 0.2
    size_t others = 0;
    for (size_t i = 0; i < prim_a.size(); ++i) {
        if (prim_a[i] != prim_b[i]) {
            ++others; // close to an edge
            continue;
        }
        EXPECT_NEAR(at_a[0][i], at_b[0][i], 1e-2 * tolerance * at_b[0][i]) << i;
        EXPECT_NEAR(at_a[1][i], at_b[1][i], tolerance) << i;
        EXPECT_NEAR(at_a[2][i], at_b[2][i], tolerance) << i;
    }
    EXPECT_LT(others, prim_a.size() / 100);
}

} // namespace umbel
