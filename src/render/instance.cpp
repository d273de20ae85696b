// render/instance.cpp: transforms of instances, on the host and in recorded code.
#include "render/instance.h"
#include "core/host_array.h"
#include <cmath>

namespace umbel {

BoundingBox transform_bounds(const TransformSteps &steps, const BoundingBox &b) {
    BoundingBox out;
    for (const TransformData &m : steps)
        for (int corner = 0; corner < 8 && !b.is_empty(); ++corner)
            out.extend(
                m.apply_point({ corner & 1 ? b.max[0] : b.min[0], corner & 2 ? b.max[1] : b.min[1],
                                corner & 4 ? b.max[2] : b.min[2] }));
    return out;
}

BoundingBox ShapeGroup::bounds() const {
    BoundingBox b;
    for (const Ref<Shape> &s : m_members)
        b.extend(s->bounds());
    return b;
}

PositionSample ShapeGroup::sample_position(const Float &, const Vector2 &, const Mask &) const {
    complain("points on a group of shapes cannot be sampled");
}

std::optional<TimeInterval> Instance::motion() const {
    if (m_transform.is_static())
        return {};
    return TimeInterval{ m_transform.keys().times.front(), m_transform.keys().times.back() };
}

TransformSteps Instance::steps(const TimeInterval &scene) const {
    if (m_transform.is_static())
        return { m_transform.at(scene.begin) };
    constexpr int MostSegments = 128; // Embree's limit
    constexpr double Tolerance = 1e-4;
    for (int segments = 1;; segments *= 2) {
        auto at = [&](double step) {
            return m_transform.at(scene.begin + step / segments * (scene.end - scene.begin));
        };
        TransformSteps steps;
        for (int i = 0; i <= segments; ++i)
            steps.push_back(at(i));
        // How far straight lines are off in between
        double largest = 0, error = 0;
        for (int i = 0; i < segments; ++i)
            for (double f : { 0.2, 0.4, 0.6, 0.8 }) {
                TransformData m = at(i + f);
                for (size_t k = 0; k < 12; ++k) {
                    largest = std::max(largest, std::abs(m.m[k]));
                    double line = (1 - f) * steps[size_t(i)].m[k] + f * steps[size_t(i) + 1].m[k];
                    error = std::max(error, std::abs(line - m.m[k]));
                }
            }
        if (segments == MostSegments || error <= Tolerance * largest)
            return steps;
    }
}

BoundingBox Instance::bounds() const {
    return transform_bounds(steps(motion().value_or(TimeInterval())), m_group->bounds());
}

PositionSample Instance::sample_position(const Float &, const Vector2 &, const Mask &) const {
    complain("points on an instance cannot be sampled");
}

// ---- recorded code

Vector3 InstanceTransform::vector(const Vector3 &v) const {
    return fma(column[0], v.x, fma(column[1], v.y, column[2] * v.z));
}

Vector3 InstanceTransform::normal(const Vector3 &n) const {
    return normalize(fma(inverse[0], n.x, fma(inverse[1], n.y, inverse[2] * n.z)));
}

Ray InstanceTransform::to_local(const Ray &ray) const {
    auto apply = [&](const Vector3 &v) {
        return Vector3(dot(inverse[0], v), dot(inverse[1], v), dot(inverse[2], v));
    };
    Ray local = ray;
    local.o = apply(ray.o - translation);
    local.d = apply(ray.d);
    return local;
}

void InstanceTable::add(const TransformSteps &steps) {
    m_motion.insert(m_motion.end(),
                    { uint32_t(m_numbers.size() / 12), uint32_t(steps.size() - 1) });
    m_is_moving |= steps.size() > 1;
    for (const TransformData &m : steps)
        m_numbers.insert(m_numbers.end(), m.m.begin(), m.m.begin() + 12);
}

void InstanceTable::finish(const TimeInterval &interval) {
    if (empty())
        return;
    m_matrices = float_array(m_numbers);
    if (!m_is_moving)
        return;
    m_segments = jit::copy(m_motion);
    m_begin = opaque_float(interval.begin);
    m_scale = opaque_float(1 / (interval.end - interval.begin));
}

Float InstanceTable::fraction(const Float &time) const {
    return clamp((time - m_begin) * m_scale, 0, 1);
}

InstanceTransform InstanceTable::at(const UInt32 &instance, const Float &time,
                                    const Mask &active) const {
    std::vector<Value> r;
    if (!m_is_moving) // an instance is one step
        r = jit::gather_packet(m_matrices, instance, 12, active);
    else {
        auto [first, segments] = jit::gather_packet<uint32_t, 2>(m_segments, instance, active);
        Float position = fraction(time) * Float(segments);
        UInt32 step = to_uint(position);
        step = select(step < segments, step, segments - min(segments, UInt32(1u)));
        Float f = position - Float(step);
        UInt32 next = first + min(step + UInt32(1u), segments);
        r = jit::gather_packet(m_matrices, first + step, 12, active);
        std::vector<Value> b = jit::gather_packet(m_matrices, next, 12, active);
        for (size_t i = 0; i < 12; ++i)
            r[i] = lerp(Float(r[i]), Float(b[i]), f);
    }
    InstanceTransform x;
    auto column = [&](size_t c) { return Vector3(Float(r[c]), Float(r[c + 4]), Float(r[c + 8])); };
    for (size_t c = 0; c < 3; ++c)
        x.column[c] = column(c);
    x.translation = column(3);
    // Cramer's rule
    for (size_t i = 0; i < 3; ++i)
        x.inverse[i] = cross(x.column[(i + 1) % 3], x.column[(i + 2) % 3]);
    Float inv_det = rcp(dot(x.column[0], x.inverse[0]));
    for (Vector3 &row : x.inverse)
        row = row * inv_det;
    return x;
}

} // namespace umbel
