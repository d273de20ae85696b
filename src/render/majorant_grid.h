// render/majorant_grid.h: bounds of an extinction, cell by cell, and the walk of rays through them.
//
// Distances are sampled as if the extinction were its bound; where it is less, collisions are null ones. One bound for a whole
// volume makes a thin plume as dear as its densest place. Here each cell of a coarse grid has its own: a ray goes from cell to
// cell [Amanatides 1987], and empty ones cost next to nothing. What a cell has at least, takes from light that passes what it takes
// for certain: only the rest need be tracked.
//
// Null collisions are as many as the bound is great, and where a mean free path is less than the spacing of numbers a ray would not
// get on at all. So what is denser than could be told apart from a surface counts as being just so dense.
#pragma once
#include "render/interaction.h"
#include "render/volume.h"

namespace umbel {

class MajorantGrid {
public:
    MajorantGrid() = default;
    /// Of `scale` times the volume, and more than `least_scale` times it; of about four voxels a cell along each axis, and at most
    /// 64 cells.
    MajorantGrid(const Volume &volume, double scale, double least_scale);

    bool is_built() const { return m_bounds.valid(); }
    /// A greater extinction counts as this one.
    const Float &most() const { return m_most; }

    /// What does not change while a ray is followed.
    struct Path {
        Float mint,
            length; // where the ray enters, and how far it goes on from there; 0 where it does not
        Vector3 step;     // distance from border to border along each axis
        UInt32 stride[3]; // between cells, in the ray's direction
    };
    /// How far it has been followed.
    struct Walk {
        Float t;      // since it entered
        Vector3 next; // where it crosses the next border of each axis
        UInt32 cell;
        UMBEL_STRUCT(t, next, cell)
    };
    Path path_of(const Ray &ray) const;
    Walk enter(const Path &path, const Ray &ray) const;
    /// Goes on until the bounds that it passes add up to `depth`, in units of optical depth. Returns the bound there; 0
    /// where the path ends before. Raised bounds are greater than what they bound everywhere: by a part of it, and so much that
    /// a ray through all of an empty grid has one collision or so.
    Float follow(const Path &path, Walk &walk, const Float &depth, bool raised,
                 const Mask &active) const;
    /// Likewise, of what cells may have beyond the least.
    struct Rest {
        Float bound; // where it got to; 0 where the path ends, or nothing is left of light
        Float least; // there
        Float depth; // of the least that it has passed
    };
    Rest follow_rest(const Path &path, Walk &walk, const Float &depth, const Mask &active) const;
    static constexpr double Raised = 1.2;
    /// Optical depths: nothing that a number in single precision could tell gets through; and the greatest one of a whole volume,
    /// whose mean free path is then far less than a voxel.
    static constexpr double Opaque = 110, MostDepth = 1 << 20;

private:
    Float walk_on(const Path &path, Walk &walk, const Float &depth, bool raised, const Mask &active,
                  Rest *rest) const;

    Transform m_to_cells;          // from the scene's space
    Vector3 m_count;               // of cells along each axis
    UInt32 m_stride_y, m_stride_z; // in m_bounds
    UInt32 m_last;                 // no cell is after this one
    Float m_least;                 // of raised bounds
    Float m_most;                  // of those that are not
    Value m_bounds; // with one more cell at each end, for rays that leave by a rounding error
    Value m_lower;  // likewise
};

} // namespace umbel
