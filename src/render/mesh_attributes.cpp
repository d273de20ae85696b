// render/mesh_attributes.cpp: named quantities of a mesh's vertices and faces.
//
// Those of vertices are interpolated over a triangle. Colours stay RGB as data; in spectral variants each colour becomes a
// smooth spectrum, and spectra are interpolated.
#include "core/traverse.h"
#include "core/upsampling.h"
#include "render/colour_value.h"
#include "render/shape.h"

namespace umbel {

void Mesh::set_attribute(const std::string &name, uint32_t size, Float values) {
    if (has_attribute(name))
        remove_attribute(name);
    add_attribute(name, size, std::move(values));
}

void Mesh::add_attribute(const std::string &name, uint32_t size, Float values) {
    bool per_face = name.starts_with("face_");
    if (!per_face && !name.starts_with("vertex_"))
        complain("add_attribute(): attribute name must start with either \"vertex_\" or \"face_\", "
                 "unlike {}.",
                 quote(name));
    if (has_attribute(name))
        complain("add_attribute(): attribute {} already exists.", name);
    size_t count = size * (per_face ? triangle_count() : vertex_count());
    if (size == 0 || values.size() != count)
        complain("add_attribute(): attribute {} needs {} numbers for each of {} {}, and there are "
                 "{}",
                 name, size, per_face ? triangle_count() : vertex_count(),
                 per_face ? "faces" : "vertices", values.size());
    Value data = jit::cast(variant().float_type(), values);
    Attribute a{ size, per_face, Float(data.is_literal() ? jit::opaque(data) : data), {} };
    jit::eval(a.values);
    upsample(a);
    arrays().attributes[name] = std::move(a);
    positions_array(), indices_array(); // lookups need them, and may be part of a recording
    if (!uvs.empty())
        uvs_array();
    attributes_changed();
    note_change(*this);
}

// Packs three coefficients and a factor for each colour.
void Mesh::upsample(Attribute &a) const {
    if (variant().colour != Colour::Spectral || a.size != 3 || a.values.size() == 0)
        return;
    uint32_t n = a.values.size() / 3;
    UInt32 colour(jit::lane_index(n)), first = colour * UInt32(3u);
    auto at = [&](uint32_t c) {
        return Float(jit::gather(a.values, first + UInt32(c), Mask(true)));
    };
    Vector3 rgb(at(0), at(1), at(2));
    Float scale = max(max_component(rgb), Float(1)); // what is beyond 1 is no reflectance
    Vector3 c = table_coefficients(rgb * rcp(scale));
    Value packed = jit::full(variant().float_type(), 0, 4 * n);
    UInt32 to = colour * UInt32(4u);
    for (auto &[i, v] : { std::pair(0u, c.x), { 1u, c.y }, { 2u, c.z }, { 3u, scale } })
        jit::scatter(packed, v, to + UInt32(i), Mask(true));
    a.coefficients = Float(packed);
    jit::eval(a.coefficients);
}

bool Mesh::has_attribute(const std::string &name) const {
    return attributes().count(name) != 0 || Shape::has_attribute(name);
}

void Mesh::remove_attribute(const std::string &name) {
    if (!m_arrays || !m_arrays->attributes.erase(name))
        return Shape::remove_attribute(name);
    attributes_changed();
    note_change(*this);
}

Mesh::Corners Mesh::corners(const SurfaceInteraction &si, const Mask &active) const {
    Corners c;
    UInt32 first = si.prim * UInt32(3u);
    Vector3 p[3];
    for (uint32_t k = 0; k < 3; ++k) {
        c.index[k] = UInt32(jit::gather(indices_array(), first + UInt32(k), active));
        UInt32 at = c.index[k] * UInt32(3u);
        auto number = [&](uint32_t j) {
            return Float(jit::gather(positions_array(), at + UInt32(j), active));
        };
        p[k] = { number(0), number(1), number(2) };
    }
    // Barycentric coordinates of the point of the plane that is nearest
    Vector3 u = p[1] - p[0], v = p[2] - p[0];
    Vector3 rel = (si.object_p.x.valid() ? si.object_p : si.p) - p[0];
    Float uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), ru = dot(rel, u), rv = dot(rel, v);
    Float inv_det = rcp(uu * vv - uv * uv);
    c.weight[1] = (vv * ru - uv * rv) * inv_det;
    c.weight[2] = (uu * rv - uv * ru) * inv_det;
    c.weight[0] = 1 - c.weight[1] - c.weight[2];
    return c;
}

namespace {

// `value(index)` of the face, or of its corners with their weights.
template <class R, class Corners, class F>
R blend(bool per_face, const UInt32 &face, const Corners &corners, F &&value) {
    if (per_face)
        return value(face);
    auto c = corners();
    return value(c.index[0]) * c.weight[0] + value(c.index[1]) * c.weight[1] +
           value(c.index[2]) * c.weight[2];
}

} // namespace

std::vector<Float> Mesh::eval_attribute_x(const std::string &name, const SurfaceInteraction &si,
                                          const Mask &active) const {
    auto it = attributes().find(name);
    if (it == attributes().end())
        return Shape::eval_attribute_x(name, si, active);
    const Attribute &a = it->second;
    std::optional<Corners> corners;
    std::vector<Float> out;
    for (uint32_t k = 0; k < a.size; ++k)
        out.push_back(blend<Float>(
            a.per_face, si.prim,
            [&] {
                if (!corners)
                    corners = this->corners(si, active);
                return *corners;
            },
            [&](const UInt32 &i) {
                return Float(jit::gather(a.values, i * UInt32(a.size) + UInt32(k), active));
            }));
    return out;
}

// Along a triangle's edges the value changes by f1 and f2, texture coordinates by d1 and d2.
Vector2 Mesh::eval_attribute_1_grad(const std::string &name, const SurfaceInteraction &si,
                                    const Mask &active) const {
    auto it = attributes().find(name);
    if (it == attributes().end())
        return Shape::eval_attribute_1_grad(name, si, active);
    const Attribute &a = it->second;
    if (a.per_face)
        return { Float(0), Float(0) };
    Corners c = corners(si, active);
    Float f[3];
    Vector2 uv[3];
    for (uint32_t k = 0; k < 3; ++k) {
        auto number = [&](const Value &array, uint32_t size, uint32_t j) {
            return Float(jit::gather(array, c.index[k] * UInt32(size) + UInt32(j), active));
        };
        auto value = [&](uint32_t j) { return number(a.values, a.size, j); };
        f[k] = a.size == 3 ? rgb_luminance({ value(0), value(1), value(2) }) : value(0);
        // Without texture coordinates, those that rays see: two of the weights
        uint32_t corner = m_is_inside_out && k ? 3 - k : k;
        uv[k] = uvs.empty() ? Vector2{ Float(corner == 1), Float(corner == 2) }
                            : Vector2{ number(uvs_array(), 2, 0), number(uvs_array(), 2, 1) };
    }
    Float f1 = f[1] - f[0], f2 = f[2] - f[0];
    Vector2 d1 = uv[1] - uv[0], d2 = uv[2] - uv[0];
    Float det = fma(d1.x, d2.y, -(d1.y * d2.x));
    // No direction is u's where texture coordinates are degenerate
    Float inv_det = select(det != 0, rcp(det), Float(0));
    return { (f1 * d2.y - f2 * d1.y) * inv_det, (f2 * d1.x - f1 * d2.x) * inv_det };
}

Spectrum Mesh::eval_attribute(const std::string &name, const SurfaceInteraction &si,
                              const Mask &active) const {
    auto it = attributes().find(name);
    if (it == attributes().end())
        return Shape::eval_attribute(name, si, active);
    const Attribute &a = it->second;
    if (a.size != 1 && a.size != 3)
        complain("attribute {} has {} numbers; a texture needs 1 or 3", quote(name), a.size);
    if (a.coefficients.valid())
        return blend<Spectrum>(
            a.per_face, si.prim, [&] { return corners(si, active); },
            [&](const UInt32 &i) {
                std::vector<Value> v = jit::gather_packet(a.coefficients, i, 4, active);
                Vector3 c{ Float(v[0]), Float(v[1]), Float(v[2]) };
                return map(si.wavelengths,
                           [&](const Float &w) { return eval_coefficients(c, w) * Float(v[3]); });
            });
    std::vector<Float> v = eval_attribute_x(name, si, active);
    if (a.size == 1)
        return Spectrum(v[0]);
    return variant().colour == Colour::Mono ? Spectrum(rgb_luminance({ v[0], v[1], v[2] }))
                                            : Spectrum(v);
}

} // namespace umbel
