// tests/plugins/volume_test.cpp: volumes, seen on surfaces.
#include "render/volume.h"
#include "support/scenes.h"
#include "support/volume_file.h"
#include <fstream>

namespace umbel {
using namespace test;

class BackendVolumeTexture : public VariantTest {};
UMBEL_VARIANTS(BackendVolumeTexture, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendVolumeTexture, LooksUpPlacesOfTheScene) {
    auto path = std::filesystem::temp_directory_path() /
                fmt::format("umbel-volume-{}-{}.vol", getpid(), GetParam());
    std::ofstream(path, std::ios::binary)
        << VolumeFile{ { 2, 1, 1 }, 3, { 1, 2, 3, 2, 4, 8 } }.bytes();
    auto t = make_object<Texture>(Properties("texture", "volume")
                                      .set("volume", Properties("volume", "gridvolume")
                                                         .set("filename", path.string())
                                                         .set("raw", true)));
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    si.p = { opaque_float(0.5), opaque_float(0.1), opaque_float(0.9) };
    Vector3 c = t->eval_3(si, true);
    EXPECT_EQ(read_floats(c.x)[0], 1.5);
    EXPECT_EQ(read_floats(c.y)[0], 3);
    EXPECT_EQ(read_floats(c.z)[0], 5.5);
    EXPECT_EQ(t->max_value(), 8);
    std::filesystem::remove(path);
}

TEST_P(BackendVolumeTexture, TakesANumber) {
    auto t = make_object<Texture>(Properties("texture", "volume"));
    SurfaceInteraction si = hit_from(Vector3(0, 0, 1));
    EXPECT_EQ(read_floats(t->eval_1(si, true))[0], 0.75);
    EXPECT_NE(user_error([&] { t->eval_3(si, true); }).find("1 channels"), std::string::npos);
}

} // namespace umbel
