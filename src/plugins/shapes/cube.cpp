// cube: the cube [-1, 1]^3, each face with texture coordinates of its own.
#include "render/shape.h"

namespace umbel {

class Cube final : public Mesh {
public:
    void declare(Params &p) override {
        Mesh::declare(p);
        declare_normals(p);
    }

    void configure() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        // Counter-clockwise from the corner where (u, v) = (0, 1), one face after the other
        add_face({ 0, -1, 0 }, { { { 1, -1, -1 }, { 1, -1, 1 }, { -1, -1, 1 }, { -1, -1, -1 } } });
        add_face({ 0, 1, 0 }, { { { 1, 1, -1 }, { -1, 1, -1 }, { -1, 1, 1 }, { 1, 1, 1 } } });
        add_face({ 1, 0, 0 }, { { { 1, -1, -1 }, { 1, 1, -1 }, { 1, 1, 1 }, { 1, -1, 1 } } });
        add_face({ 0, 0, 1 }, { { { 1, -1, 1 }, { 1, 1, 1 }, { -1, 1, 1 }, { -1, -1, 1 } } });
        add_face({ -1, 0, 0 }, { { { -1, -1, 1 }, { -1, 1, 1 }, { -1, 1, -1 }, { -1, -1, -1 } } });
        add_face({ 0, 0, -1 }, { { { 1, 1, -1 }, { 1, -1, -1 }, { -1, -1, -1 }, { -1, 1, -1 } } });
        to_world_space();
        if (m_face_normals)
            normals.clear();
        finish_mesh(true);
    }

private:
    using Corner = std::array<double, 3>;
    void add_face(const Corner &normal, const std::array<Corner, 4> &corners) {
        uint32_t first = uint32_t(vertex_count());
        for (const Corner &p : corners) {
            positions.insert(positions.end(), p.begin(), p.end());
            normals.insert(normals.end(), normal.begin(), normal.end());
        }
        uvs.insert(uvs.end(), { 0, 1, 1, 1, 1, 0, 0, 0 });
        for (uint32_t i : { 0u, 1u, 2u, 3u, 0u, 2u })
            indices.push_back(first + i);
    }
};

UMBEL_PLUGIN(Shape, Cube, "cube")
} // namespace umbel
