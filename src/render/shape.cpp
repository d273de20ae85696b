// render/shape.cpp: what all shapes share.
#include "render/shape.h"
#include "render/emitter.h"
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

void Shape::declare(Params &p) {
    p.transform("to_world", m_to_world)
        .doc("From the shape's own coordinates to those of the scene");
    p.boolean("flip_normals", m_flip_normals, false).doc("Turns the surface inside out");
    p.object("bsdf", m_bsdf)
        .doc("How the surface scatters light; a diffuse reflector of 0.5 if absent");
    p.object("emitter", m_emitter).doc("Makes the surface an area light");
    if (!p.loading())
        return;
    if (!m_bsdf)
        m_bsdf = p.loader()->load_as<BSDF>(std::make_shared<Properties>("bsdf", "diffuse"));
    if (m_emitter)
        m_emitter->attach(this);
}

DirectionSample Shape::sample_direction(const Interaction &it, const Vector2 &u,
                                        const Mask &active) const {
    DirectionSample ds;
    static_cast<PositionSample &>(ds) = sample_position(it.time, u, active);
    Vector3 d = ds.p - it.p;
    Float dist2 = squared_norm(d);
    ds.dist = sqrt(dist2);
    ds.d = d / ds.dist;
    // From area to solid angle; a grazing direction carries nothing.
    Float cosine = abs_dot(ds.d, ds.n);
    ds.pdf = select(cosine > 0, ds.pdf * dist2 / cosine, Float(0));
    ds.emitter = UInt32(0u);
    return ds;
}

Float Shape::pdf_direction(const Interaction &, const DirectionSample &ds, const Mask &) const {
    Float cosine = abs_dot(ds.d, ds.n);
    return select(cosine > 0, m_inv_area * sqr(ds.dist) / cosine, Float(0));
}

} // namespace umbel
