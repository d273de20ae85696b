// render/ellipsoid_shape.h: clouds of ellipsoids with attributes, such as the Gaussians of a radiance field.
#pragma once
#include "core/reads_files.h"
#include "render/follows_data.h"
#include "render/ply_file.h"
#include "render/shape.h"
#include <map>

namespace umbel {

/// Each ellipsoid is a primitive, which rays meet from outside only: what comes after is left to integrators, ellipsoid by
/// ellipsoid. Derived classes say how: all of it happens where the ellipsoid is the unit sphere.
class EllipsoidShape : public ManyPrimitives,
                       public ReadsFiles,
                       public FollowsData,
                       private PlyFile {
public:
    void read_files() override;
    void configure() override;
    void changed(std::span<const std::string> names) override;
    bool follows_transform() const override { return false; }
    bool follows_data() const override;

    BoundingBox bounds() const override;
    double area() const override {
        return 0;
    } // as in Mitsuba: there are no points on it to be sampled
    size_t primitive_count() const override { return m_boxes.size(); }
    BoundingBox primitive_bounds(size_t i) const override { return m_boxes[i]; }
    HostHit intersect_primitive_host(size_t i, const std::array<double, 3> &o,
                                     const std::array<double, 3> &d, double mint,
                                     double maxt) const override;
    PrimitiveHit intersect_primitive(const Ray &ray, const UInt32 &i,
                                     const Mask &active) const override;
    void fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &i,
                        const Mask &active, SurfaceInteraction &si) const override;

    // ---- attributes: numbers of each ellipsoid, and `center`, `scale`, `quaternion`, `extent` and all of it, `ellipsoid`
    bool has_attribute(const std::string &name) const override;
    Spectrum eval_attribute(const std::string &name, const SurfaceInteraction &si,
                            const Mask &active) const override;
    std::vector<Float> eval_attribute_x(const std::string &name, const SurfaceInteraction &si,
                                        const Mask &active) const override;
    void remove_attribute(const std::string &name) override;
    /// Of those that the scene has given.
    std::vector<std::string> attribute_names() const;

protected:
    /// All parameters; what is left of them is taken for attributes, so that derived classes declare theirs before.
    void declare_ellipsoids(Params &p);

    // ---- where an ellipsoid is the unit sphere; a direction there is not of unit length
    using Vec = std::array<double, 3>;
    /// The distance at which a ray enters; infinite where it does not, or has begun inside.
    virtual double enter_host(const Vec &o, const Vec &d) const = 0;
    virtual Float enter(const Vector3 &o, const Vector3 &d, const Mask &active) const = 0;
    /// A normal, of any length, and texture coordinates, where a ray enters at p.
    struct Surface {
        Vector3 n;
        Vector2 uv;
    };
    virtual Surface surface_at(const Vector3 &p, const Vector3 &o, const Vector3 &d,
                               const Mask &active) const = 0;
    /// How far from the centre the surface reaches.
    virtual double reach() const { return 1; }

    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;

private:
    static constexpr uint32_t Numbers = 10, RowNumbers = 12;
    /// Rows of equally many numbers.
    struct Table {
        size_t rows = 0, columns = 0;
        std::vector<double> values;
    };
    struct Attribute {
        uint32_t size;
        Float values;
    };
    struct Unit {
        Vector3 rows[3];
        Vector3 centre;
        Vector3 point(const Vector3 &p) const { return vector(p - centre); }
        Vector3 vector(const Vector3 &v) const {
            return { dot(rows[0], v), dot(rows[1], v), dot(rows[2], v) };
        }
    };
    void load_tables(const Properties &q);
    bool take_table(const Properties &q, const char *name, Table &to) const;
    static bool to_table(const PropertyValue &value, Table &to);
    void read_ply();
    void take_extras(const Element &e, const std::vector<double> &all);
    void place();  // by to_world
    void update(); // after numbers have changed
    Unit unit(const UInt32 &i, const Mask &active) const;

    std::filesystem::path m_file;
    double m_scale_factor = 1, m_extent = 3;
    bool m_adapts = false;
    std::vector<double> m_numbers; // as read: centre, scale and quaternion (x, y, z, w) of each
    std::map<std::string, Table> m_tables; // attributes as read
    Float m_data;                          // the same numbers, as scripts see them
    std::map<std::string, Attribute> m_attributes;
    Float m_extents;    // by which scales are multiplied, one each
    Float m_rows;       // centre, and the matrix to the unit sphere, of each
    Float m_still_rows; // the same, without derivatives
    std::vector<double> m_rows_host;
    std::vector<BoundingBox> m_boxes;
    HostFloat m_sign;
};

} // namespace umbel
