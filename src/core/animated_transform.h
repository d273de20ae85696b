// core/animated_transform.h: transforms that change with time.
//
// A key is taken apart into M = T R S: a translation, a rotation and a symmetric stretch, by polar decomposition.
// In between, T and S are interpolated linearly and R along the shorter great circle, so that a turning wheel stays
// round. Before the first key and after the last one nothing moves.
#pragma once
#include "core/quaternion.h"
#include "core/transform.h"

namespace umbel {

/// An affine transform in parts.
struct TransformParts {
    std::array<double, 3> translation = {};
    Quaternion<double> rotation = Quaternion<double>::identity();
    Matrix3x3<double> stretch = {
        1, 0, 0, 0, 1, 0, 0, 0, 1
    }; // symmetric; negative definite where M mirrors

    TransformData compose() const;
};
/// UserError if the transform is singular, not finite or a perspective one.
TransformParts decompose(const TransformData &m);

class AnimatedTransform {
public:
    AnimatedTransform() : AnimatedTransform(AnimationData{ { 0 }, { {} } }) {}
    /// UserError for keys that are not in order of time, cannot be decomposed, or mirror space while others do not.
    explicit AnimatedTransform(const AnimationData &keys);

    const AnimationData &keys() const { return m_keys; }
    /// Whether all keys are the same; then at() does not depend on time.
    bool is_static() const { return m_is_static; }
    /// At a time known to the host.
    TransformData at(double time) const;
    /// At a traced time. The keys are data of the program: moving them compiles nothing.
    Transform at(const Float &time, const Mask &active = true) const;

private:
    AnimationData m_keys;
    std::vector<TransformParts> m_parts;
    bool m_is_static = true;
    Transform m_static; // the first key
    Float m_table;      // a packet of 16 numbers a key: see the constructor
};

} // namespace umbel
