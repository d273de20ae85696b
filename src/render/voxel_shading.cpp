// render/voxel_shading.cpp: see render/voxel_shading.h.
#include "render/voxel_shading.h"
#include "jit/control.h"

namespace umbel::voxels {

namespace {

const Float Vector3::*const Axes[3] = { &Vector3::x, &Vector3::y, &Vector3::z };

} // namespace

// ---- slopes

// Along an axis the slope of a voxel is the difference of numbers on two of its faces, opposite to the place.
Around::Along Around::along(size_t axis, const Vector3 &p, bool bend) const {
    size_t b = (axis + 1) % 3, c = (axis + 2) % 3;
    const Float &pa = p.*Axes[axis], &pb = p.*Axes[b], &pc = p.*Axes[c];
    Float own_faces[2][4];
    for (size_t side = 0; side < 2; ++side)
        for (size_t k = 0; k < 4; ++k)
            own_faces[side][k] = corners.f[side << axis | (k & 1) << b | (k >> 1) << c];
    const Mask &up = upper[axis], &none = lacks[axis];
    double scale = size[axis]; // to the shape's space
    auto slopes = [&](auto &&on, Float &low, Float &high) {
        Float f0 = on(own_faces[0]), f1 = on(own_faces[1]), next = on(beyond[axis]);
        // At the grid's end there is no other, with a weight of 0
        Float own = f1 - f0, other = select(up, next - f1, f0 - next);
        other = select(none, own, other);
        low = select(up, own, other) * scale;
        high = select(up, other, own) * scale;
    };
    Along out;
    slopes([&](const Float(&f)[4]) { return bilinear(f[0], f[1], f[2], f[3], pb, pc); }, out.low,
           out.high);
    out.weight = select(up, pa - 0.5, pa + 0.5);
    out.weight = select(none, select(up, Float(0), Float(1)), out.weight);
    if (!bend)
        return out;
    slopes([&](const Float(&f)[4]) { return blend<Float>(f[1] - f[0], f[3] - f[2], pc); },
           out.low_by[0], out.high_by[0]);
    slopes([&](const Float(&f)[4]) { return blend<Float>(f[2] - f[0], f[3] - f[1], pb); },
           out.low_by[1], out.high_by[1]);
    out.weight_by = select(none, Float(0), Float(1));
    return out;
}

Around::Slope Around::blend_all(const Vector3 &p, bool bend) const {
    Along a[3] = { along(0, p, bend), along(1, p, bend), along(2, p, bend) };
    auto mix = [](const Vector3 &a, const Vector3 &b, const Float &t) {
        return a * (1 - t) + b * t;
    };
    auto blended = [&](const Vector3(&n)[8]) {
        const Float &x = a[0].weight, &y = a[1].weight, &z = a[2].weight;
        return mix(mix(mix(n[0], n[1], x), mix(n[2], n[3], x), y),
                   mix(mix(n[4], n[5], x), mix(n[6], n[7], x), y), z);
    };
    auto as_slope = [&](const Vector3 &n) {
        return Vector3(n.x / size[0], n.y / size[1], n.z / size[2]);
    };
    auto chosen = [&](size_t k, size_t i) { return k >> i & 1 ? a[i].high : a[i].low; };
    Vector3 n[8];
    for (size_t k = 0; k < 8; ++k)
        n[k] = normalize({ chosen(k, 0), chosen(k, 1), chosen(k, 2) });
    Slope out{ as_slope(blended(n)), {} };
    for (size_t j = 0; j < 3 && bend; ++j) {
        // Of the normals: what is across them, over the length that they had
        Vector3 turn[8];
        for (size_t k = 0; k < 8; ++k) {
            Float v[3];
            for (size_t i = 0; i < 3; ++i) {
                size_t next = (j + 2 - i) % 3; // 0 or 1: j is the next axis, or the one after that
                const Along &along = a[i];
                v[i] = i == j ? Float(0) : (k >> i & 1 ? along.high_by : along.low_by)[next];
            }
            Vector3 way(v[0], v[1], v[2]);
            Float length2 = sqr(chosen(k, 0)) + sqr(chosen(k, 1)) + sqr(chosen(k, 2));
            turn[k] = fma(n[k], -dot(n[k], way), way) * rsqrt(length2);
        }
        // Of the weight along j: one side less the other
        Vector3 sides[8];
        for (size_t k = 0; k < 8; ++k) {
            size_t bit = size_t(1) << j;
            sides[k] = (n[k | bit] - n[k & ~bit]) * a[j].weight_by;
        }
        out.by[j] = as_slope(blended(turn) + blended(sides));
    }
    return out;
}

Vector3 Around::slope(const Vector3 &p) const { return blend_all(p, false).h; }
Around::Slope Around::slope_and_bend(const Vector3 &p) const { return blend_all(p, true); }

// ---- where they are turned away

TurningLine::TurningLine(const Around &around, const Vector3 &eye, const Float &w, const Vector3 &p)
    : g(Slopes(around.corners, p).g) {
    Around::Slope s = around.slope_and_bend(p);
    Vector3 v = fma(p, -w, eye);
    by = fma(s.h, -w, { dot(s.by[0], v), dot(s.by[1], v), dot(s.by[2], v) });
}

TurningLine::TurningLine(const Corners<Float> &c, const Vector3 &eye, const Float &w,
                         const Vector3 &p) {
    Slopes s(c, p);
    g = s.g;
    by = fma(s.g, -w, s.bend(fma(p, -w, eye)));
}

// In the plane of both: g . way = -df, by . way = -dc
Vector3 TurningLine::way(const Float &df, const Float &dc) const {
    Float gg = squared_norm(g), bb = squared_norm(by), gb = dot(g, by), det = gg * bb - gb * gb,
          inv = select(det > 0, rcp(det), Float(0));
    return (g * (gb * dc - bb * df) + by * (gb * df - gg * dc)) * inv;
}

namespace {

// In the plane x = s of one eighth of a voxel, numbers are bilinear, and zero along
//
//     a0 + a1 y + a2 z + a3 y z = 0
//
// These are four arcs at most: two over y, where the curve is not steep, and two over z. On the first of two, numbers rise along the
// other axis; on the second they fall. Steep is a slope that surfaces seldom have all over a voxel, as they have 1.
struct Arcs {
    static constexpr double Steep = 1.37;
    Float a[4], y0, z0; // the eighth's least corner

    struct Arc {
        Mask over_y;
        Float a0, along, across, both; // the numbers above, from the arc's own axis
        Float low, high;               // from where to where
        Mask exists;

        Float other(const Float &v) const { return -fma(along, v, a0) / fma(both, v, across); }
        Float inverse(const Float &o) const { return -fma(across, o, a0) / fma(both, o, along); }
    };

    Arc arc(const UInt32 &number) const {
        Arc r;
        r.over_y = number < UInt32(2u);
        r.a0 = a[0];
        r.along = select(r.over_y, a[1], a[2]);
        r.across = select(r.over_y, a[2], a[1]);
        r.both = a[3];
        // sign (across + both v) >= least, since slopes along both axes have one product on all of the curve
        Float sign = select((number & UInt32(1u)) != UInt32(0u), Float(-1), Float(1)),
              product = abs(a[1] * a[2] - a[0] * a[3]),
              least = sqrt(product * select(r.over_y, Float(1 / Steep), Float(Steep))),
              begin = select(r.over_y, y0, z0), end = begin + 0.5,
              v = (sign * least - r.across) / r.both;
        Mask level = r.both == 0, rises = sign * r.both > 0;
        r.low = select((!level) & rises, max(begin, v), begin);
        r.high = select(level | rises, end, min(end, v));
        r.exists = (r.low < r.high) & ((!level) | (sign * r.across >= least));
        // As far as it is within the eighth
        Float from = select(r.over_y, z0, y0), to = from + 0.5, at_low = r.other(r.low),
              at_high = r.other(r.high);
        Mask outside = ((at_low < from) & (at_high < from)) | ((at_low > to) & (at_high > to));
        r.exists = r.exists & !outside;
        auto cut = [&](const Float &at, const Float &end) {
            Float nearest = min(max(at, from), to);
            return select(nearest == at, end, min(max(r.inverse(nearest), r.low), r.high));
        };
        Float low = cut(at_low, r.low), high = cut(at_high, r.high);
        r.low = low;
        r.high = high;
        return r;
    }
};

constexpr uint32_t Parts = 2; // of an arc, in each of which one place at most is looked for

// Between `low` and `high` of an arc the normals turn away.
struct Interval {
    UInt32 arc;
    Float low, high, at_low, at_high;
    UMBEL_STRUCT(arc, low, high, at_low, at_high)
};

struct Search {
    UInt32 step;
    Float before; // at the last place
    Interval chosen;
    Float choice; // uniform in [0, 1): what is left of a random number
    Float found;  // how many
    UMBEL_STRUCT(step, before, chosen, choice, found)
};

struct Refinement {
    Interval b;
    Float v;
    UInt32 step, side; // which end was moved last: 1 or 2
    Mask ends;
    UMBEL_STRUCT(b, v, step, side, ends)
};

/// The plane x = s of one eighth, with its curve.
struct Plane {
    const Around &around;
    const Vector3 &eye;
    const Float &w;
    UInt32 axis;
    Float x;
    Arcs arcs;

    Vector3 place(const Arcs::Arc &arc, const Float &v) const {
        Float o = arc.other(v);
        return turned_back({ x, select(arc.over_y, v, o), select(arc.over_y, o, v) }, axis);
    }
    Float facing(const Arcs::Arc &arc, const Float &v) const {
        Vector3 p = place(arc, v);
        return dot(around.slope(p), fma(p, -w, eye));
    }
};

// One of the places between which normals turn away, all of them alike.
Search find(const Plane &plane, const Float &choice, const Mask &active) {
    UInt32 none(0u);
    Float zero(0);
    Search search{ none, zero, { none, zero, zero, zero, zero }, choice, zero };
    return jit::loop(
        search, [&](const Search &s) { return active & (s.step < UInt32(4 * (Parts + 1))); },
        [&](Search &s) {
            UInt32 which = s.step / UInt32(Parts + 1), part = s.step - which * UInt32(Parts + 1);
            Arcs::Arc arc = plane.arcs.arc(which);
            Float width = (arc.high - arc.low) * (1.0 / Parts),
                  v = fma(width, Float(part), arc.low), now = plane.facing(arc, v);
            Mask crosses = arc.exists & (part > UInt32(0u)) & (now * s.before <= 0) &
                           ((now < 0) != (s.before < 0));
            Float found = s.found + 1, scaled = s.choice * found;
            Mask takes = crosses & (scaled < 1);
            Interval here{ which, v - width, v, s.before, now };
            s.chosen = { select(takes, here.arc, s.chosen.arc),
                         select(takes, here.low, s.chosen.low),
                         select(takes, here.high, s.chosen.high),
                         select(takes, here.at_low, s.chosen.at_low),
                         select(takes, here.at_high, s.chosen.at_high) };
            Float rest = select(takes, scaled, (scaled - 1) / max(s.found, Float(1)));
            s.choice = select(crosses, rest, s.choice);
            s.found = select(crosses, found, s.found);
            s.before = now;
            s.step =
                select(arc.exists, s.step, which * UInt32(Parts + 1) + UInt32(Parts)) + UInt32(1u);
        },
        "line of turned normals");
}

// Where exactly: by secants, of which the end that stays counts half [Dowell 1971].
Float refine(const Plane &plane, const Arcs::Arc &arc, const Interval &between,
             const Mask &active) {
    constexpr uint32_t MostSteps = 30;
    double tolerance = variant().double_precision ? 1e-14 : 1e-7;
    UInt32 none(0u);
    Refinement r{ between, between.low, none, none, !active };
    r = jit::loop(
        r, [](const Refinement &r) { return !r.ends; },
        [&](Refinement &r) {
            Interval &b = r.b;
            Float v = (b.low * b.at_high - b.high * b.at_low) / (b.at_high - b.at_low),
                  now = plane.facing(arc, v);
            Mask at_low = (now < 0) == (b.at_low < 0);
            UInt32 side = select(at_low, UInt32(1u), UInt32(2u));
            Float stays = select(side == r.side, Float(0.5), Float(1));
            b.at_high = select(at_low, b.at_high * stays, now);
            b.at_low = select(at_low, now, b.at_low * stays);
            b.low = select(at_low, v, b.low);
            b.high = select(at_low, b.high, v);
            r.step = r.step + UInt32(1u);
            r.ends = (abs(v - r.v) <= tolerance) | (now == 0) | (r.step >= UInt32(MostSteps));
            r.v = v;
            r.side = side;
        },
        "where normals turn away");
    return r.v;
}

} // namespace

End dark_end(const Around &around, const Vector3 &eye, const Float &w, const Float &u,
             const Mask &active) {
    // The plane; far digits of the random number choose among several places there
    Float scaled = u * 3, number = min(floor(scaled), Float(2)), s = scaled - number;
    UInt32 axis = to_uint(number);
    Float digits = s * 1024, choice = digits - floor(digits);
    auto half = [](const Mask &upper) { return select(upper, Float(0.5), Float(0)); };
    Vector3 corner(half(around.upper[0]), half(around.upper[1]), half(around.upper[2])),
        least = turned(corner, axis);
    Float x = fma(s, Float(0.5), least.x);
    Corners<Float> c = turned(around.corners, axis);
    Float f[4];
    for (size_t k = 0; k < 4; ++k)
        f[k] = blend(c.f[2 * k], c.f[2 * k + 1], x);
    Arcs arcs{ { f[0], f[1] - f[0], f[2] - f[0], f[3] - f[2] - f[1] + f[0] }, least.y, least.z };

    Plane plane{ around, eye, w, axis, x, arcs };
    Search search = find(plane, choice, active);
    Mask is_any = active & (search.found > 0);
    Arcs::Arc arc = arcs.arc(search.chosen.arc);

    End e;
    e.p = plane.place(arc, refine(plane, arc, search.chosen, is_any));
    TurningLine line(around, eye, w, e.p);
    Vector3 t = cross(line.g, line.by), turned_t = turned(t, axis);
    Float length2 = squared_norm(t);
    e.valid = is_any & (length2 > 0);
    // By u: three axes, half as far; as often as there are places, and by the square of the cosine
    e.tangent = t * (turned_t.x / length2 * search.found * 1.5);
    e.inside = fma(line.g, -dot(line.g, line.by) / squared_norm(line.g), line.by);
    Vector3 nowhere(Float(0));
    e.p = select(e.valid, e.p, Vector3(Float(0.5)));
    e.tangent = select(e.valid, e.tangent, nowhere);
    e.inside = select(e.valid, e.inside, nowhere);
    return e;
}

} // namespace umbel::voxels
