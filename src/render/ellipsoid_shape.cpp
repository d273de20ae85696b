// render/ellipsoid_shape.cpp: see ellipsoid_shape.h.
#include "render/ellipsoid_shape.h"
#include "ad/ad.h"
#include "core/animated_transform.h"
#include "core/file_text.h"
#include "core/host_array.h"
#include "core/image.h"
#include "core/quaternion.h"
#include "core/traverse.h"
#include "jit/array.h"
#include "render/colour_value.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();

} // namespace

// ---- parameters

void EllipsoidShape::declare_ellipsoids(Params &p) {
    Shape::declare(p);
    if (p.mode() == Params::Mode::Describe) {
        std::shared_ptr<const Image> none;
        std::string file;
        p.string("filename", file, "").doc("A PLY file of Gaussians");
        p.image("centers", none).doc("In place of a file, in scripts: an array of N x 3 numbers");
        p.image("scales", none).doc("With it: radii, N x 3 numbers");
        p.image("quaternions", none).doc("With it: rotations, N x 4 numbers (x, y, z, w)");
        p.image("data", none).doc("In place of these three: N x 10 numbers");
    }
    p.number("scale_factor", m_scale_factor, 1, 0).fixed().doc("Multiplies all radii of a file");
    p.number("extent", m_extent, 3, 0).fixed().doc("Multiplies all radii");
    p.boolean("extent_adaptive_clamping", m_adapts, false)
        .doc("Multiplies them also by sqrt(2 log(100 o)) / 3, where o is what the attribute "
             "`opacities` says");
    if (p.traversing()) {
        p.exposed("data", &m_data).differentiable();
        for (auto &[name, a] : m_attributes)
            p.exposed(name.c_str(), &a.values).differentiable();
        p.derived(m_rows);
        p.derived(m_extents);
    }
    if (p.loading())
        load_tables(*p.properties());
}

// Arrays of scripts: tables, of which some sizes have come to be taken for other things.
bool EllipsoidShape::to_table(const PropertyValue &value, Table &to) {
    if (auto *v = std::get_if<VectorData>(&value))
        to = { 1, 3, { v->x, v->y, v->z } };
    else if (auto *t = std::get_if<TransformData>(&value))
        to = { 4, 4, { t->m.begin(), t->m.end() } };
    else if (auto *image = std::get_if<std::shared_ptr<const Image>>(&value)) {
        const Image &i = **image;
        to = { i.height(), i.width() * i.channel_count(), {} };
        to.values.resize(to.rows * to.columns);
        for (size_t y = 0; y < to.rows; ++y)
            i.read_row(y, &to.values[y * to.columns]);
    } else
        return false;
    return true;
}

bool EllipsoidShape::take_table(const Properties &q, const char *name, Table &to) const {
    const umbel::Property *p = q.query(name);
    if (p && !to_table(p->value, to))
        q.fail_at(*p, fmt::format("\"{}\" must be an array of numbers", name));
    return p;
}

void EllipsoidShape::load_tables(const Properties &q) {
    Table data, centres, scales, rotations;
    bool has_data = take_table(q, "data", data), has_centres = take_table(q, "centers", centres);
    take_table(q, "scales", scales);
    take_table(q, "quaternions", rotations);
    bool has_file = q.has("filename");
    if (int(has_file) + int(has_data) + int(has_centres) != 1)
        fail("{}: give either a filename, or data, or centers with scales and quaternions",
             q.describe());
    if (has_file)
        m_file = q.get_file("filename");
    else if (q.has("scale_factor"))
        fail("{}: scale_factor is for files; multiply the scales instead", q.describe());
    if (has_data) {
        if (data.values.empty() || data.values.size() % Numbers ||
            (data.rows > 1 && data.columns != Numbers))
            fail("{}: data has {} x {} numbers; it takes {} an ellipsoid", q.describe(), data.rows,
                 data.columns, Numbers);
        m_numbers = std::move(data.values);
    }
    if (has_centres) {
        size_t n = centres.rows;
        if (centres.columns != 3 || scales.columns != 3 || rotations.columns != 4 ||
            scales.rows != n || rotations.rows != n)
            fail("{}: centers, scales and quaternions have {} x {}, {} x {} and {} x {} numbers; "
                 "they take N x 3, N x 3 and N x 4",
                 q.describe(), n, centres.columns, scales.rows, scales.columns, rotations.rows,
                 rotations.columns);
        for (size_t i = 0; i < n; ++i) {
            auto add = [&](const Table &t) {
                const double *row = &t.values[t.columns * i];
                m_numbers.insert(m_numbers.end(), row, row + t.columns);
            };
            add(centres), add(scales), add(rotations);
        }
    }
    for (const umbel::Property &p : q.all()) // whatever else is an array
        if (Table t; !p.queried && to_table(p.value, t)) {
            p.queried = true;
            m_tables[p.name] = std::move(t);
        }
}

// ---- files

void EllipsoidShape::read_files() {
    if (!m_file.empty() && !m_data.valid())
        read_ply();
}

// Radii are logarithms, opacities are before a sigmoid, and rotations begin with the real part [Kerbl 2023].
void EllipsoidShape::read_ply() {
    FileBytes bytes(m_file);
    open(m_file, bytes.view());
    for (const Element &e : m_elements) {
        if (e.name != "vertex") {
            skip(e);
            continue;
        }
        size_t columns = e.properties.size();
        if (e.count == 0 || e.count > uint64_t(m_end - m_at) || e.count >= (1u << 28))
            bad(fmt::format("{} ellipsoids do not fit the file", e.count));
        std::vector<double> all(columns * e.count);
        std::vector<Target> targets;
        for (size_t k = 0; k < columns; ++k)
            targets.push_back(e.properties[k].is_list ? Target() : Target{ &all, columns, k });
        auto column = [&](const std::string &name) {
            for (size_t k = 0; k < columns; ++k)
                if (e.properties[k].name == name && !e.properties[k].is_list)
                    return k;
            bad(fmt::format("vertices have no \"{}\"; ellipsoids take x y z, scale_0 to scale_2 "
                            "and rot_0 to rot_3",
                            name));
        };
        size_t from[Numbers];
        const char *const names[Numbers] = { "x",       "y",     "z",     "scale_0", "scale_1",
                                             "scale_2", "rot_1", "rot_2", "rot_3",   "rot_0" };
        for (size_t k = 0; k < Numbers; ++k)
            from[k] = column(names[k]);
        read_element(e, targets);
        m_numbers.resize(Numbers * e.count);
        for (size_t i = 0; i < e.count; ++i) {
            double *to = &m_numbers[Numbers * i];
            for (size_t k = 0; k < Numbers; ++k)
                to[k] = all[columns * i + from[k]];
            for (size_t k = 3; k < 6; ++k)
                to[k] = std::max(std::exp(to[k]), 1e-6) * m_scale_factor;
            double length = std::hypot(std::hypot(to[6], to[7], to[8]), to[9]);
            for (size_t k = 6; k < 10 && length > 0; ++k)
                to[k] /= length;
        }
        take_extras(e, all);
    }
    m_elements.clear();
    if (m_numbers.empty())
        fail("{}: the file holds no vertices, which ellipsoids would be", m_file.string());
}

// Other properties: neighbours whose names differ in what comes after the last `_` are one attribute. Of radiance fields, coefficients
// of spherical harmonics come channel by channel.
void EllipsoidShape::take_extras(const Element &e, const std::vector<double> &all) {
    size_t columns = e.properties.size(), count = size_t(e.count);
    std::map<std::string, size_t> places;
    for (size_t k = 0; k < columns; ++k)
        places[e.properties[k].name] = k;
    auto add = [&](const std::string &name, const std::vector<size_t> &from) -> Table & {
        Table &t = m_tables[name] = { count, from.size(), {} };
        for (size_t i = 0; i < count; ++i)
            for (size_t k : from)
                t.values.push_back(all[columns * i + k]);
        return t;
    };
    auto place = [&](const std::string &name, size_t i) {
        auto it = places.find(fmt::format("{}_{}", name, i));
        return it == places.end() ? columns : it->second;
    };
    if (places.count("f_dc_0") && places.count("opacity")) {
        std::vector<size_t> from;
        for (size_t c = 0; c < 3; ++c)
            from.push_back(place("f_dc", c));
        size_t rest = 0;
        while (place("f_rest", rest) < columns)
            ++rest;
        for (size_t j = 0; j < rest / 3; ++j)
            for (size_t c = 0; c < 3; ++c)
                from.push_back(place("f_rest", j + c * (rest / 3)));
        if (from[1] == columns || from[2] == columns || rest % 3)
            bad("vertices have f_dc_0, and not as many f_dc and f_rest as three channels take");
        add("sh_coeffs", from);
        for (double &v : add("opacities", { places["opacity"] }).values)
            v = std::clamp(1 / (1 + std::exp(-v)), 1e-8, 1 - 1e-8);
        return;
    }
    auto is_own = [](const std::string &name) {
        for (const char *known : { "x", "y", "z", "nx", "ny", "nz" })
            if (name == known)
                return true;
        return name.starts_with("scale_") || name.starts_with("rot_");
    };
    auto prefix = [](const std::string &name) { return name.substr(0, name.rfind('_')); };
    for (size_t k = 0; k < columns;) {
        const std::string &name = e.properties[k].name;
        std::vector<size_t> run;
        if (!is_own(name) && !e.properties[k].is_list)
            for (size_t n = k; n < columns && !e.properties[n].is_list &&
                               prefix(e.properties[n].name) == prefix(name);
                 ++n)
                run.push_back(n);
        if (!run.empty())
            add(prefix(name), run);
        k += std::max<size_t>(run.size(), 1);
    }
}

// ---- what is computed of them

void EllipsoidShape::configure() {
    take_files();
    if (m_emitter)
        complain("ellipsoids cannot emit light; give the emitter to a mesh");
    if (m_data.valid())
        return update(); // again
    place();
    m_data = float_array(m_numbers);
    size_t count = m_numbers.size() / Numbers;
    m_attributes.clear();
    for (auto &[name, t] : m_tables) {
        if (t.rows != count)
            complain("the attribute \"{}\" has {} rows, and there are {} ellipsoids", name, t.rows,
                     count);
        m_attributes[name] = { uint32_t(t.columns), float_array(t.values) };
    }
    m_numbers.clear();
    m_numbers.shrink_to_fit();
    m_tables.clear();
    if (m_adapts && !m_attributes.count("opacities"))
        complain("extent_adaptive_clamping needs the attribute \"opacities\"");
    update();
}

// Centres go where they go; radii keep their ratios.
void EllipsoidShape::place() {
    if (m_to_world == TransformData())
        return;
    TransformParts parts;
    try {
        parts = decompose(m_to_world);
    } catch (const UserError &e) {
        complain("to_world: {}", e.what());
    }
    double scale = std::abs(parts.stretch[0] + parts.stretch[4] + parts.stretch[8]) / 3;
    for (size_t i = 0; i < m_numbers.size(); i += Numbers) {
        double *n = &m_numbers[i];
        auto p = m_to_world.apply_point({ n[0], n[1], n[2] });
        Quaternion<double> q = parts.rotation * Quaternion<double>{ n[6], n[7], n[8], n[9] };
        const double placed[Numbers] = { p[0],         p[1], p[2], n[3] * scale, n[4] * scale,
                                         n[5] * scale, q.x,  q.y,  q.z,          q.w };
        std::copy_n(placed, Numbers, n);
    }
}

void EllipsoidShape::changed(std::span<const std::string>) {
    update();
    ++m_revision;
}

void EllipsoidShape::update() {
    auto count = uint32_t(m_data.size() / Numbers);
    if (m_data.size() == 0 || m_data.size() % Numbers)
        complain("data has {} numbers; it takes {} an ellipsoid", m_data.size(), Numbers);
    for (auto &[name, a] : m_attributes) {
        if (a.values.size() % count)
            complain("the attribute \"{}\" has {} numbers, and there are {} ellipsoids", name,
                     a.values.size(), count);
        a.size = a.values.size() / count;
    }
    UInt32 lane(jit::lane_index(count));
    m_extents = Float(m_extent) + Float(lane) * 0;
    if (m_adapts)
        m_extents =
            safe_sqrt(2 * log(max(m_attributes["opacities"].values, 0.01) / 0.01)) * (m_extent / 3);
    // The inverse of scaling and rotation, at the front the centre
    std::vector<Value> n = jit::gather_packet(m_data, lane, Numbers, Mask(true));
    Quaternion<Float> q{ Float(n[6]), Float(n[7]), Float(n[8]), Float(n[9]) };
    Matrix3x3<Float> turn = q.to_matrix();
    Value packed = jit::full(variant().float_type(), 0, RowNumbers * count);
    UInt32 to = lane * UInt32(RowNumbers);
    auto put = [&](uint32_t k, const Float &v) {
        jit::scatter(packed, v, to + UInt32(k), Mask(true));
    };
    for (uint32_t k = 0; k < 3; ++k) {
        put(k, Float(n[k]));
        Float size = Float(n[3 + k]) * m_extents;
        Float inv = select(size > 0, rcp(select(size > 0, size, Float(1))), Float(0));
        for (uint32_t j = 0; j < 3; ++j)
            put(3 + 3 * k + j, turn[3 * j + k] * inv);
    }
    m_rows = Float(packed);
    jit::eval(m_rows);
    jit::eval(m_extents);
    m_rows_host = read_floats(Float(m_rows.detached()));
    m_still_rows = float_array(m_rows_host); // of its own: loops know arrays, not who follows them
    m_sign = HostFloat(m_flip_normals ? -1 : 1);
    m_inv_area = HostFloat(0);

    // Boxes: along an axis, an ellipsoid reaches as far as a row of rotation times scaling is long
    std::vector<double> numbers = read_floats(Float(m_data.detached())),
                        extents = read_floats(Float(m_extents.detached()));
    m_boxes.assign(count, {});
    for (size_t i = 0; i < count; ++i) {
        const double *d = &numbers[Numbers * i];
        if (!std::all_of(d, d + Numbers, [](double v) { return std::isfinite(v); }) ||
            std::min({ d[3], d[4], d[5] }) <= 0)
            complain(
                "ellipsoid {} has the centre ({}, {}, {}) and the radii {}, {}, {}; all must be "
                "finite, and radii positive",
                i, d[0], d[1], d[2], d[3], d[4], d[5]);
        Matrix3x3<double> m = Quaternion<double>{ d[6], d[7], d[8], d[9] }.to_matrix();
        for (size_t j = 0; j < 3; ++j) {
            double half = std::hypot(m[3 * j] * d[3], m[3 * j + 1] * d[4], m[3 * j + 2] * d[5]) *
                          extents[i] * reach() * (1 + 1e-6);
            m_boxes[i].min[j] = d[j] - half;
            m_boxes[i].max[j] = d[j] + half;
        }
    }
}

bool EllipsoidShape::follows_data() const { return ad::grad_enabled(m_rows); }

BoundingBox EllipsoidShape::bounds() const {
    BoundingBox b;
    for (const BoundingBox &box : m_boxes)
        b.extend(box);
    return b;
}

// ---- rays

EllipsoidShape::HostHit EllipsoidShape::intersect_primitive_host(size_t i,
                                                                 const std::array<double, 3> &o,
                                                                 const std::array<double, 3> &d,
                                                                 double mint, double maxt) const {
    const double *r = &m_rows_host[RowNumbers * i];
    double from[3] = { o[0] - r[0], o[1] - r[1], o[2] - r[2] };
    Vec p, v;
    for (size_t k = 0; k < 3; ++k) {
        const double *row = r + 3 + 3 * k;
        p[k] = row[0] * from[0] + row[1] * from[1] + row[2] * from[2];
        v[k] = row[0] * d[0] + row[1] * d[1] + row[2] * d[2];
    }
    double t = enter_host(p, v);
    return { t >= mint && t <= maxt ? t : Infinity, 0, 0 };
}

EllipsoidShape::Unit EllipsoidShape::unit(const UInt32 &i, const Mask &active) const {
    std::vector<Value> r =
        jit::gather_packet(is_following() ? m_rows : m_still_rows, i, RowNumbers, active);
    auto vec = [&](size_t k) { return Vector3(Float(r[k]), Float(r[k + 1]), Float(r[k + 2])); };
    return { { vec(3), vec(6), vec(9) }, vec(0) };
}

EllipsoidShape::PrimitiveHit EllipsoidShape::intersect_primitive(const Ray &ray, const UInt32 &i,
                                                                 const Mask &active) const {
    Unit u = unit(i, active);
    Float t = enter(u.point(ray.o), u.vector(ray.d), active);
    return { select((t >= 0) & (t <= ray.maxt), t, Float(Infinity)), Float(0), Float(0) };
}

void EllipsoidShape::fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &i,
                                    const Mask &active, SurfaceInteraction &si) const {
    Unit u = unit(i, active);
    si.p = ray(hit.t);
    Surface s = surface_at(u.point(si.p), u.point(ray.o), u.vector(ray.d), active);
    // By the transpose
    si.n = normalize(fma(u.rows[0], s.n.x, fma(u.rows[1], s.n.y, u.rows[2] * s.n.z))) * m_sign;
    si.sh_frame.n = si.n;
    si.uv = s.uv;
    si.dp_du = si.dp_dv = Vector3(Float(0));
}

PositionSample EllipsoidShape::sample_rest_position(const Float &, const Vector2 &,
                                                    const Mask &) const {
    complain("points on ellipsoids cannot be sampled");
}

// ---- attributes

bool EllipsoidShape::has_attribute(const std::string &name) const {
    for (const char *known : { "ellipsoid", "center", "scale", "quaternion", "extent" })
        if (name == known)
            return true;
    return m_attributes.count(name) != 0 || Shape::has_attribute(name);
}

std::vector<std::string> EllipsoidShape::attribute_names() const {
    std::vector<std::string> out;
    for (auto &[name, a] : m_attributes)
        out.push_back(name);
    return out;
}

void EllipsoidShape::remove_attribute(const std::string &name) {
    if (!m_attributes.erase(name))
        return Shape::remove_attribute(name);
    attributes_changed();
    note_change(*this);
}

std::vector<Float> EllipsoidShape::eval_attribute_x(const std::string &name,
                                                    const SurfaceInteraction &si,
                                                    const Mask &active) const {
    auto numbers = [&](const Float &from, uint32_t stride, uint32_t first, uint32_t count) {
        std::vector<Float> out;
        for (uint32_t k = first; k < first + count; ++k)
            out.push_back(Float(jit::gather(from, si.prim * UInt32(stride) + UInt32(k), active)));
        return out;
    };
    if (auto it = m_attributes.find(name); it != m_attributes.end())
        return numbers(it->second.values, it->second.size, 0, it->second.size);
    if (name == "ellipsoid")
        return numbers(m_data, Numbers, 0, Numbers);
    if (name == "center")
        return numbers(m_data, Numbers, 0, 3);
    if (name == "scale")
        return numbers(m_data, Numbers, 3, 3);
    if (name == "quaternion")
        return numbers(m_data, Numbers, 6, 4);
    if (name == "extent")
        return numbers(m_extents, 1, 0, 1);
    return Shape::eval_attribute_x(name, si, active);
}

Spectrum EllipsoidShape::eval_attribute(const std::string &name, const SurfaceInteraction &si,
                                        const Mask &active) const {
    if (!m_attributes.count(name))
        return Shape::eval_attribute(name, si, active);
    std::vector<Float> v = eval_attribute_x(name, si, active);
    if (v.size() == 3 && variant().colour == Colour::Rgb)
        return Spectrum(v);
    return Spectrum(v.size() == 3 ? rgb_luminance({ v[0], v[1], v[2] }) : v[0]);
}

} // namespace umbel
