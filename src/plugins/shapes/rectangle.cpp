// rectangle: the square [-1, 1]^2 in the plane z = 0, its normal along +z; transforms make it any parallelogram.
#include "render/shape.h"

namespace umbel {

class Rectangle final : public Mesh {
public:
    void declare(Params &p) override { Shape::declare(p); } // its vertices follow to_world
    void changed(std::span<const std::string> names) override { Shape::changed(names); }
    void configure() override {
        positions = { -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0 };
        uvs = { 0, 0, 1, 0, 1, 1, 0, 1 };
        indices = { 0, 1, 2, 2, 3, 0 };
        to_world_space();
        finish_mesh();
    }
};

UMBEL_PLUGIN(Shape, Rectangle, "rectangle")
} // namespace umbel
