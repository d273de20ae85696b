// render/instance.h: groups of shapes that stand in a scene many times.
//
// A group's shapes are stored once, in the group's own space. An instance is a transform of that space; a hit names its
// instance, and what is computed about the hit in the group's space is then moved to the scene's.
#pragma once
#include "core/animated_transform.h"
#include "render/shape.h"

namespace umbel {

/// Where an instance stands: one transform, or several at times spread evenly over the scene's interval, between which
/// the numbers of the matrix change linearly, as Embree has it.
using TransformSteps = std::vector<TransformData>;

struct TimeInterval {
    double begin = 0, end = 0;
};

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
    /// From the first key of its animation to the last one; nothing if it stands still.
    std::optional<TimeInterval> motion() const;
    TransformSteps steps(const TimeInterval &scene) const;
    BoundingBox bounds() const override;
    double area() const override { return 0; }
    PositionSample sample_position(const Float &, const Vector2 &, const Mask &) const override;

protected:
    Ref<ShapeGroup> m_group;
    AnimatedTransform m_transform;
};

/// A box around all images of a box. Between two steps a point moves on a straight line.
BoundingBox transform_bounds(const TransformSteps &steps, const BoundingBox &b);

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
    void finish(const TimeInterval &interval);
    bool empty() const { return m_motion.size() <= 2; }
    bool is_moving() const { return m_is_moving; }
    /// From 0 to 1 within the scene's interval.
    Float fraction(const Float &time) const;
    InstanceTransform at(const UInt32 &instance, const Float &time, const Mask &active) const;

private:
    std::vector<double> m_numbers = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 }; // for lanes without any
    std::vector<uint32_t> m_motion = { 0, 0 }; // by instance: its first step, and segments after it
    bool m_is_moving = false;
    Float m_matrices; // 12 numbers a step: three rows
    UInt32 m_segments;
    Float m_begin, m_scale;
};

} // namespace umbel
