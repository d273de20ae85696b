// cube: the cube [-1, 1]^3, each face with texture coordinates of its own.
#include "render/shape.h"

namespace umbel {

class Cube final : public Mesh {
public:
    void configure() override {
        positions.clear(), normals.clear(), uvs.clear(), indices.clear();
        for (int axis = 0; axis < 3; ++axis)
            for (int side : { -1, 1 })
                add_face(axis, side);
        to_world_space();
        finish_mesh();
    }

private:
    void add_face(int axis, int side) {
        uint32_t first = uint32_t(vertex_count());
        for (int corner = 0; corner < 4; ++corner) {
            double a = corner == 1 || corner == 2 ? 1 : -1, b = corner >= 2 ? 1 : -1;
            double p[3], n[3] = { 0, 0, 0 };
            p[axis] = n[axis] = side;
            p[(axis + 1) % 3] = a * side; // so that the face looks outwards
            p[(axis + 2) % 3] = b;
            positions.insert(positions.end(), p, p + 3);
            normals.insert(normals.end(), n, n + 3);
            uvs.insert(uvs.end(), { (a + 1) / 2, (b + 1) / 2 });
        }
        for (uint32_t i : { 0u, 1u, 2u, 2u, 3u, 0u })
            indices.push_back(first + i);
    }
};

UMBEL_PLUGIN(Shape, Cube, "cube")
} // namespace umbel
