// sdfgrid: the surface where distances on a grid, interpolated trilinearly, are zero [Hansson-Soderlund 2022].
//
// The grid's corner points are those of the unit cube, which `to_world` places. Numbers above zero are outside, and need not be exact
// distances. Normals of shading are those of the interpolated numbers (`analytic`), which jump between voxels, or blend those of the eight
// voxels around the nearest grid point (`smooth`). There are no texture coordinates; the surface emits no light.
//
// Files are those of `gridvolume`, of one channel. Each voxel that has a part of the surface is a primitive, in the tightest box
// around that part. Derivatives by `grid` are those of what is seen and, with `prb_projective`, of silhouettes: where the surface turns
// away, where it bends between voxels, and where the grid ends. `smooth` normals turn away before the surface does, or after it: then it
// has a black rim as seen from the camera or from other surfaces, and is lit up to where it hides light from itself. Both edges count,
// too, which takes up to twice as long. That parts of the surface may appear or vanish is not among what counts.
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/image.h"
#include "core/voxels.h"
#include "jit/array.h"
#include "render/follows_data.h"
#include "render/outline.h"
#include "render/shape.h"
#include "render/voxel_shading.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();
using LaneBracket = voxels::Bracket<Float, Mask>;

double choose(bool m, double a, double b) { return m ? a : b; }
Float choose_lane(const Mask &m, const Float &a, const Float &b) { return select(m, a, b); }

} // namespace

class SdfGrid final : public ManyPrimitives, public FollowsData, public HasOutline {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/ball.vol'/><transform name='to_world'>"
                  "<translate x='-.5' y='-.5' z='-.5'/><scale value='2'/></transform>");
        p.example(
            "<string name='filename' value='$files/ball.vol'/><string name='normals' "
            "value='analytic'/><transform name='to_world'><translate x='-.5' y='-.5' "
            "z='-.5'/><scale x='2' y='3' z='2'/><rotate x='1' y='2' angle='30'/></transform>");
        Shape::declare(p);
        p.image("grid", m_image)
            .doc("In place of `filename`, in scripts: an array of z, y, x and one channel");
        if (!p.loading() || !m_image)
            p.file("filename", m_file).doc("The distances");
        p.choice("normals", m_normals, "smooth", { "smooth", "analytic" }).doc("Of shading");
        if (p.traversing())
            p.exposed("grid", TensorSlot{ &m_grid, &m_shape }).differentiable();
    }
    void configure() override {
        if (m_emitter)
            complain("a grid of distances cannot emit light; give the emitter to a mesh");
        if (!m_grid.valid())
            load();
        find_voxels();
    }
    void changed(std::span<const std::string> names) override {
        if (std::find(names.begin(), names.end(), "grid") != names.end())
            m_values = read_floats(Float(m_grid.detached()));
        Shape::changed(names);
    }

    bool follows_data() const override { return ad::grad_enabled(m_grid); }

    BoundingBox bounds() const override {
        BoundingBox b;
        for (const BoundingBox &box : m_boxes)
            b.extend(box);
        return b;
    }
    double area() const override { return 0; } // as in Mitsuba: it is not known
    uint32_t type() const override { return ShapeType::SDFGrid; }
    size_t primitive_count() const override { return m_boxes.size(); }
    BoundingBox primitive_bounds(size_t voxel) const override { return m_boxes[voxel]; }

    HostHit intersect_primitive_host(size_t voxel, const std::array<double, 3> &from,
                                     const std::array<double, 3> &along, double mint,
                                     double maxt) const override {
        auto p = m_to_grid.apply_point(from), v = m_to_grid.apply_vector(along);
        const uint32_t *at = &m_voxels_host[4 * voxel];
        double corner[3] = { double(at[0]), double(at[1]), double(at[2]) },
               o[3] = { p[0], p[1], p[2] }, d[3] = { v[0], v[1], v[2] };
        auto b = voxels::first_crossing<double, bool>(corners_host(at), corner, o, d, mint,
                                                      Infinity, choose);
        if (!b.found)
            return { Infinity, 0, 0 };
        for (int i = 0; i < MostSteps; ++i) {
            auto next = b.next(choose);
            bool ends = std::abs(next.s - b.s) <= 0x1p-50 * (b.begin + b.s);
            b = next;
            if (ends)
                break;
        }
        double t = b.begin + b.s;
        return { t >= mint && t <= maxt ? t : Infinity, 0, 0 };
    }

    // Found without derivatives; a last step of Newton's method has them.
    PrimitiveHit intersect_primitive(const Ray &ray, const UInt32 &voxel,
                                     const Mask &active) const override {
        Lane lane = lane_at(m_still, voxel, active);
        Float o[3], d[3], still_o[3], still_d[3];
        place(ray, o, d);
        for (size_t i = 0; i < 3; ++i) {
            still_o[i] = Float(ad::detach(o[i]));
            still_d[i] = Float(ad::detach(d[i]));
        }
        LaneBracket b = voxels::first_crossing<Float, Mask>(lane.corners, lane.at, still_o, still_d,
                                                            Float(0), Float(Infinity), choose_lane);
        struct State {
            Float s, low, high;
            UInt32 steps;
            Mask ends;
            UMBEL_STRUCT(s, low, high, steps, ends)
        };
        double tolerance = variant().double_precision ? 0x1p-50 : 0x1p-21;
        State s{ b.s, b.low, b.high, UInt32(0u), !(active & b.found) };
        s = jit::loop(
            s, [](const State &s) { return !s.ends; },
            [&](State &s) {
                LaneBracket now{ b.cubic, b.begin, s.low, s.high, s.s, b.from_below, b.found };
                LaneBracket next = now.next(choose_lane);
                s.ends = (abs(next.s - s.s) <= tolerance * (b.begin + s.s)) |
                         (s.steps >= UInt32(uint32_t(MostSteps)));
                s = { next.s, next.low, next.high, s.steps + UInt32(1u), s.ends };
            },
            "sdf");
        Float t = b.begin + s.s;
        bool is_followed = is_following() && follows_data();
        for (size_t i = 0; i < 3; ++i)
            is_followed |= ad::grad_enabled(o[i]) || ad::grad_enabled(d[i]);
        if (is_followed) {
            lane = lane_at(numbers(), voxel, active);
            t = Float(ad::detach(t));
            Float p[3], slope[3];
            for (size_t i = 0; i < 3; ++i)
                p[i] = o[i] + t * d[i] - lane.at[i];
            voxels::gradient(lane.corners, p, slope);
            Float down = slope[0] * d[0] + slope[1] * d[1] + slope[2] * d[2];
            down = Float(ad::detach(down));
            Mask good = b.found & (down != 0);
            Float step = t - voxels::value(lane.corners, p) / select(good, down, Float(1));
            t = select(good, Float(ad::replace_grad(t, step)), t);
        }
        Mask hit = b.found & (t >= 0) & (t <= ray.maxt);
        return { select(hit, t, Float(Infinity)), Float(0), Float(0) };
    }

    void fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &voxel,
                        const Mask &active, SurfaceInteraction &si) const override {
        Lane lane = lane_at(numbers(), voxel, active);
        Transform grid = m_place;
        si.p = ray(hit.t);
        if (is_following() && follows_data())
            si.p = select(on_ray(), si.p, carried(lane, si.p));
        Vector3 at = grid.inverse().point(si.p);
        Float p[3] = { at.x - lane.at[0], at.y - lane.at[1], at.z - lane.at[2] }, slope[3];
        voxels::gradient(lane.corners, p, slope);
        auto to_normal = [&](const Vector3 &v) { return normalize(grid.normal(v)) * m_sign; };
        si.n = to_normal({ slope[0], slope[1], slope[2] });
        si.sh_frame.n = si.n;
        if (is_smooth())
            si.sh_frame.n = to_normal(
                around(numbers(), lane, { { p[0] >= 0.5, p[1] >= 0.5, p[2] >= 0.5 } }, active)
                    .slope({ p[0], p[1], p[2] }));
        si.uv = { Float(0), Float(0) };
        si.dp_du = si.dp_dv = Vector3(Float(0));
    }

    // ---- derivatives by the grid
    bool carries_points() const override { return true; }
    Float area_around(const Vector3 &p, const Float &, const UInt32 &voxel,
                      const Mask &active) const override {
        Lane lane = lane_at(numbers(), voxel, active);
        Transform grid = m_place;
        voxels::Slopes now = slopes(lane, p);
        auto [df, dg] = changes(lane, now.p);
        Vector3 n = grid.normal(now.g);
        Float inv = rsqrt(squared_norm(n));
        return 1 +
               voxels::Flow(now).area_change(df, dg, now.g * inv, grid.inverse().vector(n * inv));
    }

    // ---- silhouettes: by axes of the planes that they are looked for in, and bends; and where smooth normals turn away, by
    // eighths of voxels
    enum : uint32_t { Bends = 3 };
    std::vector<Piece> outline_pieces() const override {
        std::vector<Piece> out;
        TransformData from_grid = m_to_grid.inverse().value();
        for (size_t i = 0; i < m_boxes.size(); ++i) {
            const uint32_t *at = &m_voxels_host[4 * i];
            BoundingBox cell;
            for (uint32_t k = 0; k < 2; ++k)
                cell.extend(std::array{ double(at[0] + k), double(at[1] + k), double(at[2] + k) });
            cell = transform_bounds({ from_grid }, cell);
            for (uint32_t part = 0; part < 4; ++part)
                out.push_back({ uint32_t(i), part, cell.centre(), cell.radius(), cell.radius() });
            for (uint32_t eighth = 0; eighth < 8 && is_smooth(); ++eighth)
                if (is_in_eighth(corners_host(at), eighth))
                    out.push_back({ uint32_t(i), FirstDark + eighth, cell.centre(), cell.radius(),
                                    cell.radius() / 2 });
        }
        return out;
    }
    // Numbers' slopes along lines of sight are trilinear, too: at their extremes in the corners.
    bool may_be_seen(uint32_t voxel, uint32_t part,
                     const std::array<double, 4> &from) const override {
        if (part == Bends && !is_smooth())
            return true;
        const uint32_t *at = &m_voxels_host[4 * voxel];
        auto to_grid = from[3] > 0 ? m_to_grid.apply_point({ from[0], from[1], from[2] })
                                   : m_to_grid.apply_vector({ from[0], from[1], from[2] });
        if (part >= FirstDark)
            return may_turn_dark(at, part - FirstDark, to_grid, from[3]);
        bool above = false, below = false;
        auto look = [&](const voxels::Corners<double> &c, const uint32_t *cell) {
            for (size_t k = 0; k < 8; ++k) {
                double p[3] = { double(k & 1), double(k >> 1 & 1), double(k >> 2) }, g[3], sum = 0;
                voxels::gradient(c, p, g);
                for (size_t i = 0; i < 3; ++i)
                    sum += g[i] * (to_grid[i] - from[3] * (double(cell[i]) + p[i]));
                (sum > 0 ? above : below) = true;
            }
        };
        look(corners_host(at), at);
        for (size_t i = 0; i < 3 && part == Bends; ++i) {
            if (at[i] == 0 || at[i] + 2 == m_shape[2 - i])
                return true;
            uint32_t other[3] = { at[0], at[1], at[2] };
            --other[i];
            look(corners_host(other), other);
        }
        return above && below;
    }
    Outline outline(const Viewpoint &, const Float &) const override {
        complain("silhouettes of a grid of distances are those of its voxels");
    }
    Outline piece_outline(const Viewpoint &from, const Float &u, const UInt32 &voxel,
                          const UInt32 &part, const Mask &active) const override {
        Lane lane = lane_at(m_still, voxel, active);
        if (!is_smooth() || (from.only && from.only != LineKind::Dark))
            return surface_outline(from, u, lane, part, active);
        Mask is_dark = active & (part >= UInt32(uint32_t{ FirstDark }));
        Outline dark = dark_outline(from, u, lane, part, is_dark);
        if (from.only)
            return dark;
        Outline end = surface_outline(from, u, lane, part, active & !is_dark);
        return { select(is_dark, dark.p, end.p), select(is_dark, dark.tangent, end.tangent),
                 select(is_dark, dark.inside, end.inside), dark.valid | end.valid };
    }

    // ---- light and shadow that normals of shading bring about
    bool has_own_shadow() const override { return is_smooth(); }
    Vector3 moved(const Viewpoint &from, const Vector3 &p, const UInt32 &voxel, const UInt32 &part,
                  const Mask &active) const override {
        Lane lane = lane_at(numbers(), voxel, active), still = lane_at(m_still, voxel, active);
        Transform grid = m_place;
        Vector3 corner(lane.at[0], lane.at[1], lane.at[2]),
            at = grid.inverse().point(p) - corner, eye = seen_from(from) - corner * from.w,
            way = fma(at, -from.w, eye),
            still_eye(Float(ad::detach(eye.x)), Float(ad::detach(eye.y)), Float(ad::detach(eye.z)));
        voxels::Slopes own(lane.corners, at);
        auto change = [](const Float &v) { return v - Float(ad::detach(v)); };
        auto moved = [&](const voxels::TurningLine &line, const Vector3 &slope) {
            return p + grid.vector(line.way(change(own.f), change(dot(slope, way))));
        };
        if (from.only == LineKind::Dark)
            return moved({ around(m_still, still, eighth(part), active), still_eye, from.w, at },
                         around(numbers(), lane, eighth(part), active).slope(at));
        // Bends are always the same points
        return select(part == UInt32(uint32_t{ Bends }), carried(lane, p),
                      moved({ still.corners, still_eye, from.w, at }, own.g));
    }

protected:
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override {
        complain("points on a grid of distances cannot be sampled");
    }

private:
    bool is_smooth() const { return m_normals == "smooth"; }
    // In units of voxels.
    Vector3 seen_from(const Viewpoint &from) const {
        Transform to_grid = Transform(m_place).inverse();
        return select(from.w > 0, to_grid.point(from.p), to_grid.vector(from.p));
    }
    // What a lane knows of its voxel: its least corner, in units of voxels, and the numbers around.
    struct Lane {
        UInt32 x, y, z;
        Float at[3];
        voxels::Corners<Float> corners;
    };

    void load() {
        if (m_image)
            take(*m_image);
        else
            try {
                Voxels v = read_voxels(m_file);
                m_shape = { v.size[2], v.size[1], v.size[0], v.channels };
                for (size_t i = 0; i < v.count(); ++i)
                    m_values.push_back(v.number(i));
            } catch (const UserError &e) {
                complain("{}", e.what());
            }
        m_grid = float_array(m_values);
    }
    // Of a script: slices of z, one below the other.
    void take(const Image &slices) {
        auto depth = slices.metadata.find("depth");
        if (depth == slices.metadata.end())
            complain("the grid must be an array of z, y, x and one channel");
        auto z = size_t(std::get<int64_t>(depth->second));
        m_shape = { z, slices.height() / z, slices.width(), slices.channel_count() };
        size_t row = slices.width() * slices.channel_count();
        m_values.resize(row * slices.height());
        for (size_t y = 0; y < slices.height(); ++y)
            slices.read_row(y, &m_values[y * row]);
    }

    // ---- voxels with a part of the surface
    void find_voxels() {
        if (m_shape.size() != 4 || m_shape[3] != 1 ||
            m_values.size() != m_shape[0] * m_shape[1] * m_shape[2])
            complain("a grid of distances has one channel: an array of z, y, x and 1");
        for (size_t i = 0; i < 3; ++i)
            if (m_shape[i] < 2)
                complain("the grid has {} x {} x {} points; there must be two at least along each "
                         "axis",
                         m_shape[2], m_shape[1], m_shape[0]);
        if (!std::all_of(m_values.begin(), m_values.end(),
                         [](double v) { return std::isfinite(v); }))
            complain("a number of the grid is not finite");
        TransformData from_grid =
            m_to_world *
            TransformData::scale({ 1.0 / double(m_shape[2] - 1), 1.0 / double(m_shape[1] - 1),
                                   1.0 / double(m_shape[0] - 1) });
        auto inverse = from_grid.inverse();
        if (!inverse)
            complain("to_world is singular: it squeezes space into a plane, a line or a point");
        m_to_grid = *inverse;
        m_place = HostTransform(from_grid, m_to_grid);
        m_sign = HostFloat(m_flip_normals ? -1 : 1);
        m_boxes.clear();
        m_voxels_host.clear();
        for (uint32_t z = 0; z + 1 < m_shape[0]; ++z)
            for (uint32_t y = 0; y + 1 < m_shape[1]; ++y)
                for (uint32_t x = 0; x + 1 < m_shape[2]; ++x) {
                    const uint32_t at[4] = { x, y, z, 0 };
                    BoundingBox box = surface_in(at);
                    if (box.is_empty())
                        continue;
                    m_voxels_host.insert(m_voxels_host.end(), at, at + 4);
                    m_boxes.push_back(transform_bounds({ from_grid }, box));
                }
        if (m_boxes.empty())
            complain("the grid has no surface: its numbers are all on one side of zero");
        m_voxels = jit::copy(m_voxels_host);
        m_still = float_array(m_values); // of its own: loops know arrays, not who follows them
    }
    // The surface ends on edges: where a plane cuts it, numbers have saddles only [Hansson-Soderlund 2023]. A little wider, for
    // roundings.
    BoundingBox surface_in(const uint32_t *at) const {
        BoundingBox b;
        voxels::Corners<double> c = corners_host(at);
        auto corner = [&](size_t k) {
            return std::array{ double(at[0]) + double(k & 1), double(at[1]) + double(k >> 1 & 1),
                               double(at[2]) + double(k >> 2) };
        };
        for (size_t k = 0; k < 8; ++k)
            for (size_t axis = 0; axis < 3; ++axis) {
                size_t other = k | size_t(1) << axis;
                if (other == k || (c.f[k] < 0) == (c.f[other] < 0))
                    continue;
                auto p = corner(k);
                p[axis] += c.f[k] / (c.f[k] - c.f[other]);
                b.extend(p);
            }
        for (size_t i = 0; i < 3 && !b.is_empty(); ++i) {
            b.min[i] -= 1e-4;
            b.max[i] += 1e-4;
        }
        return b;
    }
    // Numbers are trilinear in an eighth of the voxel, too: between those at its corners.
    static bool is_in_eighth(const voxels::Corners<double> &c, uint32_t eighth) {
        bool above = false, below = false;
        for (uint32_t k = 0; k < 8; ++k) {
            double p[3];
            for (uint32_t i = 0; i < 3; ++i)
                p[i] = 0.5 * ((eighth >> i & 1) + (k >> i & 1));
            double f = voxels::value(c, p);
            (f > 0 ? above : below) = true;
            above |= f == 0;
        }
        return above && below;
    }
    // Whether one of the eight slopes that are blended there may face the viewer, and one may not: by bounds of each factor.
    bool may_turn_dark(const uint32_t *at, uint32_t eighth, const std::array<double, 3> &from,
                       double w) const {
        double least = 0, most = 0; // of the sum over all axes
        for (size_t a = 0; a < 3; ++a) {
            size_t b = (a + 1) % 3, c = (a + 2) % 3;
            bool upper = eighth >> a & 1;
            double low = Infinity, high = -Infinity; // slopes
            auto look = [&](size_t cell) {
                for (size_t k = 0; k < 4; ++k) { // where they are at their extremes, in the eighth
                    double to[2] = { 0.5 * double((eighth >> b & 1) + (k & 1)),
                                     0.5 * double((eighth >> c & 1) + (k >> 1)) },
                           f[4];
                    for (size_t j = 0; j < 4; ++j) {
                        size_t q[3];
                        q[b] = at[b] + (j & 1);
                        q[c] = at[c] + (j >> 1);
                        q[a] = cell + 1;
                        f[j] = m_values[index(q[0], q[1], q[2])];
                        q[a] = cell;
                        f[j] -= m_values[index(q[0], q[1], q[2])];
                    }
                    double slope = voxels::bilinear(f[0], f[1], f[2], f[3], to[0], to[1]);
                    low = std::min(low, slope);
                    high = std::max(high, slope);
                }
            };
            look(at[a]);
            if (upper && at[a] + 2 < m_shape[2 - a])
                look(at[a] + 1);
            if (!upper && at[a] > 0)
                look(at[a] - 1);
            double begin = double(at[a]) + 0.5 * upper,
                   v[2] = { from[a] - w * begin, from[a] - w * (begin + 0.5) };
            double products[4] = { low * v[0], low * v[1], high * v[0], high * v[1] };
            least += *std::min_element(products, products + 4);
            most += *std::max_element(products, products + 4);
        }
        return least <= 0 && most >= 0;
    }
    size_t index(size_t x, size_t y, size_t z) const {
        return (z * m_shape[1] + y) * m_shape[2] + x;
    }
    voxels::Corners<double> corners_host(const uint32_t *at) const {
        voxels::Corners<double> c;
        for (size_t k = 0; k < 8; ++k)
            c.f[k] = m_values[index(at[0] + (k & 1), at[1] + (k >> 1 & 1), at[2] + (k >> 2))];
        return c;
    }

    // ---- lanes
    const Value &numbers() const { return is_following() ? m_grid : m_still; }
    Float number(const Value &grid, const UInt32 &x, const UInt32 &y, const UInt32 &z,
                 const Mask &active) const {
        UInt32 row = z * UInt32(uint32_t(m_shape[1])) + y;
        return Float(jit::gather(grid, row * UInt32(uint32_t(m_shape[2])) + x, active));
    }
    Lane lane_at(const Value &grid, const UInt32 &voxel, const Mask &active) const {
        auto [x, y, z, none] = jit::gather_packet<uint32_t, 4>(m_voxels, voxel, active);
        Lane lane{ x, y, z, { Float(x), Float(y), Float(z) }, {} };
        for (uint32_t k = 0; k < 8; ++k)
            lane.corners.f[k] =
                number(grid, x + UInt32(k & 1), y + UInt32(k >> 1 & 1), z + UInt32(k >> 2), active);
        return lane;
    }
    // Numbers at the corners of the face before the voxel's lower one, which is at a right angle to an axis. True where there is none.
    Mask beyond_face(const Lane &lane, const UInt32 &axis, const Mask &is_upper, const Mask &active,
                     Float (&to)[4]) const {
        const UInt32 *cell[3] = { &lane.x, &lane.y, &lane.z };
        Mask border(false);
        for (uint32_t a = 0; a < 3; ++a) {
            Mask here = axis == UInt32(a);
            UInt32 last(jit::opaque(uint32_t(m_shape[2 - a] - 2)));
            Mask ends = select(is_upper, *cell[a] == last, *cell[a] == UInt32(0u));
            border = border | (here & ends);
        }
        Mask read = active & !border & !is_upper;
        for (uint32_t k = 0; k < 4; ++k) {
            UInt32 at[3];
            for (uint32_t a = 0; a < 3; ++a) { // the next axis changes first
                Mask first = axis == UInt32((a + 2) % 3), second = axis == UInt32((a + 1) % 3);
                UInt32 step =
                    select(first, UInt32(k & 1), select(second, UInt32(k >> 1), UInt32(~0u)));
                at[a] = *cell[a] + step;
            }
            to[k] = number(m_still, at[0], at[1], at[2], read);
        }
        return border;
    }

    // ---- lines
    Outline surface_outline(const Viewpoint &from, const Float &u, const Lane &lane,
                            const UInt32 &part, const Mask &active) const {
        Transform grid = m_place;
        Vector3 corner(lane.at[0], lane.at[1], lane.at[2]), eye = seen_from(from) - corner * from.w;
        // Of bends: twelve parts of u, by axis, side and the axis that they run along
        constexpr double Parts[2] = { 2, 12 };
        Mask bends = part == UInt32(uint32_t{ Bends });
        Float count = select(bends, Float(Parts[1]), Float(Parts[0])), scaled = u * count,
              number = floor(scaled), s = scaled - number;
        UInt32 which = to_uint(number), axis = select(bends, which >> 2u, part);
        voxels::Corners<Float> c = voxels::turned(lane.corners, axis);
        eye = voxels::turned(eye, axis);
        voxels::End smooth =
            voxels::smooth_end(c, eye, from.w, s, (which & UInt32(1u)) != UInt32(0u));

        Mask is_upper = (which & UInt32(1u)) != UInt32(0u),
             by_z = (which & UInt32(2u)) != UInt32(0u);
        Float beyond[4];
        Mask is_border = beyond_face(lane, axis, is_upper, bends, beyond);
        voxels::End bend = voxels::crease_end(c, beyond, is_border, is_upper, eye, from.w, s, by_z,
                                              from.is_camera && !is_smooth());
        bend.valid = bend.valid & (is_border | !is_upper); // else it is the next voxel's
        if (from.only == LineKind::OwnShadow)
            bend.valid = bend.valid & !is_border;

        auto turn = [&](const Vector3 &v) { return voxels::turned_back(v, axis); };
        Vector3 p = turn(select(bends, bend.p, smooth.p)) + corner,
                tangent = turn(select(bends, bend.tangent, smooth.tangent));
        Vector3 inside =
            select(bends, grid.vector(turn(bend.inside)), grid.normal(turn(smooth.inside)));
        return { grid.point(p), grid.vector(tangent) * count, inside,
                 active & select(bends, bend.valid, smooth.valid) };
    }
    Outline dark_outline(const Viewpoint &from, const Float &u, const Lane &lane,
                         const UInt32 &part, const Mask &active) const {
        Transform grid = m_place;
        Vector3 corner(lane.at[0], lane.at[1], lane.at[2]);
        voxels::End e = voxels::dark_end(around(m_still, lane, eighth(part), active),
                                         seen_from(from) - corner * from.w, from.w, u, active);
        return { grid.point(e.p + corner), grid.vector(e.tangent), grid.vector(e.inside),
                 active & e.valid };
    }

    // ---- points that stay on the surface
    voxels::Slopes slopes(const Lane &lane, const Vector3 &p) const {
        Vector3 at = Transform(m_place).inverse().point(p);
        auto in_voxel = [](const Float &x, const Float &least) {
            return min(max(Float(ad::detach(x)) - least, Float(0)), Float(1));
        };
        voxels::Corners<Float> still;
        for (size_t k = 0; k < 8; ++k)
            still.f[k] = Float(ad::detach(lane.corners.f[k]));
        return { still,
                 { in_voxel(at.x, lane.at[0]), in_voxel(at.y, lane.at[1]),
                   in_voxel(at.z, lane.at[2]) } };
    }
    // 0, with derivatives: of the number at a place, and of its slopes.
    static std::pair<Float, Vector3> changes(const Lane &lane, const Vector3 &p) {
        voxels::Slopes now(lane.corners, p);
        auto change = [](const Float &v) { return v - Float(ad::detach(v)); };
        return { change(now.f), { change(now.g.x), change(now.g.y), change(now.g.z) } };
    }
    Vector3 carried(const Lane &lane, const Vector3 &p) const {
        voxels::Slopes now = slopes(lane, p);
        return p - Transform(m_place).vector(voxels::Flow(now).way * changes(lane, now.p).first);
    }

    void place(const Ray &ray, Float (&o)[3], Float (&d)[3]) const {
        Transform to_grid = Transform(m_place).inverse();
        Vector3 p = to_grid.point(ray.o), v = to_grid.vector(ray.d);
        o[0] = p.x, o[1] = p.y, o[2] = p.z;
        d[0] = v.x, d[1] = v.y, d[2] = v.z;
    }
    // Of the eighth that a part is.
    struct Eighth {
        Mask upper[3];
    };
    static Eighth eighth(const UInt32 &part) {
        UInt32 number = part - UInt32(uint32_t{ FirstDark });
        Eighth e;
        for (uint32_t i = 0; i < 3; ++i)
            e.upper[i] = ((number >> i) & UInt32(1u)) != UInt32(0u);
        return e;
    }
    voxels::Around around(const Value &grid, const Lane &lane, const Eighth &e,
                          const Mask &active) const {
        const UInt32 *cell[3] = { &lane.x, &lane.y, &lane.z };
        const Mask(&upper)[3] = e.upper;
        const uint32_t one = 1;
        voxels::Around out;
        out.corners = lane.corners;
        for (size_t a = 0; a < 3; ++a) {
            size_t b = (a + 1) % 3, c = (a + 2) % 3;
            auto most = uint32_t(m_shape[2 - a] - 1);
            out.upper[a] = upper[a];
            out.lacks[a] = (upper[a] & (*cell[a] + UInt32(one) == UInt32(most))) |
                           ((!upper[a]) & (*cell[a] == UInt32(0u)));
            out.size[a] = double(most);
            // The next face on that side, opposite to the place
            UInt32 beyond = select(upper[a], *cell[a] + UInt32(2u), *cell[a] - UInt32(one));
            beyond = select(out.lacks[a], *cell[a], beyond);
            for (uint32_t k = 0; k < 4; ++k) {
                UInt32 q[3];
                q[a] = beyond;
                q[b] = *cell[b] + UInt32(k & 1);
                q[c] = *cell[c] + UInt32(k >> 1);
                out.beyond[a][k] = number(grid, q[0], q[1], q[2], active);
            }
        }
        return out;
    }

    static constexpr int MostSteps = 60;
    std::filesystem::path m_file;
    std::shared_ptr<const Image> m_image;
    std::string m_normals;
    Value m_grid;                // as scripts see it
    std::vector<size_t> m_shape; // z, y, x and one channel
    std::vector<double> m_values;
    Float m_still;           // the same, without derivatives
    TransformData m_to_grid; // from the scene to units of voxels
    HostTransform m_place;   // and back
    HostFloat m_sign;
    std::vector<BoundingBox> m_boxes;    // of voxels with a part of the surface
    std::vector<uint32_t> m_voxels_host; // their least corners: x, y, z, 0
    UInt32 m_voxels;
};

UMBEL_PLUGIN(Shape, SdfGrid, "sdfgrid")
} // namespace umbel
