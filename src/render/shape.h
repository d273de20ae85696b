// render/shape.h: surfaces: triangle meshes, and shapes with a formula of their own.
#pragma once
#include "core/alias_table.h"
#include "render/bsdf.h"
#include <array>

namespace umbel {

class Emitter;
class Scene;

struct BoundingBox {
    std::array<double, 3> min = { 1e300, 1e300, 1e300 }, max = { -1e300, -1e300, -1e300 };

    bool is_empty() const { return min[0] > max[0]; }
    void extend(const std::array<double, 3> &p);
    void extend(const BoundingBox &b);
    std::array<double, 3> centre() const;
    /// Of the sphere around the centre that contains the box.
    double radius() const;
};

class Shape : public Object {
public:
    static constexpr const char *Kind = "shape";

    /// to_world, bsdf, emitter and the like; derived classes call it first.
    void declare(Params &p) override;

    virtual BoundingBox bounds() const = 0;
    virtual double area() const = 0;
    /// A point on the surface, uniform in area.
    virtual PositionSample sample_position(const Float &time, const Vector2 &u,
                                           const Mask &active) const = 0;
    /// A point on the surface with its density per solid angle at a reference point.
    virtual DirectionSample sample_direction(const Interaction &it, const Vector2 &u,
                                             const Mask &active) const;
    virtual Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                                const Mask &active) const;

    void changed(std::span<const std::string>) override {
        configure();
        ++m_revision;
    }
    /// Grows when the surface changes.
    int revision() const { return m_revision; }

    const Ref<BSDF> &bsdf() const { return m_bsdf; }
    const Ref<Emitter> &emitter() const { return m_emitter; }

protected:
    TransformData m_to_world;
    bool m_flip_normals = false;
    Ref<BSDF> m_bsdf; // never null after loading
    Ref<Emitter> m_emitter;
    Float m_inv_area; // set by configure() of the derived class
    int m_revision = 0;
};

/// Triangles. What a plugin fills in is host data; the scene packs it into its arena.
class Mesh : public Shape {
public:
    void declare(Params &p) override;
    void changed(std::span<const std::string> names) override;

    BoundingBox bounds() const override;
    double area() const override { return m_area; }
    PositionSample sample_position(const Float &time, const Vector2 &u,
                                   const Mask &active) const override;

    /// World space, three numbers a vertex.
    std::vector<double> positions, normals; // normals: empty if the mesh is faceted
    std::vector<double> uvs;                // two a vertex, or empty
    std::vector<uint32_t> indices;          // three a triangle

    size_t vertex_count() const { return positions.size() / 3; }
    size_t triangle_count() const { return indices.size() / 3; }
    std::array<double, 3> vertex(uint32_t i) const {
        return { positions[3 * i], positions[3 * i + 1], positions[3 * i + 2] };
    }
    /// Geometric normal of a triangle, times twice its area.
    std::array<double, 3> area_normal(size_t triangle) const;

protected:
    /// Call at the end of configure(): checks indices, applies flips, prepares sampling.
    void finish_mesh();
    void to_world_space(); // applies to_world to positions and normals
    /// Normals at vertices: those of the triangles around, weighted by their angles.
    void smooth_normals();
    void prepare_sampling();
    void check_mesh() const;

private:
    double m_area = 0;
    AliasTable m_triangles; // by area; made if the mesh emits
    // What sampling needs of each triangle, 16 numbers: p0, e1, e2, n, uv0 and so on; if the mesh emits.
    Float m_records;
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
};

} // namespace umbel
