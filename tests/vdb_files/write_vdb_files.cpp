// tests/vdb_files/write_vdb_files.cpp: OpenVDB files for tests, written by OpenVDB itself.
//
//     write_vdb_files FOLDER     # grids.vdb, compressed; plain.vdb, not; sparse.vdb, mostly empty
#include <openvdb/openvdb.h>

#include <cmath>
#include <string>

using namespace openvdb;

template <class Grid> typename Grid::Ptr named(const char *name) {
    auto grid = Grid::create(zeroVal<typename Grid::ValueType>());
    grid->setName(name);
    return grid;
}

// Two clouds far apart and a solid block, in a box whose ends no brick has.
template <class Grid, class F> typename Grid::Ptr clouds(const char *name, F &&value) {
    auto grid = named<Grid>(name);
    for (const Coord &centre : { Coord(-20, 10, 30), Coord(93, 71, 118) })
        for (int z = -12; z <= 12; ++z)
            for (int y = -12; y <= 12; ++y)
                for (int x = -12; x <= 12; ++x)
                    if (x * x + y * y + z * z < 150)
                        grid->tree().setValue(centre.offsetBy(x, y, z), value(x, y, z));
    grid->fill(CoordBBox({ 16, 16, 16 }, { 31, 31, 47 }), value(3, 2, 1));
    grid->setTransform(math::Transform::createLinearTransform(0.03));
    return grid;
}

int main(int, char **arguments) {
    initialize();

    // x + 10 y + 100 z in two by three by four voxels from (-1, 2, 5), and 7 in one far away; a quarter apart, turned about z
    auto density = named<FloatGrid>("density");
    for (int z = 0; z < 4; ++z)
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 2; ++x)
                density->tree().setValue({ x - 1, y + 2, z + 5 }, float(x + 10 * y + 100 * z));
    density->tree().setValue({ 8, 2, 5 }, 7);
    math::Transform::Ptr place = math::Transform::createLinearTransform(0.25);
    place->postRotate(std::acos(-1.0) / 2, math::Z_AXIS);
    place->postTranslate({ 10, 20, 30 });
    density->setTransform(place);

    auto half = density->deepCopy();
    half->setName("half");
    half->setSaveFloatAsHalf(true);

    auto velocity = named<Vec3SGrid>("velocity");
    velocity->tree().setValue({ 0, 0, 0 }, { 1, 2, 3 });
    velocity->tree().setValue({ 1, 0, 0 }, { 4, 5, 6 });

    auto tile = named<DoubleGrid>("tile"); // one value for thousands of voxels
    tile->fill(CoordBBox({ 0, 0, 0 }, { 15, 15, 31 }), 0.5);

    auto wide = named<FloatGrid>("wide");
    wide->tree().setValue({ 0, 0, 0 }, 1);
    wide->tree().setValue({ 1 << 30, 1 << 30, 1 << 30 }, 1);

    auto broken = named<FloatGrid>("broken");
    broken->tree().setValue({ 0, 0, 0 }, 1);
    broken->tree().setValue({ 3, 2, 0 }, std::nanf(""));

    auto mask = named<BoolGrid>("mask");
    mask->tree().setValue({ 0, 0, 0 }, true);

    auto frustum = density->deepCopy();
    frustum->setName("frustum");
    frustum->setTransform(math::Transform::createFrustumTransform(
        BBoxd(Vec3d(0), Vec3d(9)), /* taper */ 0.5, /* depth */ 1.0, /* voxel */ 0.25));

    auto smoke = clouds<FloatGrid>(
        "density", [](int x, int y, int z) { return std::abs(float(x + 2 * y + 3 * z)) / 40; });
    auto smoke_of_halves = smoke->deepCopy();
    smoke_of_halves->setName("half");
    smoke_of_halves->setSaveFloatAsHalf(true);
    auto colours = clouds<Vec3SGrid>("colour", [](int x, int y, int z) {
        return Vec3f(float(x + 12), float(y + 12), float(z + 12)) / 24;
    });

    auto write = [&](const char *name, uint32_t compression, const GridPtrVec &grids) {
        io::File file(std::string(arguments[1]) + "/" + name);
        file.setCompression(compression);
        file.write(grids);
    };
    write(
        "grids.vdb", io::COMPRESS_ZIP | io::COMPRESS_ACTIVE_MASK,
        { density, half, velocity, tile, wide, broken, mask, frustum, named<FloatGrid>("a_void") });
    write("plain.vdb", io::COMPRESS_NONE, { velocity, density });
    write("sparse.vdb", io::COMPRESS_ZIP | io::COMPRESS_ACTIVE_MASK,
          { smoke, smoke_of_halves, colours });
}
