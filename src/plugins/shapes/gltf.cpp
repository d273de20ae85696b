// gltf: the surfaces of a glTF 2.0 file (.gltf or .glb) with their materials and textures, or one mesh of it.
//
// Without further parameters it stands for all surfaces of the scene that the file shows, which is where their nodes put
// them; cameras and lights are left out, but not surfaces that emit light. With `mesh`, it is a part of one mesh of the file, in
// the mesh's own space, with a material that the scene gives. A file can also be a scene itself: `umbel render room.glb`.
//
// Materials are `principled`, and `principledthin` where they are clear and have no volume. What dyes light inside of a volume is a
// medium, which integrators such as `volpath` follow. A warning names what the file says of a material and Umbel leaves out.
#include "core/gltf.h"
#include "core/host_array.h"
#include "core/reads_files.h"
#include "render/shape_list.h"

namespace umbel {

static const char *const FaceNormals =
    "Makes the mesh look faceted, as one without normals is in any case";
static const char *const UvSet =
    "Which texture coordinates of that part: TEXCOORD_0, TEXCOORD_1, ...";

class GltfMesh final : public Mesh, public ReadsFiles {
public:
    void declare(Params &p) override {
        Mesh::declare(p);
        p.file("filename", m_file).doc("The file to read");
        p.integer("mesh", m_mesh, 0, 0).doc("Which mesh; all of the scene if absent");
        p.integer("primitive", m_primitive, 0, 0).doc("Which part of it");
        p.integer("uv_set", m_uv_set, 0, 0).doc(UvSet);
        p.boolean("face_normals", m_face_normals, false).doc(FaceNormals);
        if (p.loading())
            m_resolver = p.properties()->files;
    }

    void read_files() override {
        std::shared_ptr<const GltfFile> file = GltfFile::open(m_file, m_resolver);
        if (size_t(m_mesh) >= file->mesh_count())
            complain("{} has {} meshes, and number {} is asked for", m_file.string(),
                     file->mesh_count(), m_mesh);
        if (m_uv_set && !file->has_uvs(m_mesh, m_primitive, m_uv_set))
            complain("{}: mesh {} has no TEXCOORD_{} there; give another uv_set", m_file.string(),
                     m_mesh, m_uv_set);
        auto data = file->primitive(m_mesh, m_primitive, m_uv_set);
        if (!data || data->indices.empty())
            complain("{}: mesh {} has no triangles there", m_file.string(), m_mesh);
        positions = std::move(data->positions);
        m_face_normals |= data->normals.empty(); // as the format has it
        normals = m_face_normals ? std::vector<double>() : std::move(data->normals);
        uvs = std::move(data->uvs);
        indices = std::move(data->indices);
        m_colours = std::move(data->colours);
        m_colour_size = data->colour_size;
        to_world_space();
    }
    void configure() override {
        take_files();
        finish_mesh(true); // nodes that mirror leave outside what is outside
        if (m_colour_size) {
            std::vector<double> rgb, alpha;
            for (size_t i = 0; i < m_colours.size(); ++i)
                (i % m_colour_size < 3 ? rgb : alpha).push_back(m_colours[i]);
            set_attribute("vertex_color", 3, float_array(rgb));
            if (!alpha.empty())
                set_attribute("vertex_alpha", 1, float_array(alpha));
        }
        m_colours = {};
    }

private:
    std::filesystem::path m_file;
    std::shared_ptr<const FileResolver> m_resolver;
    int m_mesh = 0, m_primitive = 0, m_uv_set = 0;
    std::vector<double> m_colours; // while it is being loaded
    uint32_t m_colour_size = 0;
};

class GltfShapes final : public ShapeList {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/scene.gltf'/><integer name='mesh' "
                  "value='0'/>");
        declare_to_world(p).doc("Moves all of it");
        p.file("filename", m_file).doc("The file to read");
        int mesh = 0, primitive = 0, uv_set = 0;
        bool facets = false;
        if (!p.loading()) {
            p.integer("mesh", mesh, 0)
                .doc("One mesh of the file; all that its scene shows if absent");
            p.integer("primitive", primitive, 0).doc("Which part of that mesh");
            p.integer("uv_set", uv_set, 0).doc(UvSet);
            p.boolean("face_normals", facets, false).doc(FaceNormals);
            return;
        }
        auto file = GltfFile::open(m_file, p.properties()->files);
        for (const PropertiesPtr &s : gltf_shapes(*file, m_file, p.properties()->files, m_to_world))
            m_members.push_back(p.loader()->load_as<Shape>(s));
        if (m_members.empty())
            fail("{}: {} shows no triangles", p.properties()->describe(), m_file.string());
    }

private:
    std::filesystem::path m_file;
};

static const RegisterPlugin s_register_gltf(Shape::Kind, "gltf",
                                            [](const Properties &p) -> Ref<Object> {
                                                if (p.has("mesh"))
                                                    return std::make_shared<GltfMesh>();
                                                return std::make_shared<GltfShapes>();
                                            });
} // namespace umbel
