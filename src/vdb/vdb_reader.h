// vdb/vdb_reader.h: what core/vdb_file.cpp and the library that calls OpenVDB say to each other.
//
// OpenVDB brings a dozen libraries along, which take 30 ms to load. What calls it is therefore a library of its own,
// libumbel_vdb.so, which is opened when the first such file is read. Neither exceptions nor classes pass between the two.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

struct umbel_vdb_grid {
    uint64_t size[3];    // of the box of the active voxels, along x, y and z
    uint64_t channels;   // 1 or 3
    uint64_t bytes;      // of a number: 4, or 2 where the file has halves
    double to_world[16]; // from the unit cube, which the voxels fill, row by row
    void *data; // all channels of a voxel, voxels along x, then y, then z; the caller calls free()
    // Of a grid that is mostly empty: which brick stands where, also to be freed, and how many are in `data`, each of 8 x 8 x 8
    // voxels; bricks along each axis, and where the grid's first voxel is in the first of them
    uint32_t *index;
    uint64_t stored, bricks[3], first[3];
    char message[512]; // what went wrong
};

/// Reads the grid of this name; where it is empty, `density`, or else the first one in the order of names. Grids of more than
/// `dense_bytes` become bricks where that halves them. Returns 0 where that failed.
int umbel_read_vdb(const char *file, const char *grid, uint64_t max_bytes, uint64_t dense_bytes,
                   umbel_vdb_grid *out);
}
