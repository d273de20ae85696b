// render/curve_shape.h: shapes made of round curves.
#pragma once
#include "core/reads_files.h"
#include "render/shape.h"

namespace umbel {

/// Curves with a radius at each control point; to_world moves the points and leaves the radii alone. u runs around the
/// curve, v along all segments. They are seen from outside only, and emit no light.
class CurveShape : public ManyPrimitives, public ReadsFiles {
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

protected:
    using Point = std::array<double, 4>; // with a radius
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;
    /// How many control points a segment has.
    size_t order() const { return m_curves.is_linear ? 2 : 4; }
    /// Called by read_files(): takes curves, whose points are in the shape's own space.
    void set_curves(const std::vector<std::vector<Point>> &curves);

private:
    void update(); // after points have changed
    template <class F, class Number> void knots(Number &&number, F *to) const;

    Curves m_curves;
    std::vector<double> m_points; // four numbers each
    std::vector<uint32_t> m_segments;
    Value m_points_array, m_segments_array;
    Float m_inv_count, m_sign;
    double m_count = 0, m_area = 0;
};

/// Curves of a text file with a point a line, and empty lines between curves. Lines have `numbers` numbers: three, or four
/// with a radius; without one it is `radius`.
std::vector<std::vector<std::array<double, 4>>>
read_curves(const std::filesystem::path &file, size_t numbers, size_t least, double radius);

} // namespace umbel
