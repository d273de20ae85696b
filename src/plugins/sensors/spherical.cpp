// spherical: a camera at a point that sees in all directions: its image is a map of them by longitude and latitude.
//
// Such an image can light a scene as an `envmap`, whose directions are the same: columns go around the y axis of camera space,
// rows from +y down to -y, and the middle shows +z. Films are best twice as wide as high. A row at the angle theta from +y
// shows less the nearer it is to a pole, by sin(theta).
#include "render/panoramic_camera.h"

namespace umbel {

class Spherical final : public PanoramicCamera {
public:
    void declare(Params &p) override {
        p.example("");
        Sensor::declare(p);
    }

private:
    Vector3 direction_at(const Vector2 &film) const override {
        Float phi = film.x * TwoPi, theta = film.y * Pi, sine = sin(theta);
        return { sin(phi) * sine, cos(theta), -cos(phi) * sine };
    }
    std::pair<Vector2, Float> film_at(const Vector3 &d) const override {
        Float sine = safe_sqrt(sqr(d.x) + sqr(d.z)), u = atan2(d.x, -d.z) * InvTwoPi;
        Vector2 film{ u - floor(u), atan2(sine, d.y) * InvPi };
        return { film, rcp(2 * Pi * Pi * max(sine, 1e-6)) };
    }
};

UMBEL_PLUGIN(Sensor, Spherical, "spherical")
} // namespace umbel
