// core/voxels.h: numbers on a grid in space, as they lie in a file or array of the host.
//
// A file begins with `VOL`, the version 3, then five 32-bit integers (the encoding; voxels along x, y and z; channels) and six
// floats (the box that it fills), followed by the numbers: all channels of a voxel, voxels along x, then y, then z. Encodings are
// 1: floats, 2: halves, 3: bytes for 0 to 1, and 4: directions, whose angles from z and around it are a byte each (255: none).
#pragma once
#include "core/transform_data.h"
#include "jit/type.h"
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace umbel {

struct Voxels {
    std::array<size_t, 3> size = {}; // along x, y and z
    size_t channels = 1;
    std::array<double, 6> box = { 0, 0, 0, 1, 1, 1 };
    std::optional<TransformData> to_world = {}; // in its place: from the unit cube
    jit::Type type = jit::Type::F32;            // U8, where 255 stands for 1, F16, F32 or F64
    std::shared_ptr<const void> data;           // as many as stored()

    /// Of grids that are mostly empty: cubes of voxels, of which equal ones of a single value are stored once. Voxels of a brick
    /// lie in the order of those of a grid. Those beyond the grid's ends have the number of the nearest one within.
    struct Bricks {
        static constexpr size_t Width = 8, Voxels = Width * Width * Width;
        std::array<size_t, 3> count = {}; // along x, y and z
        std::array<size_t, 3> first = {}; // where the grid's first voxel lies in the first brick
        size_t stored = 0;                // of them
        std::shared_ptr<const uint32_t> index; // which of those stands where, x before y before z
    };
    std::optional<Bricks> bricks = {}; // none: all voxels are stored

    size_t count() const { return size[0] * size[1] * size[2] * channels; }
    /// Numbers in memory; those below are among them.
    size_t stored() const { return bricks ? bricks->stored * Bricks::Voxels * channels : count(); }
    double number(size_t i) const;
    /// Where a voxel's first number is, over channels.
    size_t place_of(size_t x, size_t y, size_t z) const;
    /// Along x, y and z, of a number.
    std::array<size_t, 3> voxel_of(size_t i) const;
    /// The first one that is not finite.
    std::optional<size_t> find_not_finite() const;
    /// The first one that is less or more than that.
    std::optional<size_t> find_outside(double least, double most) const;
    std::vector<double> max_per_channel() const;
    /// Over all voxels, of something that is known of each that is stored.
    double mean_of(const std::vector<double> &each) const;

    struct Bounds {
        std::vector<double> least, most;
        bool operator==(const Bounds &) const = default;
    };
    /// The smallest and the largest number in each of x by y by z parts, x before y before z. Values between voxels' centres are
    /// blended, or each voxel's own; beyond its ends a grid goes on as it wraps: "clamp", "repeat" or "mirror".
    Bounds bounds(std::array<size_t, 3> parts, bool blended, const std::string &wrap) const;

private:
    Bounds bounds_of_bricks(const std::array<size_t, 3> &parts,
                            const std::array<std::vector<std::vector<size_t>>, 3> &voxels) const;
};

constexpr size_t VoxelHeadSize = 48; // bytes in a file, before the numbers
/// UserError for what is no such file. Files of more than a gigabyte are not copied into memory: the system reads what is used.
Voxels read_voxels(const std::filesystem::path &file);
/// Of floats or doubles.
template <class T>
Voxels voxels_from(std::array<size_t, 3> size, size_t channels, std::vector<T> numbers);

} // namespace umbel
