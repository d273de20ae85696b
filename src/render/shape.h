// render/shape.h: surfaces: triangle meshes, and shapes with a formula of their own.
#pragma once
#include "core/alias_table.h"
#include "core/host_float.h"
#include "core/restorable.h"
#include "render/bsdf.h"
#include "render/motion.h"
#include <array>
#include <map>

namespace umbel {

class Emitter;
class Medium;
class Scene;
class Subsurface;

/// Kinds of shapes as scripts know them.
namespace ShapeType {
enum : uint32_t {
    Invalid = 0,
    Mesh = 1,
    Rectangle = 3,
    BSplineCurve = 4,
    LinearCurve = 8,
    Cylinder = 16,
    Disk = 32,
    SDFGrid = 64,
    Sphere = 128,
    Ellipsoids = 256,
    EllipsoidsMesh = 513
};
}

class Sensor;

class Shape : public Object {
public:
    static constexpr const char *Kind = "shape";

    Shape();
    ~Shape() override;

    /// to_world, bsdf, emitter, textures as attributes and the like; derived classes call it first.
    void declare(Params &p) override;

    /// In the shape's own space if it moves, like all that it says of itself, else in the scene's.
    virtual BoundingBox bounds() const = 0;
    virtual double area() const = 0;
    /// Holds all normals, geometric and of shading.
    virtual NormalCone normal_cone() const { return {}; }
    virtual uint32_t type() const { return ShapeType::Invalid; }
    virtual size_t primitive_count() const { return 1; }
    virtual BoundingBox primitive_bounds(size_t) const { return bounds(); }

    // ---- motion
    /// Whether its transform changes with time. The scene then places it like an instance.
    bool is_moving() const { return m_animation && !m_animation->is_static(); }
    /// From the first key of what changes with time to the last one; nothing if all stands still.
    virtual std::optional<TimeInterval> motion() const;
    /// From its own space to the scene's; one identity where to_world has been applied already.
    TransformSteps steps(const TimeInterval &scene) const;
    /// A box in the scene around where it ever is.
    BoundingBox swept_bounds() const;
    /// Called by the scene: points are sampled where its rays will find them.
    void set_interval(const TimeInterval &scene);

    // ---- sampling, in the scene's space
    /// A point on the surface, uniform in area, unless a moving one is sheared.
    PositionSample sample_position(const Float &time, const Vector2 &u, const Mask &active) const;
    /// Its density per area.
    Float pdf_position(const PositionSample &ps, const Mask &active) const;
    /// A point on the surface with its density per solid angle at a reference point.
    DirectionSample sample_direction(const Interaction &it, const Vector2 &u,
                                     const Mask &active) const;
    Float pdf_direction(const Interaction &it, const DirectionSample &ds, const Mask &active) const;

    // ---- attributes: named quantities on the surface
    virtual bool has_attribute(const std::string &name) const;
    /// In the variant's channels; zero where there is no such attribute, as below.
    virtual Spectrum eval_attribute(const std::string &name, const SurfaceInteraction &si,
                                    const Mask &active) const;
    virtual std::vector<Float> eval_attribute_x(const std::string &name,
                                                const SurfaceInteraction &si,
                                                const Mask &active) const;
    virtual Float eval_attribute_1(const std::string &name, const SurfaceInteraction &si,
                                   const Mask &active) const;
    virtual Vector3 eval_attribute_3(const std::string &name, const SurfaceInteraction &si,
                                     const Mask &active) const;
    /// Derivative of eval_attribute_1() by u and v.
    virtual Vector2 eval_attribute_1_grad(const std::string &name, const SurfaceInteraction &si,
                                          const Mask &active) const;
    virtual void remove_attribute(const std::string &name);
    /// Adds or replaces it.
    void add_texture_attribute(const std::string &name, Ref<Texture> texture);
    const Ref<Texture> &texture_attribute(const std::string &name) const;
    bool has_texture_attributes() const { return m_rare && !m_rare->attributes.empty(); }

    void changed(std::span<const std::string> names) override;
    /// Grows when the surface changes, or its BSDF.
    int revision() const { return m_revision; }
    /// Of this shape among all that the process has, from 1 on; used again once the shape is gone.
    uint32_t global_number() const { return m_global_number; }
    /// Whether it belongs to the calling thread's variant and context.
    bool is_at_home() const;

    const Ref<BSDF> &bsdf() const { return m_bsdf; }
    /// Shapes that name no material have one in common, until it may be changed: now this one has its own. Whether it had
    /// none; then scenes have to look again, which they do with their next update.
    bool own_bsdf();
    /// Scenes notice with their next update.
    void set_bsdf(Ref<BSDF> bsdf);
    const Ref<Emitter> &emitter() const { return m_emitter; }
    /// The media behind the surface and in front of it, as its normal has it; null: nothing. A surface that has either is where
    /// light goes from one to the other.
    const Medium *interior() const { return m_rare ? m_rare->interior.get() : nullptr; }
    const Medium *exterior() const { return m_rare ? m_rare->exterior.get() : nullptr; }
    bool is_medium_transition() const { return interior() || exterior(); }
    /// How light travels below the surface; null: not at all.
    Subsurface *subsurface() const { return m_rare ? m_rare->subsurface.get() : nullptr; }
    /// What measures the light that falls on it; null: nothing.
    Ref<Sensor> sensor() const { return m_rare ? m_rare->sensor : nullptr; }
    bool flips_normals() const { return m_flip_normals; }
    /// From the shape's unit form to the scene.
    virtual TransformData placement() const { return m_to_world; }
    /// Whether it moves when to_world changes; if not, it has been applied once and for all.
    virtual bool follows_transform() const { return true; }
    /// Whether scripts follow derivatives of to_world, ...
    bool follows_to_world() const { return m_rare && m_rare->to_world.grad_id() != 0; }
    /// ... and its 16 numbers, row by row; none where no script has set them.
    Value to_world_array() const { return m_rare ? m_rare->to_world : Value(); }
    const TransformData &to_world() const { return m_to_world; }

protected:
    // ---- sampling of a shape that stands still
    virtual PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                                const Mask &active) const = 0;
    virtual DirectionSample sample_rest_direction(const Interaction &it, const Vector2 &u,
                                                  const Mask &active) const;
    virtual Float pdf_rest_direction(const Interaction &it, const DirectionSample &ds,
                                     const Mask &active) const;

    /// A transform, or the keys of one: then to_world is the identity, and the animation takes its place.
    Param &declare_to_world(Params &p);
    /// Tells textures that an attribute came or went.
    static void attributes_changed();

    TransformData m_to_world;
    std::unique_ptr<AnimatedTransform> m_animation; // null: m_to_world is all there is
    Ref<BSDF> m_bsdf;                               // never null after loading
    Ref<Emitter> m_emitter;
    HostFloat m_inv_area; // set by configure() of the derived class
    int m_revision = 0;
    bool m_flip_normals = false;

private:
    /// Null where there is no such attribute.
    const Ref<Texture> *find_texture(const std::string &name) const;
    void set_texture(const std::string &name, Ref<Texture> texture);

    bool m_has_common_bsdf = false; // see own_bsdf()
    uint32_t m_global_number;
    const Variant &m_variant;
    const jit::Context *m_context;
    /// What few shapes have, of scenes that may have a million.
    struct Rare {
        Ref<Medium> interior, exterior;
        Ref<Subsurface> subsurface;
        Ref<Sensor> sensor;
        std::map<std::string, Ref<Texture>> attributes;
        std::unique_ptr<InstanceTable>
            where;      // of a moving shape: the animation, as the scene has it
        Value to_world; // as scripts have set it; else none
    };
    Rare &rare() {
        if (!m_rare)
            m_rare = std::make_unique<Rare>();
        return *m_rare;
    }
    std::unique_ptr<Rare> m_rare;
};

/// The shapes that live in the calling thread's variant and context, in the order of their global numbers.
std::vector<Shape *> live_shapes();
/// Grows whenever a shape, or an attribute of one, comes or goes.
uint64_t shapes_epoch();

struct PackedMeshes;

/// Triangles. What a plugin fills in is host data; the scene packs it into its arena.
class Mesh : public Shape {
public:
    bool follows_transform() const override { return false; } // vertices are in the scene's space
    void declare(Params &p) override;
    void changed(std::span<const std::string> names) override;

    BoundingBox bounds() const override;
    double area() const override { return m_area; }
    NormalCone normal_cone() const override;
    uint32_t type() const override { return ShapeType::Mesh; }
    size_t primitive_count() const override { return triangle_count(); }
    BoundingBox primitive_bounds(size_t triangle) const override;
    std::optional<TimeInterval> motion() const override;

    /// World space (its own, if it moves), three numbers a vertex.
    Restorable<double> positions, normals; // normals: empty if the mesh is faceted
    Restorable<double> uvs;                // two a vertex, or empty
    Restorable<uint32_t> indices;          // three a triangle
    /// The vertices of a mesh that deforms, at times that increase; in between, they move on straight lines. The first
    /// are those above.
    struct Keyframe {
        double time;
        std::vector<double> positions, normals;
    };
    std::vector<Keyframe> keyframes;
    /// Vertices at steps spread evenly over an interval. As many as hit all keys, or as there may be.
    std::vector<Keyframe> steps_of_vertices(const TimeInterval &scene, int segments) const;
    /// How many segments that takes.
    int segments_of_vertices(const TimeInterval &scene) const;

    size_t vertex_count() const { return positions.size() / 3; }
    size_t triangle_count() const { return indices.size() / 3; }
    std::array<double, 3> vertex(uint32_t i) const {
        return { positions[3 * i], positions[3 * i + 1], positions[3 * i + 2] };
    }
    /// The vertex at corner k of a triangle, counter-clockwise as seen from the side that its normal points to.
    uint32_t corner(size_t triangle, size_t k) const {
        return indices[3 * triangle + (m_is_inside_out && k ? 3 - k : k)];
    }
    UInt32 corner(const UInt32 &triangle, uint32_t k) const;
    bool is_inside_out() const { return m_is_inside_out; }
    /// Normals as derivatives follow them: smooth ones are computed afresh from the positions.
    Value followed_normals() const {
        return m_are_normals_computed ? smooth_normals_array() : normals_array();
    }
    /// Whether scripts follow derivatives of these.
    bool follows_positions() const { return m_arrays && m_arrays->positions.grad_id() != 0; }
    bool follows_normals() const { return m_arrays && m_arrays->normals.grad_id() != 0; }
    bool follows_uvs() const { return m_arrays && m_arrays->uvs.grad_id() != 0; }
    /// Normal of a triangle by the order of its indices, times twice its area.
    std::array<double, 3> area_normal(size_t triangle) const;
    bool has_face_normals() const { return m_face_normals; }
    /// Normals at vertices: those of the triangles around, weighted by their angles.
    void smooth_normals();
    /// To be called when positions, indices or the like have been changed in place.
    void refresh();
    /// Frees what a scene has packed, from these places on: it is read from there when it is asked for again.
    void give_up(std::shared_ptr<const PackedMeshes> packed, size_t first_vertex,
                 size_t first_triangle) const;

    /// The above as arrays of the program: `positions`, `normals`, `uvs`, `indices`.
    const Value &positions_array() const { return read(arrays().positions, positions); }
    const Value &normals_array() const { return read(arrays().normals, normals); }
    const Value &uvs_array() const { return read(arrays().uvs, uvs); }
    const Value &indices_array() const { return read(arrays().indices, indices); }

    // ---- attributes of vertices and faces: mesh_attributes.cpp
    struct Attribute {
        uint32_t size; // numbers a vertex or face
        bool per_face;
        Float values;
        Float
            coefficients; // of spectra for colours, in spectral variants: 4 a colour, the last one a scale
    };
    /// `name` begins with vertex_ or face_.
    void add_attribute(const std::string &name, uint32_t size, Float values);
    /// The same, in place of one of that name.
    void set_attribute(const std::string &name, uint32_t size, Float values);
    using Attributes = std::map<std::string, Attribute>;
    const Attributes &attributes() const {
        return m_arrays ? m_arrays->attributes : s_no_attributes;
    }
    bool has_attribute(const std::string &name) const override;
    Spectrum eval_attribute(const std::string &name, const SurfaceInteraction &si,
                            const Mask &active) const override;
    std::vector<Float> eval_attribute_x(const std::string &name, const SurfaceInteraction &si,
                                        const Mask &active) const override;
    Vector2 eval_attribute_1_grad(const std::string &name, const SurfaceInteraction &si,
                                  const Mask &active) const override;
    void remove_attribute(const std::string &name) override;

protected:
    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &active) const override;
    /// Call at the end of configure(): checks indices, makes up normals, prepares sampling. Where normals came with the
    /// mesh, they say which side is out, also if to_world mirrors it.
    void finish_mesh(bool normals_came_along);
    /// Part of it: which side is out.
    void orient(bool normals_came_along);
    void to_world_space(); // applies to_world to positions and normals
    void prepare_sampling();
    void check_mesh() const;
    /// Declares face_normals.
    void declare_normals(Params &p);
    bool m_face_normals = false;

private:
    template <class T> static const Value &read(Value &array, const Restorable<T> &host) {
        return BufferSlot{ &array, const_cast<std::vector<T> *>(&host.get()) }.read();
    }
    /// Corners' numbers and weights at a point.
    struct Corners {
        UInt32 index[3];
        Float weight[3];
    };
    Corners corners(const SurfaceInteraction &si, const Mask &active) const;
    void upsample(Attribute &a) const;
    void make_records() const;
    Value smooth_normals_array() const;

    bool m_is_inside_out = false;
    bool m_are_normals_computed = false; // from positions that scripts follow
    double m_area = 0;
    /// What few meshes need, made when it is first asked for: scenes have hundreds of thousands of small ones.
    struct Arrays {
        Attributes attributes;
        Value positions, normals, uvs, indices; // as arrays of the program
        // For sampling
        AliasTable triangles; // by area
        Float records;        // 16 numbers a triangle: p0, e1, e2, uv0, uv1, uv2
    };
    Arrays &arrays() const {
        if (!m_arrays)
            m_arrays = std::make_unique<Arrays>();
        return *m_arrays;
    }
    void forget_arrays() {
        if (m_arrays)
            m_arrays->positions = m_arrays->normals = m_arrays->uvs = m_arrays->indices = {};
    }
    mutable std::unique_ptr<Arrays> m_arrays;
    static const Attributes s_no_attributes;
};

/// Round curves as trees take them: control points with radii, and the first one of each segment, which is a straight line
/// between two points, or a cubic B-spline of four.
struct Curves {
    bool is_linear = true;
    std::vector<std::array<double, 4>> points;
    std::vector<uint32_t> segments;
};

/// A shape with a formula for its intersection, which is written once for all precisions and machines.
class AnalyticShape : public Shape {
public:
    /// Distance along the ray; infinity where it misses or lies beyond maxt.
    virtual Float intersect(const Ray &ray, const Mask &active) const = 0;
    /// The same on the host, one ray at a time.
    virtual double intersect_host(const std::array<double, 3> &o, const std::array<double, 3> &d,
                                  double mint, double maxt) const = 0;
    /// Fills in position, normal, uv and derivatives of the hit at distance t.
    virtual void fill_interaction(const Ray &ray, const Float &t, SurfaceInteraction &si) const = 0;
    /// The factors of dp_du and dp_dv that give the normal's derivatives.
    virtual Vector2 curvature() const { return { Float(0), Float(0) }; }

    // ---- the same of shapes of many primitives, which have numbers; u and v may say where on the primitive a hit is
    struct PrimitiveHit {
        Float t, u, v;
        UMBEL_STRUCT(t, u, v)
    };
    struct HostHit {
        double t, u, v;
    };
    virtual PrimitiveHit intersect_primitive(const Ray &ray, const UInt32 &, const Mask &a) const {
        return { intersect(ray, a), Float(0), Float(0) };
    }
    virtual HostHit intersect_primitive_host(size_t, const std::array<double, 3> &o,
                                             const std::array<double, 3> &d, double mint,
                                             double maxt) const {
        return { intersect_host(o, d, mint, maxt), 0, 0 };
    }
    virtual void fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &,
                                const Mask &, SurfaceInteraction &si) const {
        fill_interaction(ray, hit.t, si);
    }
    /// Its primitives, where trees may know how to intersect them; null if they do not.
    virtual const Curves *curves() const { return nullptr; }
};

/// One whose primitives have numbers.
class ManyPrimitives : public AnalyticShape {
public:
    size_t primitive_count() const override = 0;
    BoundingBox primitive_bounds(size_t primitive) const override = 0;
    PrimitiveHit intersect_primitive(const Ray &ray, const UInt32 &primitive,
                                     const Mask &active) const override = 0;
    HostHit intersect_primitive_host(size_t primitive, const std::array<double, 3> &o,
                                     const std::array<double, 3> &d, double mint,
                                     double maxt) const override = 0;
    void fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &primitive,
                        const Mask &active, SurfaceInteraction &si) const override = 0;

private:
    Float intersect(const Ray &, const Mask &) const final { return Float(0); }
    double intersect_host(const std::array<double, 3> &, const std::array<double, 3> &, double,
                          double) const final {
        return 0;
    }
    void fill_interaction(const Ray &, const Float &, SurfaceInteraction &) const final {}
};

} // namespace umbel
