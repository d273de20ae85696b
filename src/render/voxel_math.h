// render/voxel_math.h: where rays meet the surface on which numbers at a voxel's corners, interpolated trilinearly, are zero; written
// once, for numbers of the host and of the program.
//
// Along a ray such numbers are a cubic polynomial of the distance [Hansson-Soderlund 2022]. Voxels share their faces: distances to a
// face and numbers on it come out the same, bit by bit, on both sides, so that no ray slips through between two voxels.
#pragma once
#include <cmath>
#include <cstddef>

namespace umbel::voxels {

/// Numbers at the corners: x changes first, then y, then z.
template <class F> struct Corners {
    F f[8];
};

/// Exact at both ends.
template <class F> F blend(const F &a, const F &b, const F &t) { return a * (F(1) - t) + b * t; }

template <class F>
F bilinear(const F &a, const F &b, const F &c, const F &d, const F &s, const F &t) {
    return blend(blend(a, b, s), blend(c, d, s), t);
}

/// The number at a place in the unit cube.
template <class F> F value(const Corners<F> &c, const F (&p)[3]) {
    const F(&f)[8] = c.f;
    return blend(bilinear(f[0], f[1], f[2], f[3], p[0], p[1]),
                 bilinear(f[4], f[5], f[6], f[7], p[0], p[1]), p[2]);
}

/// How it changes there along each axis.
template <class F> void gradient(const Corners<F> &c, const F (&p)[3], F (&to)[3]) {
    const F(&f)[8] = c.f;
    to[0] = bilinear<F>(f[1] - f[0], f[3] - f[2], f[5] - f[4], f[7] - f[6], p[1], p[2]);
    to[1] = bilinear<F>(f[2] - f[0], f[3] - f[1], f[6] - f[4], f[7] - f[5], p[0], p[2]);
    to[2] = bilinear<F>(f[4] - f[0], f[5] - f[1], f[6] - f[2], f[7] - f[3], p[0], p[1]);
}

/// c0 + c1 s + c2 s^2 + c3 s^3.
template <class F> struct Cubic {
    F c0, c1, c2, c3;

    F at(const F &s) const { return ((c3 * s + c2) * s + c1) * s + c0; }
    F slope(const F &s) const { return (F(3) * c3 * s + F(2) * c2) * s + c1; }
};

/// Numbers along a line that starts at a place in the unit cube.
template <class F> Cubic<F> along(const Corners<F> &c, const F (&p)[3], const F (&d)[3]) {
    const F(&f)[8] = c.f;
    F slope[3];
    gradient(c, p, slope);
    // Mixed derivatives: of pairs of axes, and of all three
    F xyz = (f[7] - f[6] - f[5] + f[4]) - (f[3] - f[2] - f[1] + f[0]);
    F xy = (f[3] - f[2] - f[1] + f[0]) + xyz * p[2], xz = (f[5] - f[4] - f[1] + f[0]) + xyz * p[1],
      yz = (f[6] - f[4] - f[2] + f[0]) + xyz * p[0];
    return { value(c, p), slope[0] * d[0] + slope[1] * d[1] + slope[2] * d[2],
             xy * d[0] * d[1] + xz * d[0] * d[2] + yz * d[1] * d[2], xyz * d[0] * d[1] * d[2] };
}

/// What is left to search: a polynomial of the distance from `begin` that crosses zero once between `low` and `high`.
template <class F, class M> struct Bracket {
    Cubic<F> cubic;
    F begin, low, high, s; // s: where it is thought to be
    M from_below;          // below zero at `low`
    M found;

    /// One step of Newton's method, or a bisection where that would lead out.
    template <class Select> Bracket next(Select &&select) const {
        Bracket b = *this;
        F f = cubic.at(s), step = s - f / cubic.slope(s);
        M below = f < F(0), at_low = (below & from_below) | !(below | from_below);
        b.low = select(at_low, s, low);
        b.high = select(at_low, high, s);
        b.s = select((step > b.low) & (step < b.high), step, F(0.5) * (b.low + b.high));
        return b;
    }
};

/// The first place at which a ray crosses the surface in the voxel whose least corner is `corner`. All are in units of voxels.
template <class F, class M, class Select>
Bracket<F, M> first_crossing(const Corners<F> &c, const F (&corner)[3], const F (&o)[3],
                             const F (&d)[3], const F &mint, const F &infinity, Select &&select) {
    using std::abs, std::sqrt;
    const F zero(0), one(1);
    F in[3], out[3], begin = mint, end = infinity;
    for (size_t i = 0; i < 3; ++i) {
        M still = d[i] == zero, up = d[i] > zero,
          inside = (o[i] >= corner[i]) & (o[i] <= corner[i] + one);
        F inv = one / select(still, one, d[i]);
        F a = (corner[i] - o[i]) * inv, b = (corner[i] + one - o[i]) * inv;
        in[i] = select(still, select(inside, -infinity, infinity), select(up, a, b));
        out[i] = select(still, infinity, select(up, b, a));
        begin = select(in[i] > begin, in[i], begin);
        end = select(out[i] < end, out[i], end);
    }
    M passes = begin <= end;
    begin = select(passes, begin, zero);
    end = select(passes, end, zero);

    // Numbers at both ends, for which places are moved onto the faces
    F first[3], last[3];
    auto limit = [&](const F &v) { return select(v < zero, zero, select(v > one, one, v)); };
    for (size_t i = 0; i < 3; ++i) {
        M up = d[i] > zero;
        first[i] =
            select(in[i] == begin, select(up, zero, one), limit(o[i] + begin * d[i] - corner[i]));
        last[i] =
            select(out[i] == end, select(up, one, zero), limit(o[i] + end * d[i] - corner[i]));
    }
    F length = end - begin, f_low = value(c, first), f_high = value(c, last);
    Cubic<F> cubic = along(c, first, d);

    // Between extremes of the polynomial it crosses zero once at most
    F a = F(3) * cubic.c3, root = cubic.c2 * cubic.c2 - a * cubic.c1;
    M turns = root >= zero;
    root = sqrt(select(turns, root, zero));
    F q = -(cubic.c2 + select(cubic.c2 < zero, -root, root));
    F r0 = q / a, r1 = cubic.c1 / q;
    M swap = r1 < r0;
    Bracket<F, M> b{ cubic, begin, zero, length, zero, f_low < zero, M(false) };
    auto differ = [](const M &x, const M &y) { return M((x & !y) | (y & !x)); };
    for (const F &r : { F(select(swap, r1, r0)), F(select(swap, r0, r1)) }) {
        M within = turns & !b.found & (r > b.low) & (r < length); // not where r is no number
        F f = cubic.at(select(within, r, zero));
        M crosses = within & differ(b.from_below, f < zero), stays = within & !crosses;
        b.high = select(crosses, r, b.high);
        f_high = select(crosses, f, f_high);
        b.low = select(stays, r, b.low);
        f_low = select(stays, f, f_low);
        b.found = b.found | crosses;
    }
    b.found = passes & differ(b.from_below, f_high < zero);
    // Where a straight line would cross
    F part = f_low / select(f_low == f_high, one, f_low - f_high);
    b.s = b.low + (b.high - b.low) * limit(part);
    return b;
}

} // namespace umbel::voxels
