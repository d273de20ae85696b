// render/instance.cpp: transforms of instances, on the host and in recorded code.
#include "render/instance.h"
#include "core/host_array.h"
#include "render/emitter.h"

namespace umbel {

BoundingBox transform_bounds(const TransformData &m, const BoundingBox &b) {
    BoundingBox out;
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

// Between two steps a point moves on a straight line, so boxes at the steps contain all of it.
BoundingBox Instance::bounds() const {
    BoundingBox b;
    for (const TransformData &m : steps())
        b.extend(transform_bounds(m, m_group->bounds()));
    return b;
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
    if (m_numbers.empty()) { // for lanes that have hit none
        TransformData identity;
        m_numbers.insert(m_numbers.end(), identity.m.begin(), identity.m.begin() + 12);
    }
    m_numbers.insert(m_numbers.end(), steps[0].m.begin(), steps[0].m.begin() + 12);
    ++m_count;
}

void InstanceTable::finish() {
    if (m_count)
        m_matrices = float_array(m_numbers);
}

InstanceTransform InstanceTable::at(const UInt32 &instance, const Mask &active) const {
    std::vector<Value> r = jit::gather_packet(m_matrices, instance, 12, active);
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
