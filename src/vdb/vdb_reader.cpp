// vdb/vdb_reader.cpp: grids of OpenVDB files, made dense; see vdb_reader.h.
#include "vdb/vdb_reader.h"
#include <openvdb/openvdb.h>
#include <tbb/parallel_for.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

using openvdb::CoordBBox;

[[noreturn]] void refuse(const std::string &what) { throw std::runtime_error(what); }

std::string names_of(const openvdb::io::File &file) {
    std::string names;
    for (auto name = file.beginName(); name != file.endName(); ++name)
        names += (names.empty() ? "" : ", ") + name.gridName();
    return names;
}

// Uncompressed numbers beyond the end of a file would read as they come: heads of grids say where they end.
struct Heads : openvdb::io::Archive {
    void check_ends(const std::string &name) {
        std::ifstream file(name, std::ios::binary | std::ios::ate);
        if (!file)
            refuse("cannot be read");
        auto size = int64_t(file.tellg());
        file.seekg(0);
        readHeader(file);
        setFormatVersion(file);
        openvdb::MetaMap().readMeta(file);
        for (int left = inputHasGridOffsets() ? readGridCount(file) : 0; left > 0; --left) {
            openvdb::io::GridDescriptor grid;
            grid.read(file);
            if (!file || grid.getEndPos() < file.tellg())
                refuse("the head of a grid is damaged");
            if (grid.getEndPos() > size)
                refuse("ends early: the grid \"" + grid.nameAsString(grid.gridName()) +
                       "\" goes on to byte " + std::to_string(grid.getEndPos()) +
                       ", and the file has " + std::to_string(size));
            file.seekg(grid.getEndPos());
        }
    }
    openvdb::SharedPtr<Archive> copy() const override { return nullptr; }
};

openvdb::GridBase::Ptr read_grid(openvdb::io::File &file, const std::string &name) {
    Heads().check_ends(file.filename());
    file.open(false); // everything at once: what is damaged shows here
    if (file.beginName() == file.endName())
        refuse("has no grids");
    if (!name.empty() && !file.hasGrid(name))
        refuse("has no grid \"" + name + "\"; it has " + names_of(file));
    if (!name.empty())
        return file.readGrid(name);
    return file.readGrid(file.hasGrid("density") ? "density" : file.beginName().gridName());
}

// Voxels lie around the points with integer coordinates.
void place(const openvdb::GridBase &grid, const CoordBBox &box, double (&to_world)[16]) {
    if (!grid.transform().isLinear())
        refuse("the transform of the grid is a frustum; resample it to a linear one");
    openvdb::Mat4d m = grid.transform().baseMap()->getAffineMap()->getMat4(); // for row vectors
    m.preTranslate(box.min().asVec3d() - openvdb::Vec3d(0.5));
    m.preScale(box.dim().asVec3d());
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            to_world[4 * row + column] = m(column, row);
}

void store(float *to, double v) { *to = float(v); }
void store(_Float16 *to, double v) { *to = _Float16(float(v)); }
template <class Number, class T> void store(Number *to, const openvdb::math::Vec3<T> &v) {
    for (int c = 0; c < 3; ++c)
        store(to + c, v[c]);
}

template <class Number, class Grid>
void fill(const Grid &grid, const CoordBBox &box, size_t channels, void *data) {
    auto n = box.dim();
    tbb::parallel_for(0, n.z(), [&](int z) {
        auto values = grid.getConstAccessor();
        auto *out =
            static_cast<Number *>(data) + size_t(z) * size_t(n.y()) * size_t(n.x()) * channels;
        for (int y = 0; y < n.y(); ++y)
            for (int x = 0; x < n.x(); ++x, out += channels)
                store(out, values.getValue(box.min().offsetBy(x, y, z)));
    });
}

/// False where the grid is of another type.
template <class Grid>
bool take(const openvdb::GridBase &any, size_t channels, uint64_t max_bytes, umbel_vdb_grid &out) {
    if (!any.isType<Grid>())
        return false;
    auto &grid = static_cast<const Grid &>(any);
    CoordBBox box = grid.evalActiveVoxelBoundingBox();
    if (box.empty())
        refuse("no voxel of the grid is active: there is nothing in it");
    bool is_half = grid.saveFloatAsHalf();
    out.channels = channels;
    out.bytes = is_half ? 2 : 4;
    double needed = double(channels * out.bytes);
    for (int a = 0; a < 3; ++a) {
        double n = double(box.max()[a]) - double(box.min()[a]) + 1; // may exceed an int
        out.size[a] = uint64_t(n);
        needed *= n;
    }
    if (needed > double(max_bytes)) {
        char text[300];
        std::snprintf(
            text, sizeof(text),
            "its active voxels span %.0f x %.0f x %.0f, which take %.1f GiB as a dense grid; "
            "%.1f GiB is the most: crop or resample it",
            double(out.size[0]), double(out.size[1]), double(out.size[2]), needed / 0x1p30,
            double(max_bytes) / 0x1p30);
        refuse(text);
    }
    place(grid, box, out.to_world);
    out.data = std::malloc(size_t(needed));
    if (!out.data)
        throw std::bad_alloc();
    (is_half ? fill<_Float16, Grid> : fill<float, Grid>)(grid, box, channels, out.data);
    return true;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
umbel_read_vdb(const char *file, const char *name, uint64_t max_bytes, umbel_vdb_grid *out) {
    *out = {};
    try {
        openvdb::initialize();
        openvdb::io::File opened(file);
        openvdb::GridBase::Ptr grid = read_grid(opened, name);
        if (take<openvdb::FloatGrid>(*grid, 1, max_bytes, *out) ||
            take<openvdb::DoubleGrid>(*grid, 1, max_bytes, *out) ||
            take<openvdb::Vec3SGrid>(*grid, 3, max_bytes, *out) ||
            take<openvdb::Vec3DGrid>(*grid, 3, max_bytes, *out))
            return 1;
        refuse("the grid \"" + grid->getName() + "\" is of type " + grid->type() +
               "; floats and vectors of three can be read");
    } catch (const std::exception &e) {
        std::snprintf(out->message, sizeof(out->message), "%s", e.what());
    } catch (...) {
        std::snprintf(out->message, sizeof(out->message), "OpenVDB failed");
    }
    return 0;
}
