// python/render_mesh.cpp: meshes that scripts build from arrays, read and write.
//
//     mesh = umbel.Mesh("name", vertex_count=3, face_count=1)
//     params = umbel.traverse(mesh)
//     params["vertex_positions"], params["faces"] = ...
//     params.update()
#include "core/host_array.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/scene.h"
#include <bit>
#include <fstream>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace umbel {

namespace {
/// Room for vertices and triangles; a script fills it. Registered with the Python package alone: files cannot say what is in it.
class ArrayMesh final : public Mesh {
public:
    void declare(Params &p) override {
        Mesh::declare(p);
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
        m_inv_area = opaque_float(0); // an area light is prepared once there is a surface
        if (!m_emitter)
            finish_mesh();
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

template <class T> void put(std::ofstream &f, T v) {
    static_assert(std::endian::native == std::endian::little);
    f.write(reinterpret_cast<const char *>(&v), sizeof v);
}

void write_ply(const Mesh &m, nb::object path) {
    std::string name = nb::cast<std::string>(nb::str(path));
    std::ofstream f(name, std::ios::binary);
    bool has_normals = !m.normals.empty(), has_uvs = !m.uvs.empty();
    f << "ply\nformat binary_little_endian 1.0\nelement vertex " << m.vertex_count() << "\n";
    for (const char *c : { "x", "y", "z" })
        f << "property float " << c << "\n";
    if (has_normals)
        f << "property float nx\nproperty float ny\nproperty float nz\n";
    if (has_uvs)
        f << "property float u\nproperty float v\n";
    f << "element face " << m.triangle_count()
      << "\nproperty list uchar int vertex_indices\nend_header\n";
    for (size_t i = 0; i < m.vertex_count(); ++i) {
        for (size_t k = 0; k < 3; ++k)
            put(f, float(m.positions[3 * i + k]));
        for (size_t k = 0; has_normals && k < 3; ++k)
            put(f, float(m.normals[3 * i + k]));
        for (size_t k = 0; has_uvs && k < 2; ++k)
            put(f, float(m.uvs[2 * i + k]));
    }
    for (size_t t = 0; t < m.triangle_count(); ++t) {
        put(f, uint8_t(3));
        for (size_t k = 0; k < 3; ++k)
            put(f, m.indices[3 * t + k]);
    }
    if (!f.flush())
        fail("{}: cannot be written; is there such a folder, and room in it?", name);
}

nb::object buffer(const std::vector<double> &v) { return steal(wrap(float_array(v))); }

} // namespace

void bind_mesh(nb::module_ &m) {
    nb::class_<Mesh, Shape>(m, "Mesh", "A surface of triangles.")
        .def(nb::new_(&make_mesh), nb::arg("name"), nb::arg("vertex_count"), nb::arg("face_count"),
             nb::arg("props") = nb::none(), nb::arg("has_vertex_normals") = false,
             nb::arg("has_vertex_texcoords") = false,
             "Room for a mesh; traverse() gives its arrays to be filled in. `props` has its BSDF "
             "and the like.")
        .def("vertex_count", &Mesh::vertex_count)
        .def("face_count", &Mesh::triangle_count)
        .def("has_vertex_normals", [](const Mesh &s) { return !s.normals.empty(); })
        .def("has_vertex_texcoords", [](const Mesh &s) { return !s.uvs.empty(); })
        .def("vertex_positions_buffer", [](const Mesh &s) { return buffer(s.positions); })
        .def("vertex_normals_buffer", [](const Mesh &s) { return buffer(s.normals); })
        .def("vertex_texcoords_buffer", [](const Mesh &s) { return buffer(s.uvs); })
        .def("faces_buffer", [](const Mesh &s) { return steal(wrap(jit::copy(s.indices))); })
        .def("write_ply", &write_ply, nb::arg("filename"), "Writes a binary PLY file.");
}

} // namespace python
} // namespace umbel
