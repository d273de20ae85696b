// ellipsoids: a cloud of ellipsoids, such as the Gaussians of a radiance field.
//
// Each has a centre, three radii, which `extent` multiplies, and a rotation. Rays meet ellipsoids from outside only: a ray that begins inside
// one passes through its surface. `prim_index` of a hit is the ellipsoid's number. All other arrays of a scene (N x K numbers) are attributes,
// which scripts and textures ask for by name; so are `center`, `scale`, `quaternion`, `extent` and all ten numbers, `ellipsoid`. There are no
// texture coordinates; ellipsoids emit no light.
//
// A file has vertices with x y z, scale_0 to scale_2 (logarithms) and rot_0 to rot_3 (the real part first). Where it has f_dc_0 and opacity,
// as trainers of Gaussians write it [Kerbl 2023], it gives the attributes `opacities`, from 0 to 1, and `sh_coeffs`: three numbers for each
// spherical harmonic. Otherwise neighbouring properties like heat_0 heat_1 are the attribute `heat`. `to_world` moves centres and turns
// ellipsoids; radii are multiplied by its mean scale.
#include "render/ellipsoid_shape.h"
#include <cmath>

namespace umbel {

namespace {

// The first of the two solutions of |o + t d| = 1, if it is not behind; for host numbers and recorded ones alike. From the middle of
// the chord, which keeps its digits for small ellipsoids far away [Haines 2019].
template <class F, class Select>
F enter_sphere(const F (&o)[3], const F (&d)[3], F none, Select choose) {
    using std::sqrt;
    F dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    F b = (o[0] * d[0] + o[1] * d[1] + o[2] * d[2]) / dd; // minus the middle
    F x = o[0] - b * d[0], y = o[1] - b * d[1], z = o[2] - b * d[2];
    F rest = (F(1) - (x * x + y * y + z * z)) / dd;
    F t = -b - sqrt(choose(rest > F(0), rest, F(1)));
    return choose((rest > F(0)) & (t >= F(0)), t, none);
}

} // namespace

class Ellipsoids final : public EllipsoidShape {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/gaussians.ply'/><float name='extent' "
                  "value='2'/><boolean name='extent_adaptive_clamping' value='true'/>");
        p.example("<string name='filename' value='$files/ellipsoids.ply'/><float name='extent' "
                  "value='1'/><float name='scale_factor' value='1.5'/><transform "
                  "name='to_world'><rotate x='1' y='2' angle='50'/><scale value='.8'/>"
                  "</transform>");
        declare_ellipsoids(p);
    }
    uint32_t type() const override { return ShapeType::Ellipsoids; }

private:
    double enter_host(const Vec &o, const Vec &d) const override {
        double from[3] = { o[0], o[1], o[2] }, along[3] = { d[0], d[1], d[2] };
        return enter_sphere(from, along, std::numeric_limits<double>::infinity(),
                            [](bool m, double a, double b) { return m ? a : b; });
    }
    Float enter(const Vector3 &o, const Vector3 &d, const Mask &) const override {
        Float from[3] = { o.x, o.y, o.z }, along[3] = { d.x, d.y, d.z };
        return enter_sphere(
            from, along, Float(std::numeric_limits<double>::infinity()),
            [](const Mask &m, const Float &a, const Float &b) { return select(m, a, b); });
    }
    Surface surface_at(const Vector3 &p, const Vector3 &, const Vector3 &,
                       const Mask &) const override {
        return { p, { Float(0), Float(0) } };
    }
};

UMBEL_PLUGIN(Shape, Ellipsoids, "ellipsoids")
} // namespace umbel
