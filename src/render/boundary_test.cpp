// render/boundary_test.cpp: see render/boundary_test.h.
#include "render/boundary_test.h"

namespace umbel {

BoundaryTest::Kind BoundaryTest::kind_of(const Shape &shape) {
    if (shape.type() == ShapeType::Rectangle)
        return Rectangle;
    if (shape.type() == ShapeType::Disk)
        return Disk;
    auto *mesh = dynamic_cast<const Mesh *>(&shape);
    return !mesh ? Round : mesh->normals.empty() ? Faceted : Smooth;
}

const UInt32 &BoundaryTest::kinds() const {
    std::vector<uint32_t> now = { Round };
    for (const Shape *s : live_shapes()) {
        now.resize(std::max(now.size(), size_t(s->global_number()) + 1));
        now[s->global_number()] = kind_of(*s);
    }
    if (now != m_known || !m_kinds.valid()) {
        m_kinds = jit::copy(now);
        m_known = std::move(now);
    }
    return m_kinds;
}

Float BoundaryTest::eval(const Ray &ray, const Hit &hit, const SurfaceInteraction &si,
                         const Mask &active) const {
    Mask valid = active & si.is_valid();
    UInt32 kind(jit::gather(kinds(), si.shape_number, valid));
    auto to_edge = [](const Float &u) { return 0.5 - abs(u - 0.5); };
    Float cosine = abs(dot(si.sh_frame.n, ray.d)), out = cosine,
          least = min(hit.u, min(hit.v, 1 - hit.u - hit.v));
    out = select(kind == UInt32(uint32_t(Smooth)), cosine * cosine, out);
    out = select(kind == UInt32(uint32_t(Faceted)), 3 * max(least, 0), out);
    out = select(kind == UInt32(uint32_t(Rectangle)), min(to_edge(si.uv.x), to_edge(si.uv.y)), out);
    out = select(kind == UInt32(uint32_t(Disk)), 1 - si.uv.x, out);
    return select(valid, out, Float(1));
}

} // namespace umbel
