// tests/core/vdb_file_test.cpp: grids of OpenVDB files.
#include "core/file_text.h"
#include "core/limits.h"
#include "core/vdb_file.h"
#include "jit/error.h"
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace umbel {

static std::string error_of(const std::function<void()> &work) {
    try {
        work();
    } catch (const UserError &e) {
        return e.what();
    }
    return "no error";
}

#ifdef UMBEL_VDB_FILES

class VdbFile : public testing::Test {
protected:
    ~VdbFile() override { std::filesystem::remove(damaged); }
    std::filesystem::path grids = UMBEL_VDB_FILES "/grids.vdb",
                          plain = UMBEL_VDB_FILES "/plain.vdb",
                          sparse = UMBEL_VDB_FILES "/sparse.vdb";
    static constexpr size_t NoLimit = size_t(4) << 30;
    std::filesystem::path damaged =
        std::filesystem::temp_directory_path() / fmt::format("umbel_damaged_{}.vdb", getpid());

    std::string error_with(const std::string &bytes) {
        write_file(damaged, bytes);
        return error_of([&] { read_vdb(damaged); });
    }
};

TEST_F(VdbFile, HasTheNumbersOfItsActiveBox) {
    for (const auto &file : { grids, plain }) {
        Voxels v = read_vdb(file);
        EXPECT_EQ(v.size, (std::array<size_t, 3>{ 10, 3, 4 }));
        EXPECT_EQ(v.type, jit::Type::F32);
        for (size_t z = 0; z < 4; ++z)
            for (size_t y = 0; y < 3; ++y)
                for (size_t x = 0; x < 10; ++x) {
                    double want = x < 2                        ? double(x + 10 * y + 100 * z)
                                  : x == 9 && y == 0 && z == 0 ? 7
                                                               : 0;
                    EXPECT_EQ(v.number((z * 3 + y) * 10 + x), want) << x << ' ' << y << ' ' << z;
                }
    }
}

// The middle of voxel (-1, 2, 5) is at a quarter of that, turned and moved.
TEST_F(VdbFile, IsWhereItsTransformPlacesIt) {
    Voxels v = read_vdb(grids);
    std::array<double, 3> p = v.to_world->apply_point({ 0.5 / 10, 0.5 / 3, 0.5 / 4 });
    double x = -0.25, y = 0.5, z = 1.25;
    EXPECT_NEAR(p[0], 10 - y, 1e-12);
    EXPECT_NEAR(p[1], 20 + x, 1e-12);
    EXPECT_NEAR(p[2], 30 + z, 1e-12);
    EXPECT_NEAR(v.to_world->apply_vector({ 1, 0, 0 })[1], 2.5, 1e-12); // ten voxels
}

TEST_F(VdbFile, GridsAreChosenByName) {
    Voxels half = read_vdb(grids, "half"), floats = read_vdb(grids, "density");
    EXPECT_EQ(half.type, jit::Type::F16);
    for (size_t i = 0; i < half.count(); ++i)
        EXPECT_EQ(half.number(i), floats.number(i)) << i;
    Voxels velocity = read_vdb(plain, "velocity");
    EXPECT_EQ(velocity.size, (std::array<size_t, 3>{ 2, 1, 1 }));
    EXPECT_EQ(velocity.channels, 3u);
    for (size_t i = 0; i < 6; ++i)
        EXPECT_EQ(velocity.number(i), double(i + 1));
    Voxels tile = read_vdb(grids, "tile");
    EXPECT_EQ(tile.size, (std::array<size_t, 3>{ 16, 16, 32 }));
    EXPECT_EQ(tile.max_per_channel(), std::vector<double>{ 0.5 });
}

// Bricks hold the same numbers in a fraction of the memory, and say the same of them.
TEST_F(VdbFile, GridsThatAreMostlyEmptyAreStoredAsBricks) {
    for (const char *name : { "density", "half", "colour" }) {
        Voxels few = read_vdb(sparse, name), all = read_vdb(sparse, name, NoLimit, NoLimit);
        ASSERT_TRUE(few.bricks && !all.bricks);
        EXPECT_EQ(few.size, all.size);
        EXPECT_EQ(few.to_world->m, all.to_world->m);
        EXPECT_LT(8 * few.stored(), all.stored());
        size_t different = 0;
        for (size_t z = 0; z < all.size[2]; ++z)
            for (size_t y = 0; y < all.size[1]; ++y)
                for (size_t x = 0; x < all.size[0]; ++x)
                    for (size_t c = 0; c < all.channels; ++c)
                        different += few.number(few.place_of(x, y, z) * few.channels + c) !=
                                     all.number(all.place_of(x, y, z) * all.channels + c);
        EXPECT_EQ(different, 0u) << name;
        EXPECT_EQ(few.max_per_channel(), all.max_per_channel());
        for (const char *wrap : { "clamp", "repeat", "mirror" })
            for (bool blended : { false, true })
                for (size_t parts : { 1, 7, 30 })
                    EXPECT_EQ(few.bounds({ parts, parts + 1, parts + 2 }, blended, wrap),
                              all.bounds({ parts, parts + 1, parts + 2 }, blended, wrap))
                        << name << ' ' << wrap << ' ' << blended << ' ' << parts;
        auto first_channel = [](const Voxels &v) {
            std::vector<double> out;
            for (size_t i = 0; i < v.stored(); i += v.channels)
                out.push_back(v.number(i));
            return v.mean_of(out);
        };
        EXPECT_NEAR(first_channel(few), first_channel(all), 1e-12);
        // The first number beyond a limit is found where it is
        std::optional<size_t> bright = few.find_outside(-1, 0.9);
        ASSERT_TRUE(bright);
        auto [x, y, z] = few.voxel_of(*bright);
        EXPECT_EQ(few.number(*bright),
                  all.number(all.place_of(x, y, z) * all.channels + *bright % all.channels));
    }
}

TEST_F(VdbFile, MemoryIsThatOfBricks) {
    Voxels few = read_vdb(sparse), all = read_vdb(sparse, "", NoLimit, NoLimit);
    size_t between = all.count(); // a quarter of its bytes
    EXPECT_TRUE(read_vdb(sparse, "", between).bricks);
    EXPECT_NE(error_of([&] { read_vdb(sparse, "", between, NoLimit); }).find("crop or resample"),
              std::string::npos);
    EXPECT_NE(error_of([&] { read_vdb(sparse, "", 1000); }).find("crop or resample"),
              std::string::npos);
    EXPECT_FALSE(read_vdb(grids).bricks); // small ones fit a cache as they are
}

TEST_F(VdbFile, SaysWhatCannotBeRead) {
    auto error = [&](const char *grid) {
        std::string e = error_of([&] { read_vdb(grids, grid); });
        EXPECT_NE(e.find("grids.vdb: "), std::string::npos) << e;
        return e;
    };
    EXPECT_NE(error("densty").find("no grid \"densty\"; it has a_void, broken, density"),
              std::string::npos);
    EXPECT_NE(error("mask").find("Tree_bool_5_4_3"), std::string::npos);
    EXPECT_NE(error("wide").find("1073741825 x 1073741825 x 1073741825"), std::string::npos);
    EXPECT_NE(error("broken").find("voxel 3, 2, 0"), std::string::npos);
    EXPECT_NE(error("frustum").find("frustum"), std::string::npos);
    EXPECT_NE(error("a_void").find("no voxel"), std::string::npos);
    EXPECT_NE(error_of([&] { read_vdb(grids, "density", 400); }).find("crop or resample"),
              std::string::npos);
    EXPECT_NE(error_of([&] { read_vdb("missing.vdb"); }).find("missing.vdb: cannot be read"),
              std::string::npos);
    EXPECT_NE(error_with("no such thing").find("not a VDB file"), std::string::npos);
}

TEST_F(VdbFile, TruncatedFilesAreRefused) {
    for (const auto &file : { grids, plain }) {
        std::string good = read_text_file(file);
        for (size_t tenths = 1; tenths < 10; ++tenths) {
            std::string e = error_with(good.substr(0, good.size() * tenths / 10));
            EXPECT_NE(e.find("ends early"), std::string::npos) << e;
        }
        EXPECT_NE(error_with(good.substr(0, 40)), "no error");
    }
}

// Damage gives an error, or other numbers.
TEST_F(VdbFile, DamagedFilesDoNotCrash) {
    std::string good = read_text_file(plain);
    for (uint32_t seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        std::string bytes = good;
        bytes[random() % (seed % 2 ? 1500 : bytes.size())] = char(random());
        write_file(damaged, bytes);
        error_of([&] { read_vdb(damaged); });
    }
}

TEST_F(VdbFile, IsNotReadForScenesOfOthers) {
    read_limits().plugin_libraries = false;
    std::string e = error_of([&] { read_vdb(grids); });
    read_limits().plugin_libraries = true;
    EXPECT_NE(e.find("--untrusted"), std::string::npos) << e;
}

#else

TEST(VdbFile, ABuildWithoutOpenVdbSaysWhatIsMissing) {
    std::string e = error_of([] { read_vdb("cloud.vdb"); });
    EXPECT_NE(e.find("cloud.vdb: this build of Umbel has no OpenVDB"), std::string::npos) << e;
    EXPECT_NE(e.find("libopenvdb-dev"), std::string::npos) << e;
}

#endif

} // namespace umbel
