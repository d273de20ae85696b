// render/camera.cpp: see render/camera.h.
#include "render/camera.h"
#include <algorithm>

namespace umbel {

// ---- films and distances

void Camera::declare_clip(Params &p) {
    p.number("near_clip", m_near, 1e-2, 0).doc("Nothing nearer than this is seen");
    p.number("far_clip", m_far, 1e4, 0).doc("Nothing farther than this is seen");
}

void Camera::declare_focus(Params &p) {
    p.number("focus_distance", m_focus, 0, 0)
        .doc(
            "What scripts are told that ask for it; images show everything sharply. 0: `far_clip`");
}

void Camera::configure_clip(double least) {
    if (!(m_near >= least && m_near < m_far))
        complain("near_clip ({}) must be {}less than far_clip ({})", m_near,
                 least > 0 ? "positive and " : "", m_far);
    m_near_clip = opaque_float(m_near);
    m_far_clip = opaque_float(m_far);
}

void Camera::refuse_scale(const char *what, const char *remedy) const {
    for (const TransformData &t : m_to_world.transforms)
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) {
                double product = t(0, i) * t(0, k) + t(1, i) * t(1, k) + t(2, i) * t(2, k);
                if (!(std::abs(product - (i == k)) < 1e-3))
                    complain("to_world scales or shears the camera, and so {}; it may only be "
                             "turned, mirrored and moved: {}",
                             what, remedy);
            }
}

Camera::Place Camera::place_of(const Vector2 &film) const {
    const Film::Crop &crop = m_film->crop();
    double width = m_film->width(), height = m_film->height();
    Vector2 pixel{ fma(film.x, opaque_float(width), opaque_float(-crop.x)),
                   fma(film.y, opaque_float(height), opaque_float(-crop.y)) };
    double margin = m_film->sample_border() ? m_film->filter().radius() : 0;
    Float mx = opaque_float(margin / width), my = opaque_float(margin / height);
    return { pixel, (film.x >= -mx) & (film.y >= -my) & (film.x < 1 + mx) & (film.y < 1 + my) };
}

Float Camera::rendered_part(double times) const {
    const Film::Crop &crop = m_film->crop();
    return opaque_float(times * crop.width / m_film->width() * crop.height / m_film->height());
}

// ---- fields of view

void FovCamera::declare(Params &p) {
    Sensor::declare(p);
    m_view.declare(p);
    declare_clip(p);
    p.number("principal_point_offset_x", m_offset_x, 0).doc("Shift of the image, in widths");
    p.number("principal_point_offset_y", m_offset_y, 0).doc("Shift of the image, in heights");
    if (p.traversing())
        p.exposed("x_fov", &m_x_fov);
    else if (p.assigning())
        p.number("x_fov", m_x_fov, 0, 1e-6, FieldOfView::Most);
}

void FovCamera::changed(std::span<const std::string> names) {
    if (std::find(names.begin(), names.end(), "x_fov") != names.end()) {
        m_view.fov = m_x_fov;
        m_view.axis = "x";
    }
    Sensor::changed(names);
}

void FovCamera::configure() {
    Sensor::configure();
    configure_clip(std::numeric_limits<double>::min());
    double aspect = double(m_film->width()) / m_film->height();
    double half = m_view.half_width(where(), aspect);
    m_x_fov = 2 * std::atan(half) * 180 / Pi;
    m_aspect = 0;
    m_shift_x = opaque_float(m_offset_x);
    m_shift_y = opaque_float(m_offset_y);
}

const FovCamera::Extent &FovCamera::extent() const {
    double aspect = double(m_film->width()) / m_film->height();
    if (aspect != m_aspect) {
        double half = m_view.half_width(where(), aspect);
        m_extent = { opaque_float(half), opaque_float(half / aspect) };
        m_aspect = aspect;
    }
    return m_extent;
}

// As sample_ray() has it: distances are those of the scene, whatever the camera's scale.
Sensor::Reach FovCamera::reach(const DirectionSample &ds, const Mask &active) const {
    Transform to_local = to_world_at(ds.time, active).inverse();
    Float cosine = normalize(to_local.vector(-ds.d)).z;
    return { m_near_clip / cosine, m_far_clip / cosine };
}

// ---- pinholes

BoundingBox PinholeCamera::bounds() const { // of its keyframes
    BoundingBox b;
    for (const TransformData &t : m_to_world.transforms)
        b.extend(t.apply_point({ 0, 0, 0 }));
    return b;
}

std::pair<Ray, Spectrum> PinholeCamera::sample_ray(const Float &time,
                                                   const Float &wavelength_sample,
                                                   const Vector2 &position, const Vector2 &,
                                                   const Mask &active) const {
    auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
    Vector2 slope = from_film(slope_at(position));
    Vector3 d = normalize({ slope.x, slope.y, Float(1) });
    Float near_t = m_near_clip / d.z, far_t = m_far_clip / d.z;
    Transform to_world = to_world_at(time, active);
    Vector3 world = to_world.vector(d);
    Float inv_scale = rsqrt(squared_norm(world));
    world = world * inv_scale;
    Vector3 o = fma(world, near_t, to_world.translation());
    return { Ray{ o, world, far_t - near_t, time, wavelengths }, weight };
}

PositionSample PinholeCamera::position_at(const Transform &to_world, const Float &time) const {
    Vector3 n = normalize(to_world.vector({ 0, 0, 1 }));
    return { to_world.translation(), n, { Float(0), Float(0) }, time, Float(1), Mask(true) };
}

std::pair<PositionSample, Float> PinholeCamera::sample_position(const Float &time, const Vector2 &,
                                                                const Mask &active) const {
    return { position_at(to_world_at(time, active), time), Float(1) };
}

std::pair<DirectionSample, Spectrum>
PinholeCamera::sample_direction(const Interaction &it, const Vector2 &, const Mask &active) const {
    Transform to_world = to_world_at(it.time, active);
    DirectionSample ds{ position_at(to_world, it.time), {}, Float(0), UInt32(0u) };
    Vector3 v = ds.p - it.p;
    ds.dist = norm(v);
    ds.d = v * rcp(ds.dist);
    View view = view_of(to_world, ds);
    ds.uv = view.pixel;
    ds.pdf = select(view.seen, Float(1), Float(0));
    return { ds, Spectrum(view.importance) };
}

Spectrum PinholeCamera::eval_direction(const Interaction &it, const DirectionSample &ds,
                                       const Mask &active) const {
    return Spectrum(view_of(to_world_at(it.time, active), ds).importance);
}

PinholeCamera::View PinholeCamera::view_of(const Transform &to_world,
                                           const DirectionSample &ds) const {
    Vector3 d = normalize(to_world.inverse().vector(-ds.d));
    Float z = ds.dist * d.z, inv_z = rcp(d.z);
    Mapped on_film = to_film({ d.x * inv_z, d.y * inv_z });
    Place place = place_of(film_at(on_film.slope));
    Mask seen = in_reach(z) & place.seen & (on_film.area > 0);
    Float cos3 = d.z * sqr(d.z), area = extent().x * extent().y * rendered_part(4);
    return { place.pixel, select(seen, rcp(area * cos3 * sqr(ds.dist)) * on_film.area, Float(0)),
             seen };
}

} // namespace umbel
