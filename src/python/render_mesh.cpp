// python/render_mesh.cpp: meshes that scripts build from arrays, read and write.
//
//     mesh = umbel.Mesh("name", vertex_count=3, face_count=1)
//     params = umbel.traverse(mesh)
//     params["vertex_positions"], params["faces"] = ...
//     params.update()
#include "core/host_array.h"
#include "python/arrays.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/scene.h"
#include <bit>
#include <fstream>
#include <map>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace umbel {

namespace {
/// Room for vertices and triangles; a script fills it. Registered with the Python package alone: files cannot say what is in it.
class ArrayMesh final : public Mesh {
public:
    void declare(Params &p) override {
        Mesh::declare(p);
        declare_normals(p);
        p.integer("vertex_count", m_vertices, 0, 0).doc("Number of vertices");
        p.integer("face_count", m_faces, 0, 0).doc("Number of triangles");
        p.boolean("has_vertex_normals", m_has_normals, false).doc("Whether vertices have normals");
        p.boolean("has_vertex_texcoords", m_has_uvs, false)
            .doc("Whether vertices have texture coordinates");
    }
    void configure() override {
        size_t n = size_t(m_vertices);
        positions.assign(3 * n, 0);
        normals.assign(m_has_normals ? 3 * n : 0, 0);
        uvs.assign(m_has_uvs ? 2 * n : 0, 0);
        indices.assign(3 * size_t(m_faces), 0);
        orient(false);
        m_inv_area = HostFloat(0); // an area light is prepared once there is a surface
        if (!m_emitter)
            finish_mesh(false);
    }

    /// The triangles of both.
    void take(const Mesh &a, const Mesh &b) {
        m_bsdf = a.bsdf();
        m_to_world = {};
        m_flip_normals = a.flips_normals();
        auto join = [](const auto &x, const auto &y) {
            auto out = x;
            out.insert(out.end(), y.begin(), y.end());
            return out;
        };
        positions = join(a.positions, b.positions);
        normals = join(a.normals, b.normals);
        uvs = join(a.uvs, b.uvs);
        indices = a.indices;
        for (uint32_t i : b.indices)
            indices.push_back(i + uint32_t(a.vertex_count()));
        finish_mesh(false);
    }

private:
    int m_vertices = 0, m_faces = 0;
    bool m_has_normals = false, m_has_uvs = false;
};

UMBEL_PLUGIN(Shape, ArrayMesh, "mesh")
} // namespace

namespace python {

namespace {

Ref<Mesh> make_mesh(const std::string &name, int vertices, int faces, nb::object props,
                    bool has_normals, bool has_uvs) {
    enter();
    nb::dict d;
    d["type"] = "mesh";
    d["vertex_count"] = vertices;
    d["face_count"] = faces;
    d["has_vertex_normals"] = has_normals;
    d["has_vertex_texcoords"] = has_uvs;
    if (!props.is_none())
        for (nb::handle key : props.attr("keys")())
            d[key] = props[key];
    PropertiesPtr p = from_dict(d, name);
    resolve_references(*p);
    Loader loader;
    return loader.load_as<Mesh>(p);
}

// All of it at once: tables of numbers, or arrays of points and of triangles.
Ref<Mesh> mesh_of_arrays(const std::string &name, nb::object faces, nb::object positions,
                         nb::object normals, nb::object texcoords, nb::object props) {
    return nb::cast<Ref<Mesh>>(
        from_package("_mesh.from_arrays")(name, faces, positions, normals, texcoords, props));
}

template <class T> void put(std::string &f, T v) {
    static_assert(std::endian::native == std::endian::little);
    f.append(reinterpret_cast<const char *>(&v), sizeof v);
}

// Attributes of vertices, or of faces, with their numbers: `vertex_heat` becomes heat_0, heat_1...
struct Column {
    std::string name;
    uint32_t size;
    std::vector<double> values;
};
std::vector<Column> columns(const Mesh &m, bool per_face) {
    std::vector<Column> out;
    for (auto &[name, a] : m.attributes())
        if (a.per_face == per_face)
            out.push_back({ name.substr(name.find('_') + 1), a.size,
                            read_floats(Float(a.values.detached())) });
    return out;
}
void declare(std::string &f, const std::vector<Column> &columns) {
    for (const Column &c : columns)
        for (uint32_t k = 0; k < c.size; ++k)
            f += fmt::format("property float {}_{}\n", c.name, k);
}
void put(std::string &f, const std::vector<Column> &columns, size_t i) {
    for (const Column &c : columns)
        for (uint32_t k = 0; k < c.size; ++k)
            put(f, float(c.values[c.size * i + k]));
}

std::string ply_of(const Mesh &m) {
    bool has_normals = !m.normals.empty(), has_uvs = !m.uvs.empty();
    std::vector<Column> of_vertices = columns(m, false), of_faces = columns(m, true);
    std::string f =
        fmt::format("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", m.vertex_count());
    f += "property float x\nproperty float y\nproperty float z\n";
    if (has_normals)
        f += "property float nx\nproperty float ny\nproperty float nz\n";
    if (has_uvs)
        f += "property float u\nproperty float v\n";
    declare(f, of_vertices);
    f += fmt::format("element face {}\nproperty list uchar int vertex_indices\n",
                     m.triangle_count());
    declare(f, of_faces);
    f += "end_header\n";
    for (size_t i = 0; i < m.vertex_count(); ++i) {
        for (size_t k = 0; k < 3; ++k)
            put(f, float(m.positions[3 * i + k]));
        for (size_t k = 0; has_normals && k < 3; ++k)
            put(f, float(m.normals[3 * i + k]));
        for (size_t k = 0; has_uvs && k < 2; ++k)
            put(f, float(m.uvs[2 * i + k]));
        put(f, of_vertices, i);
    }
    for (size_t t = 0; t < m.triangle_count(); ++t) {
        put(f, uint8_t(3));
        for (size_t k = 0; k < 3; ++k)
            put(f, m.indices[3 * t + k]);
        put(f, of_faces, t);
    }
    return f;
}

void write_ply(const Mesh &m, nb::object to) {
    enter();
    std::string bytes = ply_of(m);
    if (nb::hasattr(to, "write")) {
        to.attr("write")(nb::bytes(bytes.data(), bytes.size()));
        return;
    }
    std::string name = nb::cast<std::string>(nb::str(to));
    std::ofstream f(name, std::ios::binary);
    f << bytes;
    if (!f.flush())
        fail("{}: cannot be written; is there such a folder, and room in it?", name);
}

nb::object array(const Value &v) { return steal(wrap(v)); }

// For each edge of a triangle, from corner k to the next, the one on the other side; 2^32 - 1 where there is none or are several.
UInt32 opposite_edges(const Mesh &m) {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> edges;
    constexpr uint32_t None = ~0u;
    auto end = [&](size_t i, size_t step) { return m.indices[i / 3 * 3 + (i + step) % 3]; };
    for (size_t i = 0; i < m.indices.size(); ++i) {
        auto [it, fresh] = edges.emplace(std::pair(end(i, 0), end(i, 1)), uint32_t(i));
        if (!fresh)
            it->second = None;
    }
    std::vector<uint32_t> out;
    for (size_t i = 0; i < m.indices.size(); ++i) {
        auto it = edges.find({ end(i, 1), end(i, 0) });
        bool single = edges.at({ end(i, 0), end(i, 1) }) != None;
        out.push_back(it == edges.end() || !single ? None : it->second);
    }
    return jit::copy(out);
}

// All of `a`, then all of `b`; their BSDF is that of `a`.
Ref<Mesh> merged(const Mesh &a, const Mesh &b) {
    enter();
    const_cast<Mesh &>(a).own_bsdf(); // the result has the same
    if (a.bsdf() != b.bsdf() || a.emitter() || b.emitter() ||
        a.normals.empty() != b.normals.empty() || a.uvs.empty() != b.uvs.empty() ||
        a.is_inside_out() != b.is_inside_out() || !a.attributes().empty() ||
        !b.attributes().empty())
        a.complain("merge(): the two meshes are incompatible; they must share their BSDF, have the "
                   "same kinds of data, neither attributes nor emission");
    auto out = std::make_shared<ArrayMesh>();
    out->take(a, b);
    return out;
}

} // namespace

void bind_mesh(nb::module_ &m) {
    nb::class_<Mesh, Shape>(m, "Mesh", "A surface of triangles.")
        .def(nb::new_(&make_mesh), nb::arg("name"), nb::arg("vertex_count"), nb::arg("face_count"),
             nb::arg("props") = nb::none(), nb::arg("has_vertex_normals") = false,
             nb::arg("has_vertex_texcoords") = false,
             "Room for a mesh; traverse() gives its arrays to be filled in. `props` has its BSDF "
             "and the like.")
        .def(nb::new_(&mesh_of_arrays), nb::arg("name"), nb::arg("faces"), nb::arg("positions"),
             nb::arg("normals") = nb::none(), nb::arg("texcoords") = nb::none(),
             nb::arg("props") = nb::none(),
             "A mesh of these triangles and vertices: tables with a row for each, or arrays of "
             "vectors and points.")
        .def("vertex_count", &Mesh::vertex_count, "Number of vertices.")
        .def("face_count", &Mesh::triangle_count, "Number of triangles.")
        .def(
            "has_vertex_normals", [](const Mesh &s) { return !s.normals.empty(); },
            "Whether vertices have normals.")
        .def(
            "has_vertex_texcoords", [](const Mesh &s) { return !s.uvs.empty(); },
            "Whether vertices have texture coordinates.")
        .def("has_face_normals", &Mesh::has_face_normals,
             "Whether the mesh was asked to look faceted.")
        .def(
            "has_mesh_attributes", [](const Mesh &s) { return !s.attributes().empty(); },
            "Whether vertices or faces have attributes.")
        .def("_attributes",
             [](const Mesh &s) {
                 nb::list out;
                 for (auto &[name, a] : s.attributes())
                     out.append(nb::make_tuple(name, a.size));
                 return out;
             })
        .def("_inside_out", &Mesh::is_inside_out)
        .def(
            "vertex_positions_buffer", [](const Mesh &s) { return array(s.positions_array()); },
            "Positions, three numbers a vertex.")
        .def(
            "vertex_normals_buffer", [](const Mesh &s) { return array(s.normals_array()); },
            "Normals, three numbers a vertex; empty if the mesh is faceted.")
        .def(
            "vertex_texcoords_buffer", [](const Mesh &s) { return array(s.uvs_array()); },
            "Texture coordinates, two numbers a vertex, or empty.")
        .def(
            "faces_buffer", [](const Mesh &s) { return array(s.indices_array()); },
            "Vertices of triangles, three numbers each.")
        .def("_opposite_edges", &opposite_edges)
        .def(
            "_add_attribute",
            [](Mesh &m, const std::string &name, uint32_t size, const Float &values) {
                enter();
                m.add_attribute(name, size, values);
            },
            nb::arg("name"), nb::arg("size"), nb::arg("buffer"))
        .def(
            "attribute_buffer",
            [](const Mesh &m, const std::string &name) {
                auto it = m.attributes().find(name);
                if (it == m.attributes().end())
                    m.complain("attribute_buffer(): attribute {} doesn't exist.", name);
                return array(it->second.values);
            },
            nb::arg("name"), "The numbers of an attribute.")
        .def(
            "initialize",
            [](Mesh &m) {
                enter();
                m.refresh();
                update_scenes();
            },
            "Brings what depends on vertices and faces up to date.")
        .def(
            "recompute_vertex_normals",
            [](Mesh &m) {
                enter();
                m.smooth_normals();
                m.refresh();
                update_scenes();
            },
            "Normals at vertices from those of the triangles around.")
        .def(
            "recompute_bbox", [](const Mesh &) {}, "The bounding box is always up to date.")
        .def(
            "build_directed_edges", [](const Mesh &) {}, "Edges are found when they are asked for.")
        .def("merge", &merged, nb::arg("other"), "A mesh of the triangles of both.")
        .def("_write_ply", &write_ply, nb::arg("filename"),
             "Writes a binary PLY file: to a path, or to what has a write() method.");
}

} // namespace python
} // namespace umbel
