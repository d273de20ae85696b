// deformable: a mesh whose vertices move with time.
//
// Its keys are meshes with the same triangles, most often the frames of a simulation. Between two of them a vertex, and the
// normal there, changes on a straight line; before the first and after the last one nothing moves. Its material is its own,
// not that of the keys. It may have an animated transform besides; it cannot be an area light.
#include "render/shape.h"
#include <cmath>

namespace umbel {

class Deformable final : public Mesh {
public:
    void declare(Params &p) override {
        p.example("<shape type='cube'/><shape type='cube'><transform name='to_world'>"
                  "<scale value='2'/></transform></shape>");
        Mesh::declare(p);
        p.string("times", m_times, "")
            .doc("When the keys are reached, in their order, separated by commas; evenly over "
                 "[0, 1] if absent");
        std::vector<Ref<Shape>> keys;
        p.objects("shape", keys).doc("The keys, two or more");
        if (!p.loading())
            return;
        for (const Ref<Shape> &s : keys) {
            m_meshes.push_back(std::dynamic_pointer_cast<Mesh>(s));
            if (!m_meshes.back())
                s->complain("a key of a deformable mesh must be a mesh that stands still");
        }
    }

    void configure() override {
        for (const Ref<Mesh> &m : m_meshes)
            if (m->motion())
                m->complain("a key of a deformable mesh must be a mesh that stands still");
        if (m_meshes.size() < 2)
            complain("it takes two meshes or more as keys, and there are {}", m_meshes.size());
        std::vector<double> times = key_times();
        const Mesh &first = *m_meshes[0];
        keyframes.clear();
        for (size_t i = 0; i < m_meshes.size(); ++i) {
            const Mesh &m = *m_meshes[i];
            if (m.indices != first.indices || m.vertex_count() != first.vertex_count() ||
                m.normals.size() != first.normals.size())
                m.complain("does not have the triangles of the first key, or no normals where "
                           "that one has some; keys differ in the places of vertices only");
            take(m);
            keyframes.push_back({ times[i], positions, normals });
        }
        take(first);
        uvs = first.uvs;
        indices = first.indices;
        finish_mesh(!normals.empty());
    }

private:
    void take(const Mesh &m) {
        positions = m.positions;
        normals = m.normals;
        to_world_space();
    }
    std::vector<double> key_times() const {
        std::vector<double> out;
        for (size_t i = 0; m_times.empty() && i < m_meshes.size(); ++i)
            out.push_back(double(i) / double(m_meshes.size() - 1));
        for (size_t at = 0; at < m_times.size();) {
            size_t used = 0;
            double v = NAN;
            try {
                v = std::stod(m_times.substr(at), &used);
            } catch (const std::exception &) {
            }
            if (!std::isfinite(v) || (!out.empty() && v <= out.back()))
                complain("times are {}; they must be numbers that increase, such as \"0, 0.5, 1\"",
                         quote(m_times));
            out.push_back(v);
            at = m_times.find_first_not_of(", \t\n", at + used);
        }
        if (out.size() != m_meshes.size())
            complain("there are {} times for {} keys", out.size(), m_meshes.size());
        return out;
    }

    std::string m_times;
    std::vector<Ref<Mesh>> m_meshes;
};

UMBEL_PLUGIN(Shape, Deformable, "deformable")
} // namespace umbel
