// fluencemeter: measures the mean radiance, over all directions, that passes through a point.
//
// With a film of several pixels, each of them has a part of the sphere of directions, all of the same size: rows from +z down to
// -z of its own space, columns around that axis.
#include "core/warp.h"
#include "render/panoramic_camera.h"

namespace umbel {

class FluenceMeter final : public PanoramicCamera {
public:
    void declare(Params &p) override {
        p.example("");
        Sensor::declare(p);
    }

private:
    Vector3 direction_at(const Vector2 &film) const override {
        return square_to_uniform_sphere(film);
    }
    std::pair<Vector2, Float> film_at(const Vector3 &d) const override {
        return { uniform_sphere_to_square(d), square_to_uniform_sphere_pdf(d) };
    }
};

UMBEL_PLUGIN(Sensor, FluenceMeter, "fluencemeter")
} // namespace umbel
