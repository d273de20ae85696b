// merge: makes one mesh of many that are alike.
//
// Scenes of very many small meshes are traced and differentiated faster if there are fewer. Meshes with the same material
// and media become one, in the order in which they come, if all of them have normals or none, and texture coordinates or none. What
// emits light or measures it, what moves, has attributes, weighs its silhouettes or is no mesh stays a shape of its own.
#include "render/emitter.h"
#include "render/medium.h"
#include "render/outline.h"
#include "render/sensor.h"
#include "render/shape_list.h"

namespace umbel {

/// What comes of some of them: a shape of its own, with their material and media.
class MergedMesh final : public Mesh {
public:
    static constexpr const char *Mark = "is_merged";

    /// As a loader takes it.
    static PropertiesPtr description(const std::vector<Ref<Mesh>> &parts, const std::string &name) {
        auto of = [](const Ref<Object> &o) {
            auto p = std::make_shared<Properties>(o->kind(), o->plugin());
            p->instance = o;
            return p;
        };
        auto p = std::make_shared<Properties>("shape", "merge", name);
        p->set(Mark, true);
        for (const Ref<Mesh> &m : parts)
            p->set("", of(m));
        p->set("", of(parts[0]->bsdf()));
        auto medium = [&](const char *side, const Medium *m) {
            if (m)
                p->set(side, of(std::const_pointer_cast<Object>(m->shared_from_this())));
        };
        medium("interior", parts[0]->interior());
        medium("exterior", parts[0]->exterior());
        return p;
    }

    void declare(Params &p) override {
        Mesh::declare(p);
        if (!p.loading())
            return;
        p.properties()->query(Mark);
        std::vector<Ref<Shape>> parts;
        p.objects("shape", parts);
        for (const Ref<Shape> &s : parts)
            m_parts.push_back(std::dynamic_pointer_cast<Mesh>(s));
    }
    void configure() override {
        for (const Ref<Mesh> &m : m_parts) {
            // Its outside is where the order of corners says, and where normals point
            uint32_t first = uint32_t(vertex_count());
            positions.insert(positions.end(), m->positions.begin(), m->positions.end());
            uvs.insert(uvs.end(), m->uvs.begin(), m->uvs.end());
            for (double v : m->normals)
                normals.push_back(m->flips_normals() ? -v : v);
            for (size_t t = 0; t < m->triangle_count(); ++t)
                for (size_t k = 0; k < 3; ++k)
                    indices.push_back(first + m->corner(t, k));
            m_face_normals = m->has_face_normals();
        }
        m_parts.clear();
        finish_mesh(false);
    }

private:
    std::vector<Ref<Mesh>> m_parts; // until it is configured
};

class Merge final : public ShapeList {
public:
    void declare(Params &p) override {
        p.example("<shape type='cube'><bsdf type='diffuse' id='both'/></shape><shape type='cube'>"
                  "<transform name='to_world'><scale value='.5'/><translate x='1'/></transform>"
                  "<ref id='both'/></shape>");
        p.objects("shape", m_parts).doc("What is merged");
    }

    void configure() override {
        m_members.clear();
        using Key = std::tuple<const BSDF *, const Medium *, const Medium *, bool, bool, bool>;
        std::map<Key, size_t> places;                    // of the first mesh of its kind
        std::map<size_t, std::vector<Ref<Mesh>>> groups; // by that place
        std::vector<Ref<Shape>> parts = m_parts;
        expand(parts);
        for (const Ref<Shape> &s : parts) {
            auto m = std::dynamic_pointer_cast<Mesh>(s);
            if (!m || !is_plain(*m)) {
                m_members.push_back(s);
                continue;
            }
            m->own_bsdf();
            Key key{ m->bsdf().get(),    m->interior(),  m->exterior(),
                     m->normals.empty(), m->uvs.empty(), m->has_face_normals() };
            auto [it, is_new] = places.try_emplace(key, m_members.size());
            if (is_new)
                m_members.push_back(s);
            groups[it->second].push_back(m);
        }
        Loader loader;
        for (auto &[place, meshes] : groups)
            if (meshes.size() > 1)
                m_members[place] = loader.load_as<Shape>(MergedMesh::description(
                    meshes, m_members.size() == 1 ? id() : meshes[0]->id()));
    }

private:
    static bool is_plain(const Mesh &m) {
        return !m.emitter() && !m.sensor() && !m.subsurface() && !m.motion() &&
               m.attributes().empty() && !m.has_texture_attributes() &&
               silhouette_sampling_weight(m) == 1;
    }

    std::vector<Ref<Shape>> m_parts;
};

static const RegisterPlugin s_register_merge(Shape::Kind, "merge",
                                             [](const Properties &p) -> Ref<Object> {
                                                 if (p.has(MergedMesh::Mark))
                                                     return std::make_shared<MergedMesh>();
                                                 return std::make_shared<Merge>();
                                             });
} // namespace umbel
