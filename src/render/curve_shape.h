// render/curve_shape.h: shapes made of round curves.
#pragma once
#include "core/reads_files.h"
#include "render/curve_lanes.h"
#include "render/follows_data.h"
#include "render/outline.h"
#include "render/shape.h"

namespace umbel {

/// Curves with a radius at each control point; to_world moves the points and leaves the radii alone. u runs around the
/// curve, v along all segments. They are seen from outside only, and emit no light.
class CurveShape : public ManyPrimitives, public ReadsFiles, public FollowsData, public HasOutline {
public:
    explicit CurveShape(bool is_linear) { m_curves.is_linear = is_linear; }

    void declare(Params &p) override;
    void configure() override;
    void changed(std::span<const std::string> names) override;
    bool follows_transform() const override { return false; }

    BoundingBox bounds() const override;
    double area() const override { return m_area; }
    uint32_t type() const override {
        return m_curves.is_linear ? ShapeType::LinearCurve : ShapeType::BSplineCurve;
    }
    size_t primitive_count() const override { return m_curves.segments.size(); }
    BoundingBox primitive_bounds(size_t segment) const override;
    PrimitiveHit intersect_primitive(const Ray &ray, const UInt32 &segment,
                                     const Mask &active) const override;
    HostHit intersect_primitive_host(size_t segment, const std::array<double, 3> &o,
                                     const std::array<double, 3> &d, double mint,
                                     double maxt) const override;
    void fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &segment,
                        const Mask &active, SurfaceInteraction &si) const override;
    const Curves *curves() const override { return &m_curves; }

    // ---- derivatives by control points, and silhouettes: render/curve_outline.cpp
    bool follows_data() const override;
    bool carries_points() const override { return true; }
    Float area_around(const Vector3 &p, const Float &u, const UInt32 &segment,
                      const Mask &active) const override;
    std::vector<Piece> outline_pieces() const override;
    Outline piece_outline(const Viewpoint &from, const Float &u, const UInt32 &segment,
                          const UInt32 &part, const Mask &active) const override;

protected:
    using Point = std::array<double, 4>; // with a radius
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;
    /// How many control points a segment has.
    size_t order() const { return m_curves.is_linear ? 2 : 4; }
    /// Called by read_files(): takes curves, whose points are in the shape's own space.
    void set_curves(const std::vector<std::vector<Point>> &curves);

private:
    using LaneKnot = curves::LaneKnot;
    void update(); // after points have changed
    const Value &points() const { return is_following() ? m_points_array : m_still_points; }
    /// The control points of a segment.
    void read_knots(const Value &points, const UInt32 &first, const Mask &active,
                    LaneKnot (&to)[4]) const;
    /// A place on the axis, how it goes on, how it bends, and how wide the curve is there.
    struct Axis {
        Vector3 centre, along, bend;
        Float radius, widens;
    };
    Axis axis_at(const LaneKnot (&c)[4], const Float &u) const;
    /// A point of the surface with derivatives of control points, if it stays where it is on the surface.
    Vector3 carried(const Vector3 &p, const Axis &a, const Float &u) const;

    Outline outline(const Viewpoint &, const Float &) const final { return {}; }
    enum : uint32_t { Sides, Begin, End }; // parts of outlines
    static Outline segment_side(const LaneKnot &a, const LaneKnot &b, const Viewpoint &from,
                                const Float &u, const Float &sign);
    static Outline segment_cap(const LaneKnot &a, const LaneKnot &b, const Viewpoint &from,
                               const Float &u, const Mask &is_end);
    Mask is_in_neighbour(const Vector3 &p, const Float &error, const UInt32 &segment,
                         const UInt32 &first, const Mask &active) const;
    static Outline spline_side(const curves::Spline<Float> &spline, const Viewpoint &from,
                               const Float &u, const Float &sign);
    static Outline spline_end(const curves::Spline<Float> &spline, const Viewpoint &from,
                              const Float &u, const Mask &is_end);

    Curves m_curves;
    std::vector<double> m_points; // four numbers each
    std::vector<uint32_t> m_segments;
    Value m_points_array, m_segments_array;
    Value m_still_points; // an array of its own: loops know arrays, not who follows them
    Float m_inv_count, m_sign;
    double m_count = 0, m_area = 0;
};

/// Curves of a text file with a point a line, and empty lines between curves. Lines have `numbers` numbers: three, or four
/// with a radius; without one it is `radius`.
std::vector<std::vector<std::array<double, 4>>>
read_curves(const std::filesystem::path &file, size_t numbers, size_t least, double radius);

} // namespace umbel
