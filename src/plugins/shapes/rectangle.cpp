// rectangle: the square [-1, 1]^2 in the plane z = 0, its normal along +z; transforms make it any parallelogram.
#include "render/shape.h"

namespace umbel {

class Rectangle final : public Mesh {
public:
    void declare(Params &p) override { Shape::declare(p); } // its vertices follow to_world
    void changed(std::span<const std::string> names) override { Shape::changed(names); }
    bool follows_transform() const override { return true; }
    void configure() override {
        positions = { -1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0 };
        uvs = { 0, 0, 1, 0, 0, 1, 1, 1 };
        indices = { 1, 2, 0, 1, 3, 2 };
        to_world_space();
        finish_mesh(true);
        auto column = [&](int c) {
            return HostVector3({ m_to_world(0, c), m_to_world(1, c), m_to_world(2, c) });
        };
        m_x = column(0), m_y = column(1), m_centre = column(3);
        m_normal = HostVector3(m_to_world.apply_normal({ 0, 0, m_flip_normals ? -1.0 : 1.0 }));
    }
    uint32_t type() const override { return ShapeType::Rectangle; }

    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &) const override {
        Vector3 p = fma(m_x, 2 * u.x - 1, fma(m_y, 2 * u.y - 1, m_centre));
        return { p, m_normal, u, time, m_inv_area, false };
    }

private:
    HostVector3 m_x, m_y, m_centre, m_normal;
};

UMBEL_PLUGIN(Shape, Rectangle, "rectangle")
} // namespace umbel
