// tests/plugins/gridvolume_test.cpp: numbers on a grid in space.
#include "core/vdb_file.h"
#include "render/volume_range.h"
#include "support/scenes.h"
#include "support/volume_file.h"
#include <fstream>
#include <unistd.h>

namespace umbel {
using namespace test;

class BackendGridVolume : public VariantTest {
protected:
    std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("umbel_grid_{}.vol", getpid()));
    ~BackendGridVolume() override { std::filesystem::remove(path); }

    Properties of(const VolumeFile &file) const { return of_bytes(file.bytes()); }
    Properties of_bytes(const std::string &bytes) const {
        std::ofstream(path, std::ios::binary) << bytes;
        return Properties("volume", "gridvolume").set("filename", path);
    }
    static std::vector<double> at(const Volume &v, double x, double y, double z) {
        Interaction it{ Float(1),
                        { opaque_float(x), opaque_float(y), opaque_float(z) },
                        Vector3(Float(0)),
                        Float(0),
                        {} };
        std::vector<double> out;
        for (const Float &n : v.eval_n(it, true))
            out.push_back(read_floats(n)[0]);
        return out;
    }
    // 0 and 1 along x, 2 and 3 above, and 4 more behind each
    VolumeFile eight{ { 2, 2, 2 }, 1, { 0, 1, 2, 3, 4, 5, 6, 7 } };
};
UMBEL_VARIANTS(BackendGridVolume, "interp_rgb_double", "llvm_rgb", "llvm_spectral")

TEST_P(BackendGridVolume, InterpolatesBetweenTheMiddlesOfVoxels) {
    auto v = make_object<Volume>(of(eight));
    EXPECT_EQ(at(*v, 0.25, 0.25, 0.25)[0], 0);
    EXPECT_EQ(at(*v, 0.75, 0.25, 0.25)[0], 1);
    EXPECT_EQ(at(*v, 0.25, 0.75, 0.25)[0], 2);
    EXPECT_EQ(at(*v, 0.25, 0.25, 0.75)[0], 4);
    EXPECT_EQ(at(*v, 0.5, 0.5, 0.5)[0], 3.5);
    EXPECT_EQ(at(*v, 0.375, 0.25, 0.5)[0], 2.25);
    EXPECT_EQ(v->max_value(), 7);
    EXPECT_EQ(read_floats(v->mean_value())[0], 3.5);
    EXPECT_EQ(v->resolution(), (std::array<size_t, 3>{ 2, 2, 2 }));
}

TEST_P(BackendGridVolume, WrapsBeyondItsBox) {
    auto wrapped = [&](const char *mode) {
        auto v =
            make_object<Volume>(of(eight).set("wrap_mode", mode).set("filter_type", "nearest"));
        return std::pair(at(*v, 1.75, 0.25, 0.25)[0], at(*v, -0.25, 0.25, 0.25)[0]);
    };
    EXPECT_EQ(wrapped("clamp"), std::pair(1.0, 0.0));
    EXPECT_EQ(wrapped("repeat"), std::pair(1.0, 1.0));
    EXPECT_EQ(wrapped("mirror"), std::pair(0.0, 0.0));
}

TEST_P(BackendGridVolume, FillsTheBoxOfItsFile) {
    auto v = make_object<Volume>(of(eight)
                                     .set("use_grid_bbox", true)
                                     .set("to_world", TransformData::translate({ 10, 0, 0 })));
    BoundingBox b = v->bounds();
    EXPECT_EQ(b.min, (std::array<double, 3>{ 9, -0.5, 0 }));
    EXPECT_EQ(b.max, (std::array<double, 3>{ 11, 1.5, 2 }));
    EXPECT_EQ(at(*v, 9.5, 0, 0.5)[0], 0);
    EXPECT_EQ(at(*v, 10.5, 1, 1.5)[0], 7);
}

// Mitsuba 0.5 filled the box of the file, or one that the scene named.
TEST_P(BackendGridVolume, OfOldFilesFillsTheirBox) {
    Properties p = of(eight).set("send_data", true);
    upgrade(p, "0.5.0");
    EXPECT_EQ(make_object<Volume>(p)->bounds().max, (std::array<double, 3>{ 1, 1.5, 2 }));
    Properties q = of(eight);
    q.set("min", VectorData{ 1, 2, 3 }).set("max", VectorData{ 2, 4, 6 });
    upgrade(q, "0.5.0");
    EXPECT_EQ(make_object<Volume>(q)->bounds().min, (std::array<double, 3>{ 1, 2, 3 }));
    EXPECT_EQ(make_object<Volume>(q)->bounds().max, (std::array<double, 3>{ 2, 4, 6 }));
    Properties image("texture", "bitmap");
    image.set("cache", false);
    upgrade(image, "0.5.0");
    EXPECT_FALSE(image.has("cache"));
}

TEST_P(BackendGridVolume, ReadsBytesAndManyChannels) {
    VolumeFile bytes{ { 2, 1, 1 }, 1, { 0, 1 } };
    bytes.encoding = 3;
    EXPECT_EQ(at(*make_object<Volume>(of(bytes)), 0.75, 0.5, 0.5)[0], 1);
    auto six = make_object<Volume>(of({ { 1, 1, 1 }, 6, { 1, 2, 3, 4, 5, 6 } }));
    EXPECT_EQ(at(*six, 0.5, 0.5, 0.5), (std::vector<double>{ 1, 2, 3, 4, 5, 6 }));
    EXPECT_EQ(six->max_per_channel(), (std::vector<double>{ 1, 2, 3, 4, 5, 6 }));
    Interaction it{ Float(1), Vector3(Float(0.5)), Vector3(Float(0)), Float(0), {} };
    EXPECT_EQ(read_floats(six->eval_1(it, true))[0], 3.5);
    EXPECT_NE(user_error([&] { six->eval(it, true); }).find("6 channels"), std::string::npos);
}

TEST_P(BackendGridVolume, RefusesDamagedFiles) {
    auto message = [&](const std::string &bytes) {
        return user_error([&] { make_object<Volume>(of_bytes(bytes)); });
    };
    std::string good = eight.bytes();
    EXPECT_NE(message("hello").find("no volume"), std::string::npos);
    EXPECT_NE(message(good.substr(0, 60)).find("ends early"), std::string::npos);
    std::string other = good;
    other[3] = 2;
    EXPECT_NE(message(other).find("version 2"), std::string::npos);
    other = good;
    other[4] = 5;
    EXPECT_NE(message(other).find("encoding 5"), std::string::npos);
    other = good;
    other[8] = -1, other[9] = -1, other[10] = -1, other[11] = 127;
    EXPECT_NE(message(other).find("fewer than 2^31"), std::string::npos);
    other = good;
    other[8] = 0;
    EXPECT_NE(message(other).find("bytes 8 to 23 that it has 0 x 2 x 2 voxels of 1 channels, which "
                                  "cannot be"),
              std::string::npos);
    VolumeFile huge = eight; // 2^33 voxels
    huge.size = { 2048, 2048, 2048 };
    EXPECT_NE(
        message(huge.bytes()).find("2048 x 2048 x 2048 voxels of 1 channels; fewer than 2^31"),
        std::string::npos);
    VolumeFile nan = eight;
    nan.values[3] = std::nanf("");
    EXPECT_NE(message(nan.bytes()).find("number at byte 60 is not finite"), std::string::npos);
    VolumeFile flat = eight;
    flat.box = { 0, 0, 0, 1, 0, 1 };
    EXPECT_NE(user_error([&] {
                  make_object<Volume>(of(flat).set("use_grid_bbox", true));
              }).find("empty along y"),
              std::string::npos);
}

// Halves and bytes stay what they are in memory, and mean the same.
TEST_P(BackendGridVolume, EncodingsHoldTheSameNumbers) {
    VolumeFile file{ { 3, 2, 4 }, 2 };
    for (int i = 0; i < 48; ++i)
        file.values.push_back(float(i * 5) / 255);
    auto floats = make_object<Volume>(of(file));
    std::vector<double> want = at(*floats, 0.4, 0.6, 0.3), most = floats->max_per_channel();
    for (int encoding : { 2, 3 }) {
        file.encoding = encoding;
        auto v = make_object<Volume>(of(file));
        for (size_t c = 0; c < 2; ++c) {
            EXPECT_NEAR(at(*v, 0.4, 0.6, 0.3)[c], want[c], encoding == 2 ? 1e-3 : 1e-6);
            EXPECT_NEAR(v->max_per_channel()[c], most[c], encoding == 2 ? 1e-3 : 1e-6);
        }
    }
}

TEST_P(BackendGridVolume, DirectionsAreVectors) {
    VolumeFile file{ { 2, 1, 1 }, 3, {} };
    file.encoding = 4;
    std::string bytes =
        file.bytes() + std::string("\x55\x2a\xff\x10", 4); // 60 and 59.3 degrees; none
    auto v = make_object<Volume>(of_bytes(bytes).set("filter_type", std::string("nearest")));
    double theta = 85 * Pi / 255, phi = 42 * 2 * Pi / 255;
    std::vector<double> d = at(*v, 0.25, 0.5, 0.5);
    EXPECT_NEAR(d[0], std::sin(theta) * std::cos(phi), 1e-6);
    EXPECT_NEAR(d[1], std::sin(theta) * std::sin(phi), 1e-6);
    EXPECT_NEAR(d[2], std::cos(theta), 1e-6);
    EXPECT_EQ(at(*v, 0.75, 0.5, 0.5), std::vector<double>(3, 0));
}

// Voxels of OpenVDB files lie where the grid's transform and then to_world place them.
TEST_P(BackendGridVolume, OpenVdbFilesArePlacedByTheirTransform) {
#ifndef UMBEL_VDB_FILES
    GTEST_SKIP() << "built without OpenVDB";
#else
    Properties p("volume", "gridvolume");
    p.set("filename", std::string(UMBEL_VDB_FILES "/grids.vdb"));
    p.set("grid", std::string("velocity"))
        .set("raw", true)
        .set("to_world", TransformData::translate({ 5, 0, 0 }));
    auto v = make_object<Volume>(p);
    EXPECT_EQ(v->bounds().min, (std::array<double, 3>{ 4.5, -0.5, -0.5 }));
    EXPECT_EQ(v->bounds().max, (std::array<double, 3>{ 6.5, 0.5, 0.5 }));
    EXPECT_EQ(at(*v, 5, 0, 0), (std::vector<double>{ 1, 2, 3 }));
    EXPECT_EQ(at(*v, 5.5, 0, 0), (std::vector<double>{ 2.5, 3.5, 4.5 }));
    EXPECT_EQ(v->max_per_channel(), (std::vector<double>{ 4, 5, 6 }));
    auto unit = make_object<Volume>(p.set("use_grid_bbox", false));
    EXPECT_EQ(unit->bounds().min, (std::array<double, 3>{ 5, 0, 0 }));
    EXPECT_EQ(unit->bounds().max, (std::array<double, 3>{ 6, 1, 1 }));
    std::string e = user_error([&] { make_object<Volume>(p.set("grid", std::string("wind"))); });
    EXPECT_NE(e.find("no grid \"wind\""), std::string::npos) << e;
#endif
}

// Grids of bricks give the numbers of a file that has all voxels, to the bit.
TEST_P(BackendGridVolume, SparseGridsAreTheDenseOnes) {
#ifndef UMBEL_VDB_FILES
    GTEST_SKIP() << "built without OpenVDB";
#else
    std::string sparse = UMBEL_VDB_FILES "/sparse.vdb";
    for (const char *name : { "density", "colour" }) {
        Voxels all = read_vdb(sparse, name, size_t(4) << 30, size_t(4) << 30);
        ASSERT_TRUE(read_vdb(sparse, name).bricks);
        VolumeFile file{ { int(all.size[0]), int(all.size[1]), int(all.size[2]) },
                         int(all.channels) };
        for (size_t i = 0; i < all.count(); ++i)
            file.values.push_back(float(all.number(i)));
        Properties few("volume", "gridvolume"), many = of(file);
        few.set("filename", sparse).set("grid", std::string(name));
        many.set("to_world", *all.to_world);
        // Places in the box and around it
        UInt32 lane(jit::lane_index(20000u));
        auto part = [&](uint32_t k) {
            UInt32 bits =
                lane * UInt32(2654435769u + 2 * k) ^ (lane >> UInt32(7u)) * UInt32(97u + k);
            return Float(jit::cast(variant().float_type(), bits >> UInt32(8u))) * (1.2 / 0x1p24) -
                   0.1;
        };
        Vector3 p = Transform(*all.to_world).point({ part(0), part(1), part(2) });
        Interaction it{ Float(1), p, Vector3(Float(0)), Float(0), {} };
        if (variant().colour == Colour::Spectral)
            it.wavelengths = Spectrum(std::vector<Float>{ 420, 500, 580, 660 });
        for (const char *filter : { "trilinear", "nearest" })
            for (const char *wrap : { "clamp", "repeat", "mirror" }) {
                for (Properties *q : { &few, &many })
                    q->set("filter_type", std::string(filter)).set("wrap_mode", std::string(wrap));
                auto a = make_object<Volume>(few), b = make_object<Volume>(many);
                Spectrum x = a->eval(it, true), y = b->eval(it, true);
                for (size_t c = 0; c < x.c.size(); ++c)
                    EXPECT_EQ(read_floats(x[c]), read_floats(y[c])) << name << filter << wrap;
                EXPECT_EQ(bounds_of_parts(*a, { 5, 6, 7 }), bounds_of_parts(*b, { 5, 6, 7 }));
                EXPECT_EQ(a->max_value(), b->max_value());
            }
        auto a = make_object<Volume>(few), b = make_object<Volume>(many);
        double mean = read_floats(b->mean_value())[0];
        EXPECT_NEAR(read_floats(a->mean_value())[0], mean, 1e-6 * mean);
    }
#endif
}

TEST_P(BackendGridVolume, OnlyOpenVdbFilesHaveNamedGrids) {
    std::string e =
        user_error([&] { make_object<Volume>(of(eight).set("grid", std::string("density"))); });
    EXPECT_NE(e.find("is none"), std::string::npos) << e;
}

TEST_P(BackendGridVolume, KnowsWhichNumberLiesOutside) {
    VolumeFile file{ { 2, 3, 1 }, 1, { 0, 1, 0.5f, -0.25f, 1.5f, 1 } };
    for (int encoding : { 1, 2 }) {
        file.encoding = encoding;
        auto v = make_object<Volume>(of(file));
        EXPECT_EQ(find_outside(*v, -1, 2), std::nullopt);
        EXPECT_EQ(find_outside(*v, -0.25, 1.5), std::nullopt);
        EXPECT_EQ(find_outside(*v, 0, 2),
                  fmt::format("-0.25 at byte {} of {}", encoding == 1 ? 60 : 54, path));
        EXPECT_EQ(find_outside(*v, -1, 1),
                  fmt::format("1.5 at byte {} of {}", encoding == 1 ? 64 : 56, path));
    }
    file.values = { 0, 1, 0.2f, 0.4f, 0.6f, 0.8f };
    file.encoding = 3;
    auto bytes = make_object<Volume>(of(file));
    EXPECT_EQ(find_outside(*bytes, 0, 1), std::nullopt);
    EXPECT_EQ(find_outside(*bytes, 0, 0.9), fmt::format("1 at byte 49 of {}", path));
}

// Of each part, what lookups in it can find, whatever lies beyond the ends.
TEST_P(BackendGridVolume, BoundsHoldInEachPart) {
    VolumeFile file{ { 7, 5, 9 }, 1 };
    for (double u : uniform_numbers(4, 315))
        file.values.push_back(float(u * u * u - 0.1));
    for (int encoding : { 1, 2 })
        for (const char *filter : { "trilinear", "nearest" })
            for (const char *wrap : { "clamp", "repeat", "mirror" }) {
                file.encoding = encoding;
                auto v = make_object<Volume>(of(file)
                                                 .set("filter_type", std::string(filter))
                                                 .set("wrap_mode", std::string(wrap)));
                std::array<size_t, 3> parts{ 3, 2, 4 };
                Voxels::Bounds bounds = bounds_of_parts(*v, parts);
                const size_t n = 20000;
                Vector3 p(make(uniform_numbers(1, n)), make(uniform_numbers(2, n)),
                          make(uniform_numbers(3, n)));
                Interaction it{ Float(1), p, Vector3(Float(0)), Float(0), {} };
                std::vector<double> x = read_floats(p.x), y = read_floats(p.y),
                                    z = read_floats(p.z), f = read_floats(v->eval_1(it, true));
                std::vector<double> found(24, -1), least(24, 2);
                for (size_t i = 0; i < n; ++i) {
                    size_t part = (size_t(z[i] * 4) * 2 + size_t(y[i] * 2)) * 3 + size_t(x[i] * 3);
                    ASSERT_LE(f[i], bounds.most[part] + 1e-6) << filter << ", " << wrap;
                    ASSERT_GE(f[i], bounds.least[part] - 1e-6) << filter << ", " << wrap;
                    found[part] = std::max(found[part], f[i]);
                    least[part] = std::min(least[part], f[i]);
                }
                for (size_t i = 0; i < 24; ++i) { // and no more than need be
                    bool exact = std::string(filter) == "nearest";
                    EXPECT_GT(found[i], exact ? bounds.most[i] - 1e-6 : 0.0);
                    EXPECT_LT(least[i], exact ? bounds.least[i] + 1e-6 : 1.0);
                }
            }
}

} // namespace umbel
