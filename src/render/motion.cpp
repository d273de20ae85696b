// render/motion.cpp: boxes and transforms, on the host and in recorded code.
#include "render/motion.h"
#include "core/host_array.h"
#include <cmath>

namespace umbel {

void BoundingBox::extend(const std::array<double, 3> &p) {
    for (size_t i = 0; i < 3; ++i) {
        min[i] = std::min(min[i], p[i]);
        max[i] = std::max(max[i], p[i]);
    }
}

void BoundingBox::extend(const BoundingBox &b) {
    if (!b.is_empty()) {
        extend(b.min);
        extend(b.max);
    }
}

std::array<double, 3> BoundingBox::centre() const {
    return { (min[0] + max[0]) / 2, (min[1] + max[1]) / 2, (min[2] + max[2]) / 2 };
}

double BoundingBox::radius() const {
    return is_empty() ? 0 : std::hypot(max[0] - min[0], max[1] - min[1], max[2] - min[2]) / 2;
}

NormalCone NormalCone::around(const NormalCone &a, const NormalCone &b) {
    if (a.cosine > 1 || b.cosine > 1)
        return a.cosine > 1 ? b : a;
    double dot = a.axis[0] * b.axis[0] + a.axis[1] * b.axis[1] + a.axis[2] * b.axis[2];
    double between = std::acos(std::clamp(dot, -1.0, 1.0));
    double angle_a = std::acos(std::clamp(a.cosine, -1.0, 1.0)),
           angle_b = std::acos(std::clamp(b.cosine, -1.0, 1.0));
    if (std::min(between + angle_b, Pi) <= angle_a)
        return a;
    if (std::min(between + angle_a, Pi) <= angle_b)
        return b;
    double angle = (angle_a + between + angle_b) / 2, turn = angle - angle_a;
    if (angle >= Pi || !(std::sin(between) > 1e-9))
        return {};
    // The axis in the middle lies between both
    NormalCone out;
    for (size_t i = 0; i < 3; ++i)
        out.axis[i] =
            (std::sin(between - turn) * a.axis[i] + std::sin(turn) * b.axis[i]) / std::sin(between);
    out.cosine = std::cos(angle);
    return out;
}

BoundingBox transform_bounds(const TransformSteps &steps, const BoundingBox &b) {
    BoundingBox out;
    for (const TransformData &m : steps)
        for (int corner = 0; corner < 8 && !b.is_empty(); ++corner)
            out.extend(
                m.apply_point({ corner & 1 ? b.max[0] : b.min[0], corner & 2 ? b.max[1] : b.min[1],
                                corner & 4 ? b.max[2] : b.min[2] }));
    return out;
}

TransformSteps steps_of(const AnimatedTransform &transform, const TimeInterval &scene) {
    if (transform.is_static())
        return { transform.at(scene.begin) };
    constexpr double Tolerance = 1e-4;
    for (int segments = 1;; segments *= 2) {
        auto at = [&](double step) { return transform.at(scene.at(step / segments)); };
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

Float InstanceTransform::area_factor(const Vector3 &n) const {
    Vector3 local(dot(column[0], n), dot(column[1], n), dot(column[2], n));
    return abs(dot(column[0], cross(column[1], column[2]))) * rsqrt(squared_norm(local));
}

void InstanceTable::add(const TransformSteps &steps) {
    m_motion.insert(m_motion.end(),
                    { uint32_t(m_numbers.size() / 12), uint32_t(steps.size() - 1) });
    m_is_moving |= steps.size() > 1;
    for (const TransformData &m : steps)
        m_numbers.insert(m_numbers.end(), m.m.begin(), m.m.begin() + 12);
}

void InstanceTable::finish(const TimeInterval &interval, bool deforms) {
    if (empty())
        return;
    m_is_moving |= deforms;
    m_matrices = float_array(m_numbers);
    std::vector<double>().swap(m_numbers); // there may be millions
    if (!m_is_moving)
        return;
    m_segments = jit::copy(m_motion);
    m_begin = opaque_float(interval.begin);
    m_scale = opaque_float(1 / (interval.end - interval.begin));
}

Float InstanceTable::fraction(const Float &time) const {
    return clamp((time - m_begin) * m_scale, 0, 1);
}

InstanceTable::Step InstanceTable::step_at(const Float &time, const UInt32 &segments) const {
    Float position = fraction(time) * Float(segments);
    UInt32 step = to_uint(position);
    step = select(step < segments, step, segments - min(segments, UInt32(1u)));
    return { step, min(step + UInt32(1u), segments), position - Float(step) };
}

InstanceTransform InstanceTable::at(const UInt32 &instance, const Float &time,
                                    const Mask &active) const {
    std::vector<Value> r;
    if (!m_is_moving) // an instance is one step
        r = jit::gather_packet(m_matrices, instance, 12, active);
    else {
        auto [first, segments] = jit::gather_packet<uint32_t, 2>(m_segments, instance, active);
        Step s = step_at(time, segments);
        r = jit::gather_packet(m_matrices, first + s.first, 12, active);
        std::vector<Value> b = jit::gather_packet(m_matrices, first + s.next, 12, active);
        for (size_t i = 0; i < 12; ++i)
            r[i] = lerp(Float(r[i]), Float(b[i]), s.fraction);
    }
    return InstanceTransform::of_rows(r);
}

InstanceTransform InstanceTransform::of_rows(const std::vector<Value> &r) {
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
