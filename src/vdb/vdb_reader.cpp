// vdb/vdb_reader.cpp: grids of OpenVDB files, as all voxels of a box, or as bricks; see vdb_reader.h.
#include "vdb/vdb_reader.h"
#include "jit/parallel.h"
#include <openvdb/openvdb.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

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
    umbel::jit::parallel_for(0, n.z(), [&](int z) {
        auto values = grid.getConstAccessor();
        auto *out =
            static_cast<Number *>(data) + size_t(z) * size_t(n.y()) * size_t(n.x()) * channels;
        for (int y = 0; y < n.y(); ++y)
            for (int x = 0; x < n.x(); ++x, out += channels)
                store(out, values.getValue(box.min().offsetBy(x, y, z)));
    });
}

// ---- bricks

constexpr int Width = 8; // also of OpenVDB's leaves
constexpr size_t BrickVoxels = size_t(Width) * Width * Width;

CoordBBox bricks_around(const CoordBBox &box) { return { box.min() >> 3, box.max() >> 3 }; }

size_t cell_of(const openvdb::Coord &brick, const CoordBBox &all) {
    auto n = all.dim();
    openvdb::Coord at = brick - all.min();
    return (size_t(at.z()) * size_t(n.y()) + size_t(at.y())) * size_t(n.x()) + size_t(at.x());
}

/// What is to be stored: each leaf, and each value that fills a brick.
template <class Grid> struct Contents {
    using Value = typename Grid::ValueType;
    std::vector<const typename Grid::TreeType::LeafNodeType *> leaves;
    std::vector<Value> values; // in the order of their numbers, which follow those of leaves
    std::unique_ptr<uint32_t, decltype(&std::free)> index{ nullptr, std::free };

    size_t stored() const { return leaves.size() + values.size(); }
};

template <class Grid> Contents<Grid> contents_of(const Grid &grid, const CoordBBox &box) {
    constexpr uint32_t None = ~0u;
    CoordBBox all = bricks_around(box);
    Contents<Grid> c;
    size_t cells = cell_of(all.max(), all) + 1;
    c.index.reset(static_cast<uint32_t *>(std::malloc(cells * sizeof(uint32_t))));
    if (!c.index)
        throw std::bad_alloc();
    uint32_t *index = c.index.get();
    std::fill_n(index, cells, None);
    for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf)
        if (openvdb::Coord at = leaf->origin() >> 3; all.isInside(at)) {
            index[cell_of(at, all)] = uint32_t(c.leaves.size());
            c.leaves.push_back(leaf.getLeaf());
        }
    // Tiles of the tree are as wide as bricks, or wider
    using Value = typename Grid::ValueType;
    std::map<std::array<char, sizeof(Value)>, uint32_t> known; // by their bits
    auto values = grid.getConstAccessor();
    size_t cell = 0;
    for (int z = all.min().z(); z <= all.max().z(); ++z)
        for (int y = all.min().y(); y <= all.max().y(); ++y)
            for (int x = all.min().x(); x <= all.max().x(); ++x, ++cell)
                if (index[cell] == None) {
                    Value v = values.getValue({ x * Width, y * Width, z * Width });
                    auto bits = std::bit_cast<std::array<char, sizeof(Value)>>(v);
                    auto [at, is_new] = known.emplace(bits, uint32_t(c.stored()));
                    if (is_new)
                        c.values.push_back(v);
                    index[cell] = at->second;
                }
    return c;
}

template <class Number, class Grid>
void fill_bricks(const Contents<Grid> &contents, const CoordBBox &box, size_t channels,
                 void *data) {
    auto *to = static_cast<Number *>(data);
    size_t leaves = contents.leaves.size();
    umbel::jit::parallel_for(size_t(0), contents.stored(), [&](size_t i) {
        Number *out = to + i * BrickVoxels * channels;
        for (int z = 0; z < Width; ++z)
            for (int y = 0; y < Width; ++y)
                for (int x = 0; x < Width; ++x, out += channels) {
                    if (i >= leaves) {
                        store(out, contents.values[i - leaves]);
                        continue;
                    }
                    auto &leaf = *contents.leaves[i];
                    openvdb::Coord p = leaf.origin().offsetBy(x, y, z);
                    p.minComponent(box.max());
                    p.maxComponent(box.min());
                    store(out, leaf.getValue(p));
                }
    });
}

// ---- grids

[[noreturn]] void refuse_size(const umbel_vdb_grid &grid, double needed, uint64_t max_bytes) {
    char text[300];
    std::snprintf(text, sizeof(text),
                  "its active voxels span %.0f x %.0f x %.0f, which take %.1f GiB; %.1f GiB is the "
                  "most: crop or resample it",
                  double(grid.size[0]), double(grid.size[1]), double(grid.size[2]), needed / 0x1p30,
                  double(max_bytes) / 0x1p30);
    refuse(text);
}

/// False where bricks do not halve it.
template <class Grid>
bool take_bricks(const Grid &grid, const CoordBBox &box, double dense, uint64_t max_bytes,
                 umbel_vdb_grid &out) {
    CoordBBox all = bricks_around(box);
    double cells = 1, brick = double(BrickVoxels * out.channels * out.bytes);
    for (int a = 0; a < 3; ++a)
        cells *= double(all.max()[a]) - double(all.min()[a]) + 1;
    double least = 4 * cells + brick * double(grid.tree().leafCount());
    if (2 * least > dense)
        return false;
    if (least > double(max_bytes))
        refuse_size(out, least, max_bytes);
    Contents<Grid> contents = contents_of(grid, box);
    double needed = 4 * cells + brick * double(contents.stored());
    if (2 * needed > dense)
        return false;
    if (needed > double(max_bytes))
        refuse_size(out, needed, max_bytes);
    out.data = std::malloc(contents.stored() * size_t(brick));
    if (!out.data)
        throw std::bad_alloc();
    (out.bytes == 2 ? fill_bricks<_Float16, Grid>
                    : fill_bricks<float, Grid>)(contents, box, out.channels, out.data);
    out.stored = contents.stored();
    out.index = contents.index.release();
    for (int a = 0; a < 3; ++a) {
        out.bricks[a] = uint64_t(all.dim()[a]);
        out.first[a] = uint64_t(box.min()[a] - Width * all.min()[a]);
    }
    return true;
}

/// False where the grid is of another type.
template <class Grid>
bool take(const openvdb::GridBase &any, size_t channels, uint64_t max_bytes, uint64_t dense_bytes,
          umbel_vdb_grid &out) {
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
    place(grid, box, out.to_world);
    if (needed > double(dense_bytes) && take_bricks(grid, box, needed, max_bytes, out))
        return true;
    if (needed > double(max_bytes))
        refuse_size(out, needed, max_bytes);
    out.data = std::malloc(size_t(needed));
    if (!out.data)
        throw std::bad_alloc();
    (is_half ? fill<_Float16, Grid> : fill<float, Grid>)(grid, box, channels, out.data);
    return true;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
umbel_read_vdb(const char *file, const char *name, uint64_t max_bytes, uint64_t dense_bytes,
               umbel_vdb_grid *out) {
    *out = {};
    try {
        openvdb::initialize();
        openvdb::io::File opened(file);
        openvdb::GridBase::Ptr grid = read_grid(opened, name);
        if (take<openvdb::FloatGrid>(*grid, 1, max_bytes, dense_bytes, *out) ||
            take<openvdb::DoubleGrid>(*grid, 1, max_bytes, dense_bytes, *out) ||
            take<openvdb::Vec3SGrid>(*grid, 3, max_bytes, dense_bytes, *out) ||
            take<openvdb::Vec3DGrid>(*grid, 3, max_bytes, dense_bytes, *out))
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
