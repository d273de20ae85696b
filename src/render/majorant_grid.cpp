// render/majorant_grid.cpp: see majorant_grid.h.
#include "render/majorant_grid.h"
#include "core/host_array.h"
#include "render/volume_range.h"
#include <algorithm>

namespace umbel {

static constexpr size_t VoxelsPerCell = 4, MaxCells = 64;

MajorantGrid::MajorantGrid(const Volume &volume, double scale, double least_scale) {
    BoundingBox box = volume.bounds();
    double diagonal =
        std::hypot(box.max[0] - box.min[0], box.max[1] - box.min[1], box.max[2] - box.min[2]);
    m_most = opaque_float(MostDepth / diagonal);
    std::array<size_t, 3> n, voxels = volume.resolution();
    for (size_t a = 0; a < 3; ++a)
        n[a] = std::clamp<size_t>((voxels[a] + VoxelsPerCell - 1) / VoxelsPerCell, 1, MaxCells);
    Voxels::Bounds bounds = bounds_of_parts(volume, n);
    // Padded by the outermost cells' values
    auto padded = [&](const std::vector<double> &of_cells, double scale) {
        std::vector<double> out;
        out.reserve((n[0] + 2) * (n[1] + 2) * (n[2] + 2));
        auto inner = [&](size_t i, size_t a) { return std::clamp<size_t>(i, 1, n[a]) - 1; };
        for (size_t z = 0; z < n[2] + 2; ++z)
            for (size_t y = 0; y < n[1] + 2; ++y)
                for (size_t x = 0; x < n[0] + 2; ++x) {
                    double v = of_cells[(inner(z, 2) * n[1] + inner(y, 1)) * n[0] + inner(x, 0)];
                    out.push_back(std::min(scale * std::max(0.0, v), MostDepth / diagonal));
                }
        return float_array(out);
    };
    m_bounds = padded(bounds.most, scale);
    m_lower = padded(bounds.least, least_scale);
    auto count = [](size_t c) { return jit::opaque(uint32_t(c)); };
    m_stride_y = count(n[0] + 2);
    m_stride_z = count((n[0] + 2) * (n[1] + 2));
    m_last = count((n[0] + 2) * (n[1] + 2) * (n[2] + 2) - 1);
    m_count = { opaque_float(double(n[0])), opaque_float(double(n[1])),
                opaque_float(double(n[2])) };
    TransformData cells =
        TransformData::scale({ 1.0 / double(n[0]), 1.0 / double(n[1]), 1.0 / double(n[2]) });
    m_least = opaque_float(1 / diagonal);
    m_to_cells = Transform(volume.placement() * cells).inverse();
}

MajorantGrid::Path MajorantGrid::path_of(const Ray &ray) const {
    Vector3 o = m_to_cells.point(ray.o), d = m_to_cells.vector(ray.d);
    Float from(0), to(ray.maxt);
    auto clip = [&](const Float &o, const Float &d, const Float &high) {
        // Along a side the quotients are infinite, or 0 / 0 on the side itself: then the other bounds count
        Float a = -o / d, b = (high - o) / d;
        Mask counts = (d != 0) | (o < 0) | (o > high);
        from = select(counts, max(from, min(a, b)), from);
        to = select(counts, min(to, max(a, b)), to);
    };
    clip(o.x, d.x, m_count.x);
    clip(o.y, d.y, m_count.y);
    clip(o.z, d.z, m_count.z);
    Mask meets = from < to;
    auto stride = [](const Float &d, const UInt32 &s) { return select(d > 0, s, UInt32(0u) - s); };
    return { select(meets, from, Float(0)),
             select(meets, to - from, Float(0)),
             { rcp(abs(d.x)), rcp(abs(d.y)), rcp(abs(d.z)) },
             { stride(d.x, UInt32(1u)), stride(d.y, m_stride_y), stride(d.z, m_stride_z) } };
}

MajorantGrid::Walk MajorantGrid::enter(const Path &path, const Ray &ray) const {
    Vector3 p = m_to_cells.point(ray(path.mint)), d = m_to_cells.vector(ray.d);
    Walk walk{ Float(0), {}, UInt32(0u) };
    auto along = [&](const Float &p, const Float &d, const Float &count, const Float &step,
                     const UInt32 &stride) {
        Float cell = clamp(floor(p), Float(0), count - 1);
        walk.cell = walk.cell + (to_uint(cell) + UInt32(1u)) * stride;
        return select(d > 0, cell + 1 - p, select(d < 0, p - cell, Float(1))) * step;
    };
    walk.next = { along(p.x, d.x, m_count.x, path.step.x, UInt32(1u)),
                  along(p.y, d.y, m_count.y, path.step.y, m_stride_y),
                  along(p.z, d.z, m_count.z, path.step.z, m_stride_z) };
    return walk;
}

Float MajorantGrid::follow(const Path &path, Walk &walk, const Float &depth, bool raised,
                           const Mask &active) const {
    return walk_on(path, walk, depth, raised, active, nullptr);
}

MajorantGrid::Rest MajorantGrid::follow_rest(const Path &path, Walk &walk, const Float &depth,
                                             const Mask &active) const {
    Rest rest{ Float(0), Float(0), Float(0) };
    rest.bound = walk_on(path, walk, depth, false, active, &rest);
    return rest;
}

Float MajorantGrid::walk_on(const Path &path, Walk &walk, const Float &depth, bool raised,
                            const Mask &active, Rest *rest) const {
    struct State {
        Walk walk;
        Float depth;             // left
        Float bound;             // where it ended
        std::vector<Float> rest; // the least there, and how much of it was passed
        Mask active;
        UMBEL_STRUCT(walk, depth, bound, rest, active)
    };
    State s{ walk, depth, Float(0), {}, active & (walk.t < path.length) };
    if (rest)
        s.rest = { rest->least, rest->depth };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            Walk &w = s.walk;
            UInt32 cell = select(w.cell < m_last, w.cell, m_last);
            Float bound(jit::gather(m_bounds, cell, s.active)), least, from = w.t;
            if (rest) {
                least = Float(jit::gather(m_lower, cell, s.active));
                bound = bound - least;
            }
            if (raised)
                bound = fma(bound, Float(Raised), m_least);
            Float border = min(min(w.next.x, w.next.y), min(w.next.z, path.length));
            Float passed = bound * (border - w.t);
            Mask ends = passed > s.depth; // so that the bound is not 0
            w.t = select(ends, w.t + s.depth / bound, border);
            s.depth -= select(ends, Float(0), passed);
            s.bound = select(ends, bound, Float(0));
            auto cross = [&](Float &next, const Float &step, const UInt32 &stride) {
                Mask crosses = (!ends) & (next <= border);
                next = select(crosses, next + step, next);
                w.cell = select(crosses, w.cell + stride, w.cell);
            };
            cross(w.next.x, path.step.x, path.stride[0]);
            cross(w.next.y, path.step.y, path.stride[1]);
            cross(w.next.z, path.step.z, path.stride[2]);
            s.active = s.active & !ends & (border < path.length);
            if (rest) {
                s.rest = { least, fma(least, w.t - from, s.rest[1]) };
                s.active = s.active & (s.rest[1] < Opaque);
            }
        },
        "cells");
    walk = s.walk;
    if (rest) {
        rest->least = s.rest[0];
        rest->depth = s.rest[1];
    }
    return s.bound;
}

} // namespace umbel
