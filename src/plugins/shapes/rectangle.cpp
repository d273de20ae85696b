// rectangle: the square [-1, 1]^2 in the plane z = 0, its normal along +z; transforms make it any parallelogram.
#include "render/shape.h"

namespace umbel {

class Rectangle final : public Mesh {
public:
    void declare(Params &p) override { Shape::declare(p); } // its vertices follow to_world
    void changed(std::span<const std::string> names) override { Shape::changed(names); }
    void configure() override {
        positions = { -1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0 };
        uvs = { 0, 0, 1, 0, 0, 1, 1, 1 };
        indices = { 1, 2, 0, 1, 3, 2 };
        to_world_space();
        finish_mesh(true);
        m_transform = Transform(m_to_world);
        auto n = m_to_world.apply_normal({ 0, 0, m_flip_normals ? -1.0 : 1.0 });
        m_normal = { opaque_float(n[0]), opaque_float(n[1]), opaque_float(n[2]) };
    }
    uint32_t type() const override { return ShapeType::Rectangle; }

    PositionSample sample_position(const Float &time, const Vector2 &u,
                                   const Mask &) const override {
        Vector3 p = m_transform.point({ 2 * u.x - 1, 2 * u.y - 1, Float(0) });
        return { p, m_normal, u, time, m_inv_area, false };
    }

private:
    Transform m_transform;
    Vector3 m_normal;
};

UMBEL_PLUGIN(Shape, Rectangle, "rectangle")
} // namespace umbel
