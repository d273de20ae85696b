// tests/plugins/directional_test.cpp: light along one direction.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendDirectional : public VariantTest {};
UMBEL_VARIANTS(BackendDirectional, "interp_rgb", "llvm_rgb_double", "llvm_rgb_polarized")

// A surface that reflects half of it, lit at an angle of 60 degrees.
TEST_P(BackendDirectional, LightsBySurfacesTiltAlone) {
    std::string floor = "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                        "</transform><bsdf type='diffuse'><float name='reflectance' value='0.5'/>"
                        "</bsdf></shape>";
    Image image = render_image(*scene_from(
        scene_xml(floor + "<emitter type='directional'><vector name='direction' x='1.7320508' "
                          "y='0' z='-1'/><rgb name='irradiance' value='2,2,2'/></emitter>",
                  8, 4)));
    double want = 2 * 0.5 * InvPi * 0.5;
    for (size_t x = 0; x < 8; ++x)
        EXPECT_NEAR(image.get(x, 3, 0), want, 1e-5 * want);
}

TEST_P(BackendDirectional, IsFarFromAllPlaces) {
    auto lamp = make_object<Emitter>(
        Properties("emitter", "directional").set("direction", VectorData{ 0, 0, -5 }));
    lamp->set_scene({ { -1, -1, -1 }, { 1, 1, 1 } });
    for (double z : { -10.0, 0.0, 10.0 }) {
        SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
        si.p = { Float(0), Float(0), opaque_float(z) };
        DirectionSample ds = lamp->sample_direction(si, { Float(0.3), Float(0.7) }, true).first;
        EXPECT_NEAR(read_floats(ds.d.z)[0], 1, 1e-6);
        EXPECT_GT(z + read_floats(ds.dist)[0], std::sqrt(3.0)) << "inside of the scene";
    }
    EXPECT_TRUE(lamp->is_delta());
    EXPECT_FALSE(lamp->is_environment());
}

TEST_P(BackendDirectional, TurnsWithItsTransform) {
    auto lamp = make_object<Emitter>(
        Properties("emitter", "directional")
            .set("to_world", TransformData::rotate({ 1, 0, 0 }, 90))); // +z becomes -y
    DirectionSample ds =
        lamp->sample_direction(hit_from(Vector3(0, 0, 1)), { Float(0.3), Float(0.7) }, true).first;
    EXPECT_NEAR(read_floats(ds.d.y)[0], 1, 1e-6);
}

TEST(Directional, SaysWhatIsWrong) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<emitter type='directional'><vector name='direction' x='0' y='0' z='0'/>"
                   "</emitter>",
                   { "direction has no length" });
    expect_refused("<emitter type='directional'><texture type='checkerboard' "
                   "name='irradiance'/></emitter>",
                   { "irradiance varies", "projector" });
    expect_refused("<shape type='sphere'><emitter type='directional'/></shape>",
                   { "cannot be attached to a shape" });
}

} // namespace umbel
