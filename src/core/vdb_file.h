// core/vdb_file.h: grids of OpenVDB files, where this build of Umbel knows them.
#pragma once
#include "core/voxels.h"

namespace umbel {

/// By its name.
bool is_vdb_file(const std::filesystem::path &file);

/// The numbers in the box of the grid's active voxels: floats, halves where the file has them, one or three a voxel. Without a
/// name, those of `density`, or else of the first grid in the order of names. UserError for damaged files, other types of grids,
/// more than `max_bytes` of memory, and builds without OpenVDB. Grids of more than `dense_bytes` become bricks where that halves
/// them; smaller ones fit a cache as they are.
Voxels read_vdb(const std::filesystem::path &file, const std::string &grid = "",
                size_t max_bytes = size_t(4) << 30, size_t dense_bytes = size_t(2) << 20);

} // namespace umbel
