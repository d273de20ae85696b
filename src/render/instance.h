// render/instance.h: groups of shapes that stand in a scene many times.
//
// A group's shapes are stored once, in the group's own space. An instance is a transform of that space; a hit names its
// instance, and what is computed about the hit in the group's space is then moved to the scene's.
#pragma once
#include "render/shape.h"

namespace umbel {

/// Where an instance stands: one transform, or several at times spread evenly over the scene's interval, between which
/// the numbers of the matrix change linearly.
using TransformSteps = std::vector<TransformData>;

/// Shapes that are seen only through instances.
class ShapeGroup : public Shape {
public:
    const std::vector<Ref<Shape>> &members() const { return m_members; }
    /// In the group's own space.
    BoundingBox bounds() const override;
    double area() const override { return 0; }
    PositionSample sample_position(const Float &, const Vector2 &, const Mask &) const override;

protected:
    std::vector<Ref<Shape>> m_members;
};

class Instance : public Shape {
public:
    const ShapeGroup &group() const { return *m_group; }
    TransformSteps steps() const { return { m_to_world }; }
    BoundingBox bounds() const override;
    double area() const override { return 0; }
    PositionSample sample_position(const Float &, const Vector2 &, const Mask &) const override;

protected:
    Ref<ShapeGroup> m_group;
};

/// A box around the image of a box.
BoundingBox transform_bounds(const TransformData &m, const BoundingBox &b);

/// The transform of the instance that a lane has hit.
struct InstanceTransform {
    Vector3 column[3], translation, inverse[3]; // rows of the inverse of the linear part

    Vector3 point(const Vector3 &p) const { return vector(p) + translation; }
    Vector3 vector(const Vector3 &v) const;
    /// Of unit length.
    Vector3 normal(const Vector3 &n) const;
    /// Distances along the ray stay as they are; its direction is not of unit length.
    Ray to_local(const Ray &ray) const;
};

/// The transforms of all instances as data of the program; lanes name the first as 1, and none as 0.
class InstanceTable {
public:
    void add(const TransformSteps &steps);
    /// After the last instance was added.
    void finish();
    bool empty() const { return m_count == 0; }
    InstanceTransform at(const UInt32 &instance, const Mask &active) const;

private:
    std::vector<double> m_numbers;
    size_t m_count = 0;
    Float m_matrices; // 12 numbers each: three rows
};

} // namespace umbel
