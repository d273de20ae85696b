// render/endpoint.cpp: what endpoints cannot answer, and what surfaces answer alike.
#include "render/endpoint.h"

namespace umbel {

std::pair<Ray, Spectrum> Endpoint::sample_ray(const Float &, const Float &, const Vector2 &,
                                              const Vector2 &, const Mask &) const {
    lacks("sample_ray");
}

std::pair<PositionSample, Float> Endpoint::sample_position(const Float &time, const Vector2 &u,
                                                           const Mask &active) const {
    if (!m_shape)
        lacks("sample_position");
    PositionSample ps = m_shape->sample_position(time, u, active);
    return { ps, select(active & (ps.pdf > 0), rcp(ps.pdf), Float(0)) };
}

Float Endpoint::pdf_position(const PositionSample &ps, const Mask &active) const {
    if (!m_shape)
        lacks("pdf_position");
    return select(active, m_shape->pdf_position(ps, active), Float(0));
}

std::pair<DirectionSample, Spectrum>
Endpoint::sample_direction(const Interaction &, const Vector2 &, const Mask &) const {
    lacks("sample_direction");
}

Float Endpoint::pdf_direction(const Interaction &, const DirectionSample &, const Mask &) const {
    return 0;
}

Spectrum Endpoint::eval_direction(const Interaction &, const DirectionSample &,
                                  const Mask &) const {
    lacks("eval_direction");
}

Spectrum Endpoint::eval(const SurfaceInteraction &, const Mask &) const { return Spectrum(0); }

std::pair<Wavelengths, Spectrum> Endpoint::sample_wavelengths(const SurfaceInteraction &,
                                                              const Float &u, const Mask &) const {
    return umbel::sample_wavelengths(u);
}

BoundingBox Endpoint::bounds() const { return m_shape ? m_shape->swept_bounds() : BoundingBox(); }

void Endpoint::attach(const Shape *) { complain("cannot be attached to a shape"); }

SurfaceInteraction Endpoint::interaction_at(const PositionSample &ps,
                                            const Wavelengths &wavelengths) {
    SurfaceInteraction si;
    si.t = 0;
    si.p = ps.p;
    si.n = ps.n;
    si.uv = ps.uv;
    si.time = ps.time;
    si.sh_frame = Frame(ps.n);
    si.wavelengths = wavelengths;
    return si;
}

} // namespace umbel
