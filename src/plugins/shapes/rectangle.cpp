// rectangle: the square [-1, 1]^2 in the plane z = 0, its normal along +z; transforms make it any parallelogram.
#include "render/shape.h"

namespace umbel {

class Rectangle final : public Mesh {
public:
    void declare(Params &p) override {
        Shape::declare(p); // its vertices follow to_world
        bool facets = false;
        p.boolean("face_normals", facets, false).fixed().doc("It is flat with it and without");
    }
    void changed(std::span<const std::string> names) override { Shape::changed(names); }
    bool follows_transform() const override { return true; }
    void configure() override {
        static const std::vector<double> Corners = { 0, 0, 1, 0, 0, 1, 1, 1 };
        static const std::vector<uint32_t> Triangles = { 1, 2, 0, 1, 3, 2 };
        positions = { -1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0 };
        uvs.share(Corners);
        indices.share(Triangles);
        to_world_space();
        finish_mesh(true);
    }
    uint32_t type() const override { return ShapeType::Rectangle; }

    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &) const override {
        // Nodes for as long as they are used here: scenes have thousands of lamps
        auto column = [&](int c) -> Vector3 {
            return HostVector3({ m_to_world(0, c), m_to_world(1, c), m_to_world(2, c) });
        };
        Vector3 p = fma(column(0), 2 * u.x - 1, fma(column(1), 2 * u.y - 1, column(3)));
        Vector3 n = HostVector3(m_to_world.apply_normal({ 0, 0, m_flip_normals ? -1.0 : 1.0 }));
        return { p, n, u, time, m_inv_area, false };
    }
};

UMBEL_PLUGIN(Shape, Rectangle, "rectangle")
} // namespace umbel
