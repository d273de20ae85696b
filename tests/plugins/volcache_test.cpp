// tests/plugins/volcache_test.cpp: volumes that are evaluated once, on a grid.
#include "core/file_text.h"
#include "render/volume.h"
#include "support/scenes.h"
#include "support/volume_file.h"
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendVolCache : public VariantTest {
protected:
    std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("umbel_cached_{}.vol", getpid()));
    ~BackendVolCache() override { std::filesystem::remove(path); }

    // 0 to 3 along x, twice as long as the unit cube
    std::shared_ptr<Properties> ramp(int channels = 1) const {
        VolumeFile file{ { 4, 1, 2 }, channels };
        for (int i = 0; i < 8; ++i)
            for (int c = 0; c < channels; ++c)
                file.values.push_back(float(i % 4) / float(1 + c));
        write_file(path, file.bytes());
        auto p = std::make_shared<Properties>("volume", "gridvolume");
        p->set("filename", path);
        p->set("to_world", TransformData::scale({ 2, 1, 1 }));
        return p;
    }
    static Properties cached(std::shared_ptr<Properties> nested) {
        Properties p("volume", "volcache");
        p.set("", nested);
        return p;
    }
    static Interaction place(double x) {
        Interaction it{
            Float(1), { opaque_float(x), Float(0.3), Float(0.6) }, Vector3(Float(0)), Float(0), {}
        };
        if (variant().colour == Colour::Spectral)
            it.wavelengths = Spectrum(std::vector<Float>{ 420, 500, 580, 660 });
        return it;
    }
    static double at(const Volume &v, double x) { return read_floats(v.eval_1(place(x), true))[0]; }
};
UMBEL_VARIANTS(BackendVolCache, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendVolCache, OfTheSameVoxelsIsTheVolume) {
    auto plain = make_object<Volume>(*ramp()), cache = make_object<Volume>(cached(ramp()));
    for (double x : { -1.0, 0.1, 0.4, 1.0, 1.3, 1.9, 3.0 })
        EXPECT_NEAR(at(*cache, x), at(*plain, x), 1e-6) << x;
    EXPECT_EQ(cache->resolution(), plain->resolution());
    EXPECT_EQ(cache->max_value(), 3);
    EXPECT_EQ(cache->placement(), plain->placement());
    EXPECT_NEAR(read_floats(cache->mean_value())[0], 1.5, 1e-6);
    EXPECT_NEAR(read_floats(cache->eval_gradient(place(1), true).second.x)[0], 2, 1e-5);
}

TEST_P(BackendVolCache, KeepsColours) {
    auto plain = make_object<Volume>(*ramp(3)), cache = make_object<Volume>(cached(ramp(3)));
    for (size_t c = 0; c < size_t(variant().channels()); ++c)
        EXPECT_NEAR(read_floats(cache->eval(place(1.1), true)[c])[0],
                    read_floats(plain->eval(place(1.1), true)[c])[0], 1e-4);
}

// Two voxels along x, whose middles are at 1/2 and 3/2
TEST_P(BackendVolCache, HasVoxelsOfTheGivenWidth) {
    auto v = make_object<Volume>(cached(ramp()).set("voxel_width", 1.0));
    EXPECT_EQ(v->resolution(), (std::array<size_t, 3>{ 2, 1, 1 }));
    EXPECT_NEAR(at(*v, 0.1), 0.5, 1e-6);
    EXPECT_NEAR(at(*v, 1.0), 1.5, 1e-6);
    EXPECT_NEAR(at(*v, 1.9), 2.5, 1e-6);
    EXPECT_NEAR(v->max_value(), 2.5, 1e-6);
}

TEST_P(BackendVolCache, IsMovedByItsOwnTransform) {
    auto v =
        make_object<Volume>(cached(ramp()).set("to_world", TransformData::translate({ 10, 0, 0 })));
    EXPECT_NEAR(at(*v, 11), 1.5, 1e-6);
    EXPECT_EQ(v->bounds().min[0], 10);
    EXPECT_EQ(v->bounds().max[0], 12);
}

TEST_P(BackendVolCache, OfAConstantIsThatConstant) {
    auto constant = std::make_shared<Properties>("volume", "constvolume");
    constant->set("value", 2.5);
    auto v = make_object<Volume>(cached(constant));
    EXPECT_EQ(at(*v, 7), 2.5);
    EXPECT_FALSE(v->is_spatially_varying());
}

TEST_P(BackendVolCache, OfTooManyVoxelsIsRefused) {
    std::string e = user_error([&] {
        make_object<Volume>(cached(ramp()).set("voxel_width", 0.001).set("memory_limit", 4));
    });
    EXPECT_NE(e.find("need 7629 MiB, and 4 is the most; raise voxel_width"), std::string::npos)
        << e;
    e = user_error([] { make_object<Volume>(Properties("volume", "volcache")); });
    EXPECT_NE(e.find("has no volume inside"), std::string::npos) << e;
}

// As in files of version 0.5.
TEST_P(BackendVolCache, OldNamesAreTaken) {
    ramp();
    Properties root = parse_scene_string(
        "<scene version='0.5.0'><medium type='heterogeneous'><volume name='density' "
        "type='volcache'><integer name='blockSize' value='4'/><float name='voxelWidth' "
        "value='.5'/><integer name='memoryLimit' value='16'/><volume type='gridvolume'><string "
        "name='filename' value='" +
        path + "'/></volume></volume></medium></scene>");
    PropertiesPtr medium = root.objects("medium").at(0);
    EXPECT_EQ(make_object<Volume>(*medium->objects("volume").at(0))->resolution(),
              (std::array<size_t, 3>{ 4, 4, 4 })); // of the file's box
}

} // namespace umbel
