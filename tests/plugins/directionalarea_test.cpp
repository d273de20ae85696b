// tests/plugins/directionalarea_test.cpp: surfaces that emit along their normals.
#include "support/surface.h"

namespace umbel {
using namespace test;

class BackendDirectionalarea : public VariantTest {};
UMBEL_VARIANTS(BackendDirectionalarea, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendDirectionalarea, EmitsAlongItsNormals) {
    Ref<Scene> scene = scene_from(
        scene_xml("<shape type='rectangle'><transform name='to_world'><scale x='3'/><rotate x='1' "
                  "angle='90'/></transform><emitter type='directionalarea'><rgb name='radiance' "
                  "value='1,2,3'/></emitter></shape>",
                  4, 1));
    const Emitter &e = *scene->shapes()[0]->emitter();
    auto [ray, weight] = e.sample_ray(Float(0), Float(0.5), { Float(0.3), Float(0.4) },
                                      { Float(0.9), Float(0.1) }, true);
    EXPECT_NEAR(read_floats(ray.d.y)[0], -1, 1e-6); // +z, turned
    for (size_t c = 0; c < 3; ++c)
        EXPECT_NEAR(read_floats(unpolarized(weight)[c])[0], 12 * double(c + 1), 1e-4);
    EXPECT_TRUE(e.is_delta());
}

// A beam of that width, straight down on a wall: light from the camera's side.
TEST_P(BackendDirectionalarea, IsSeenByWhatBeginsThere) {
    std::string wall = "<shape type='rectangle'><transform name='to_world'><scale value='9'/>"
                       "</transform><bsdf type='diffuse'><float name='reflectance' value='0.5'/>"
                       "</bsdf></shape>";
    // Above the camera, which it does not hide anything from
    std::string lamp = "<shape type='rectangle'><transform name='to_world'><scale value='8'/>"
                       "<rotate x='1' angle='180'/><translate z='6'/></transform><emitter "
                       "type='directionalarea'><rgb name='radiance' value='2,2,2'/></emitter>"
                       "<bsdf type='diffuse'><float name='reflectance' value='0'/></bsdf></shape>";
    Image image = render_image(*scene_from(scene_xml(wall + lamp, 8, 4096, "ptracer")));
    Estimate e = channel_mean(image, 1);
    EXPECT_NEAR(e.mean, 2 * 0.5 * InvPi, 5 * e.error + 1e-3);
}

TEST(Directionalarea, BelongsToOneShape) {
    VariantScope scope(find_variant("interp_rgb"));
    expect_refused("<emitter type='directionalarea' id='e'/><shape type='sphere'><ref id='e'/>"
                   "</shape><shape type='sphere'><ref id='e'/></shape>",
                   { "two shapes" });
}

} // namespace umbel
