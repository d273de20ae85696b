// render/motion.h: where things are at which time, as trees and lanes know it.
#pragma once
#include "core/animated_transform.h"
#include "render/interaction.h"

namespace umbel {

struct BoundingBox {
    std::array<double, 3> min = { 1e300, 1e300, 1e300 }, max = { -1e300, -1e300, -1e300 };

    bool is_empty() const { return min[0] > max[0]; }
    void extend(const std::array<double, 3> &p);
    void extend(const BoundingBox &b);
    std::array<double, 3> centre() const;
    /// Of the sphere around the centre that contains the box.
    double radius() const;
};

/// Directions around an axis.
struct NormalCone {
    std::array<double, 3> axis = { 0, 0, 1 };
    double cosine = -1; // of the greatest angle to the axis; -1: all directions; 2: none

    static NormalCone none() { return { { 0, 0, 1 }, 2 }; }
    static NormalCone around(const NormalCone &a, const NormalCone &b);
};

struct TimeInterval {
    double begin = 0, end = 0;

    TimeInterval united(const TimeInterval &o) const {
        return { std::min(begin, o.begin), std::max(end, o.end) };
    }
    double at(double fraction) const { return begin + fraction * (end - begin); }
};

/// Embree's limit for the number of steps, less one.
constexpr int MostSegments = 128;

/// Where an instance stands: one transform, or several at times spread evenly over the scene's interval, between which
/// the numbers of the matrix change linearly, as Embree has it.
using TransformSteps = std::vector<TransformData>;
/// As many as keep the matrix within a part in ten thousand of it.
TransformSteps steps_of(const AnimatedTransform &transform, const TimeInterval &scene);
/// A box around all images of a box. Between two steps a point moves on a straight line.
BoundingBox transform_bounds(const TransformSteps &steps, const BoundingBox &b);

/// The transform of the instance that a lane has hit.
struct InstanceTransform {
    Vector3 column[3], translation, inverse[3]; // rows of the inverse of the linear part

    /// Of three rows of four numbers.
    static InstanceTransform of_rows(const std::vector<Value> &r);

    Vector3 point(const Vector3 &p) const { return vector(p) + translation; }
    Vector3 vector(const Vector3 &v) const;
    /// Of unit length.
    Vector3 normal(const Vector3 &n) const;
    /// Distances along the ray stay as they are; its direction is not of unit length.
    Ray to_local(const Ray &ray) const;
    /// How much larger an area becomes whose normal becomes n.
    Float area_factor(const Vector3 &n) const;
};

/// The transforms of all instances as data of the program; lanes name the first as 1, and none as 0.
class InstanceTable {
public:
    void add(const TransformSteps &steps);
    /// After the last instance was added; `deforms`: something else moves as well.
    void finish(const TimeInterval &interval, bool deforms = false);
    bool empty() const { return m_motion.size() <= 2; }
    /// Whether anything depends on time.
    bool is_moving() const { return m_is_moving; }
    /// From 0 to 1 within the scene's interval.
    Float fraction(const Float &time) const;
    /// Between which two of so many segments a time lies, and where in between.
    struct Step {
        UInt32 first, next;
        Float fraction;
    };
    Step step_at(const Float &time, const UInt32 &segments) const;
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
