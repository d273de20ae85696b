// tests/plugins/point_test.cpp: light from single points.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendPoint : public VariantTest {
protected:
    static Interaction at(double x, double y, double z) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.p = { opaque_float(x), opaque_float(y), opaque_float(z) };
        return si;
    }
};
UMBEL_VARIANTS(BackendPoint, "interp_mono_double", "llvm_rgb", "llvm_spectral",
               "llvm_rgb_polarized")

TEST_P(BackendPoint, FallsOffWithTheSquareOfTheDistance) {
    auto lamp = make_object<Emitter>(Properties("emitter", "point")
                                         .set("position", VectorData{ 1, 2, 3 })
                                         .set("intensity", SpectrumData::uniform(5)));
    for (double distance : { 1.0, 4.0 }) {
        auto [ds, light] =
            lamp->sample_direction(at(1, 2, 3 - distance), { Float(0.3), Float(0.7) }, true);
        EXPECT_NEAR(read_floats(ds.dist)[0], distance, 1e-6);
        EXPECT_NEAR(read_floats(ds.d.z)[0], 1, 1e-6);
        double mean = read_floats(umbel::mean(unpolarized(light)))[0];
        double intensity = 5;
        if (variant().colour == Colour::Rgb) // of equal energy, a little redder than white
            mean = read_floats(unpolarized(light)[1])[0], intensity = 5 * 0.9484;
        EXPECT_NEAR(mean, intensity / (distance * distance), 2e-3 * intensity);
    }
}

TEST_P(BackendPoint, StandsWhereItsTransformPutsItsPosition) {
    auto lamp = make_object<Emitter>(Properties("emitter", "point")
                                         .set("position", VectorData{ 1, 0, 0 })
                                         .set("to_world", TransformData::translate({ 0, 5, 0 })));
    EXPECT_EQ(lamp->bounds().min, (std::array<double, 3>{ 1, 5, 0 }));
    EXPECT_EQ(lamp->bounds().max, (std::array<double, 3>{ 1, 5, 0 }));
    EXPECT_TRUE(lamp->is_delta());
    EXPECT_FALSE(lamp->is_environment());
}

TEST(Point, IsNoSurface) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<shape type='sphere'><emitter type='point'/></shape>",
                   { "cannot be attached to a shape", "area" });
}

} // namespace umbel
