// tests/render/trees_test.cpp: scenes of many triangles have a tree for few rays and one for many.
#include "render/expected_samples.h"
#include "support/mesh_files.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

namespace {

// Of Embree, which has a tree for many rays; others have one.
class Trees : public MeshFileTest {
protected:
    // Waves of 7,200 triangles above a plate, with a sphere: geometries of two kinds.
    Ref<Scene> waves(int size, int spp) {
        constexpr int N = 60;
        std::string text;
        for (int y = 0; y <= N; ++y)
            for (int x = 0; x <= N; ++x)
                text += fmt::format("v {} {} {}\n", 2.0 * x / N - 1, 2.0 * y / N - 1,
                                    0.2 * std::sin(0.31 * x) * std::cos(0.17 * y + 0.02 * x * y));
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) {
                int a = y * (N + 1) + x + 1, b = a + N + 1;
                text += fmt::format("f {} {} {}\nf {} {} {}\n", a, a + 1, b, b, a + 1, b + 1);
            }
        std::string file = write("waves.obj", text);
        return scene_from(scene_xml(
            "<shape type='obj'><string name='filename' value='" + file +
                "'/></shape><shape type='sphere'><float name='radius' value='.3'/></shape>"
                "<emitter type='constant'/>",
            size, spp));
    }
};

// Distances and primitives of rays that come down all over the waves.
std::vector<double> hits_of(const Scene &scene) {
    std::vector<double> x, y;
    for (int i = 0; i < 4000; ++i) {
        x.push_back(std::fmod(i * 0.618034, 1) * 1.9 - 0.95);
        y.push_back(std::fmod(i * 0.754878, 1) * 1.9 - 0.95);
    }
    Ray ray;
    ray.o = { float_array(x), float_array(y), Float(3) };
    ray.d = { Float(0.01), Float(-0.02), Float(-1) };
    ray.maxt = Float(std::numeric_limits<double>::infinity());
    SurfaceInteraction si = scene.ray_intersect(ray, true);
    std::vector<double> out = read_floats(si.t);
    for (uint32_t p : si.prim.read())
        out.push_back(p);
    return out;
}

} // namespace

TEST_F(Trees, OfBothKindsFindTheSame) {
    Ref<Scene> scene = waves(4, 1);
    std::vector<double> quick = hits_of(*scene), splits;
    {
        ExpectedSamples many(1'000'000);
        splits = hits_of(*scene);
    }
    ASSERT_EQ(quick.size(), splits.size());
    size_t different = 0;
    for (size_t i = 0; i < quick.size(); ++i)
        different += quick[i] != splits[i];
    EXPECT_LE(different, 8u); // edges that are hit to the last bit
}

// Whatever was rendered before: which tree it is depends on the render alone.
TEST_F(Trees, LeaveARenderAsItIs) {
    Ref<Scene> scene = waves(16, 2);
    Image before = render_image(*scene), large = render_image(*scene, { .spp = 256 });
    EXPECT_TRUE(same_pixels(render_image(*scene), before));
    EXPECT_TRUE(same_pixels(render_image(*waves(16, 2), { .spp = 256 }), large));
}

TEST_F(Trees, AreChosenByRendersThatNest) {
    EXPECT_EQ(ExpectedSamples::now(), 0u);
    ExpectedSamples outer(5);
    {
        ExpectedSamples inner(7);
        EXPECT_EQ(ExpectedSamples::now(), 7u);
    }
    EXPECT_EQ(ExpectedSamples::now(), 5u);
}

} // namespace umbel
